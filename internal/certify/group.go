package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

var aggregateNames = []string{
	"count", "sum", "min", "max", "mode", "bool_or", "bool_and", "avg", "array_agg",
	"var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "percentile_disc", "percentile_cont",
}

// aggregates reports whether an expression has an aggregate of its own query.
func aggregates(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case *pg.Node_ResTarget:
		return aggregates(e.ResTarget.Val)
	case *pg.Node_FuncCall:
		f, _ := name(e.FuncCall.Funcname)
		return e.FuncCall.Over == nil && (slices.Contains(aggregateNames, f) || e.FuncCall.AggStar) ||
			slices.ContainsFunc(e.FuncCall.Args, aggregates)
	case *pg.Node_TypeCast:
		return aggregates(e.TypeCast.Arg)
	case *pg.Node_AExpr:
		return e.AExpr.Lexpr != nil && aggregates(e.AExpr.Lexpr) || e.AExpr.Rexpr != nil && aggregates(e.AExpr.Rexpr)
	case *pg.Node_CoalesceExpr:
		return slices.ContainsFunc(e.CoalesceExpr.Args, aggregates)
	case *pg.Node_MinMaxExpr:
		return slices.ContainsFunc(e.MinMaxExpr.Args, aggregates)
	case *pg.Node_NullTest:
		return aggregates(e.NullTest.Arg)
	case *pg.Node_BoolExpr:
		return slices.ContainsFunc(e.BoolExpr.Args, aggregates)
	case *pg.Node_CaseExpr:
		for _, w := range e.CaseExpr.Args {
			if aggregates(w.GetCaseWhen().Expr) || aggregates(w.GetCaseWhen().Result) {
				return true
			}
		}
		return e.CaseExpr.Defresult != nil && aggregates(e.CaseExpr.Defresult)
	}
	return false
}

// grouping is what a query with GROUP BY or aggregates is made of.
type grouping struct {
	body   *relation
	inner  *scope // where arguments of aggregates stand
	keys   []groupKey
	list   []value
	result *relation
	group  *id
	picked []*id // least or greatest of values that are a key by themselves
}

// groupKey is an expression of GROUP BY.
type groupKey struct {
	of *pg.Node
	value
}

// grouping finds the keys, and what kind the groups are.
//
// Rule: groups of public rows are public. Where a key is the unit, or the query stands beside a row of the unit, groups
// of a split relation are split, with the other keys as a key, and one row per unit if these are ofUnit. Else they are
// grouped. Proof: such a group is computed of rows of one unit alone.
func (s *scope) grouping(q *pg.SelectStmt) (*grouping, error) {
	g := &grouping{body: s.windows, inner: s, group: &id{}}
	for _, n := range q.GroupClause {
		if k := n.GetAConst().GetIval(); n.GetAConst() != nil {
			if i := int(k.GetIval()); k != nil && i >= 1 && i <= len(q.TargetList) {
				n = q.TargetList[i-1].GetResTarget().Val
			} else {
				return nil, missing(-1, "GROUP BY", "position")
			}
		}
		v, err := s.exprs([]*pg.Node{n})
		if err != nil {
			return nil, err
		}
		if v[0].id == nil {
			v[0].id = &id{}
		}
		v[0].moves, v[0].bin = nil, q == s.top && slices.ContainsFunc(s.bins, func(b *pg.Node) bool { return same(n, b) })
		if !v[0].exact { // one of equal values stands for its group
			if v[0].vague = true; !isNumber(v[0].typ) && v[0].equality == "" {
				return nil, missing(where(n), "GROUP BY of a type whose equal values differ", "%s", v[0].typ)
			}
		}
		v[0].notNull = v[0].there() // a group is made of rows that are left: PostgreSQL computes nothing over it before
		v[0].window, v[0].total, v[0].dominated, v[0].pieces, v[0].def = nil, nil, nil, nil, nil
		v[0].squares = nil
		g.keys = append(g.keys, groupKey{n, v[0]})
		g.list = append(g.list, v[0])
	}
	r := *g.body
	r.columns, r.keys, r.list, r.alike, r.scan, r.source = nil, nil, nil, nil, nil, nil
	constant := !slices.ContainsFunc(g.list, func(v value) bool { return !v.ofUnit })
	switch {
	case r.kind == public:
	case r.kind == split && (r.tie != nil || slices.ContainsFunc(g.list, holdsUnit)):
		if constant {
			r.rows = one
		}
	default:
		r.kind = grouped
		for i := range g.keys {
			g.keys[i].unit, g.keys[i].ident = false, ""
		}
	}
	if len(q.GroupClause) == 0 {
		r.rows = one
	}
	g.result = &r
	return g, nil
}

