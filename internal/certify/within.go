package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// withinUnit is an aggregate over rows of one unit, or public ones.
//
// Rule: count is at most the number of rows, and 1 at least without FILTER; sums of integers and numerics are exact, and at most
// that many times the largest; min, max and mode of exact types are one of the values; bool_or and bool_and of course. All are functions
// of the bag of rows. Sums of floats are not.
func (g *grouping) withinUnit(fn string, f *pg.FuncCall, x value, filter []*pg.Node) (value, error) {
	n := least(mostRows, g.body.rows)
	v := value{public: g.body.kind == public, integral: fn == "count" || x.integral && fn != "bool_or" && fn != "bool_and"}
	under := filter
	switch {
	case fn == "count":
		v.typ, v.span, v.notNull, v.exact = "int8", between(zero, n), true, true
		v.tiny = one
		if f.AggStar && filter == nil && len(g.list) > 0 {
			v.span = between(one, most(n, one))
			v.tiny = one
		}
		if !f.AggStar && !x.there() {
			under = append(under[:len(under):len(under)], notNullOf(f.Args[0]))
		}
		v.total = times(g.body.rows, one)
		if !f.AggDistinct {
			v.sum = &summed{g.group, under, true, one}
		}
	case fn == "sum" && summable(x):
		v.typ = map[string]string{"int2": "int8", "int4": "int8", "int8": "numeric", "numeric": "numeric"}[x.typ]
		v.notNull = x.there() && filter == nil && len(g.list) > 0
		v.span = spanOf(v.typ)
		if x.finite() {
			v.span = sums(x.span, g.body.rows, v.typ)
			if isInteger(x.typ) {
				v.tiny = one
			}
			v.total = x.magnitudes(g.body.rows, g.totals)
			v.sum = &summed{g.group, append(under[:len(under):len(under)], notNullOf(f.Args[0])), false, x.largest()}
		}
		v.exact, v.vague = v.typ == "int8", x.vague
	case (fn == "min" || fn == "max" || fn == "mode") && (x.exact || isNumber(x.typ)) && !x.array:
		v.typ, v.span, v.exact, v.public, v.vague, v.values = x.typ, x.span, x.exact, x.public, !x.exact, x.values
		v.collation = x.collation
		v.notNull = x.there() && filter == nil && len(g.list) > 0
		if g.body.kind == public && x.id != nil && x.there() && fn != "mode" && g.body.unique([]*id{x.id}, g.body.notNull) {
			v.id = &id{}
			g.picked = append(g.picked, v.id)
		}
	case (fn == "bool_or" || fn == "bool_and") && x.typ == "bool":
		v.typ, v.exact = "bool", true
	default:
		return v, missing(f.Location, "aggregate "+fn+" of "+x.typ+" within a unit", "")
	}
	return v, nil
}

// summable reports whether sums of a value are exact and raise no error: of integers, and of numerics within bounds, or NaN.
// Infinity is no bound, as a sum of numerics near 10^131072 overflows.
func summable(x value) bool {
	return isNumber(x.typ) && ranks[x.typ] <= 4 && x.lo != nil && x.hi != nil && !x.array
}

// notNullOf is the condition that an expression is not NULL.
func notNullOf(n *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_NullTest{NullTest: &pg.NullTest{Arg: n, Nulltesttype: pg.NullTestType_IS_NOT_NULL}}}
}

// sums is the span of sums of at least one number of a span: n of them at most, or as many as a server reads.
func sums(x span, n *big.Rat, typ string) span {
	r := span{lo: zero, hi: zero}
	n = least(n, mostRows)
	if x.lo.Sign() < 0 {
		r.lo = new(big.Rat).Mul(x.lo, n)
	} else {
		r.lo = x.lo
	}
	if x.hi.Sign() > 0 {
		r.hi = new(big.Rat).Mul(x.hi, n)
	} else {
		r.hi = x.hi
	}
	if isInteger(typ) { // int4_sum wraps silently beyond these: the sum of a unit is then any int8, which 2^63 <= |x|·n bounds as well
		lo, hi := limits(typ)
		if r.lo.Cmp(lo) < 0 {
			r.lo = lo
		}
		r.hi = least(r.hi, hi)
	}
	return r
}
