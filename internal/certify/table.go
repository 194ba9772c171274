package certify

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// function is a function of pg_catalog on arguments of some types: within these bounds it raises no error in PostgreSQL
// 14 to 18.
type function struct {
	takes []value
	gives value // notNull: only NULL gives NULL
	rule  func(a []value) (span, bool)
}

var signature = regexp.MustCompile(`^(\w+)\((.*)\) (\w+)(\??)(!?) ?(\S*)$`)

type functionTable map[string][]function

var functions = known()

// row adds a function: name(type bounds, …) result bounds. A result marked ? may be NULL, one marked ! has one
// spelling. Of texts bounds are of the length. A rule gives the span from the arguments, or says that there the
// function may fail.
func (t functionTable) row(text string, rule func(a []value) (span, bool)) {
	m := signature.FindStringSubmatch(text)
	f := function{gives: value{typ: m[3], span: spanText(m[3], m[6]), notNull: m[4] == "", exact: m[5] == "!"}, rule: rule}
	for _, p := range strings.Split(m[2], ", ") {
		t, b, _ := strings.Cut(p, " ")
		f.takes = append(f.takes, value{typ: t, span: spanText(t, b)})
	}
	t[m[1]] = append(t[m[1]], f)
}

// spanText reads "0..5", "0.." or "".
func spanText(t, s string) span {
	lo, hi, ok := strings.Cut(s, "..")
	if !ok {
		return spanOf(t)
	}
	r := spanOf(t)
	if n, ok := number(lo); ok {
		r.lo = n
	}
	if n, ok := number(hi); ok {
		r.hi, r.nan = n, false
	}
	return r
}

// apply finds the row for arguments.
//
// Rule: types are those of the row, or integers where it takes numerics and another argument is one; each argument is
// within the bounds. Proof: PostgreSQL takes the function of these very types, or of most of them
// (func_select_candidate). All are strict but those that call knows.
func apply(name string, args []value) (value, bool) {
	for _, f := range functions[name] {
		if len(f.takes) != len(args) {
			continue
		}
		given, all, same := make([]value, len(args)), true, 0
		for i, a := range args {
			switch t := f.takes[i].typ; {
			case a.typ == t:
				same++
			case t == "bpchar" && blanked(a.typ):
				a.typ = t
				same++
			case t == "numeric" && isInteger(a.typ):
				a, _ = converted(a, t, Facts{})
			case a.typ == "unknown" && (t == "text" || a.none && ranges[name] != ""):
				a.typ = t
				if ranges[name] != "" {
					same++ // there is one function of this name
				}
			}
			given[i] = a
			all = all && !a.array && a.typ == f.takes[i].typ && (a.none || a.under(f.takes[i].span))
		}
		if !all || same == 0 {
			continue
		}
		r := made(f.gives.typ, f.gives.span, given...)
		if f.rule != nil {
			s, ok := f.rule(given)
			if !ok {
				continue
			}
			r.span = s
		} else if isNumber(r.typ) && !isInteger(r.typ) {
			r.nan = slices.ContainsFunc(given, func(a value) bool { return a.nan })
		}
		r.notNull, r.present = r.notNull && f.gives.notNull, r.present && f.gives.notNull
		if f.gives.exact {
			r.exact, r.vague = true, false
		}
		return r, true
	}
	return value{}, false
}

// under reports whether all numbers are in another span, or it has no bounds.
func (s span) under(o span) bool {
	return (o.lo == nil || s.lo != nil && s.lo.Cmp(o.lo) >= 0) && (o.hi == nil || s.hi != nil && s.hi.Cmp(o.hi) <= 0) &&
		(o.nan || !s.nan)
}

func first(a []value) (span, bool) { return a[0].span, true }

func notLonger(a []value) (span, bool) { return span{lo: zero, hi: a[0].hi}, true }

func cut(a []value) (span, bool) { return span{lo: zero, hi: a[len(a)-1].hi}, true }

// tinyOf is what magnitudes but zero are above, nil if there is nothing.
func tinyOf(a value) *big.Rat {
	switch {
	case a.hasOnlyZero():
		return one
	case a.lo != nil && a.lo.Sign() > 0 && (a.tiny == nil || a.tiny.Cmp(a.lo) < 0):
		return a.lo
	}
	return a.tiny
}