// keyed notes the keys of the groups.
//
// Rule: no two groups are alike in all keys, NULL equal to NULL, by the equality of oneEquality; nor in the least value
// of a key of the rows of one column, nor in a key of the rows among the keys. Proof: GROUP BY; no row is in two
// groups.
func (g *grouping) keyed(r *relation) {
	k := key{nulls: true}
	for _, v := range g.list {
		if !oneEquality(v) {
			return
		}
		if !(holdsUnit(v) && r.kind == split) {
			k.columns = append(k.columns, v.id)
		}
	}
	r.keys = []key{k}
	for _, o := range g.body.keys {
		if r.kind == g.body.kind && within(o.columns, k.columns) { // else a key within a unit alone
			r.keys = append(r.keys, o)
		}
	}
	for _, p := range g.picked {
		r.keys = append(r.keys, key{columns: []*id{p}, nulls: true})
	}
	if r.kind == split && r.rows == one {
		for i := range r.columns {
			r.columns[i].value.ofUnit = r.tie == nil
		}
	}
}

// told are the columns that the keys tell.
func (g *grouping) told() (all []*id) {
	for _, v := range g.list {
		all = append(all, v.told()...)
	}
	return all
}

// expr derives a key or an aggregate. ok is false for an expression that is neither, whose parts are.
func (g *grouping) expr(s *scope, n *pg.Node) (v value, ok bool, err error) {
	for _, k := range g.keys {
		if same(k.of, n) {
			return k.value, true, nil
		}
	}
	if c := n.GetColumnRef(); c != nil {
		own := &scope{checker: s.checker, items: g.inner.items}
		if _, err := own.column(c); err == nil {
			return v, false, missing(c.Location, "column outside of GROUP BY", "%s", spelledName(c.Fields))
		}
		return v, false, nil
	}
	f := n.GetFuncCall()
	if f == nil || f.Over != nil {
		return v, false, nil
	}
	fn, _ := name(f.Funcname)
	if !slices.Contains(aggregateNames, fn) {
		return v, false, nil
	}
	wall := g.inner.outer
	for wall != nil && !wall.wall {
		wall = wall.outer
	}
	before := wall.reached
	wall.reached = false
	v, err = g.aggregate(fn, f)
	if err == nil && wall.reached { // over its columns alone, it would be an aggregate of that query
		err = missing(f.Location, "aggregate over columns of a query around", "%s", fn)
	}
	wall.reached = before
	return v, true, err
}

// aggregate is an aggregate function.
func (g *grouping) aggregate(fn string, f *pg.FuncCall) (value, error) {
	args := f.Args
	if f.AggWithinGroup && len(f.AggOrder) == 1 && f.AggOrder[0].GetSortBy().GetUseOp() == nil &&
		(fn == "mode" && len(args) == 0 || percentiles[fn]) {
		args = []*pg.Node{f.AggOrder[0].GetSortBy().GetNode()}
	} else if f.AggWithinGroup || len(f.AggOrder) > 0 {
		return value{}, missing(f.Location, "aggregate "+fn+" with an order", "")
	}
	if f.FuncVariadic || f.AggStar && fn != "count" || f.AggStar != (len(args) == 0) || len(args) > 1 {
		return value{}, missing(f.Location, "aggregate "+fn, "arguments")
	}
	var filter []*pg.Node
	if f.AggFilter != nil {
		filter = conjuncts(f.AggFilter)
	}
	if _, err := g.inner.conditions(filter); err != nil {
		return value{}, err
	}
	x := value{typ: "int4", span: exactly(one), notNull: true, exact: true}
	if len(args) == 1 {
		v, err := g.inner.expr(args[0])
		if err != nil {
			return v, err
		}
		x = v
	}
	if g.body.kind == grouped {
		if fn == "sum" && x.influence != nil && f.AggFilter == nil && !f.AggDistinct {
			g.inner.applied = "resummed"
			return g.resummed(x), nil
		}
		return value{}, missing(f.Location, "aggregate "+fn+" of aggregates", "")
	}
	// which of equal values stays is not seen
	if f.AggDistinct && (x.array || !x.exact && !(fn == "count" && (sortable[x.typ] || blanked(x.typ)))) {
		return value{}, missing(f.Location, "aggregate "+fn+" DISTINCT", "of %s", x.typ)
	}
	rule, derive := "aggregated", g.withinUnit
	if g.result.kind == grouped {
		rule, derive = "overUnits", g.overUnits
	}
	v, err := derive(fn, f, x, filter)
	g.inner.applied = rule
	return v, err
}

// resummed is the sum of integers of a grouped relation, over coarser groups.
//
// Rule: a group moves by what all rows move together, or by Delta in each of Groups rows; where its keys hold those of
// the relation, or of each part of a UNION ALL, by Place, and by Delta where Squares are known. Proof: a sum is linear;
// missing rows count as zeros; rows alike in all keys share a place. Where Squares are known one part alone moves, and
// its rows differ in its keys.
func (g *grouping) resummed(x value) value {
	i := x.influence
	delta, squares := least(i.Total, times(i.Delta, i.Groups)), (*big.Rat)(nil)
	for _, k := range g.body.groups() {
		if k.nulls && within(k.columns, g.told()) {
			delta = least(delta, i.Place)
			if squares = i.Squares; squares != nil {
				delta = least(delta, i.Delta)
			}
		}
	}
	v := value{typ: "numeric", notNull: x.notNull && len(g.list) > 0, integral: x.integral}
	v.influence = &Influence{
		Delta: delta, Place: i.Total, Total: i.Total, Groups: i.Groups, Squares: squares, shares: i.shares,
	}
	if len(g.list) == 0 {
		v.influence.Groups = least(i.Groups, one)
	}
	return v
}

