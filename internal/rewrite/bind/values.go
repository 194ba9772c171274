package bind

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// valuesList binds a VALUES list.
func (b *Binder) valuesList(s *pg_query.SelectStmt) (*relation.Relation, error) {
	columns := make([][]*pg_query.Node, len(s.ValuesLists[0].GetList().GetItems()))
	for _, row := range s.ValuesLists {
		items := row.GetList().GetItems()
		if len(items) != len(columns) {
			return nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length")
		}
		for i, n := range items {
			columns[i] = append(columns[i], n)
		}
	}
	return b.listedRows(columns)
}

// listedRows makes a relation of columns given cell by cell.
func (b *Binder) listedRows(columns [][]*pg_query.Node) (*relation.Relation, error) {
	alias := b.NewAlias()
	rows := make([][]query.Scalar, len(columns[0]))
	var cols []*relation.Column
	var names []string
	for i, cells := range columns {
		// Columns of VALUES and arrays have the type that COALESCE would give their cells (select_common_type).
		typed, err := b.ConstantOf(cells)
		if err != nil {
			return nil, err
		}
		for j, n := range cells {
			x, err := b.ConstantExpr(n)
			if err != nil {
				return nil, err
			}
			rows[j] = append(rows[j], query.F("({})::{}", x.SQL(), typed.TypeName()))
		}
		name := fmt.Sprintf("column%d", i+1)
		names = append(names, sqltext.Ident(name))
		cols = append(cols, &relation.Column{Name: name, Value: typed.AsColumn(alias.Column(sqltext.Ident(name)), name)})
	}
	return b.FoldConstants(&query.Values{Rows: rows, As: alias, Columns: names}, cols)
}

// functionRows binds generate_series or unnest of constants in FROM.
func (b *Binder) functionRows(n *pg_query.Node, f *pg_query.RangeFunction) (*relation.Relation, error) {
	unsupported := b.Refuse(refusal.FromItem, n, "this kind of FROM item cannot be combined with private tables",
		"Use tables, subqueries, joins, VALUES, generate_series or unnest(ARRAY[…]).")
	if f.Ordinality || f.IsRowsfrom || len(f.Coldeflist) > 0 || len(f.Functions) != 1 {
		return nil, unsupported
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || call.AggStar || call.AggDistinct || call.FuncVariadic || call.Over != nil || call.AggFilter != nil ||
		len(call.AggOrder) > 0 {
		return nil, unsupported
	}
	name := sqltree.FunctionName(call)
	switch {
	case name == "unnest" && len(call.Args) == 1 && len(call.Args[0].GetAArrayExpr().GetElements()) > 0:
		r, err := b.listedRows([][]*pg_query.Node{call.Args[0].GetAArrayExpr().Elements})
		return r.NameAfterFunction(name), err
	case name == "generate_series" && (len(call.Args) == 2 || len(call.Args) == 3):
		r, err := b.seriesRows(call)
		return r.NameAfterFunction(name), err
	}
	return nil, unsupported
}

// seriesRows binds generate_series over whole numbers, numerics or times.
func (b *Binder) seriesRows(call *pg_query.FuncCall) (*relation.Relation, error) {
	first, err := b.ConstantExpr(call.Args[0])
	if err != nil {
		return nil, err
	}
	last, err := b.ConstantExpr(call.Args[1])
	if err != nil {
		return nil, err
	}
	types, ok := seriesTypes(first.Type(), last.Type())
	if !ok || pgresolve.IsTime(types[0]) && len(call.Args) != 3 {
		return nil, b.Refuse(refusal.FromItem, call.Args[0],
			"generate_series of these types cannot be combined with private tables",
			"Use integers, numerics, dates or timestamps.")
	}
	var args []query.Scalar
	var bounds bounds.Interval
	for i, n := range call.Args {
		name := strings.TrimPrefix(schema.TypeName(types[i/2]), "pg_catalog.")
		x, err := b.ConstantExpr(sqltree.Cast(n, name))
		if err != nil {
			return nil, err
		}
		switch i {
		case 0:
			bounds = x.Bounds()
		case 1:
			bounds = bounds.Hull(x.Bounds())
		}
		args = append(args, x.SQL())
	}
	alias := b.NewAlias()
	x := &expr.Column{
		Ref: alias.Column("s"), Type: types[0], Typmod: -1, TypeName: schema.TypeName(types[0]),
		Bounds: bounds, Enforced: true, Scale: -1, DeterministicCollation: true,
	}
	if pgresolve.IsInt(types[0]) {
		x.Scale = 0
	}
	// In the SELECT list it stops at the limit; in FROM it would be computed whole.
	series := query.F("pg_catalog.generate_series({})", query.List{Between: ", ", Of: args})
	from := &query.Select{Outputs: []query.Output{{X: series, Name: "s"}}, Limit: relation.MaxConstants + 1}
	return b.FoldConstants(&query.Derived{Query: from, As: alias}, []*relation.Column{{Value: x}})
}

// seriesTypes returns the types of generate_series' bounds and of its step.
func seriesTypes(first, last uint32) (types [2]uint32, ok bool) {
	for _, oid := range []uint32{pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID} {
		within := func(t uint32) bool {
			return t == oid || pgresolve.IsInt(t) && (oid != pgtype.Int4OID || t == pgtype.Int2OID)
		}
		if within(first) && within(last) {
			return [2]uint32{oid, oid}, true
		}
	}
	for _, oid := range []uint32{pgtype.TimestampOID, pgtype.TimestamptzOID} {
		within := func(t uint32) bool { return t == oid || t == pgtype.DateOID || pgresolve.IsText(t) }
		if within(first) && within(last) && (first == oid || last == oid || first == pgtype.DateOID &&
			oid == pgtype.TimestamptzOID || last == pgtype.DateOID && oid == pgtype.TimestamptzOID) {
			return [2]uint32{oid, pgtype.IntervalOID}, true
		}
	}
	return types, false
}
