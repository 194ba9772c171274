package finish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// finishText prints the reads of released values and collects their parameters.
type finishText struct {
	planned *Planned
	args    []FinishArg
}

func (f *finishText) arg(a FinishArg, cast string) string {
	f.args = append(f.args, a)
	return fmt.Sprintf("pg_catalog.unnest($%d::pg_catalog.%s)", len(f.args), cast)
}

// union reads the blocks of one placeholder: k1…, a1… and GROUPING values g1….
func (f *finishText) union(u union, index []int) string {
	var parts []string
	for i, block := range u.blocks {
		parts = append(parts, f.block(u, u.sets[i], f.planned.Blocks[block], index[block]))
	}
	return strings.Join(parts, " UNION ALL ")
}

// block prints the read of one block. Released integers are converted to the exact types here; everything above is the
// client's own text.
func (f *finishText) block(u union, set []int, k *release.Block, number int) string {
	var outputs, arrays, names []string
	for i := 0; i < u.keys; i++ {
		at := slices.Index(set, i)
		if at < 0 {
			outputs = append(outputs, fmt.Sprintf("NULL::%s AS k%d", u.types[i], i+1))
			continue
		}
		g := k.Keys[at]
		value := fmt.Sprintf("x.k%d::%s", at+1, g.TypeName())
		if g.ColumnCollation != "" {
			value += " COLLATE " + g.ColumnCollation
		}
		outputs = append(outputs, fmt.Sprintf("%s AS k%d", value, i+1))
	}
	for i := range k.Keys {
		arrays = append(arrays, f.arg(FinishArg{Type: pgtype.TextArrayOID, Block: number, Key: i, Release: -1}, "text[]"))
		names = append(names, fmt.Sprintf("k%d", i+1))
	}
	constants := ""
	if k.Source.Empty {
		constants = emptyValues(k)
	}
	for i := range k.Releases {
		if k.Source.Empty {
			break
		}
		arrays = append(arrays, f.arg(FinishArg{Type: pgtype.Int8ArrayOID, Block: number, Key: -1, Release: i}, "int8[]"))
		names = append(names, string(release.ReleasedColumn(i)))
	}
	for _, d := range k.Derived {
		if k.Source.Empty {
			break
		}
		oid, cast := uint32(pgtype.Int8ArrayOID), "int8[]"
		if d.Quantity == aggregate.DerivedStddev {
			oid, cast = pgtype.Float8ArrayOID, "float8[]"
		}
		arrays = append(arrays, f.arg(FinishArg{Type: oid, Block: number, Key: -1, Release: d.Release, Derived: d.Quantity}, cast))
		names = append(names, d.Name)
	}
	for i, o := range k.Outputs {
		outputs = append(outputs, fmt.Sprintf("%s AS a%d", query.Text(o), i+1))
	}
	for i, o := range k.Intervals {
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

// Finish is the client's statement with each block replaced by unnest() of released values.
type Finish struct {
	SQL  string
	On   schema.Route // RouteShadow, or RoutePublic where it reads public tables
	Args []FinishArg
}

// FinishArg says what a finish parameter is bound to: a client parameter, a block's key column, a block's release, or a
// derived quantity of a release (docs/mechanisms.md, section 8).
type FinishArg struct {
	Type      uint32 // of the parameter; arrays for keys (text[]) and releases (int8[])
	Parameter int    // 1-based client parameter, or 0
	Block     int
	Key       int               // index into KeyTypes, or -1
	Release   int               // index into Releases, or -1
	Derived   aggregate.Derived // of Release; empty: the released integer itself
}

// emptyValues stands for the releases of a block without rows: counts of 0, which outputs over no rows read.
func emptyValues(k *release.Block) string {
	var values []string
	for i := range k.Releases {
		values = append(values, "0::pg_catalog.int8 AS "+string(release.ReleasedColumn(i)))
	}
	for _, d := range k.Derived {
		values = append(values, "0::pg_catalog.int8 AS "+d.Name)
	}
	if len(values) == 0 {
		return ""
	}
	return " CROSS JOIN (SELECT " + strings.Join(values, ", ") + ") AS z"
}
