package certify

import (
	"fmt"
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// cast is a cast of a constant, a parameter, or any value.
func (s *scope) cast(c *pg.TypeCast) (value, error) {
	t, ok := s.typeName(c.TypeName)
	if !ok {
		return value{}, missing(c.Location, "type", "%s", spelledName(c.TypeName.Names))
	}
	array := len(c.TypeName.ArrayBounds) == 1
	lacks := func(from string) (value, error) {
		return value{}, missing(c.Location, "cast", "%s to %s", from, t)
	}
	if p := c.Arg.GetParamRef(); p != nil {
		return s.parameter(p, t, array)
	}
	if a := c.Arg.GetAArrayExpr(); a != nil && array {
		for _, e := range a.Elements {
			if e.GetAConst() == nil || e.GetAConst().GetSval() == nil && !e.GetAConst().Isnull {
				return lacks("ARRAY of expressions")
			}
		}
		v := given(t)
		v.array = true
		return v, nil
	}
	if k := c.Arg.GetAConst(); k != nil && (k.GetSval() != nil || k.Isnull) {
		v := given(t)
		if read := k.GetSval().GetSval(); !array && !k.Isnull {
			if v = literal(t, read); !readable(t, read) {
				return lacks("a string that may be none")
			}
		}
		v.array, v.notNull = array, !k.Isnull
		return v, nil
	}
	v, err := s.expr(c.Arg)
	if err != nil {
		return v, err
	}
	if v.influence != nil {
		if (t == "int8" || t == "numeric") && isInteger(v.typ) {
			v.typ = t
			return v, nil
		}
		return lacks("an aggregate")
	}
	if v.array || array {
		if v.array && array && v.typ == "text" && v.elements != nil {
			return s.array(v, t, lacks)
		}
		return lacks("arrays")
	}
	if reads := elements[t]; v.typ == "text" && len(v.elements) == 1 && t != "text" && reads != nil && (v.elements[0] == nil || reads(*v.elements[0])) {
		r := given(t)
		r.notNull = v.notNull
		return r, nil // as an array of one (array)
	}
	r, ok := converted(v, t, s.facts)
	if !ok {
		return lacks(v.typ)
	}
	return r, nil
}

// typeName is the name of a type, in pg_catalog or of the user's, without modifiers.
func (s *scope) typeName(t *pg.TypeName) (string, bool) {
	if t.Setof || t.PctType || len(t.Typmods) > 0 || len(t.ArrayBounds) > 1 {
		return "", false
	}
	if n, ok := name(t.Names); ok && len(t.Names) == 2 {
		return n, isNumber(n) || comparable[n] || ranges[n] != ""
	}
	if len(t.Names) == 2 {
		n := t.Names[0].GetString_().GetSval() + "." + t.Names[1].GetString_().GetSval()
		return n, s.facts.Enums[n]
	}
	n, ok := name(t.Names)
	return n, ok && (n == "int8" || n == "text" || n == "int4" || n == "numeric" || n == "float8")
}

// parameter is a parameter under its cast, which gives it its type. Under two casts, the second would read the value as
// another type when a row comes by.
func (s *scope) parameter(p *pg.ParamRef, t string, array bool) (value, error) {
	if p.Number < 1 || int(p.Number) > len(s.parameters) {
		return value{}, missing(p.Location, "parameter", "$%d has no value", p.Number)
	}
	bound, typ := s.parameters[p.Number-1], fmt.Sprint(t, array)
	if before, ok := s.types[p.Number]; ok && before != typ || bound.Array != array {
		return value{}, missing(p.Location, "parameter", "$%d is no %s", p.Number, t)
	}
	s.types[p.Number] = typ
	v := given(t)
	v.array, v.elements = array, bound.Elements
	if !array {
		v.notNull = len(bound.Elements) == 1 && bound.Elements[0] != nil
	}
	return v, nil
}

// array is an array parameter of texts as one of another type.
//
// Rule: each element is of a form that the type surely reads. Proof: then the cast raises no error, neither when it is planned nor
// when the first row comes by.
func (s *scope) array(v value, t string, lacks func(string) (value, error)) (value, error) {
	reads, ok := elements[t]
	if !ok {
		return lacks("text[]")
	}
	for _, e := range v.elements {
		if e != nil && !reads(*e) {
			return lacks("an element of text[]")
		}
	}
	r := given(t)
	r.array, r.elements = true, v.elements
	return r, nil
}

// converted is a cast that cannot fail.
//
// Rule: to a wider integer, to numeric from integers; to float8 from bounded numbers; to a narrower integer of a number that
// rounds into its limits and is not NaN; to text of types that print short; the same type. A cast that keeps integers keeps what is
// known of them. Proof: the cast functions of int.c, int8.c, numeric.c and float.c check nothing else.
func converted(v value, t string, f Facts) (value, bool) {
	if v.typ == t {
		return v, true
	}
	switch {
	case t == "text" && (exactTypes[v.typ] || isNumber(v.typ) && v.typ != "numeric" || f.Enums[v.typ]):
		return made("text", between(zero, big.NewRat(400, 1)), v), !v.vague
	case isNumber(v.typ) != isNumber(t) || t == "float4":
		return v, false
	case (t == "timestamp" || t == "timestamptz") && v.typ == "date":
		// Rule: of dates within some thousand years. Proof: date.c raises an error beyond the year 294276 alone.
		if !v.within(new(big.Rat).Neg(power(10, 6)), power(10, 6)) {
			return v, false
		}
		day := big.NewRat(86400_000_000, 1)
		return made(t, between(times(new(big.Rat).Sub(v.lo, one), day), times(new(big.Rat).Add(v.hi, one), day)), v), true
	case t == "float8":
		if v.typ != "float4" && (v.lo == nil || v.hi == nil || between(v.lo, v.hi).largest().Cmp(largest) > 0) {
			return v, false
		}
		if v.typ == "numeric" && !v.hasOnlyZero() && (v.tiny == nil || v.tiny.Cmp(smallest) < 0) {
			return v, false // float8in raises an error where it underflows
		}
		r := made(t, v.rounded(), v)
		if isInteger(v.typ) {
			r.tiny = one
		}
		return r, true
	case isInteger(v.typ) && ranks[t] > ranks[v.typ]:
		r := v
		if r.typ, r.exact = t, v.exact && t != "numeric"; r.tiny == nil {
			r.tiny = one
		}
		return r, true
	case isInteger(t):
		lo, hi := limits(t)
		if r := v.toInteger(); r.within(lo, hi) {
			if isInteger(v.typ) {
				o := v
				o.typ = t
				return o, true
			}
			return made(t, r, v), true
		}
	}
	return v, false
}

// units of time of which a part of a timestamp or a date can be taken: of any, infinite ones too.
var dateParts = map[string]bool{"year": true, "month": true, "day": true, "quarter": true, "week": true, "dow": true, "isodow": true, "doy": true, "epoch": true, "isoyear": true}

var timeParts = map[string]bool{"hour": true, "minute": true, "second": true}

// call is a function: an aggregate, a window function, or one of pg_catalog that is total on its arguments.
func (s *scope) call(n *pg.Node, f *pg.FuncCall) (value, error) {
	fn, ok := name(f.Funcname)
	if !ok {
		return value{}, missing(f.Location, "function of a schema", "%s", spelledName(f.Funcname))
	}
	if f.Over != nil {
		return s.over(fn, f)
	}
	if f.AggStar || f.AggDistinct || f.AggFilter != nil || f.AggWithinGroup || len(f.AggOrder) > 0 || f.FuncVariadic {
		return value{}, missing(f.Location, "aggregate "+fn, "where none may stand")
	}
	lacks := func(why string) (value, error) {
		return value{}, missing(f.Location, "function "+fn, "%s", why)
	}
	if fn == "hashtextextended" || fn == "hashint8extended" {
		return s.hash(fn, f, lacks)
	}
	args, err := s.exprs(f.Args)
	if err != nil {
		return value{}, err
	}
	if slices.ContainsFunc(args, func(v value) bool { return v.vague }) && fn != "trim_scale" {
		return lacks("of one of equal values") // of which the plan chooses
	}
	switch {
	case fn == "abs" && len(args) == 1 && (args[0].typ == "numeric" || isInteger(args[0].typ) && args[0].negate().inside(args[0].typ)):
		r := made(args[0].typ, args[0].span, args[0])
		r.lo, r.hi = zero, nil
		if m := args[0].largest(); m != nil {
			r.hi = m
		}
		return r, nil
	case fn == "power" && len(args) == 2:
		return powerOf(f.Args[1], args, lacks)
	case fn == "trim_scale" && len(args) == 1 && args[0].typ == "numeric":
		// Rule: equal numbers have equal bytes. Proof: numeric_trim_scale leaves as few digits behind the point as the value needs.
		r := made("numeric", args[0].span, args[0])
		r.exact, r.vague = true, false
		return r, nil
	case fn == "sign" && len(args) == 1 && args[0].typ == "numeric":
		return made("numeric", span{lo: new(big.Rat).Neg(one), hi: one, nan: args[0].nan}, args[0]), nil
	case (fn == "div" || fn == "mod") && len(args) == 2:
		return divided(fn, args[0], args[1], lacks)
	case (fn == "date_part" || fn == "extract") && len(args) == 2:
		return part(fn, f.Args[0], args, lacks)
	case fn == "date_trunc" && len(args) == 2:
		return truncatedTime(f.Args[0], args, lacks)
	case (fn == "lower" || fn == "upper") && len(args) == 1 && ranges[args[0].typ] != "" && !args[0].array:
		// Rule: a bound of a range is a value of its elements' type, or NULL. Proof: range_lower and range_upper raise nothing.
		t := ranges[args[0].typ]
		r := made(t, spanOf(t), args[0])
		r.notNull, r.present = false, false
		return r, nil
	case ranges[fn] != "" && len(args) == 3:
		return rangeOf(fn, f.Args, args, lacks)
	case (fn == "floor" || fn == "ceil" || fn == "ceiling" || fn == "trunc") && len(args) == 1 && args[0].typ == "numeric",
		fn == "round" && (len(args) == 1 || len(args) == 2) && args[0].typ == "numeric":
		return roundedNumeric(f.Args, args, lacks)
	case fn == "width_bucket" && len(args) == 4:
		return bucketOf(f.Args, args, lacks)
	case fn == "width_bucket" && len(args) == 2:
		return bucket(f.Args[1], args, lacks)
	case (fn == "lower" || fn == "upper") && len(args) == 1 && args[0].typ == "text" && args[0].hi != nil:
		// Rule: the text is at most three times as long. Proof: Unicode's special casing; longer texts than 2^21 are refused.
		if args[0].hi.Cmp(power(2, 21)) <= 0 {
			return made("text", between(zero, times(args[0].hi, big.NewRat(3, 1))), args[0]), nil
		}
	case fn == "left" && len(args) == 2 && args[0].typ == "text":
		if k, ok := integerConstant(f.Args[1]); ok && k.Sign() >= 0 && k.Cmp(power(2, 21)) <= 0 {
			r := made("text", between(zero, k), args...)
			return r, nil
		}
	}
	types := ""
	for _, a := range args {
		types += " " + a.typ + " " + show(a.lo) + ".." + show(a.hi)
	}
	return lacks("of" + types)
}

// rangeOf makes a range of constants.
//
// Rule: the lower is no more than the upper, and the third is one of the four kinds of bounds. Proof: range_constructor3 and make_range
// check nothing else but that a date has a next one, which a constant within the years 1 to 9999 has.
func rangeOf(fn string, nodes []*pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	kind := nodes[2].GetAConst().GetSval().GetSval()
	if kind != "[)" && kind != "[]" && kind != "()" && kind != "(]" {
		return lacks("bounds")
	}
	for _, v := range args[:2] {
		if v.typ != ranges[fn] || !v.finite() || v.array || v.lo.Cmp(v.hi) != 0 {
			return lacks("no constants")
		}
	}
	if args[0].lo.Cmp(args[1].lo) > 0 {
		return lacks("a lower bound above the upper one")
	}
	return made(fn, span{}, args[:2]...), nil
}

// hash is a keyed hash of a value: total, and any int8.
func (s *scope) hash(fn string, f *pg.FuncCall, lacks func(string) (value, error)) (value, error) {
	if len(f.Args) != 2 {
		return lacks("arguments")
	}
	v, err := s.exprs(f.Args[:1])
	if err != nil {
		return value{}, err
	}
	p := f.Args[1].GetParamRef()
	if p == nil || int(p.Number) > len(s.parameters) || p.Number < 1 || s.parameters[p.Number-1].Array {
		return lacks("a seed that is no parameter")
	}
	if fn == "hashtextextended" && v[0].typ != "text" || fn == "hashint8extended" && !isInteger(v[0].typ) {
		return lacks(v[0].typ)
	}
	return made("int8", spanOf("int8"), v[0]), nil
}

// divided is div or mod of numerics: of finite ones, by one that is not zero. The remainder has the sign of the dividend and is
// smaller than the divisor.
func divided(fn string, a, b value, lacks func(string) (value, error)) (value, error) {
	if !isNumber(a.typ) || !isNumber(b.typ) || ranks[a.typ] > 4 || ranks[b.typ] > 4 || isInteger(a.typ) && isInteger(b.typ) {
		return lacks(a.typ + " and " + b.typ)
	}
	if !a.finite() || b.nan || b.hasZero() {
		return lacks("zero, or no bounds")
	}
	if fn == "mod" {
		r := between(zero, zero)
		if a.hi.Sign() > 0 {
			r.hi = least(a.hi, between(b.lo, b.hi).largest())
		}
		if a.lo.Sign() < 0 {
			r.lo = a.lo
		}
		return made("numeric", r, a, b), nil
	}
	if b.lo == nil || b.lo.Cmp(one) < 0 {
		return lacks("a divisor below 1")
	}
	m := a.largest()
	r := between(new(big.Rat).Neg(m), m)
	if a.lo.Sign() >= 0 {
		r.lo = zero
	}
	return made("numeric", r, a, b), nil
}

// part is extract or date_part of a field that stands in the text.
//
// Rule: of timestamps, any; of dates, their own fields, by extract alone, as date_part makes a timestamp of a date, which fails for
// far ones unless bounded; of an interval, the epoch. Proof: timestamp_part_common, extract_date and interval_part_common
// raise errors for fields that the type has not.
func part(fn string, field *pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	if c := field.GetTypeCast(); c != nil {
		field = c.Arg
	}
	name, t := field.GetAConst().GetSval().GetSval(), args[1].typ
	ok := (t == "timestamp" || t == "timestamptz") && (dateParts[name] || timeParts[name]) ||
		t == "date" && dateParts[name] && (fn == "extract" || args[1].finite()) ||
		t == "interval" && name == "epoch"
	if !ok || args[1].array {
		return lacks(name + " of " + t)
	}
	typ := map[string]string{"extract": "numeric", "date_part": "float8"}[fn]
	r := made(typ, span{}, args[1])
	r.notNull, r.present = false, false
	if name == "month" || name == "hour" || name == "dow" || name == "isodow" || name == "quarter" || name == "day" {
		r.span = between(zero, big.NewRat(31, 1)) // of an infinite time, NULL
	}
	return r, nil
}

// truncatedTime is date_trunc of a field and a bounded timestamp: years 1 to 9999 stay in range. Of a timestamptz it may be
// later, where a clock that is put back says midnight twice (DetermineTimeZoneOffset takes the second).
func truncatedTime(field *pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	if c := field.GetTypeCast(); c != nil {
		field = c.Arg
	}
	name, v := field.GetAConst().GetSval().GetSval(), args[1]
	known := name == "year" || name == "month" || name == "day" || name == "week" || name == "quarter" || name == "hour"
	if !known || v.typ != "timestamp" && v.typ != "timestamptz" || !v.finite() {
		return lacks(name + " of " + v.typ)
	}
	return made(v.typ, span{lo: new(big.Rat).Sub(v.lo, power(10, 14)), hi: plus(v.hi, power(10, 11))}, v), nil
}

// powerOf is power(x, k) of a float8 and a whole constant 1 to 8.
//
// Rule: it is within ± the power of the largest, and no less than that of the least magnitude but zero, so it neither overflows nor
// underflows if these do not. Proof: dpow of float.c checks the result of pow alone, for whole k; pow is off by less than two ulps.
func powerOf(exponent *pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	x := args[0]
	c := exponent.GetTypeCast()
	k, ok := number(c.GetArg().GetAConst().GetSval().GetSval())
	if !ok || args[1].typ != "float8" || x.typ != "float8" || !x.finite() || x.tiny == nil || !k.IsInt() || k.Sign() <= 0 || k.Cmp(big.NewRat(8, 1)) > 0 {
		return lacks("bounds")
	}
	most, least := one, one
	for range k.Num().Int64() {
		most, least = new(big.Rat).Mul(most, x.largest()), new(big.Rat).Mul(least, x.tiny)
	}
	if most.Cmp(largest) > 0 || least.Cmp(smallest) < 0 {
		return lacks("overflow or underflow")
	}
	r := span{lo: new(big.Rat).Neg(most), hi: most, tiny: least}
	if x.lo.Sign() >= 0 {
		r.lo = zero
	}
	return made("float8", r.rounded().rounded(), args...), nil
}

// roundedNumeric is round, floor, ceil or trunc of a numeric, round perhaps to 10^-k of a constant k.
//
// Rule: it is within 1, or 10^-k, of the number. Proof: numeric.c; NaN and infinities stay.
func roundedNumeric(nodes []*pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	step := one
	if len(args) == 2 {
		k, ok := integerConstant(nodes[1])
		if !ok || k.Cmp(big.NewRat(20, 1)) > 0 || k.Cmp(big.NewRat(-20, 1)) < 0 {
			return lacks("digits")
		}
		if d := k.Num().Int64(); d < 0 {
			step = power(10, -d)
		}
	}
	if args[0].lo == nil || args[0].hi == nil {
		return lacks("unbounded") // numeric holds 131072 digits before the point, and one more is an error
	}
	r := made("numeric", span{nan: args[0].nan}, args[0])
	r.lo, r.hi, r.integral = plus(args[0].lo, new(big.Rat).Neg(step)), plus(args[0].hi, step), false
	return r, nil
}

// bucketOf is width_bucket(x, a, b, n) of bounded numbers, and of constants a, b that differ and n > 0: between 0 and n + 1.
func bucketOf(nodes []*pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	n, ok := integerConstant(nodes[3])
	for i, v := range args[:3] {
		ok = ok && v.typ == args[0].typ && (v.typ == "numeric" || v.typ == "float8") && v.finite() && (i == 0 || v.lo.Cmp(v.hi) == 0)
	}
	if !ok || n.Sign() <= 0 || n.Cmp(power(2, 30)) > 0 || args[1].lo.Cmp(args[2].lo) == 0 {
		return lacks("bounds")
	}
	return made("int4", between(zero, plus(n, one)), args[:3]...), nil
}

// bucket is width_bucket(x, array of constants): between 0 and their number.
func bucket(list *pg.Node, args []value, lacks func(string) (value, error)) (value, error) {
	a := list.GetTypeCast().GetArg().GetAArrayExpr()
	if a == nil || len(a.Elements) == 0 || args[0].array || args[0].typ != args[1].typ || !isNumber(args[0].typ) {
		return lacks("no list of constants")
	}
	for _, e := range a.Elements {
		if e.GetAConst().GetIsnull() {
			return lacks("NULL")
		}
	}
	return made("int4", between(zero, big.NewRat(int64(len(a.Elements)), 1)), args[0]), nil
}
