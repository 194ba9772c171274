package certify

import (
	"math"
	"math/big"
)

var (
	one      = big.NewRat(1, 1)
	zero     = new(big.Rat)
	mostRows = power(2, 32)                          // that an aggregate reads at most: see docs/certify.md
	ulp      = new(big.Rat).SetFrac64(1, 1<<52)      // relative error of a float8 operation is at most half of it
	largest  = new(big.Rat).Sub(power(10, 308), one) // float8s up to here are finite, and stay so when rounded
	smallest = new(big.Rat).Inv(power(10, 300))      // products above it do not underflow
	// numeric holds 131072 digits before the point: finite operations stay below
	bigNumber = power(10, 1000)
)

func power(b, e int64) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(b), big.NewInt(e), nil))
}

// span is a set of numbers: those between lo and hi (nil: no bound, infinity included), without zero if nonzero, and
// NaN if nan. tiny, if there is one, is below every magnitude but zero. NULL is in no span: operators and functions
// here are strict or say so.
type span struct {
	lo, hi  *big.Rat
	nan     bool
	nonzero bool
	none    bool // it is NULL
	tiny    *big.Rat
}

func exactly(r *big.Rat) span {
	s := span{lo: r, hi: r, nonzero: r.Sign() != 0}
	if r.Sign() != 0 {
		s.tiny = new(big.Rat).Abs(r)
	}
	return s
}

func between(lo, hi *big.Rat) span { return span{lo: lo, hi: hi} }

// finite reports whether all numbers are between bounds, and none is NaN.
func (s span) finite() bool { return s.lo != nil && s.hi != nil && !s.nan }

// within reports whether all numbers lie between lo and hi.
func (s span) within(lo, hi *big.Rat) bool {
	return s.finite() && compare(s.lo, lo) >= 0 && compare(s.hi, hi) <= 0
}

// inside reports whether all numbers are of an integer type.
func (s span) inside(t string) bool {
	lo, hi := limits(t)
	return s.within(lo, hi)
}

// hasZero reports whether zero may be in it.
func (s span) hasZero() bool {
	return !s.nonzero && (s.lo == nil || s.lo.Sign() <= 0) && (s.hi == nil || s.hi.Sign() >= 0)
}

// largest is the largest magnitude, nil if there is none.
func (s span) largest() *big.Rat {
	if !s.finite() {
		return nil
	}
	return most(new(big.Rat).Abs(s.lo), new(big.Rat).Abs(s.hi))
}

// join is the union.
func (s span) join(o span) span {
	switch {
	case s.none:
		return o
	case o.none:
		return s
	}
	r := span{nan: s.nan || o.nan, nonzero: !s.hasZero() && !o.hasZero()}
	if s.lo != nil && o.lo != nil {
		r.lo = least(s.lo, o.lo)
	}
	r.hi = most(s.hi, o.hi)
	r.tiny = s.tinier(o)
	return r
}

// tinier is what magnitudes of both but zero are above.
func (s span) tinier(o span) *big.Rat {
	switch {
	case s.hasOnlyZero():
		return o.tiny
	case o.hasOnlyZero():
		return s.tiny
	case s.tiny == nil || o.tiny == nil:
		return nil
	}
	return least(s.tiny, o.tiny)
}

// hasOnlyZero reports whether a span is zero alone.
func (s span) hasOnlyZero() bool {
	return s.lo != nil && s.hi != nil && s.lo.Sign() == 0 && s.hi.Sign() == 0 && !s.nan
}

// top is the upper bound, of which there is none with NaN.
func (s span) top() *big.Rat {
	if s.nan {
		return nil
	}
	return s.hi
}

// clamp is LEAST(s, o) or GREATEST(s, o) where neither is NULL.
//
// Rule: bounds are taken each by each. Proof: both functions are monotone in each argument; NaN is the largest, so
// LEAST has it only if both may, GREATEST if one may.
func (s span) clamp(o span, low bool) span {
	if s.none || o.none {
		return s.join(o)
	}
	r := s.join(o)
	if low {
		r.hi, r.nan = least(s.top(), o.top()), s.nan && o.nan
	} else if r.lo = s.lo; s.lo == nil || o.lo != nil && o.lo.Cmp(s.lo) > 0 {
		r.lo = o.lo
	}
	return r
}

// add is the sum of finite spans.
func (s span) add(o span) span {
	return span{lo: plus(s.lo, o.lo), hi: plus(s.hi, o.hi), nan: s.nan || o.nan}
}

func (s span) negate() span {
	r := s
	r.lo, r.hi = nil, nil
	if s.hi != nil {
		r.lo = new(big.Rat).Neg(s.hi)
	}
	if s.lo != nil {
		r.hi = new(big.Rat).Neg(s.lo)
	}
	return r
}

// multiply is the product of finite spans.
func (s span) multiply(o span) span {
	r := s.corners(o, (*big.Rat).Mul)
	r.nonzero = !s.hasZero() && !o.hasZero()
	if s.tiny != nil && o.tiny != nil {
		r.tiny = new(big.Rat).Mul(s.tiny, o.tiny)
	}
	return r
}

// corners is what an operation makes of finite spans that is monotone in each: a product, or a quotient by a divisor on
// one side of zero.
func (s span) corners(o span, f func(r, a, b *big.Rat) *big.Rat) span {
	x := f(new(big.Rat), s.lo, o.lo)
	r := between(x, x)
	for _, x := range []*big.Rat{f(new(big.Rat), s.lo, o.hi), f(new(big.Rat), s.hi, o.lo), f(new(big.Rat), s.hi, o.hi)} {
		r.lo, r.hi = least(r.lo, x), most(r.hi, x)
	}
	return r
}

// rounded widens a span by what a float8 operation may round, unless its bounds are float8s.
//
// Rule: bounds that float8 holds stay. Proof: rounding is monotone, so a result on this side of a float8 rounds to this
// side.
func (s span) rounded() span {
	r := s
	r.lo, r.hi = outward(s.lo, -1), outward(s.hi, 1)
	if s.tiny != nil {
		r.tiny = new(big.Rat).Mul(s.tiny, big.NewRat(1, 2))
	}
	return r
}

func outward(b *big.Rat, side int) *big.Rat {
	if b == nil {
		return nil
	}
	if f, exact := b.Float64(); exact && !math.IsInf(f, 0) {
		return b
	}
	d := new(big.Rat).Mul(new(big.Rat).Abs(b), ulp)
	if d = most(d, smallest); side < 0 {
		return new(big.Rat).Sub(b, d)
	}
	return new(big.Rat).Add(b, d)
}

// toInteger is what a cast to an integer type makes of a span: the nearest integers, a half going either way. Proof:
// rounding is monotone and leaves integers alone.
func (s span) toInteger() span {
	up := func(b *big.Rat) *big.Rat {
		if b = plus(b, big.NewRat(1, 2)); b == nil {
			return nil
		}
		return new(big.Rat).SetInt(floor(b))
	}
	o := s.negate()
	return span{lo: between(nil, up(o.hi)).negate().lo, hi: up(s.hi), nan: s.nan}
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: the divisor is positive
}
