package certify

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// integers has the integer types and their ranks among numbers: an operator of two types is that of the higher one.
var ranks = map[string]int{"int2": 1, "int4": 2, "int8": 3, "numeric": 4, "float4": 5, "float8": 6}

func isInteger(t string) bool { return ranks[t] >= 1 && ranks[t] <= 3 }
func isNumber(t string) bool  { return ranks[t] > 0 }

// integers are the smallest and the largest number of each integer type.
var integers = map[string]span{"int2": ofBits(15), "int4": ofBits(31), "int8": ofBits(63)}

func ofBits(n int64) span {
	return span{lo: new(big.Rat).Neg(power(2, n)), hi: new(big.Rat).Sub(power(2, n), one), tiny: one}
}

// limits are the smallest and the largest number of an integer type.
func limits(t string) (lo, hi *big.Rat) { return integers[t].lo, integers[t].hi }

// exactTypes are those whose equal values have equal bytes, and are printed alike. Not among them: numeric (1.0 and
// 1.00), floats (0 and -0), interval, text of a collation that is not deterministic.
var exactTypes = map[string]bool{
	"int2": true, "int4": true, "int8": true, "bool": true, "date": true, "timestamp": true, "timestamptz": true,
	"uuid": true, "bytea": true,
	"time": true,
}

// spelled are the names of types as the policy and format_type give them.
var spelled = map[string]string{
	"smallint": "int2", "integer": "int4", "int": "int4", "bigint": "int8", "real": "float4", "double precision": "float8",
	"boolean":                "bool",
	"time without time zone": "time", "timestamp without time zone": "timestamp",
	"timestamp with time zone": "timestamptz", "character varying": "text", "varchar": "text",
}

var (
	numericType = regexp.MustCompile(`^numeric\((\d+),(-?\d+)\)$`)
	varyingType = regexp.MustCompile(`^character varying\((\d+)\)$`)
	paddedType  = regexp.MustCompile(`^(?:character|bpchar)\((\d+)\)$`)
)

// isText reports whether a type is text, bpchar or bpchar(n): those that have collations.
func isText(t string) bool { return t == "text" || t == "bpchar" || blanked(t) }

// blanked reports whether a type is bpchar(n): texts of n characters, with blanks at the end that comparisons ignore.
//
// Rule: under a deterministic collation, equal values of one such type have equal bytes. Proof: bpchareq compares what
// is before the blanks by bytes, bpchar_input and bpchar fill up to n.
func blanked(t string) bool { return strings.HasPrefix(t, "bpchar(") }

// anyOf is what is known of a column of a type.
func (c *checker) anyOf(col Column) value {
	t := col.Type
	for b, ok := c.facts.Bases[t]; ok; b, ok = c.facts.Bases[t] { // a domain may be one of a domain
		t = b
	}
	t = strings.TrimPrefix(t, "pg_catalog.")
	v := value{notNull: col.NotNull, collation: col.Collation}
	if e, ok := strings.CutSuffix(t, "[]"); ok {
		t, v.array = e, true
	}
	if m := numericType.FindStringSubmatch(t); m != nil {
		// Rule: numeric(p,s) is below 10^(p-s), or NaN. Proof: apply_typmod of numeric.c, which refuses infinities.
		p, _ := strconv.ParseInt(m[1], 10, 64)
		s, _ := strconv.ParseInt(m[2], 10, 64)
		if v.typ, v.span = "numeric", spanOf("numeric"); s >= 0 && p >= s && p <= 1000 {
			v.span = span{lo: new(big.Rat).Neg(power(10, p-s)), hi: power(10, p-s), nan: true, tiny: new(big.Rat).Inv(
				power(10, s))}
			v.exact = col.Deterministic
		}
		return v
	}
	if s, ok := spelled[t]; ok {
		t = s
	}
	if m := paddedType.FindStringSubmatch(t); m != nil {
		t = "bpchar(" + m[1] + ")"
	}
	v.typ, v.span = t, spanOf(t)
	// Rule: varchar(n) is text of at most n characters. Proof: it has no operators, and no function casts it to text.
	if m := varyingType.FindStringSubmatch(t); m != nil {
		n, _ := number(m[1])
		v.typ, v.span = "text", between(zero, n)
	}
	v.integral = isInteger(t)
	v.exact = exactTypes[t] || c.facts.Enums[t] != nil || (v.typ == "text" || blanked(t)) && col.Deterministic
	if v.typ == "text" && !v.array && !v.exact {
		v.equality = col.Collation
	}
	return v
}

// spanOf is the span of all values of a type.
func spanOf(t string) span {
	if s, ok := integers[t]; ok {
		return s
	}
	if m := paddedType.FindStringSubmatch(t); m != nil {
		n, _ := number(m[1])
		return between(zero, n)
	}
	return span{nan: isNumber(t)}
}

// given is any constant of a type.
func given(t string) value {
	v := made(t, spanOf(t))
	v.exact, v.present = v.exact || t == "text" || blanked(t), false
	return v
}

