package bounds

import (
	"math/big"
	"strings"
)

// Nobody changes these in place.
var (
	Zero = new(big.Rat)
	One  = new(big.Rat).SetInt64(1)
	half = big.NewRat(1, 2)
)

func product(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func negative(r *big.Rat) *big.Rat   { return new(big.Rat).Neg(r) }

// Min returns the smaller of two numbers.
func Min(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

// Max returns the greater of two numbers.
func Max(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// Pow10 is 10^n.
func Pow10(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// Pow2 is 2^n.
func Pow2(n int) *big.Rat {
	p := new(big.Int).Lsh(big.NewInt(1), uint(abs(n)))
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// FloorPow2 is the largest power of two ≤ r, for r > 0.
func FloorPow2(r *big.Rat) *big.Rat {
	n := r.Num().BitLen() - r.Denom().BitLen()
	if Pow2(n).Cmp(r) > 0 {
		n--
	}
	return Pow2(n)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// Floor rounds down to an integer.
func Floor(r *big.Rat) *big.Rat {
	if r.IsInt() {
		return r
	}
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: floors, as denominators are positive
	return new(big.Rat).SetInt(q)
}

// Ceil rounds up to an integer.
func Ceil(r *big.Rat) *big.Rat {
	if r.IsInt() {
		return r
	}
	return negative(Floor(negative(r)))
}

// RoundHalfAway rounds to an integer, halves away from zero, as numeric does.
func RoundHalfAway(r *big.Rat) *big.Rat {
	if r.Sign() < 0 {
		return negative(RoundHalfAway(negative(r)))
	}
	return Floor(new(big.Rat).Add(r, half))
}

// RoundHalfEven rounds to an integer, halves to even, as rint does.
func RoundHalfEven(r *big.Rat) *big.Rat {
	down := Floor(r)
	switch new(big.Rat).Sub(r, down).Cmp(half) {
	case -1:
		return down
	case 1:
		return new(big.Rat).Add(down, One)
	}
	if down.Num().Bit(0) == 0 {
		return down
	}
	return new(big.Rat).Add(down, One)
}

// RoundScale rounds to digits after the point, halves away from zero.
func RoundScale(r *big.Rat, digits int) *big.Rat {
	return product(RoundHalfAway(product(r, Pow10(digits))), Pow10(-digits))
}

// Decimal prints an exact decimal where there is one, else 20 digits after the point.
func Decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	if n, exact := r.FloatPrec(); exact && n <= 2000 {
		return r.FloatString(n)
	}
	return strings.TrimRight(r.FloatString(20), "0")
}

// Outward rounds away from the middle, up or down, to 60 digits after the point; nil stays nil.
func Outward(r *big.Rat, up bool) *big.Rat {
	if r == nil {
		return nil
	}
	if n, exact := r.FloatPrec(); exact && n <= 60 {
		return r
	}
	scaled := product(r, Pow10(60))
	if up {
		return product(Ceil(scaled), Pow10(-60))
	}
	return product(Floor(scaled), Pow10(-60))
}
