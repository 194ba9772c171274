package certify

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

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
	scaled := numericType.FindStringSubmatch(t)
	if scaled != nil && array && c.Arg.GetTypeCast() == nil {
		return lacks("no array of texts")
	}
	varying := cutType.MatchString(t) && !blanked(t)
	if constant := c.Arg.GetAConst() != nil || c.Arg.GetParamRef() != nil; varying && (array || constant) ||
		scaled != nil && !array && constant {
		return lacks("no value of rows")
	}
	if p := c.Arg.GetParamRef(); p != nil {
		return s.parameter(p, t, array)
	}
	if a := c.Arg.GetAArrayExpr(); a != nil && array {
		v := s.given(t)
		v.array = true
		for _, e := range a.Elements {
			for e.GetTypeCast() != nil {
				e = e.GetTypeCast().Arg // of NULL: else no string
			}
			switch k := e.GetAConst(); {
			case k != nil && k.Isnull:
				v.elements = append(v.elements, nil)
			case k.GetSval() != nil:
				v.elements = append(v.elements, &k.GetSval().Sval)
			default:
				return lacks("ARRAY of expressions")
			}
		}
		return v, nil
	}
	if k := c.Arg.GetAConst(); k != nil && k.Isnull {
		return null(t, array), nil
	}
	if k := c.Arg.GetAConst(); k != nil && k.GetSval() != nil {
		if !array && !s.canRead(t, k.GetSval().Sval) && elements[t] != nil {
			return lacks("a string that may be none")
		}
		v := s.given(t)
		if v.array = array; !array {
			v = s.literal(t, k.GetSval().Sval)
			v.elements = []*string{&k.GetSval().Sval}
		}
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
	if m := cutType.FindStringSubmatch(t); m != nil && isText(v.typ) && v.typ != t && v.elements == nil {
		return cutCast(v, t, m[1]), nil
	}
	if scaled != nil {
		r, ok := rescaled(v, scaled[1], scaled[2])
		if !ok {
			return lacks(v.typ)
		}
		return r, nil
	}
	if v.typ == "text" && len(v.elements) == 1 && t != "text" && (v.elements[0] == nil || s.canRead(t, *v.elements[0])) {
		r := s.given(t)
		r.notNull, r.elements = v.notNull, v.elements
		return r, nil // as an array of one (array)
	}
	r, ok := converted(v, t, s.facts)
	if !ok {
		return lacks(v.typ)
	}
	return r, nil
}

// typeName is the name of a type, in pg_catalog or of the user's; those with modifiers are bpchar(n), varchar(n), and
// numeric(p,s).
func (s *scope) typeName(t *pg.TypeName) (string, bool) {
	if t.Setof || t.PctType || len(t.ArrayBounds) > 1 {
		return "", false
	}
	if len(t.Typmods) > 0 {
		n, ok := name(t.Names)
		var modifiers []string
		for _, m := range t.Typmods {
			if m.GetAConst().GetIval() == nil {
				return "", false
			}
			modifiers = append(modifiers, strconv.Itoa(int(m.GetAConst().GetIval().GetIval())))
		}
		n += "(" + strings.Join(modifiers, ",") + ")"
		return n, ok && (cutType.MatchString(n) || numericType.MatchString(n))
	}
	if n, ok := name(t.Names); ok && len(t.Names) == 2 {
		if n == "varchar" { // of any length, as text is
			n = "text"
		}
		return n, isNumber(n) || sortable[n] || ranges[n] != ""
	}
	if len(t.Names) == 2 {
		n := t.Names[0].GetString_().GetSval() + "." + t.Names[1].GetString_().GetSval()
		return n, s.facts.Enums[n] != nil
	}
	n, ok := name(t.Names)
	return n, ok && (n == "int8" || n == "text" || n == "int4" || n == "numeric" || n == "float8")
}

