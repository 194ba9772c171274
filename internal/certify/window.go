package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// window is a window function over the rows that a unit has in a relation.
type window struct {
	fn      string // row_number, total (a sum over all rows), running (a sum up to and with this one)
	over    *relation
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

// over is a window function.
//
// Rule: partitioned by the unit (and more, of which nothing follows), in a relation that is split, so it is a function of the rows of
// one unit. row_number needs an order without ties (totalOrder), as do frames of rows; ranks and frames of peers do not. Sums are of
// integers and numerics, which are exact. Proof: rows that tie are numbered as the plan likes; ranks and peers depend on no choice.
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
	if r == nil || s.group != nil || w.Name != "" || w.Refname != "" || f.AggFilter != nil || f.AggDistinct || len(f.AggOrder) > 0 {
		return lacks("where it stands")
	}
	part, err := s.exprs(w.PartitionClause)
	if err != nil {
		return value{}, err
	}
	byUnit, only := r.kind == split && r.tie != nil && len(part) == 0, len(part) <= 1
	for _, p := range part {
		byUnit = byUnit || holdsUnit(p)
	}
	if r.kind != split || !byUnit {
		return lacks("not partitioned by the unit")
	}
	if _, err := s.exprs(w.PartitionClause); err != nil {
		return value{}, err
	}
	for _, n := range w.OrderClause {
		if _, err := s.exprs([]*pg.Node{n.GetSortBy().GetNode()}); err != nil {
			return value{}, err
		}
		if n.GetSortBy().GetUseOp() != nil {
			return lacks("an order by an operator of a name")
		}
	}
	for _, n := range []*pg.Node{w.StartOffset, w.EndOffset} {
		if n == nil {
			continue
		}
		if k, ok := integerConstant(n); !ok || k.Sign() < 0 {
			return lacks("a frame of no constant")
		}
	}
	if (fn == "row_number" || w.FrameOptions&frameRows != 0) && !s.totalOrder(w.OrderClause) {
		return lacks("an order with ties")
	}
	v := value{typ: "int8", notNull: true, integral: true, exact: true, span: between(one, least(mostRows, r.rows)), id: &id{}}
	switch {
	case (fn == "row_number" || fn == "rank" || fn == "dense_rank") && len(f.Args) == 0:
		if fn == "row_number" && only {
			v.window = &window{fn: fn, over: r}
		}
		return v, nil
	case fn == "count" && f.AggStar && len(f.Args) == 0:
		if w.FrameOptions&frameNonDefault != 0 {
			v.lo = zero // else the frame has the row itself
		}
		return v, nil
	case (fn == "sum" || fn == "min" || fn == "max" || fn == "count") && len(f.Args) == 1:
		return s.aggregateOver(fn, f, only, lacks)
	}
	return lacks("unknown")
}

// aggregateOver is an aggregate over a frame of a unit's rows.
func (s *scope) aggregateOver(fn string, f *pg.FuncCall, only bool, lacks func(string) (value, error)) (value, error) {
	x, err := s.expr(f.Args[0])
	if err != nil {
		return x, err
	}
	w, r := f.Over, s.windows
	v := value{typ: x.typ, span: x.span, exact: x.exact, vague: x.vague, collation: x.collation, integral: x.integral, id: &id{}}
	switch {
	case fn == "min" || fn == "max":
		if !x.exact {
			return lacks("of " + x.typ)
		}
		return v, nil
	case fn == "count":
		return value{typ: "int8", span: spanOf("int8"), exact: true, notNull: true, integral: true, id: &id{}}, nil
	case !isNumber(x.typ) || ranks[x.typ] > 4 || !x.finite():
		return lacks("of " + x.typ)
	}
	v.typ = map[string]string{"int2": "int8", "int4": "int8", "int8": "numeric", "numeric": "numeric"}[x.typ]
	v.span, v.exact = sums(x.span, r.rows, v.typ), v.typ == "int8"
	if !only || w.StartOffset != nil || w.EndOffset != nil {
		return v, nil
	}
	switch {
	case len(w.OrderClause) == 0 && w.FrameOptions&frameNonDefault == 0:
		v.window, v.ofUnit = &window{fn: "total", over: r, weighed: s.weight(f.Args[0]), parts: s.parts(f.Args[0])}, true
	case w.FrameOptions&^frameBetween == frameUnlimitedTo:
		v.window = &window{fn: "running", over: r, weighed: s.weight(f.Args[0])}
	}
	v.notNull = v.window != nil && x.there() // the frame has the row itself
	if v.notNull && x.lo.Sign() >= 0 {
		v.lo = x.lo
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