// overUnits is an aggregate over rows of many units.
//
// Rule: count and sum add up values (1, or the argument) of magnitude m at most. x moves a group by at most the sum of
// magnitudes of its rows there: m times their number, which is 1 if the group's keys hold a key of the unit's rows; all
// groups by the sum over all its rows (value.magnitudes); in no more groups than it has rows, or than that sum of
// integers, or one if the keys are ofUnit. count(DISTINCT v) likewise with m = 1: without x, a value is gone only if x
// has it. The squares of a sum are those of its argument where the group's keys hold a key of the unit's rows. Proof:
// linearity; no more groups than keys have values; of a nested relation at most rows of x are missing.
func (g *grouping) overUnits(fn string, f *pg.FuncCall, x value, filter []*pg.Node) (value, error) {
	if fn != "count" && (fn != "sum" || f.AggDistinct) {
		return value{}, missing(f.Location, "aggregate "+fn+" over units", "")
	}
	if fn == "sum" && !summable(x) {
		return value{}, missing(f.Location, "aggregate sum of "+x.typ, "")
	}
	of := g.totals
	rows := g.body.rows
	for _, n := range filter {
		rows = least(rows, g.positive(n, of))
	}
	each, total := one, rows
	if fn == "sum" {
		each, total = x.largest(), x.magnitudes(rows, of)
	}
	var have, open []*id
	single, places, bins := true, one, slices.ContainsFunc(g.list, func(k value) bool { return k.bin })
	for _, k := range g.list {
		if have = append(have, k.told()...); k.public && !k.bin || bins && !k.bin {
			open = append(open, k.told()...)
		}
		single = single && k.ofUnit
		places = times(places, k.places())
	}
	within := func(have []*id) *big.Rat {
		if g.body.unique(have, g.inner.presentColumn) {
			return least(rows, one)
		}
		return rows
	}
	groups := least(rows, places)
	if fn == "sum" {
		groups = least(groups, x.moves)
	}
	if isInteger(x.typ) {
		groups = least(groups, total)
	}
	if single {
		groups = least(groups, one)
	}
	v := value{typ: "int8", notNull: fn == "count" || x.there() && filter == nil &&
		len(g.list) > 0, integral: fn == "count" || x.integral, influence: &Influence{
		Delta: least(total, times(within(have), each)), Place: least(total, times(within(open), each)), Groups: groups,
	}}
	v.influence.Total = least(total, times(v.influence.Delta, groups))
	if fn == "sum" && g.body.kind == split && g.body.unique(have, g.inner.presentColumn) {
		v.influence.Squares = x.squares
	}
	v.influence.shares = g.shares(fn == "sum", x, each, filter)
	if fn == "sum" && (x.typ == "int8" || x.typ == "numeric") {
		if v.typ = "numeric"; x.finite() {
			v.span = sums(x.span, nil)
		}
	}
	return v, nil
}

// places bounds the number of values of a key, NULL among them, in the rows of a unit.
func (v value) places() *big.Rat {
	n := v.values
	if isInteger(v.typ) {
		n = least(n, new(big.Rat).Add(new(big.Rat).Sub(v.hi, v.lo), one))
	}
	if v.typ == "bool" {
		n = least(n, big.NewRat(2, 1))
	}
	if !v.there() {
		n = plus(n, one)
	}
	return least(n, v.few)
}

// totals bounds the sum of magnitudes of a column over the rows of a unit.
func (g *grouping) totals(c *id) *big.Rat {
	for _, o := range g.inner.allColumns() {
		if o.value.id == c {
			return least(o.value.total, times(g.body.rows, o.value.largest()))
		}
	}
	return nil
}

// positive bounds how many rows of a unit fulfil «x > 0», of an integer x: the sum of its magnitudes.
func (g *grouping) positive(n *pg.Node, of func(*id) *big.Rat) *big.Rat {
	h := above0.of(n)
	if h == nil {
		return nil
	}
	v, err := g.inner.expr(h["_x"])
	if k, ok := integerConstant(h["_k"]); err != nil || !ok || k.Sign() < 0 || !isInteger(v.typ) {
		return nil
	}
	return v.magnitudes(g.body.rows, of)
}

var above0 = newForm(`_x > _k`)

func (s *scope) allColumns() (all []column) {
	for _, i := range s.items {
		all = append(all, i.columns...)
	}
	return all
}

func (s *scope) presentColumn(c *id) bool {
	return slices.ContainsFunc(s.allColumns(), func(o column) bool { return o.value.id == c && o.value.there() })
}
