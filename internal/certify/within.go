package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// aggregated is what an aggregate makes of values x, of n rows at most, and of one at least where some.
//
// Rule: count is at most the number of rows; sums of integers and numerics are exact, at most that many times the
// largest; min, max and mode are one of the values; bool_or and bool_and of course. The variance of numbers between lo
// and hi is at most (hi - lo)²/4 times n/(n-1) <= 2, that of integers no less than 1/n²; the deviation is its root. All
// are functions of the bag of rows: sums of squares are exact too, and a variance is rounded by both
// (numeric_stddev_internal). Which of equal numbers is given hangs on the order of rows (vague). Sums of floats are
// none.
func aggregated(fn string, x value, n *big.Rat, some bool) (value, bool) {
	n = least(mostRows, n)
	v := value{integral: x.integral, notNull: x.there() && some, vague: x.vague}
	exact := isNumber(x.typ) && ranks[x.typ] <= 4 && !x.array
	switch {
	case fn == "count":
		v = value{typ: "int8", span: between(zero, n), notNull: true, exact: true, integral: true}
		if v.tiny = one; x.there() && some {
			v.lo, v.hi = one, most(n, one)
		}
	case fn == "sum" && summable(x):
		v.typ = map[string]string{"int2": "int8", "int4": "int8", "int8": "numeric", "numeric": "numeric"}[x.typ]
		v.exact, v.span = v.typ == "int8", spanOf(v.typ)
		if x.lo != nil && x.hi != nil { // of NaN, it is NaN
			if v.span = sums(x.span, n); x.integral {
				v.tiny = one
			}
			v.nan = x.nan
		}
	case (fn == "min" || fn == "max" || fn == "mode") && (x.exact || isNumber(x.typ)) && !x.array:
		v.typ, v.span, v.exact, v.collation, v.values, v.vague = x.typ, x.span, x.exact, x.collation, x.values, !x.exact
	case (fn == "bool_or" || fn == "bool_and") && x.typ == "bool" && !x.array:
		v.typ, v.exact = "bool", true
	case variances[fn] != nil && exact && x.finite() && !x.vague && x.largest().Cmp(bigNumber) <= 0:
		width := new(big.Rat).Sub(x.hi, x.lo)
		v.typ, v.integral, v.notNull = "numeric", false, v.notNull && fn[len(fn)-3:] == "pop"
		if v.span = between(zero, plus(width, one)); fn[0] == 'v' {
			v.hi = plus(new(big.Rat).Mul(variances[fn], new(big.Rat).Mul(width, width)), one) // and what rounding adds
		}
		if isInteger(x.typ) {
			v.tiny = new(big.Rat).Inv(power(2, 90))
		}
	default:
		return v, false
	}
	return v, true
}

// variances are those aggregates, and the largest part of the square of the width of their values that they can be.
var variances = map[string]*big.Rat{
	"var_pop": big.NewRat(1, 4), "var_samp": big.NewRat(1, 2), "variance": big.NewRat(1, 2),
	"stddev_pop": one, "stddev_samp": one, "stddev": one,
}

// percentile is percentile_disc or percentile_cont.
//
// Rule: of a constant between 0 and 1, it is one of the values, or of float8s a + (b - a)·p of neighbours a and b,
// which rounding leaves above zero, or below, if both are. It is vague (aggregated). Proof: orderedsetaggs.c; of floats
// of 0 or at least 1 in magnitude, b - a is a multiple of 2^-52, p one of 2^-113 if the constant is 0 or at least
// 2^-60.
func (g *grouping) percentile(fn string, f *pg.FuncCall, x value) (value, bool) {
	p, err := (&scope{checker: g.inner.checker}).exprs(f.Args)
	if err != nil || len(p) != 1 || !isNumber(p[0].typ) || !p[0].notNull || !p[0].within(zero, one) {
		return value{}, false
	}
	v, ok := aggregated("mode", x, nil, false)
	if fn == "percentile_disc" || !ok {
		return v, ok
	}
	if x.typ != "float8" || !x.finite() || x.largest().Cmp(power(10, 300)) > 0 {
		return v, false
	}
	part := new(big.Rat).Mul(x.largest(), new(big.Rat).Inv(power(2, 50)))
	if v.span = (span{lo: x.lo, hi: x.hi}); x.lo.Sign() != 0 {
		v.lo = new(big.Rat).Sub(x.lo, part)
	}
	if x.hi.Sign() != 0 {
		v.hi = new(big.Rat).Add(x.hi, part)
	}
	if x.tiny != nil && x.tiny.Cmp(one) >= 0 && (p[0].hi.Sign() == 0 || p[0].lo.Cmp(new(big.Rat).Inv(power(2, 60))) >= 0) {
		v.tiny = new(big.Rat).Inv(power(2, 230))
	}
	return v, true
}

