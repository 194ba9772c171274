package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// arithmetic is + - * / % & of two numbers, or of dates.
func (s *scope) arithmetic(e *pg.A_Expr, op string, a, b value, known bool) (value, error) {
	lacks := func(why string) (value, error) {
		return value{}, missing(e.Location, "operator "+op+" ("+why+")", "%s %s %s", a.typ, op, b.typ)
	}
	if !known || a.array || b.array {
		return lacks("type")
	}
	if op == "+" && timed[b.typ] && (isInteger(a.typ) || a.typ == "interval") {
		a, b = b, a
	}
	switch {
	case a.typ == "date" && (isInteger(b.typ) || b.typ == "date"):
		return dates(op, a, b, lacks)
	case timed[a.typ]:
		return shifted(op, a, b, lacks)
	case op == "*" && a.typ == "interval":
		a, b = b, a
		fallthrough
	case op == "*" && b.typ == "interval" && a.typ == "float8":
		// interval_mul: out of range, or NaN. Fractions of months become days of 30 a month, those of days hours.
		if m := a.largest(); m != nil && near(b) {
			r := wider(between(zero, times(m, b.largest())), one)
			if r.lo = new(big.Rat).Neg(r.hi); near(value{span: r}) && a.typ == "float8" {
				return made("interval", r, a, b), nil
			}
		}
		return lacks("unbounded")
	case !isNumber(a.typ) || !isNumber(b.typ):
		return lacks("type")
	}
	a, b, known = floated(a, b)
	if !known {
		return lacks("float8")
	}
	typ := a.typ
	if ranks[b.typ] > ranks[typ] {
		typ = b.typ
	}
	if op == "&" && isInteger(typ) {
		// Rule: x & y of y >= 0 is between 0 and y. Proof: it has no bit that y has not.
		r := made(typ, spanOf(typ), a, b)
		for _, v := range []value{a, b} {
			if v.lo != nil && v.lo.Sign() >= 0 {
				r.lo, r.hi = zero, least(r.hi, v.hi)
			}
		}
		return r, nil
	}
	if ranks[typ] > 4 && (op == "+" || op == "-") && b.hasOnlyZero() {
		// Rule: x + 0 is x, and of one spelling where the zero is 0 and not -0. Proof: no sum that is x is too large;
		// -0 + 0 is 0.
		r := made(typ, a.span, a, b)
		r.exact = op == "+" && word(b) == "0"
		return r, nil
	}
	nan := a.nan || b.nan // which passes through, and raises no error
	a.nan, b.nan = false, false
	a.tiny, b.tiny = tinyOf(a), tinyOf(b)
	if !a.finite() || !b.finite() {
		return lacks("unbounded")
	}
	var r span
	var holds []*id
	switch op {
	case "+":
		holds = radix(e, s, b)
		r = a.add(b.span)
	case "-":
		r = a.add(b.negate())
	case "*":
		r = a.multiply(b.span)
		if r.lo.Sign() < 0 && isSquare(e) {
			r.lo = zero
		}
	case "/":
		v, err := quotient(typ, a, b, lacks)
		v.nan = nan
		return v, err
	case "%":
		if typ == "float8" || typ == "float4" {
			return lacks("type")
		}
		m, ok := remainder([]value{a, b}) // int4mod, numeric_mod: by zero
		if !ok {
			return lacks("zero")
		}
		r = m
	default:
		return lacks("unknown")
	}
	v, err := fits(typ, op, r, a, b, lacks)
	if v.nan, v.holds = nan, holds; op == "+" {
		v.sum = s.centredSum(e)
	}
	return v, err
}

var square = newForm(`_k * _a * _a`)

var mixedRadix = newForm(`(_a - 1) * _k + _b`)

// radix finds the columns that (a - 1)·k + b tells.
//
// Rule: k is a constant, b an integer between 1 and k: those that a and b tell. Proof: b - 1 is the remainder of the
// whole less 1 by k.
func radix(e *pg.A_Expr, s *scope, b value) []*id {
	h := mixedRadix.of(&pg.Node{Node: &pg.Node_AExpr{AExpr: e}})
	if h == nil {
		return nil
	}
	a, err := s.expr(h["_a"])
	k, ok := integerConstant(h["_k"])
	if err != nil || !ok || !isInteger(a.typ) || !isInteger(b.typ) || !b.within(one, k) || !a.there() || !b.there() {
		return nil
	}
	return append(a.told(), b.told()...)
}

// isSquare reports whether a product is a*a, or k*a*a of a constant k >= 0, which is never below zero.
func isSquare(e *pg.A_Expr) bool {
	if e.Lexpr != nil && same(e.Lexpr, e.Rexpr) {
		return true
	}
	h := square.of(&pg.Node{Node: &pg.Node_AExpr{AExpr: e}})
	if h == nil {
		return false
	}
	k, ok := integerConstant(h["_k"])
	return ok && k.Sign() >= 0
}

