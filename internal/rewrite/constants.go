package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// A relation of constants is what a statement itself gives: VALUES, generate_series, unnest of an array, and subqueries over
// those. It is evaluated on the shadow when the statement is planned, so that its rows, their number, and which columns are
// unique are known (P4); main gets literals.

// maxConstants bounds its rows: each is printed.
const maxConstants = 10000

// constantScope is where constants are built: nothing but parameters has a name there.
type constantScope struct{ b *builder }

func (s constantScope) Column(fields []string, location int) (*expr.Column, error) {
	return nil, s.b.refuseAt(pgerr.FeatureNotSupported, location, fmt.Sprintf("column %q cannot be used here", fields[len(fields)-1]),
		"Lists of values that stand beside private tables hold constants only.")
}

func (s constantScope) Parameter(n int) (uint32, *string, bool) { return (&scope{b: s.b}).Parameter(n) }

func (s constantScope) Literal(oid uint32, text string) (string, bool, error) {
	return (&scope{b: s.b}).Literal(oid, text)
}

func (s constantScope) Prints(oid uint32) bool { return (&scope{b: s.b}).Prints(oid) }

func (s constantScope) SubLink(l *pg_query.SubLink, _ []*expr.Expr) (*expr.Expr, error) {
	return nil, s.b.refuse(pgerr.FeatureNotSupported, &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}}, "a subquery cannot be used here",
		"Lists of values that stand beside private tables hold constants only.")
}

func (b *builder) constantExpr(n *pg_query.Node) (*expr.Expr, error) {
	x, err := expr.Build(n, constantScope{b})
	return x, b.refusal(err)
}

// valuesList is a VALUES list.
func (b *builder) valuesList(s *pg_query.SelectStmt) (*relation, error) {
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
	return b.listed(columns)
}

// listed makes a relation of columns given cell by cell.
func (b *builder) listed(columns [][]*pg_query.Node) (*relation, error) {
	alias := b.newAlias()
	rows := make([][]query.Scalar, len(columns[0]))
	var cols []*column
	var names []string
	for i, cells := range columns {
		// Columns of VALUES and arrays have the type that COALESCE would give their cells (select_common_type).
		typed, err := b.constantExpr(&pg_query.Node{Node: &pg_query.Node_CoalesceExpr{CoalesceExpr: &pg_query.CoalesceExpr{Args: cells}}})
		if err != nil {
			return nil, err
		}
		for j, n := range cells {
			x, err := b.constantExpr(n)
			if err != nil {
				return nil, err
			}
			rows[j] = append(rows[j], query.F("({})::{}", x.SQL(), typed.TypeName()))
		}
		name := fmt.Sprintf("column%d", i+1)
		names = append(names, query.Quote(name))
		cols = append(cols, &column{name: name, x: typed.AsColumn(alias.Column(query.Quote(name)), name)})
	}
	return b.fold(&query.Values{Rows: rows, As: alias, Columns: names}, cols)
}