// parameter is a parameter under the cast to its type. A cast to another would read the value when a row comes by.
func (s *scope) parameter(p *pg.ParamRef, t string, array bool) (value, error) {
	if p.Number < 1 || int(p.Number) > len(s.parameters) {
		return value{}, missing(p.Location, "parameter", "$%d has no value", p.Number)
	}
	bound := s.parameters[p.Number-1]
	if cmp.Or(spelled[bound.Type], bound.Type) != t || bound.Array != array {
		return value{}, missing(p.Location, "parameter", "$%d is no %s", p.Number, t)
	}
	v := s.given(t)
	v.array, v.elements = array, bound.Elements
	if !array {
		v.notNull = len(bound.Elements) == 1 && bound.Elements[0] != nil
	}
	return v, nil
}

// array is an array parameter of texts as one of another type.
//
// Rule: each element is of a form that the type surely reads; of numeric(p,s), it is 10^(p-s) - 10^-s at most. Proof:
// then the cast never fails, when planned or when the first row comes: rounding to s digits leaves that bound alone
// (apply_typmod).
func (s *scope) array(v value, t string, lacks func(string) (value, error)) (value, error) {
	r := s.given(t)
	if numericType.MatchString(t) {
		if r = s.anyOf(Column{Type: t, NotNull: true, Deterministic: true}); !r.nan || r.hi == nil {
			return lacks("text[]")
		}
		r.public, r.ofUnit = true, true
	}
	for _, e := range v.elements {
		if e != nil && !s.canRead(r.typ, *e) {
			return lacks("an element of text[]")
		}
		if r.typ != t && e != nil && !strings.EqualFold(*e, "nan") {
			if x, ok := number(*e); !ok || new(big.Rat).Abs(x).Cmp(new(big.Rat).Sub(r.hi, r.tiny)) > 0 {
				return lacks("an element of text[]")
			}
		}
	}
	r.array, r.elements = true, v.elements
	return r, nil
}

// cutType is a type of texts of n characters at most.
var cutType = regexp.MustCompile(`^(?:bpchar|varchar)\((\d+)\)$`)

// cutCast is a text as bpchar(n) or varchar(n).
//
// Rule: it is a text of at most n characters, of the operand's collation, and equal for equal ones. Proof: bpchar and
// varchar cut what is longer and never fail, where the cast is written (isExplicit).
func cutCast(v value, t, n string) value {
	if !blanked(t) {
		t = "text"
	}
	most, _ := number(n)
	r := made(t, between(zero, most), v)
	r.exact = v.exact
	return r
}

// rescaled is a number as numeric(p,s).
//
// Rule: of bounded numbers that are below 10^(p-s) when they are rounded to s digits behind the point. Proof:
// apply_typmod of numeric.c raises an error for larger ones, and for infinities.
func rescaled(v value, precision, scale string) (value, bool) {
	p, _ := number(precision)
	s := literal("int4", scale)
	v, ok := converted(v, "numeric", Facts{})
	if !ok || v.largest() == nil || s.lo.Sign() < 0 || p.Cmp(s.lo) < 0 || p.Cmp(power(10, 3)) > 0 {
		return v, false
	}
	if plus(v.largest(), times(tenth(s.lo), big.NewRat(1, 2))).Cmp(times(new(big.Rat).Inv(tenth(p)), tenth(s.lo))) >= 0 {
		return v, false
	}
	r, _ := rounding([]value{v, s})
	return made("numeric", r, v), true
}

// texts are the types whose output functions print any value in a few hundred bytes.
var texts = map[string]bool{
	"int2": true, "int4": true, "int8": true, "bool": true, "date": true, "timestamp": true, "timestamptz": true,
	"uuid": true, "float8": true, "float4": true, "time": true,
	"numeric": true, // not interval: one of 2^31 hours fails before PostgreSQL 15 (interval2tm)
}