// withinUnit is an aggregate over rows of one unit, or public ones (aggregated), and what is known of it beside its
// span.
func (g *grouping) withinUnit(fn string, f *pg.FuncCall, x value, filter []*pg.Node) (value, error) {
	n := g.body.rows
	if g.body.unique(g.told(), g.inner.presentColumn) { // the keys of groups hold a key of the rows
		n = least(n, one)
	}
	v, ok := aggregated(fn, x, n, filter == nil && len(g.list) > 0)
	switch {
	case percentiles[fn]:
		v, ok = g.percentile(fn, f, x)
	case fn == "sum" && x.typ == "float8" && g.whole(f.Args[0]):
		v, ok = value{typ: wholeFloats, span: x.span, notNull: x.there() && filter == nil && len(g.list) > 0}, true
	}
	if !ok {
		return v, missing(f.Location, "aggregate "+fn+" of "+x.typ+" within a unit", "")
	}
	v.public = g.body.kind == public
	under := g.inner.each(filter)
	if len(f.Args) > 0 && (fn == "sum" || !x.there()) {
		under = append(under, g.inner.each([]*pg.Node{notNullOf(f.Args[0])})...)
	}
	switch fn {
	case "count":
		v.total = times(g.body.rows, one)
		v.sum = &summed{g.group, under, true, one}
		v.pieces = []piece{{of: g.group, most: g.body.rows, row: one, class: class{under: under}}}
	case "sum":
		if x.finite() {
			v.total = x.magnitudes(g.body.rows, g.totals)
			v.sum = &summed{g.group, under, false, x.largest()}
			v.pieces = []piece{{of: g.group, most: g.body.rows, row: x.largest(), class: class{under: under}}}
		}
	case "min", "max":
		v.public = x.public
		if g.result.kind == split && x.exact { // one of the values of the unit, or NULL
			v.unit, v.home, v.ident = x.unit, x.home, x.ident
		}
		if g.body.kind == public && x.id != nil && v.notNull && g.body.unique([]*id{x.id}, g.body.notNull) {
			v.id = &id{}
			g.picked = append(g.picked, v.id)
		}
	case "mode":
		v.public = x.public
	}
	if f.AggDistinct {
		v.sum = nil
	}
	return v, nil
}

// wholeFloats is the type of sums of float8s that are integers and not below zero. No rule but cutSum takes one: beyond
// 2^53 it hangs on the order of rows.
const wholeFloats = "sum of float8"

var (
	cutSum  = newForm(`LEAST(COALESCE(_f, 0), 9007199254740992)`)
	centred = newForm(`LEAST(COALESCE(_f, 0), 9007199254740992)::pg_catalog.int8 + _k * LEAST(_n, _c)`)
)

// whole reports whether an argument is an integer that is not below zero, cast to float8.
func (g *grouping) whole(n *pg.Node) bool {
	v, err := g.inner.expr(n.GetTypeCast().GetArg())
	return err == nil && isInteger(v.typ) && !v.array && v.lo.Sign() >= 0
}

// cut is the form cutSum.
//
// Rule: it is a function of the bag of rows, up to 2^53. Proof: sums of integers below 2^53 are exact; once a partial
// sum is at least that, in whatever order or tree (float8pl combines, too), so is what is added up from it, as rounding
// is monotone.
func (s *scope) cut(n *pg.Node) (value, bool) {
	h := cutSum.of(n)
	if h == nil {
		return value{}, false
	}
	x, err := s.expr(h["_f"])
	if err != nil || x.typ != wholeFloats {
		return value{}, false
	}
	v := made("float8", span{lo: zero, hi: power(2, 53), tiny: one}, x)
	v.notNull, v.sum = true, x.sum
	return v, true
}

// centredSum is the form centred: S + k·LEAST(n, c) of the cut sum S of n numbers between 0 and M, or of some of n.
//
// Rule: its magnitude is at most m·n, m the larger of -k >= 0 and M + k, if 2^53 + k·c <= m·c. Proof: it is at least
// k·n. If n <= c it is at most (M + k)·n, else at most 2^53 + k·c <= m·c <= m·n.
func (s *scope) centredSum(e *pg.A_Expr) *summed {
	h := centred.of(&pg.Node{Node: &pg.Node_AExpr{AExpr: e}})
	if h == nil || s.group == nil {
		return nil
	}
	sum, err := s.expr(h["_f"])
	n, err2 := s.expr(h["_n"])
	k, ok := integerConstant(h["_k"])
	c, ok2 := integerConstant(h["_c"])
	if err != nil || err2 != nil || !ok || !ok2 || sum.typ != wholeFloats || k.Sign() > 0 || c.Sign() < 0 {
		return nil
	}
	of := sum.timesCount(n)
	if of == nil {
		return nil
	}
	m := most(new(big.Rat).Neg(k), plus(of, k))
	if plus(power(2, 53), times(k, c)).Cmp(times(m, c)) > 0 {
		return nil
	}
	return &summed{sum.sum.group, sum.sum.under, false, m}
}

// summable reports whether sums of a value are exact and raise no error: of integers, and of numerics within bounds, or
// NaN. Infinity is no bound, as a sum of numerics near 10^131072 overflows.
func summable(x value) bool {
	return isNumber(x.typ) && ranks[x.typ] <= 4 && x.lo != nil && x.hi != nil && !x.array
}

var percentiles = map[string]bool{"percentile_disc": true, "percentile_cont": true}

// notNullOf is the condition that an expression is not NULL.
func notNullOf(n *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_NullTest{NullTest: &pg.NullTest{Arg: n, Nulltesttype: pg.NullTestType_IS_NOT_NULL}}}
}

// sums is the span of sums of at least one number of a span: n of them at most, or as many as a server reads. Those of
// int4 stay within int8, beyond which int4_sum wraps silently: -2^31 times mostRows is -2^63.
func sums(x span, n *big.Rat) span {
	r := between(x.lo, x.hi)
	n = least(n, mostRows)
	if x.lo.Sign() < 0 {
		r.lo = times(x.lo, n)
	}
	if x.hi.Sign() > 0 {
		r.hi = times(x.hi, n)
	}
	return r
}