// function is generate_series or unnest of constants in FROM.
func (b *builder) function(n *pg_query.Node, f *pg_query.RangeFunction) (*relation, error) {
	unsupported := b.refuse(pgerr.FeatureNotSupported, n, "this kind of FROM item cannot be combined with private tables", "Use tables, subqueries, joins, VALUES, generate_series or unnest(ARRAY[…]).")
	if f.Ordinality || f.IsRowsfrom || len(f.Coldeflist) > 0 || len(f.Functions) != 1 {
		return nil, unsupported
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || call.AggStar || call.AggDistinct || call.FuncVariadic || call.Over != nil || call.AggFilter != nil || len(call.AggOrder) > 0 {
		return nil, unsupported
	}
	name := functionName(call)
	switch {
	case name == "unnest" && len(call.Args) == 1 && len(call.Args[0].GetAArrayExpr().GetElements()) > 0:
		r, err := b.listed([][]*pg_query.Node{call.Args[0].GetAArrayExpr().Elements})
		return r.named(name), err
	case name == "generate_series" && (len(call.Args) == 2 || len(call.Args) == 3):
		r, err := b.series(call)
		return r.named(name), err
	}
	return nil, unsupported
}

// named calls a function's table and its one column after the function.
func (r *relation) named(name string) *relation {
	if r != nil {
		r.cols[0].name, r.cols[0].table = name, name
	}
	return r
}

// series is generate_series over whole numbers, numerics or times.
func (b *builder) series(call *pg_query.FuncCall) (*relation, error) {
	first, err := b.constantExpr(call.Args[0])
	if err != nil {
		return nil, err
	}
	last, err := b.constantExpr(call.Args[1])
	if err != nil {
		return nil, err
	}
	types, ok := seriesTypes(first.Type(), last.Type())
	if !ok || schema.IsTime(types[0]) && len(call.Args) != 3 {
		return nil, b.refuse(pgerr.FeatureNotSupported, call.Args[0], "generate_series of these types cannot be combined with private tables", "Use integers, numerics, dates or timestamps.")
	}
	var args []query.Scalar
	var bounds expr.Interval
	for i, n := range call.Args {
		name := strings.TrimPrefix(typeName(types[i/2]), "pg_catalog.")
		x, err := b.constantExpr(&pg_query.Node{Node: &pg_query.Node_TypeCast{TypeCast: &pg_query.TypeCast{Arg: n, TypeName: &pg_query.TypeName{
			Names: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(name)}, Typemod: -1,
		}}}})
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
	alias := b.newAlias()
	x := &expr.Column{Ref: alias.Column("s"), Type: types[0], Typmod: -1, TypeName: typeName(types[0]), Bounds: bounds, Enforced: true, Scale: -1, DeterministicCollation: true}
	if schema.IsInteger(types[0]) {
		x.Scale = 0
	}
	// In the SELECT list it stops at the limit; in FROM it would be computed whole.
	series := query.F("pg_catalog.generate_series({})", query.List{Between: ", ", Of: args})
	from := &query.Select{Outputs: []query.Output{{X: series, Name: "s"}}, Limit: maxConstants + 1}
	return b.fold(&query.Derived{Query: from, As: alias}, []*column{{x: x}})
}

// seriesTypes gives the types of generate_series' bounds and of its step.
func seriesTypes(first, last uint32) (types [2]uint32, ok bool) {
	for _, oid := range []uint32{pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID} {
		within := func(t uint32) bool {
			return t == oid || schema.IsInteger(t) && (oid != pgtype.Int4OID || t == pgtype.Int2OID)
		}
		if within(first) && within(last) {
			return [2]uint32{oid, oid}, true
		}
	}
	for _, oid := range []uint32{pgtype.TimestampOID, pgtype.TimestamptzOID} {
		within := func(t uint32) bool { return t == oid || t == pgtype.DateOID || schema.IsText(t) }
		if within(first) && within(last) && (first == oid || last == oid || first == pgtype.DateOID && oid == pgtype.TimestamptzOID || last == pgtype.DateOID && oid == pgtype.TimestamptzOID) {
			return [2]uint32{oid, pgtype.IntervalOID}, true
		}
	}
	return types, false
}

// fold evaluates a FROM item without tables on the shadow. cols describe its columns; their references hold within it.
func (b *builder) fold(from query.Source, cols []*column) (*relation, error) {
	r := &relation{constants: true, proven: true}
	alias := b.newAlias()
	var outputs []query.Scalar
	var names []string
	var types []uint32
	for i, c := range cols {
		n := *c
		x := *c.x
		name := fmt.Sprintf("c%d", i+1)
		x.Ref, x.Source, x.Domain = alias.Column(name), &n, []string{} // known at Plan
		n.x = &x
		r.cols = append(r.cols, &n)
		outputs, names, types = append(outputs, c.x.Ref), append(names, name), append(types, c.x.Type)
	}
	for _, c := range cols {
		alike, err := spelledAlike(c.x.Ref, c.x)
		if err != nil {
			alike = query.Raw("NULL::" + c.x.TypeName)
		}
		outputs, types = append(outputs, alike), append(types, c.x.Type)
	}
	var rows [][]*Canonical
	if b.lookup != nil {
		var err error
		list := &query.Select{Outputs: unnamed(outputs), From: from, Limit: maxConstants + 1}
		if rows, err = b.lookup.Rows(Query{SQL: query.Print(list).Text, Types: types}); err != nil {
			return nil, err
		}
	}
	if len(rows) > maxConstants {
		return nil, pgerr.New(pgerr.StatementTooComplex, fmt.Sprintf("a list of values beside private tables has more than %d rows", maxConstants), pgerr.Hint("Narrow it."))
	}
	r.rows = max(1, int64(len(rows)))
	r.extent, r.steps = r.rows, expr.MulSteps(r.rows, constantSteps)
	r.empty = b.lookup != nil && len(rows) == 0
	r.from = &query.Values{Rows: r.literals(rows), As: alias, Columns: names}
	b.constantKeys(r, rows)
	r.plan = planned(fmt.Sprintf("constants, rows: %d", len(rows)))
	return r, nil
}

// literals prints the rows of a relation of constants.
func (r *relation) literals(rows [][]*Canonical) [][]query.Scalar {
	if len(rows) == 0 {
		rows = [][]*Canonical{make([]*Canonical, len(r.cols))}
	}
	lists := make([][]query.Scalar, len(rows))
	for j, row := range rows {
		for i, c := range r.cols {
			text := "NULL"
			if row[i] != nil {
				text = query.Literal(string(*row[i]))
			}
			lists[j] = append(lists[j], query.Raw(text+"::"+c.x.TypeName))
		}
	}
	return lists
}

// constantKeys reads domains, NULLs and unique sets off the rows: the values, then the same spelled alike. That the sets are unique
// is what main proves of the very literals that it gets (P25). Without rows to read, before Plan, every column may turn out to be unique.
func (b *builder) constantKeys(r *relation, rows [][]*Canonical) {
	width := len(r.cols)
	distinct := func(at ...int) bool {
		seen := map[string]bool{}
		for _, row := range rows {
			key := ""
			for _, i := range at {
				if row[width+i] == nil {
					return false
				}
				key += fmt.Sprintf("%q ", *row[width+i])
			}
			if seen[key] {
				return false
			}
			seen[key] = true
		}
		return true
	}
	unique := func(cols ...*column) {
		set := uniqueSet{cols: cols}
		r.order, r.orderProofs = nil, nil
		var refs []query.Scalar
		for _, c := range cols {
			refs = append(refs, c.x.Ref)
		}
		if len(rows) > 1 {
			set.proof = &Proof{Of: "the listed values", Values: query.Print(query.Once(r.from, refs))}
			r.orderProofs = []Proof{*set.proof}
		}
		r.unique, r.order = append(r.unique, set), refs
	}
	var alone []bool
	for i, c := range r.cols {
		c.x.Nullable = b.lookup == nil
		listed := map[Canonical]bool{}
		for _, row := range rows {
			if row[i] == nil {
				c.x.Nullable = true
			} else if !listed[*row[i]] {
				listed[*row[i]] = true
				c.x.Domain = append(c.x.Domain, string(*row[i]))
			}
		}
		alone = append(alone, distinct(i))
		if alone[i] {
			unique(c)
		}
		for j, d := range r.cols[:i] {
			if !alone[i] && !alone[j] && distinct(i, j) {
				unique(d, c)
			}
		}
	}
	if len(rows) == 1 {
		r.unique = append(r.unique, uniqueSet{})
	}
}

// oneRow is the one row without columns of a SELECT without FROM.
func (b *builder) oneRow() *relation {
	return &relation{from: oneValue(b.newAlias()), constants: true, rows: 1, proven: true, extent: 1, steps: constantSteps, unique: []uniqueSet{{}}, order: []query.Scalar{}, plan: planned("constants, rows: 1")}
}

// foldable says that the outputs of a relation of constants read nothing else.
func (r *relation) foldable(outputs []*expr.Expr) bool {
	if !r.constants {
		return false
	}
	for _, x := range append(slices.Clone(r.conds), outputs...) {
		for _, c := range x.Columns() {
			if source, ok := c.Source.(*column); !ok || !slices.Contains(r.cols, source) {
				return false
			}
		}
	}
	return true
}
