package expr

import (
	"math/big"
	"strings"
)

// OIDs of the built-in types that expressions may have (pg_type.dat).
const (
	oidBool        = 16
	oidBytea       = 17
	oidChar        = 18
	oidName        = 19
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidFloat4      = 700
	oidFloat8      = 701
	oidUnknown     = 705
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidInterval    = 1186
	oidNumeric     = 1700
	oidUUID        = 2950
)

// maxChars is how many characters of a text of unknown length an operation reads: lower() of a value of 300 MB raises, since
// PostgreSQL converts it to wide characters in one allocation (formatting.c, str_tolower). The rest is cut off.
const maxChars = 1 << 20

func isInt(oid uint32) bool    { return oid == oidInt2 || oid == oidInt4 || oid == oidInt8 }
func isFloat(oid uint32) bool  { return oid == oidFloat4 || oid == oidFloat8 }
func isNumber(oid uint32) bool { return isInt(oid) || isFloat(oid) || oid == oidNumeric }
func isString(oid uint32) bool {
	return oid == oidText || oid == oidVarchar || oid == oidBpchar || oid == oidName
}
func isTime(oid uint32) bool {
	switch oid {
	case oidDate, oidTime, oidTimestamp, oidTimestamptz, oidInterval:
		return true
	}
	return false
}

// supported says whether values of a built-in type may take part in more than IS NULL.
func supported(oid uint32) bool {
	return oid == oidBool || oid == oidUUID || isNumber(oid) || isString(oid) || isTime(oid)
}

// typeNames are the names under which format_type shows the built-in types that casts may name.
var typeNames = map[uint32]string{
	oidBool: "boolean", oidInt2: "smallint", oidInt4: "integer", oidInt8: "bigint", oidFloat4: "real", oidFloat8: "double precision",
	oidTime: "time without time zone", oidTimestamp: "timestamp without time zone", oidTimestamptz: "timestamp with time zone",
	oidBpchar: "character", oidVarchar: "character varying",
}

// display names a type in messages.
func display(oid uint32) string {
	if s, ok := typeNames[oid]; ok {
		return s
	}
	if t := catalog.types[oid]; t != nil {
		return t.name
	}
	return "that type"
}

// qualified prints a built-in type for a cast, with its typmod.
func qualified(oid uint32, typmod int32) string {
	t := catalog.types[oid]
	if t == nil {
		if e := catalog.arrays[oid]; e != nil {
			return "pg_catalog." + quoteIdent(e.name) + "[]"
		}
		return "pg_catalog.unknown"
	}
	return "pg_catalog." + quoteIdent(t.name) + typmodText(oid, typmod)
}

// intRange is the range of an integer type.
func intRange(oid uint32) Interval {
	switch oid {
	case oidInt2:
		return Between(-1<<15, 1<<15-1)
	case oidInt4:
		return Between(-1<<31, 1<<31-1)
	}
	return Between(-1<<63, 1<<63-1)
}

// Ranges of date and timestamp types are kept to years where every calendar function of PostgreSQL works, in any zone.
var (
	dateSafe      = Interval{rat(-2400000), rat(100000000)}                                       // days
	timestampSafe = Interval{mul(rat(-2400000), microsPerDay), mul(rat(100000000), microsPerDay)} // until year 275760
	microsPerDay  = rat(86400000000)
	microsPerSec  = rat(1000000)
	zoneMax       = rat(168 * 3600 * 1000000) // a POSIX zone may be up to 167:59:59 away from UTC (localtime.c, getsecs)
	zoneJump      = mul(rat(2), zoneMax)      // by how much a zone's offset may change: one end of a POSIX zone's range to the other
	dayRange      = Interval{ratZero, microsPerDay}
)

var (
	ratZero = new(big.Rat)
	ratOne  = rat(1)
)

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func frac(a, b int64) *big.Rat { return big.NewRat(a, b) }

func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func sub(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func quo(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
func neg(a *big.Rat) *big.Rat    { return new(big.Rat).Neg(a) }

func ratMin(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func ratMax(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// pow10 is 10^n.
func pow10(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// pow2 is 2^n.
func pow2(n int) *big.Rat {
	p := new(big.Int).Lsh(big.NewInt(1), uint(abs(n)))
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// floorRat and ceilRat round to integers.
func floorRat(r *big.Rat) *big.Rat {
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: floors, as denominators are positive
	return new(big.Rat).SetInt(q)
}

func ceilRat(r *big.Rat) *big.Rat { return neg(floorRat(neg(r))) }

// roundAway rounds to an integer, halves away from zero, as numeric does.
func roundAway(r *big.Rat) *big.Rat {
	if r.Sign() < 0 {
		return neg(roundAway(neg(r)))
	}
	return floorRat(add(r, frac(1, 2)))
}

// roundEven rounds to an integer, halves to even, as rint does.
func roundEven(r *big.Rat) *big.Rat {
	down := floorRat(r)
	switch sub(r, down).Cmp(frac(1, 2)) {
	case -1:
		return down
	case 1:
		return add(down, ratOne)
	}
	if down.Num().Bit(0) == 0 {
		return down
	}
	return add(down, ratOne)
}

// roundScale rounds to digits after the point, halves away from zero.
func roundScale(r *big.Rat, digits int) *big.Rat {
	return mul(roundAway(mul(r, pow10(digits))), pow10(-digits))
}

// fl rounds to the nearest float of a type; ok is false beyond its range.
func fl(r *big.Rat, oid uint32) (v *big.Rat, ok bool) {
	var f float64
	if oid == oidFloat4 {
		f32, _ := r.Float32()
		f = float64(f32)
	} else {
		f, _ = r.Float64()
	}
	v = new(big.Rat)
	if v.SetFloat64(f) == nil {
		return nil, false
	}
	return v, true
}

// flInterval rounds a finite interval's ends, which holds every rounded value since rounding is monotone.
func flInterval(i Interval, oid uint32) (Interval, bool) {
	lo, ok1 := fl(i.Lo, oid)
	hi, ok2 := fl(i.Hi, oid)
	return Interval{lo, hi}, ok1 && ok2
}

// decimal prints an exact decimal where there is one, else 20 digits after the point.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	if n, exact := r.FloatPrec(); exact && n <= 2000 {
		return r.FloatString(n)
	}
	return strings.TrimRight(r.FloatString(20), "0")
}