// fits is a result of finite numbers.
//
// Rule: integers stay within their type; numeric below 10^1000; float8 below 10^308, widened by rounding, and a product
// does not underflow: one factor is zero or at least 1 in magnitude, or both have a least magnitude. Proof: int.c,
// int8.c, numeric.c and float.c fail in no other case. Sums and differences of float8 do not underflow: they are
// multiples of the least float8.
func fits(typ, op string, r span, a, b value, lacks func(string) (value, error)) (value, error) {
	switch {
	case isInteger(typ):
		if lo, hi := limits(typ); !r.within(lo, hi) {
			return lacks("overflow")
		}
	case typ == "numeric":
		if r.largest().Cmp(bigNumber) > 0 {
			return lacks("overflow")
		}
		for _, b := range []*big.Rat{r.lo, r.hi, r.tiny} {
			if b != nil && b.Denom().BitLen() > 40_000 {
				return lacks("digits") // of more than 16383 behind the point the rest is rounded: bounds stay that have less
			}
		}
		r.nonzero = r.nonzero && r.tiny != nil
	default:
		most, small := largest, smallest
		if typ == "float4" {
			most, small = power(10, 38), new(big.Rat).Inv(power(10, 37))
		}
		if r.largest().Cmp(most) > 0 {
			return lacks("overflow")
		}
		large := func(v value) bool { return v.tiny != nil && v.tiny.Cmp(one) >= 0 || v.hasOnlyZero() }
		if op == "*" && !large(a) && !large(b) && (r.tiny == nil || r.tiny.Cmp(small) < 0) {
			return lacks("underflow")
		}
		if op == "*" && r.tiny == nil {
			if large(a) {
				r.tiny = b.tiny
			} else if large(b) {
				r.tiny = a.tiny
			}
		}
		if r = r.rounded(); typ == "float4" { // to 24 bits
			d := plus(new(big.Rat).Mul(r.largest(), new(big.Rat).Inv(power(2, 23))), small)
			r.lo, r.hi = plus(r.lo, new(big.Rat).Neg(d)), plus(r.hi, d)
		}
	}
	v := made(typ, r, a, b)
	if v.integral && op != "/" {
		v.tiny = one
	}
	return v, nil
}

// quotient is a division of finite numbers.
//
// Rule: of integers, numerics or float8s, by one that is not zero: its magnitude is at most the dividend's, and it
// stays within the type. Proof: the divisor is at least 1 in magnitude (else tiny); int.c fails by zero, and where the
// least is divided by -1.
func quotient(typ string, a, b value, lacks func(string) (value, error)) (value, error) {
	if b.hasZero() || b.hasOnlyZero() {
		return lacks("zero")
	}
	if isInteger(b.typ) {
		b.tiny = one
	}
	if typ == "numeric" {
		// Rule: as quotients has it, and of numbers that are not vague, as digits behind the point decide how many the
		// quotient has. Proof: div_var rounds to 12 digits that count at least, up to the thousandth behind the point
		// (select_div_scale); whole numbers stay.
		r, ok := quotients([]value{a, b})
		if !ok || a.vague || b.vague {
			return lacks("overflow")
		}
		if b.lo.Sign() > 0 {
			r = a.corners(b.span, (*big.Rat).Quo)
		}
		up := func(x *big.Rat) *big.Rat {
			if x == nil || x.IsInt() {
				return x
			}
			off := times(new(big.Rat).Abs(x), new(big.Rat).Inv(power(10, 11)))
			return least(plus(x, plus(off, smallest)), new(big.Rat).SetInt(floor(plus(x, one))))
		}
		r.hi, r.lo = up(r.hi), between(nil, up(r.negate().hi)).negate().lo
		if a.tiny != nil {
			if t := new(big.Rat).Quo(times(a.tiny, big.NewRat(9, 10)), b.largest()); t.Cmp(smallest) > 0 {
				r.tiny = t
			}
		}
		v := made(typ, r, a, b)
		v.integral = false
		return v, nil
	}
	if ranks[typ] > 4 && b.tiny != nil {
		m := new(big.Rat).Quo(a.largest(), b.tiny)
		r := between(new(big.Rat).Neg(m), m)
		if b.lo.Sign() > 0 {
			r = a.corners(b.span, (*big.Rat).Quo)
		}
		if a.tiny != nil {
			r.tiny = new(big.Rat).Quo(a.tiny, b.largest())
		}
		small := smallest
		if typ == "float4" {
			small = new(big.Rat).Inv(power(10, 37))
		}
		if !a.hasOnlyZero() && (r.tiny == nil || r.tiny.Cmp(small) < 0) {
			return lacks("underflow")
		}
		return fits(typ, "/", r, a, b, lacks)
	}
	if !isInteger(typ) {
		return lacks("type")
	}
	r := between(new(big.Rat).Neg(a.largest()), a.largest())
	if b.lo.Sign() > 0 || b.hi.Sign() < 0 {
		r = a.corners(b.span, (*big.Rat).Quo)
		r.lo, r.hi = truncated(r.lo), truncated(r.hi)
	}
	return fits(typ, "/", r, a, b, lacks)
}

// truncated rounds towards zero.
func truncated(r *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
}

// dates is date - date, and date + or - integer.
//
// Rule: of finite dates, which stay within two million days of 1970. Proof: date.c fails for infinite dates and those
// out of range, -4713 to 5874897.
func dates(op string, a, b value, lacks func(string) (value, error)) (value, error) {
	if !a.finite() || !b.finite() {
		return lacks("unbounded")
	}
	limit := big.NewRat(2_000_000, 1)
	r := a.add(b.span)
	if op == "-" {
		r = a.add(b.negate())
	}
	switch {
	case op == "-" && b.typ == "date":
		return fits("int4", op, r, a, b, lacks)
	case (op == "+" || op == "-") && (b.typ == "int4" || b.typ == "int2"):
		if !r.within(new(big.Rat).Neg(limit), limit) {
			return lacks("overflow")
		}
		return made("date", r, a, b), nil
	}
	return lacks("type")
}
