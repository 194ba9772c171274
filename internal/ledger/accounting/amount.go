package accounting

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Amount counts ε (or a Rényi divergence) exactly, in units of 10⁻¹⁸: 128 bits hold up to 3.4·10²⁰. The largest Amount
// means "unbounded" and stays so whatever is added.
type Amount struct{ hi, lo uint64 }

// unbounded absorbs every sum.
var unbounded = Amount{math.MaxUint64, math.MaxUint64}

// Decimal digits after the point that an Amount keeps: of ε, and of a δ of partition selection (which is at most 1).
const (
	epsilonDigits = 18
	deltaDigits   = 30
)

// significant is the number of decimal digits that are kept of an ε or δ. A float64 that stands for a decimal number of
// up to 15 digits gives that number back, so ten charges of 0.1 are exactly 1. The dropped part is below 5·10⁻¹⁵ of the
// value; the calibration margin of every mechanism is wider (docs/budget.md, «Exact sums»).
const significant = 15

// add returns a+b, or unbounded on overflow.
func (a Amount) add(b Amount) Amount {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, carry := bits.Add64(a.hi, b.hi, carry)
	if carry != 0 {
		return unbounded
	}
	return Amount{hi, lo}
}

// sub returns a−b, or 0 where b is larger.
func (a Amount) sub(b Amount) Amount {
	if a.cmp(b) <= 0 {
		return Amount{}
	}
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return Amount{hi, lo}
}

// cmp returns −1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) cmp(b Amount) int {
	switch {
	case a == b:
		return 0
	case a.hi < b.hi || a.hi == b.hi && a.lo < b.lo:
		return -1
	default:
		return 1
	}
}

func (a Amount) isZero() bool { return a == Amount{} }

// decimal reads x ≥ 0 as the decimal number of 15 significant digits that is nearest to it, and rounds that up to the
// given digits after the point. NaN and negative numbers give unbounded.
func decimal(x float64, digits int) Amount {
	if math.IsNaN(x) || x < 0 || math.IsInf(x, 1) {
		return unbounded
	}
	text := strconv.FormatFloat(x, 'e', significant-1, 64) // d.dddddddddddddde±xx
	mantissa, exponent, _ := strings.Cut(text, "e")
	n, err := strconv.ParseUint(strings.Replace(mantissa, ".", "", 1), 10, 64)
	if err != nil {
		return unbounded
	}
	power, err := strconv.Atoi(exponent)
	if err != nil {
		return unbounded
	}
	power += digits - (significant - 1)
	a := Amount{lo: n}
	for ; power > 0 && a != unbounded; power-- {
		a = a.times10()
	}
	inexact := false
	for ; power < 0 && !a.isZero(); power++ {
		var rest uint64
		a.hi, rest = a.hi/10, a.hi%10
		a.lo, rest = bits.Div64(rest, a.lo, 10)
		inexact = inexact || rest != 0
	}
	if inexact {
		a = a.add(Amount{lo: 1})
	}
	return a
}

// times10 returns 10·a, or unbounded on overflow.
func (a Amount) times10() Amount {
	carry, lo := bits.Mul64(a.lo, 10)
	over, hi := bits.Mul64(a.hi, 10)
	hi, carry = bits.Add64(hi, carry, 0)
	if over != 0 || carry != 0 {
		return unbounded
	}
	return Amount{hi, lo}
}

// ceil returns the exact value of x ≥ 0 in units of 10⁻¹⁸, rounded up. NaN and negative numbers give unbounded.
func ceil(x float64) Amount {
	if math.IsNaN(x) || x < 0 || math.IsInf(x, 1) {
		return unbounded
	}
	if x == 0 {
		return Amount{}
	}
	fraction, exponent := math.Frexp(x)
	mantissa := uint64(fraction * (1 << 53)) // exact: a float64 has 53 bits
	hi, lo := bits.Mul64(mantissa, 1e18)     // below 2¹¹³
	switch shift := exponent - 53; {
	case shift > 128-113:
		return unbounded
	case shift >= 0:
		return Amount{hi<<shift | lo>>(64-shift), lo << shift}
	case shift <= -128:
		return Amount{lo: 1}
	default:
		return Amount{hi, lo}.shiftRight(uint(-shift))
	}
}

// shiftRight returns a/2ⁿ rounded up, for 0 < n < 128.
func (a Amount) shiftRight(n uint) Amount {
	var out Amount
	var lost uint64
	if n >= 64 {
		out = Amount{0, a.hi >> (n - 64)}
		lost = a.lo | a.hi&(1<<(n-64)-1)
	} else {
		out = Amount{a.hi >> n, a.lo>>n | a.hi<<(64-n)}
		lost = a.lo & (1<<n - 1)
	}
	if lost != 0 {
		out = out.add(Amount{lo: 1})
	}
	return out
}

// Float returns the nearest float64, and +Inf for unbounded.
func (a Amount) Float() float64 { return a.float(epsilonDigits) }

func (a Amount) float(digits int) float64 {
	if a == unbounded {
		return math.Inf(1)
	}
	x, _ := strconv.ParseFloat(a.text(digits), 64)
	return x
}

// over returns a/b to the precision of a float64, and +Inf where b is 0. It never falls where a grows.
func (a Amount) over(b Amount) float64 {
	if b.isZero() {
		return math.Inf(1)
	}
	units := func(c Amount) float64 { return float64(c.hi)*0x1p64 + float64(c.lo) }
	return units(a) / units(b)
}

// times returns how many times b is in a: the largest whole n with n·b ≤ a, at most most.
func (a Amount) times(b Amount, most uint64) uint64 {
	switch {
	case b.isZero():
		return most
	case a.hi == 0 && b.hi == 0:
		return min(a.lo/b.lo, most)
	}
	n := new(big.Int).Quo(a.big(), b.big())
	if !n.IsUint64() {
		return most
	}
	return min(n.Uint64(), most)
}

func (a Amount) big() *big.Int {
	n := new(big.Int).SetUint64(a.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a.lo))
}

// String returns the exact decimal number.
func (a Amount) String() string {
	if a == unbounded {
		return "unbounded"
	}
	return a.text(epsilonDigits)
}

func (a Amount) text(digits int) string {
	s := a.big().String()
	if missing := digits + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	whole, rest := s[:len(s)-digits], strings.TrimRight(s[len(s)-digits:], "0")
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}

// appendTo appends the number of an amount's bytes, without leading zeros, and these bytes.
func (a Amount) appendTo(b []byte) []byte {
	var whole [16]byte
	binary.BigEndian.PutUint64(whole[:8], a.hi)
	binary.BigEndian.PutUint64(whole[8:], a.lo)
	short := bytes.TrimLeft(whole[:], "\x00")
	return append(append(b, byte(len(short))), short...)
}