// literal is a constant of a type that stands in the text as a string. PostgreSQL reads it when it parses, so one that
// is no constant of its type fails whatever the rows are (coerce_type in parse_coerce.c).
func literal(t, s string) value {
	v := given(t)
	switch {
	case isNumber(t):
		if r, ok := number(s); ok {
			v.span, v.integral = exactly(r), r.IsInt() && t != "float4" && t != "float8" && number64(s)
			switch _, single := r.Float32(); {
			case t == "float4" && !single: // within a part of 2^23
				part := new(big.Rat).Mul(new(big.Rat).Abs(r), new(big.Rat).Inv(power(2, 23)))
				v.span = span{lo: new(big.Rat).Sub(r, part), hi: new(big.Rat).Add(r, part)}
			case t == "float8":
				v.span = v.span.rounded()
			}
		}
	case t == "text":
		v.span = between(zero, big.NewRat(int64(len(s)), 1))
	case t == "interval":
		if p, ok := readInterval(s); ok {
			v.span = intervalOf(p)
		}
	case ranges[t] != "" && s == "empty":
		v.span = span{none: true}
	case t == "date":
		if at, ok := instant(s + " 00:00:00"); ok {
			v.span = exactly(big.NewRat(at.Unix()/86400, 1))
		}
	case t == "timestamp" || t == "timestamptz":
		if at, ok := instant(s); ok && (t == "timestamp") != inZone(s) {
			v.span = exactly(big.NewRat(at.UnixMicro(), 1))
		}
	}
	return v
}

func (c *checker) literal(t, s string) value {
	v := literal(t, s)
	v.exact = v.exact || c.facts.Enums[t] != nil
	return v
}

func (c *checker) given(t string) value {
	v := given(t)
	v.exact = v.exact || c.facts.Enums[t] != nil
	return v
}

// null is NULL of a type: no number is in its span.
func null(t string, array bool) value {
	v := literal(t, "")
	v.notNull, v.array, v.span = false, array, span{none: true}
	return v
}

// canRead reports whether a string surely is a constant of a type.
func (c *checker) canRead(t, s string) bool {
	reads := elements[t]
	return reads != nil && reads(s) || blanked(t) || slices.Contains(c.facts.Enums[t], s) // a cast to bpchar(n) cuts
}

// number reads a number of at most some hundred digits, and no less than a float8 can be.
func number(s string) (*big.Rat, bool) {
	if len(s) > 400 {
		return nil, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(s, "xX_pP") {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(s)
	return r, ok && (f != 0 || r.Sign() == 0)
}

// common reports whether a number is zero or of a magnitude that every type of numbers with a fraction holds.
func common(r *big.Rat) bool {
	a := new(big.Rat).Abs(r)
	return r.Sign() == 0 || a.Cmp(smallest) >= 0 && a.Cmp(largest) <= 0
}

// instant reads a time to the microsecond, in the zone UTC if it names one, of the years 1 to 9999. Go reads a comma
// for a point.
func instant(s string) (time.Time, bool) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "+00"), "Z")
	at, err := time.Parse("2006-01-02 15:04:05.999999", s)
	return at, err == nil && at.Year() > 0 && len(s) <= len("2006-01-02 15:04:05.999999") && !strings.Contains(s, ",")
}

func inZone(s string) bool { return strings.HasSuffix(s, "+00") || strings.HasSuffix(s, "Z") }

// endless reports whether a string is one of the constants that are no finite number, or no finite time.
func endless(s string) bool {
	s = strings.ToLower(s)
	return s == "infinity" || s == "-infinity" || s == "nan"
}

// elements are the types of which Check can see whether a string is one: main might read an element of a parameter only
// where rows come by, so one that is none would fail for some rows alone.
var elements = map[string]func(s string) bool{
	"text":    func(string) bool { return true },
	"bpchar":  func(string) bool { return true },
	"bool":    func(s string) bool { return s == "t" || s == "f" || s == "true" || s == "false" },
	"int2":    func(s string) bool { _, err := strconv.ParseInt(s, 10, 16); return err == nil },
	"int4":    func(s string) bool { _, err := strconv.ParseInt(s, 10, 32); return err == nil },
	"int8":    func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err == nil },
	"numeric": func(s string) bool { r, ok := number(s); return ok && common(r) || endless(s) },
	"float8":  func(s string) bool { r, ok := number(s); return ok && common(r) || endless(s) },
	"float4": func(s string) bool {
		r, ok := number(s)
		m := power(10, 37)
		return ok && (r.Sign() == 0 || exactly(r).largest().Cmp(m) < 0 && exactly(r).tiny.Cmp(new(big.Rat).Inv(m)) > 0) ||
			endless(s)
	},
	"date": func(s string) bool {
		_, ok := instant(s + " 00:00:00")
		return ok && len(s) == 10 || endless(s) && len(s) > 3
	},
	"timestamp": func(s string) bool {
		_, ok := instant(s)
		return ok && !inZone(s) || endless(s) && len(s) > 3
	},
	"timestamptz": func(s string) bool { _, ok := instant(s); return ok && inZone(s) || endless(s) && len(s) > 3 },
	"time": func(s string) bool {
		_, ok := instant("2000-01-01 " + s)
		return ok && !inZone(s) || s == "24:00:00"
	},
}
