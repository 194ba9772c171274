package certify

import (
	"math/big"
	"regexp"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// window is a window function over the rows that a unit has in a relation.
type window struct {
	// row_number, dense_rank, rows (their number), total (a sum over all rows), running (a sum up to and with this one)
	fn      string
	over    *relation
	order   []*id   // columns by which it is ordered
	weighed *weight // of running sums and totals of rows
	parts   []*id   // of totals: columns whose magnitudes it adds up
}

// weight is LEAST(column, limit).
type weight struct {
	of    *id
	limit *big.Rat
}

// Frame options of PostgreSQL (parsenodes.h).
const (
	frameNonDefault  = 0x00001
	frameRows        = 0x00004
	frameBetween     = 0x00010
	frameStartAll    = 0x00020
	frameEndHere     = 0x00400
	frameUnlimitedTo = frameNonDefault | frameRows | frameStartAll | frameEndHere
)

var (
	weighing      = newForm(`LEAST(_s, _k)::pg_catalog.int4`)
	magnitude     = newForm(`pg_catalog.abs((_s)::pg_catalog.numeric)`)
	bareMagnitude = newForm(`pg_catalog.abs(_s)`)
	addition      = newForm(`_a + _b`)
)

// positional are the window functions that are no aggregates.
var positional = map[string]struct {
	args   int  // at most
	total  bool // it depends on which of rows that tie comes first
	result value
}{
	"row_number":   {0, true, value{typ: "int8", exact: true, integral: true, span: between(one, mostRows)}},
	"rank":         {0, false, value{typ: "int8", exact: true, integral: true, span: between(one, mostRows)}},
	"dense_rank":   {0, false, value{typ: "int8", exact: true, integral: true, span: between(one, mostRows)}},
	"percent_rank": {0, false, value{typ: "float8", span: span{lo: zero, hi: one, tiny: new(big.Rat).Inv(power(2, 41))}}},
	"cume_dist":    {0, false, value{typ: "float8", span: span{lo: zero, hi: one, tiny: new(big.Rat).Inv(power(2, 41))}}},
	"ntile":        {1, true, value{typ: "int4", exact: true, integral: true}},
	"lag":          {2, true, value{}},
	"lead":         {2, true, value{}},
	"first_value":  {1, true, value{}},
	"last_value":   {1, true, value{}},
	"nth_value":    {2, true, value{}},
}

// over is a window function.
//
// Rule: partitioned by the unit (and more), in a split relation, it is a function of one unit's rows, if it hangs on no
// choice among rows that tie: ranks, frames of peers, or an order whose ties make no difference (totalOrder). No choice
// among rows of one unit either: without x, main's plan may choose another way for every unit. lag and its kin give
// NULL or a row's value; ntile and nth_value fail below 1. Sums of integers and numerics are exact, and so are moving
// frames (int8_avg_accum_inv, numeric_accum_inv and do_numeric_discard, which restarts the aggregate where digits
// behind the point would be lost). Proof: nodeWindowAgg.c, windowfuncs.c.
func (s *scope) over(fn string, f *pg.FuncCall) (value, error) {
	w, r := f.Over, s.windows
	if len(s.refined) > 0 { // windows are computed for all rows, whatever CASE they stand in
		all := *s
		all.refined = nil
		s = &all
	}
	lacks := func(why string) (value, error) {
		return value{}, missing(f.Location, "window function "+fn, "%s", why)
	}
	if r == nil || s.group != nil || w.Name != "" || w.Refname != "" || f.AggDistinct || len(f.AggOrder) > 0 ||
		f.FuncVariadic {
		return lacks("where it stands")
	}
	sort, err := s.sortKeys(w)
	if err != nil {
		return value{}, err
	}
	byUnit := r.kind == split && r.tie != nil && len(w.PartitionClause) == 0
	for _, p := range sort[:len(w.PartitionClause)] {
		byUnit = byUnit || holdsUnit(p)
	}
	if r.kind != split || !byUnit {
		return lacks("not partitioned by the unit")
	}
	for _, n := range []*pg.Node{w.StartOffset, w.EndOffset} {
		if n != nil && !offset(s.sql, n, sort[len(w.PartitionClause):]) {
			return lacks("a frame of no constant")
		}
	}
	p, isPositional := positional[fn]
	if (p.total || w.FrameOptions&frameRows != 0) && !s.totalOrder(w.OrderClause) {
		return lacks("an order with ties")
	}
	filter := conjuncts(f.AggFilter)
	if _, err := s.conditions(filter); err != nil {
		return value{}, err
	}
	args, err := s.exprs(f.Args)
	if err != nil {
		return value{}, err
	}
	if !isPositional {
		return s.aggregateOver(fn, f, args, filter, lacks)
	}
	if filter != nil || len(args) > p.args || f.AggStar {
		return lacks("arguments")
	}
	v := p.result
	v.id, v.notNull, v.hi = &id{}, true, least(v.hi, r.rows)
	if (fn == "row_number" || fn == "dense_rank") && len(w.PartitionClause) <= 1 {
		v.window = &window{fn: fn, over: r}
		for _, by := range sort[len(w.PartitionClause):] {
			v.window.order = append(v.window.order, by.told()...)
		}
	}
	if p.args == 0 {
		return v, nil
	}
	return ofRow(fn, f, args, v, lacks)
}

// ofRow is ntile, or what gives the value of another row.
func ofRow(fn string, f *pg.FuncCall, args []value, v value, lacks func(string) (value, error)) (value, error) {
	if len(args) == 0 || args[0].typ == "unknown" {
		return lacks("arguments")
	}
	k := one
	if fn == "ntile" || len(args) > 1 {
		var ok bool
		if k, ok = integerConstant(f.Args[len(args)-1]); !ok || !exactly(k).inside("int4") || k.Cmp(one) < 0 {
			return lacks("a number that is no constant, or below 1")
		}
	}
	if fn == "ntile" {
		v.span = between(one, k)
		return v, nil
	}
	x := args[0]
	return value{
		typ: x.typ, array: x.array, span: x.span, exact: x.exact, collation: x.collation, integral: x.integral,
		vague: x.vague, values: x.values, id: v.id,
	}, nil
}

// sortKeys derives what a window is partitioned and ordered by: values that can be compared.
func (s *scope) sortKeys(w *pg.WindowDef) ([]value, error) {
	nodes := w.PartitionClause[:len(w.PartitionClause):len(w.PartitionClause)]
	for _, n := range w.OrderClause {
		if nodes = append(nodes, n.GetSortBy().GetNode()); n.GetSortBy().GetUseOp() != nil {
			return nil, missing(-1, "ORDER BY USING", "")
		}
	}
	list, err := s.exprs(nodes)
	for i, v := range list {
		if !s.sorts(v) {
			return nil, missing(where(nodes[i]), "order", "of %s", v.typ)
		}
	}
	return list, err
}

// intervals are those of less than a thousand years, months and days, none below zero.
var intervals = regexp.MustCompile(`^(\d{1,3} (year|mon|day)s? ?)*(\d\d:\d\d:\d\d(\.\d{1,6})?)?$`)

// offset reports whether a frame may begin or end so far from a row.
//
// Rule: a constant not below zero: a number, of rows, of groups, or added to one; or an interval, added to dates and
// timestamps of years 1 to 9999. Proof: in_range of int.c, float.c, numeric.c fails for negative and NaN offsets alone;
// of date.c and timestamp.c also where a sum leaves 4714 BC to 294276.
func offset(sql string, n *pg.Node, order []value) bool {
	v, err := (&scope{checker: &checker{sql: sql}}).expr(n)
	if err != nil || !v.notNull || v.array {
		return false
	}
	if isNumber(v.typ) {
		return v.lo != nil && v.lo.Sign() >= 0 && !v.nan
	}
	unit := map[string]int64{"date": 1, "timestamp": 86400_000_000, "timestamptz": 86400_000_000}
	text := n.GetTypeCast().GetArg().GetAConst().GetSval().GetSval()
	if v.typ != "interval" || len(order) != 1 || unit[order[0].typ] == 0 || !intervals.MatchString(text) {
		return false
	}
	day := big.NewRat(unit[order[0].typ], 1)
	// 0001-01-01 to 9999-12-31
	return order[0].within(times(big.NewRat(-719_162, 1), day), times(big.NewRat(2_932_896, 1), day))
}

// aggregateOver is an aggregate over a frame of a unit's rows.
func (s *scope) aggregateOver(
	fn string, f *pg.FuncCall, args []value, filter []*pg.Node, lacks func(string) (value, error),
) (value, error) {
	w, r := f.Over, s.windows
	x := value{typ: "int4", span: exactly(one), notNull: true, exact: true}
	if len(args) == 1 && !f.AggStar {
		x = args[0]
	} else if len(args) > 0 || fn != "count" || !f.AggStar {
		return lacks("arguments")
	}
	itself := filter == nil && // the frame has the row
		(w.FrameOptions&frameNonDefault == 0 || w.FrameOptions&^frameBetween == frameUnlimitedTo)
	v, ok := aggregated(fn, x, r.rows, itself)
	if !ok || fn == "mode" {
		return lacks("of " + x.typ)
	}
	v.id = &id{}
	v.ofUnit = fn == "count" && len(w.PartitionClause) <= 1 && len(w.OrderClause) == 0 &&
		w.FrameOptions&frameNonDefault == 0
	if v.ofUnit && f.AggStar && itself && len(w.PartitionClause) == 1 {
		v.window = &window{fn: "rows", over: r}
	}
	if fn != "sum" || !itself || len(w.PartitionClause) > 1 || !x.finite() {
		return v, nil
	}
	switch {
	case len(w.OrderClause) == 0 && w.FrameOptions&frameNonDefault == 0:
		v.window, v.ofUnit, v.id = &window{fn: "total", over: r, weighed: s.weight(f.Args[0]), parts: s.parts(f.Args[0])},
			true, s.same(&pg.Node{Node: &pg.Node_FuncCall{FuncCall: f}})
	case w.FrameOptions&^frameBetween == frameUnlimitedTo:
		v.window = &window{fn: "running", over: r, weighed: s.weight(f.Args[0])}
	}
	return v, nil
}

// weight reads LEAST(column, limit)::int4 of a column that is no less than 0.
func (s *scope) weight(n *pg.Node) *weight {
	h := weighing.of(n)
	if h == nil {
		return nil
	}
	v, err := s.expr(h["_s"])
	k, ok := integerConstant(h["_k"])
	if err != nil || !ok || v.id == nil || !v.there() || v.lo == nil || v.lo.Sign() < 0 || k.Sign() < 0 {
		return nil
	}
	return &weight{v.id, k}
}

// parts reads abs(a::numeric) + abs(b::numeric) + …
func (s *scope) parts(n *pg.Node) []*id {
	h := magnitude.of(n)
	if h == nil {
		h = bareMagnitude.of(n)
	}
	if h != nil {
		if v, err := s.expr(h["_s"]); err == nil && v.id != nil && v.there() {
			return []*id{v.id}
		}
		return nil
	}
	if h := addition.of(n); h != nil {
		a, b := s.parts(h["_a"]), s.parts(h["_b"])
		if a != nil && b != nil {
			return append(a, b...)
		}
	}
	return nil
}