// converted is a cast that cannot fail.
//
// Rule: to a wider integer, to numeric from integers; to float8 from bounded numbers; to a narrower integer of what
// rounds into its limits and is not NaN; to text of types that print short; the same type. What keeps integers keeps
// what is known of them. Proof: the casts of int.c, int8.c, numeric.c and float.c check nothing else.
func converted(v value, t string, f Facts) (value, bool) {
	if v.typ == t {
		return v, true
	}
	switch {
	case v.none && ranges[v.typ] == "":
		return null(t, false), true
	case t == "text" && (texts[v.typ] || f.Enums[v.typ] != nil):
		r := made("text", between(zero, power(2, 18)), v) // a numeric has 131072 digits before the point and 16383 behind
		r.exact, r.holds = v.exact, v.told()              // what differs prints differently
		return r, !v.vague
	case t == "text" && isText(v.typ): // rtrim1: without blanks at the end
		r := made("text", between(zero, v.hi), v)
		r.holds = v.told()
		return r, true
	case v.typ == "bool" && t == "int4":
		return made(t, between(zero, one), v), true
	// timestamp_time, timestamptz_time: out of range; NULL of infinities
	case v.typ != "date" && timed[v.typ] && t == "time":
		return made(t, span{}, v), near(v)
	case timed[v.typ] && timed[t]:
		// Rule: near times stay in range, in any zone, and the date of any is one. Proof: date2timestamp and its like check
		// the range alone; timestamp_date and timestamptz_date fail for what no timestamp is (timestamp2tm), and keep
		// infinities.
		if !near(v) {
			return made(t, span{}, v), t == "date"
		}
		r := v.span
		if v.typ == "date" {
			r = between(times(v.lo, day), times(v.hi, day))
		}
		if r = widened(r, 1); t == "date" {
			r = between(new(big.Rat).SetInt(floor(new(big.Rat).Quo(r.lo, day))),
				new(big.Rat).SetInt(floor(new(big.Rat).Quo(r.hi, day))))
		}
		return made(t, r, v), true
	case t == "float4" && ranks[v.typ] > 0 && ranks[v.typ] <= 4:
		// Rule: of integers, and of numerics between 10^-37 and 10^37 or zero, it is off by less than a part of 2^23.
		// Proof: i4tof and its kin are total; numeric_float4 reads the digits, and fails where that overflows or
		// underflows (float4in_internal).
		least := new(big.Rat).Inv(power(10, 37))
		if !(span{lo: v.lo, hi: v.hi}).within(new(big.Rat).Neg(power(10, 37)), power(10, 37)) ||
			v.typ == "numeric" && !v.hasOnlyZero() && (v.tiny == nil || v.tiny.Cmp(least) < 0) {
			return v, false
		}
		off := new(big.Rat).Mul(between(v.lo, v.hi).largest(), new(big.Rat).Inv(power(2, 23)))
		r := span{
			lo: new(big.Rat).Sub(v.lo, off), hi: new(big.Rat).Add(v.hi, off), nan: v.nan,
			tiny: times(v.tiny, big.NewRat(9, 10)),
		}
		return made(t, r, v), true
	case isNumber(v.typ) != isNumber(t) || t == "float4":
		return v, false
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
	case t == "numeric" && (v.typ == "float8" || v.typ == "float4"):
		// Rule: it has 15 digits of a float8, 6 of a float4. Proof: float8_numeric and float4_numeric, which raise no
		// error; -0 becomes 0.
		digits := map[string]int64{"float8": 15, "float4": 6}[v.typ]
		off := func(x *big.Rat, side int64) *big.Rat {
			if x == nil || x.IsInt() && exactly(x).within(new(big.Rat).Neg(power(10, digits)), power(10, digits)) {
				return x
			}
			return plus(x, new(big.Rat).Quo(new(big.Rat).Abs(x), times(power(10, digits-1), big.NewRat(side, 1))))
		}
		r := made(t, span{lo: off(v.lo, -1), hi: off(v.hi, 1), nan: v.nan, tiny: times(v.tiny, big.NewRat(9, 10))}, v)
		r.vague = false
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
