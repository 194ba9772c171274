package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// finishText prints the reads of released values and collects their parameters.
type finishText struct {
	b    *builder
	args []FinishArg
}

func (f *finishText) arg(a FinishArg, cast string) string {
	f.args = append(f.args, a)
	return fmt.Sprintf("pg_catalog.unnest($%d::pg_catalog.%s)", len(f.args), cast)
}

// stubs replaces the placeholders in the tree by subselects without a table, which pass the check of names.
func (b *builder) stubs(tree *pg_query.SelectStmt) {
	stub := func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		v := n.GetRangeVar()
		if v == nil || !strings.HasPrefix(v.Relname, "dpproxy_block_") {
			return n, true, nil
		}
		target := &pg_query.ResTarget{Name: v.Relname, Val: pg_query.MakeAConstIntNode(1, -1)}
		return &pg_query.Node{Node: &pg_query.Node_RangeSubselect{RangeSubselect: &pg_query.RangeSubselect{
			Alias: v.Alias,
			Subquery: &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: &pg_query.SelectStmt{
				LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg_query.SetOperation_SETOP_NONE,
				TargetList: []*pg_query.Node{{Node: &pg_query.Node_ResTarget{ResTarget: target}}},
			}}},
		}}}, false, nil
	}
	if err := rewriteNodes(tree.ProtoReflect(), stub); err != nil {
		panic(err) // the callback gives none
	}
}

// stubText is how a stub is printed.
func stubText(i int) string { return "(SELECT 1 AS " + placeholder(i) + ")" }

// union reads the blocks of one placeholder: k1…, a1… and GROUPING values g1….
func (f *finishText) union(u union, index []int) string {
	var parts []string
	for i, block := range u.blocks {
		parts = append(parts, f.block(u, u.sets[i], f.b.blocks[block], index[block]))
	}
	return strings.Join(parts, " UNION ALL ")
}

// block prints the read of one block. Released integers are converted to the exact types here; everything above is the
// client's own text.
func (f *finishText) block(u union, set []int, k *block, number int) string {
	var outputs, arrays, names []string
	for i := 0; i < u.keys; i++ {
		at := slices.Index(set, i)
		if at < 0 {
			outputs = append(outputs, fmt.Sprintf("NULL::%s AS k%d", u.types[i], i+1))
			continue
		}
		g := k.keys[at]
		value := fmt.Sprintf("x.k%d::%s", at+1, g.TypeName())
		if g.collation != "" {
			value += " COLLATE " + g.collation
		}
		outputs = append(outputs, fmt.Sprintf("%s AS k%d", value, i+1))
	}
	for i := range k.keys {
		arrays = append(arrays, f.arg(FinishArg{Type: pgtype.TextArrayOID, Block: number, Key: i, Release: -1}, "text[]"))
		names = append(names, fmt.Sprintf("k%d", i+1))
	}
	constants := ""
	if k.src.empty {
		constants = k.emptyValues()
	}
	for i := range k.releases {
		if k.src.empty {
			break
		}
		arrays = append(arrays, f.arg(FinishArg{Type: pgtype.Int8ArrayOID, Block: number, Key: -1, Release: i}, "int8[]"))
		names = append(names, string(r(i)))
	}
	for _, d := range k.derived {
		if k.src.empty {
			break
		}
		oid, cast := uint32(pgtype.Int8ArrayOID), "int8[]"
		if d.what == DerivedStddev {
			oid, cast = pgtype.Float8ArrayOID, "float8[]"
		}
		arrays = append(arrays, f.arg(FinishArg{Type: oid, Block: number, Key: -1, Release: d.release, Derived: d.what}, cast))
		names = append(names, d.name)
	}
	for i, o := range k.outputs {
		outputs = append(outputs, fmt.Sprintf("%s AS a%d", query.Text(o), i+1))
	}
	for i, o := range k.intervals {
		outputs = append(outputs, fmt.Sprintf("%s AS i%d", query.Text(o), i+1))
	}
	for i, args := range u.grouping {
		bits := 0
		for _, a := range args {
			bits <<= 1
			if !slices.Contains(set, a) {
				bits |= 1
			}
		}
		outputs = append(outputs, fmt.Sprintf("%d AS g%d", bits, i+1))
	}
	if len(outputs) == 0 {
		outputs = []string{"1 AS one"}
	}
	if len(arrays) == 0 {
		return "SELECT " + strings.Join(outputs, ", ") + strings.Replace(constants, " CROSS JOIN", " FROM", 1)
	}
	return fmt.Sprintf("SELECT %s FROM ROWS FROM (%s) AS x (%s)", strings.Join(outputs, ", "), strings.Join(arrays, ", "), strings.Join(names, ", ")) + constants
}

// emptyValues stands for the releases of a block without rows: counts of 0, which outputs over no rows read.
func (k *block) emptyValues() string {
	var values []string
	for i := range k.releases {
		values = append(values, "0::pg_catalog.int8 AS "+string(r(i)))
	}
	for _, d := range k.derived {
		values = append(values, "0::pg_catalog.int8 AS "+d.name)
	}
	if len(values) == 0 {
		return ""
	}
	return " CROSS JOIN (SELECT " + strings.Join(values, ", ") + ") AS z"
}

// withoutPosition drops a position that points into a text which the client did not write.
func withoutPosition(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return err
	}
	e := *pe
	e.Position = 0
	return &e
}