func known() functionTable {
	all := functionTable{}
	row := all.row
	// Text: varlena.c, oracle_compat.c, formatting.c. Texts of a bounded length are no longer than memory: what is left is
	// sizes.
	for _, fn := range []string{"length", "char_length", "character_length", "octet_length"} {
		for _, t := range []string{"text", "bpchar"} {
			row(fn+"("+t+") int4 0..1073741823", nil) // textlen, bpcharlen, textoctetlen and bpcharoctetlen count
		}
	}
	row("position(text, text) int4 0..1073741823", searchable) // textpos: refuses collations that are not deterministic
	row("strpos(text, text) int4 0..1073741823", searchable)
	row("lower(text ..2097152) text", cased) // str_tolower: memory
	row("upper(text ..2097152) text", cased)
	for _, fn := range []string{"btrim", "ltrim", "rtrim"} {
		row(fn+"(text) text", notLonger) // dotrim leaves a part
		row(fn+"(text, text ..200) text", notLonger)
	}
	// split_part: of field 0; a part, or nothing
	row("split_part(text ..2097152, text, int4 1..) text", func(a []value) (span, bool) {
		_, ok := searchable(a)
		return span{lo: zero, hi: a[0].hi}, ok
	})
	// text_left, text_right: without so many at the other end, if below zero
	for _, fn := range []string{"left", "right"} {
		row(fn+"(text, int4 0..2097152) text", cut)
		row(fn+"(text, int4 -2097152..-1) text", notLonger)
	}
	// text_substring: a negative length; sums are watched for overflow
	for _, fn := range []string{"substring", "substr"} {
		row(fn+"(text, int4, int4 0..2097152) text", cut)
		row(fn+"(text, int4) text", notLonger)
	}
	// replace_text: as textpos; size. Each replaced is one character at least
	row("replace(text, text, text) text", func(a []value) (span, bool) {
		r, ok := lengths(times(a[0].hi, most(one, a[2].hi)))
		_, found := searchable(a)
		return r, ok && found && a[2].collation == ""
	})
	for _, fn := range []string{"lpad", "rpad"} { // lpad, rpad: size; no text is of negative length
		row(fn+"(text, int4 0..2097152, text) text", func(a []value) (span, bool) { return lengths(a[1].hi) })
		row(fn+"(text, int4 0..2097152) text", cut)
	}
	row("similar_to_escape(text) text", func(a []value) (span, bool) { // similar_escape_internal: of escapes
		s, _ := lengths(big.NewRat(1000, 1))
		return s, similarTo(word(a[0]))
	})

	// Numbers: int.c, int8.c, numeric.c, float.c. NaN passes through unless bounds forbid it.
	for _, t := range []string{"int2", "int4", "int8", "numeric", "float8"} {
		row("abs("+t+") "+t, absolute) // of the least integer
	}
	for _, t := range []string{"numeric", "float8"} {
		row("sign("+t+") "+t, func(a []value) (span, bool) { // numeric_sign, dsign
			r := span{lo: big.NewRat(-1, 1), hi: one, nan: a[0].nan, tiny: one}
			if a[0].lo != nil && a[0].lo.Sign() >= 0 {
				r.lo = zero
			}
			return r, true
		})
		row("ln("+t+") "+t, logarithm(math.Log))
		row("log("+t+") "+t, logarithm(math.Log10))
		row("log10("+t+") "+t, logarithm(math.Log10))
	}
	for _, t := range []string{"int2", "int4", "int8"} {
		row("mod("+t+", "+t+") "+t, remainder) // int4mod: by zero
	}
	// as few digits behind the point as the value needs: equal numbers have equal bytes
	row("trim_scale(numeric) numeric!", first)
	row("div(numeric, numeric) numeric", quotients)
	row("mod(numeric, numeric) numeric", remainder)
	row("trunc(numeric) numeric", truncating)
	row("trunc(numeric, int4 -20..100) numeric", truncating)
	for _, fn := range []string{"floor", "ceil", "ceiling", "round"} {
		row(fn+"(numeric) numeric", rounding)
		row(fn+"(float8) float8", rounding) // dfloor, dceil, dround check nothing
	}
	row("trunc(float8) float8", rounding) // nor does dtrunc
	row("round(numeric, int4 -20..20) numeric", rounding)
	row("width_bucket(numeric, numeric, numeric, int4) int4", buckets)
	row("width_bucket(float8, float8, float8, int4) int4", buckets)
	row("sqrt(float8 0..) float8", func(a []value) (span, bool) { // dsqrt: below zero. A root is between 1 and its square
		r := span{lo: zero, nan: a[0].nan}
		if t := tinyOf(a[0]); t != nil {
			r.tiny = least(t, one)
		}
		if a[0].hi != nil {
			r.hi = most(a[0].hi, one)
		}
		return r, true
	})
	// numeric_sqrt: the same; 16 digits at least, more of more zeros behind the point
	row("sqrt(numeric 0..) numeric", func(a []value) (span, bool) {
		r := span{lo: zero}
		if a[0].hi == nil || a[0].nan || a[0].hi.Cmp(bigNumber) > 0 {
			return r, false
		}
		r.hi = most(a[0].hi, one)
		if t := tinyOf(a[0]); t != nil {
			r.tiny = times(least(t, one), big.NewRat(9, 10))
		}
		return r, true
	})
	row("exp(float8 -690..700) float8", func(a []value) (span, bool) { return exponential(a[0].lo, a[0].hi), true })
	row("radians(float8) float8", func(a []value) (span, bool) { // float8_mul by pi/180, which is between 1/64 and 1/57
		t := tinyOf(a[0])
		if !a[0].finite() || t == nil || t.Cmp(new(big.Rat).Mul(smallest, big.NewRat(64, 1))) < 0 {
			return span{}, false
		}
		m := a[0].largest()
		return span{lo: new(big.Rat).Neg(m), hi: m, tiny: new(big.Rat).Quo(t, big.NewRat(64, 1))}, true
	})
	row("sin(float8 -1e300..1e300) float8", func(a []value) (span, bool) {
		// dsin: of infinity. |sin x| > |x|/2 below 1; no other float8 is nearer than 10^-19 to a multiple of pi
		// (Muller, Elementary Functions, 11)
		r := between(big.NewRat(-1, 1), one)
		if t := tinyOf(a[0]); t != nil {
			r.tiny = least(new(big.Rat).Mul(t, big.NewRat(1, 4)), new(big.Rat).Inv(power(10, 20)))
		}
		return r, true
	})
	// dcos: of infinity. As near to zero as sin, at the odd halves of pi
	row("cos(float8 -1e300..1e300) float8", func([]value) (span, bool) {
		r := between(big.NewRat(-1, 1), one)
		r.tiny = new(big.Rat).Inv(power(10, 20))
		return r, true
	})
	row("asin(float8 -1..1) float8", func(a []value) (span, bool) { // dasin: beyond 1. It is no less than its argument
		r := between(big.NewRat(-2, 1), big.NewRat(2, 1))
		r.tiny = times(tinyOf(a[0]), big.NewRat(9, 10))
		return r, true
	})
	row("acos(float8 -1..1) float8", func([]value) (span, bool) { // dacos: beyond 1. Of 1 less 2^-53 it is above 2^-27
		r := between(zero, big.NewRat(4, 1))
		r.tiny = new(big.Rat).Inv(power(2, 28))
		return r, true
	})
	row("power(float8, float8 0..16) float8", powers)
	row("power(numeric, numeric 0..16) numeric", powers)

	// Times: timestamp.c, date.c. See near.
	// float8_timestamptz: NaN, or out of range
	row("to_timestamp(float8 -200e9..9e12) timestamptz", func(a []value) (span, bool) {
		return between(plus(times(a[0].lo, million), big.NewRat(-1024, 1)),
			plus(times(a[0].hi, million), big.NewRat(1024, 1))), true
	})
	for _, t := range []string{"timestamp", "timestamptz"} {
		row("date_part(text, "+t+") float8?", part)
		row("extract(text, "+t+") numeric?!", exactPart)
		row("extract(text, "+t+") numeric?", part)
		row("date_trunc(text, "+t+") "+t, truncatedTime)
		row("date_bin(interval, "+t+", "+t+") "+t, binned)
		row("to_char("+t+", text) text ..400", pictured)
		// timestamp_age: out of range. Months of 31 days are longer
		row("age("+t+", "+t+") interval", func(a []value) (span, bool) {
			d := a[0].add(a[1].negate())
			return wider(d, big.NewRat(2, 1)), near(a[0]) && near(a[1])
		})
	}
	row("make_interval(int4, int4, int4, int4, int4, int4, float8) interval", madeInterval)
	row("timezone(text, timestamptz) timestamp", zoned) // timestamptz_zone: an unknown zone, or out of range
	row("timezone(text, timestamp) timestamptz", zoned)
	row("date_part(text, date) float8?", func(a []value) (span, bool) { // by way of a timestamp
		s, ok := part(a)
		return s, ok && near(a[1])
	})
	row("extract(text, date) numeric?!", part)
	row("date_part(text, time) float8", part)
	row("extract(text, time) numeric", part)
	row("date_part(text, interval) float8?", part)
	row("extract(text, interval) numeric?!", exactPart)
	row("extract(text, interval) numeric?", part)

	// Ranges: rangetypes.c. These look at a range alone; its bounds are values of its elements' type, or NULL. A span
	// of a range is of both its bounds: it has two, or is empty.
	for r, e := range ranges {
		bound := func(a []value) (span, bool) {
			if a[0].finite() || a[0].none {
				return a[0].span, true
			}
			return spanOf(e), true
		}
		row("lower("+r+") "+e+"?", bound)
		row("upper("+r+") "+e+"?", bound)
		for _, fn := range []string{"isempty", "lower_inc", "upper_inc", "lower_inf", "upper_inf"} {
			row(fn+"("+r+") bool", nil)
		}
	}
	return all
}
