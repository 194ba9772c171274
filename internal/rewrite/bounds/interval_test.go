package bounds

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func sum(a, b *big.Rat) *big.Rat        { return new(big.Rat).Add(a, b) }
func difference(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
func quotient(a, b *big.Rat) *big.Rat   { return new(big.Rat).Quo(a, b) }

// TestIntervalArithmetic: whatever two intervals hold, the results of operations on their values lie in the operation
// on them.
func TestIntervalArithmetic(t *testing.T) {
	rational := rapid.Custom(func(t *rapid.T) *big.Rat {
		return big.NewRat(rapid.Int64Range(-1000, 1000).Draw(t, "numerator"), rapid.Int64Range(1, 20).Draw(t, "denominator"))
	})
	interval := rapid.Custom(func(t *rapid.T) Interval {
		i := HullOf(rational.Draw(t, "a"), rational.Draw(t, "b"))
		if rapid.Bool().Draw(t, "open below") {
			i.Lo = nil
		}
		if rapid.Bool().Draw(t, "open above") {
			i.Hi = nil
		}
		return i
	})
	inside := func(t *rapid.T, i Interval) *big.Rat {
		lo, hi := big.NewRat(-2000, 1), big.NewRat(2000, 1)
		if i.Lo != nil {
			lo = i.Lo
		}
		if i.Hi != nil {
			hi = i.Hi
		}
		part := big.NewRat(rapid.Int64Range(0, 12).Draw(t, "part"), 12)
		return sum(lo, product(part, difference(hi, lo)))
	}
	rapid.Check(t, func(t *rapid.T) {
		i, o := interval.Draw(t, "i"), interval.Draw(t, "o")
		x, y := inside(t, i), inside(t, o)
		check := func(name string, result Interval, v *big.Rat) {
			if !result.Contains(v) {
				t.Fatalf("%s: %s of %s and %s is %s, not in %s", name, name, x, y, v, result)
			}
		}
		check("add", i.Add(o), sum(x, y))
		check("sub", i.Sub(o), difference(x, y))
		check("mul", i.Mul(o), product(x, y))
		if y.Sign() != 0 {
			check("quo", i.Quo(o), quotient(x, y))
			if new(big.Rat).Abs(y).Cmp(One) >= 0 {
				check("quo apart", i.QuoApart(o, One), quotient(x, y))
			}
		}
		check("neg", i.Neg(), negative(x))
		check("abs", i.Abs(), new(big.Rat).Abs(x))
		check("hull", i.Hull(o), x)
		check("widen", i.Widen(One), difference(x, One))
		check("trunc", i.Trunc(), Point(x).Trunc().Lo)
		if o.Contains(x) {
			check("intersect", i.Intersect(o), x)
		}
		if i.Within(o) && !o.Contains(x) {
			t.Fatalf("%s lies within %s, but %s does not", i, o, x)
		}
	})
}

// TestRounding: the roundings of numeric and float casts.
func TestRounding(t *testing.T) {
	for _, c := range []struct{ in, away, even, down, up string }{
		{"5/2", "3", "2", "2", "3"},
		{"-5/2", "-3", "-2", "-3", "-2"},
		{"7/2", "4", "4", "3", "4"},
		{"-1/2", "-1", "0", "-1", "0"},
		{"1/3", "0", "0", "0", "1"},
		{"-7/3", "-2", "-2", "-3", "-2"},
		{"4", "4", "4", "4", "4"},
	} {
		r, _ := new(big.Rat).SetString(c.in)
		for name, got := range map[string][2]string{
			"away": {RoundHalfAway(r).RatString(), c.away},
			"even": {RoundHalfEven(r).RatString(), c.even}, "floor": {Floor(r).RatString(), c.down},
			"ceil": {Ceil(r).RatString(), c.up},
		} {
			if got[0] != got[1] {
				t.Errorf("%s of %s is %s", name, c.in, got[0])
			}
		}
	}
	for _, f := range []float64{1, 3, 0.3, 1024, 1e-9, 7e20} {
		r := new(big.Rat).SetFloat64(f)
		p, _ := FloorPow2(r).Float64()
		if p > f || 2*p <= f || math.Log2(p) != math.Trunc(math.Log2(p)) {
			t.Errorf("FloorPow2(%v) is %v", f, p)
		}
	}
}
