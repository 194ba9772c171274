package mechanism

import (
	"math"
	"math/big"
	"math/bits"
)

// floating is m·2^e with m in [2^63, 2^64), or 0 with m = 0: a positive number of 64 digits whose exponent has room for
// the weight of any outcome, however far out. Sums and products are rounded down by less than one part in 2^63. There
// is no subtraction.
type floating struct {
	m uint64
	e int64
}

// zeroExponent is that of 0, below all others.
const zeroExponent = math.MinInt64 / 2

var floatingZero = floating{0, zeroExponent}

// floatingInt is a whole number, exactly.
func floatingInt(n uint64) floating {
	if n == 0 {
		return floatingZero
	}
	z := bits.LeadingZeros64(n)
	return floating{n << z, -int64(z)}
}

func (a floating) times(b floating) floating {
	hi, lo := bits.Mul64(a.m, b.m)
	switch {
	case hi == 0:
		return floatingZero
	case hi>>63 != 0:
		return floating{hi, a.e + b.e + 64}
	}
	return floating{hi<<1 | lo>>63, a.e + b.e + 63}
}

func (a floating) plus(b floating) floating {
	if a.e < b.e {
		a, b = b, a
	}
	d := a.e - b.e
	if d >= 64 {
		return a
	}
	sum, carry := bits.Add64(a.m, b.m>>uint(d), 0)
	if carry != 0 {
		return floating{sum>>1 | 1<<63, a.e + 1}
	}
	return floating{sum, a.e}
}

// rounded is a positive big number, rounded down.
func rounded(x *big.Float) floating {
	mantissa := new(big.Float)
	exp := x.MantExp(mantissa) // in [1/2, 1)
	m, _ := mantissa.SetMantExp(mantissa, 64).Uint64()
	return floating{m, int64(exp) - 64}
}

// powerTable holds those of one number b in (0, 1): b^n is off by less than one part in 2^61, and from 2^20 on in 2^56.
type powerTable struct {
	few  [1 << fewBits]floating // b^i
	more [1 << fewBits]floating // b^(i·2^fewBits)
	twos [64]floating           // b^(2^i)
}

const fewBits = 10

// powerDigits are those of the table's own computation: enough for 2^63 roundings, whose errors add up.
const powerDigits = 200

func newPowerTable(base float64) *powerTable {
	p := &powerTable{}
	step := new(big.Float).SetPrec(powerDigits).SetFloat64(base)
	fill := func(table []floating, step *big.Float) *big.Float {
		at := new(big.Float).SetPrec(powerDigits).SetInt64(1)
		for i := range table {
			table[i] = rounded(at)
			at.Mul(at, step)
		}
		return at
	}
	fill(p.more[:], fill(p.few[:], step))
	for i := range p.twos {
		p.twos[i] = rounded(step)
		step.Mul(step, step)
	}
	return p
}

// of is b^n.
func (p *powerTable) of(n uint64) floating {
	if n < 1<<fewBits {
		return p.few[n]
	}
	x := p.few[n&(1<<fewBits-1)].times(p.more[n>>fewBits&(1<<fewBits-1)])
	for i := 2 * fewBits; n>>i != 0; i++ {
		if n>>i&1 != 0 {
			x = x.times(p.twos[i])
		}
	}
	return x
}

// choice128 chooses one of several weights by u/2^128, and says false where the errors of its sums leave more than one
// possible.
func choice128(weights []floating, u1, u0 uint64) (int, bool) {
	top := topOf(weights)
	var hi, lo uint64
	for _, w := range weights {
		h, l := w.units(top)
		var c uint64
		lo, c = bits.Add64(lo, l, 0)
		hi += h + c
	}
	// Every end of a weight is less than len(weights) above the computed one, and the true place between at and that + 3
	// above it.
	slack := uint64(len(weights)) + 3
	at1, at0, _ := uniform128(u1, u0, hi, lo)
	for i, w := range weights {
		h, l := w.units(top)
		if at1 < h || at1 == h && at0 < l {
			left := i == 0 || at1 > 0 || at0 >= slack
			r0, b := bits.Sub64(l, at0, 0)
			right := i == len(weights)-1 || h-at1-b > 0 || r0 > slack
			return i, left && right
		}
		var b uint64
		at0, b = bits.Sub64(at0, l, 0)
		at1 -= h + b
	}
	return 0, false
}

// topOf is the greatest exponent.
func topOf(weights []floating) int64 {
	top := int64(zeroExponent)
	for _, w := range weights {
		top = max(top, w.e)
	}
	return top
}

// unitBits leaves room for 2^32 weights in 128 bits.
const unitBits = 32

// units is ⌊m·2^(e − top + unitBits)⌋.
func (a floating) units(top int64) (hi, lo uint64) {
	d := top - a.e
	switch {
	case d < unitBits:
		s := uint(unitBits - d)
		return a.m >> (64 - s), a.m << s
	case d < unitBits+64:
		return 0, a.m >> uint(d-unitBits)
	}
	return 0, 0
}

// chooseFloating draws one of several weights, with a probability that is exactly its share. It takes two words but
// once in 2^50 draws or more.
func chooseFloating(src *Source, weights []floating, u1, u0 uint64) int {
	if i, ok := choice128(weights, u1, u0); ok {
		return i
	}
	return chooseBig(src, weights, u1, u0)
}

// chooseBig decides the same with more digits of u and of the sums.
func chooseBig(src *Source, weights []floating, u1, u0 uint64) int {
	top, slack := topOf(weights), big.NewInt(int64(len(weights))+3)
	u := new(big.Int).SetUint64(u1)
	u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(u0))
	for prec := uint(128); ; prec += 64 {
		total, ends := new(big.Int), make([]*big.Int, len(weights))
		for i, w := range weights {
			x := new(big.Int).SetUint64(w.m)
			if d := top - w.e; d <= int64(prec) {
				x.Lsh(x, prec-uint(d))
			} else {
				x.Rsh(x, uint(min(d-int64(prec), 64)))
			}
			total.Add(total, x)
			ends[i] = new(big.Int).Set(total)
		}
		at := new(big.Int).Mul(u, total)
		at.Rsh(at, prec)
		for i := range ends {
			gap := new(big.Int).Sub(ends[i], at)
			if gap.Sign() <= 0 {
				continue
			}
			left := i == 0 || new(big.Int).Sub(at, ends[i-1]).Cmp(slack) >= 0
			if left && (i == len(ends)-1 || gap.Cmp(slack) > 0) {
				return i
			}
			break
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(src.Uint64()))
	}
}
