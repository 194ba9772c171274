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

// floatings are shares, and top is the greatest exponent.
type floatings struct {
	list []floating
	top  int64
}

func newFloatings(list []floating) floatings {
	f := floatings{list, zeroExponent}
	for _, w := range list {
		f.top = max(f.top, w.e)
	}
	return f
}

func (f floatings) count() int { return len(f.list) }

// unitBits leaves room for 2^32 weights in 128 bits.
const unitBits = 32

// short is ⌊m·2^(e − top + unitBits)⌋.
func (f floatings) short(i int) (hi, lo uint64) {
	a := f.list[i]
	switch d := f.top - a.e; {
	case d < unitBits:
		s := uint(unitBits - d)
		return a.m >> (64 - s), a.m << s
	case d < unitBits+64:
		return 0, a.m >> uint(d-unitBits)
	}
	return 0, 0
}

// Every end of a weight is less than their number above the computed one, and the true place between that and 3 above
// it.
func (f floatings) shortSlack() (hi, lo uint64) { return 0, uint64(len(f.list)) + 3 }

func (f floatings) longSlack() *big.Int { return big.NewInt(int64(len(f.list)) + 3) }

func (f floatings) long(i int, digits uint) *big.Int {
	x, d := new(big.Int).SetUint64(f.list[i].m), f.top-f.list[i].e
	if d <= int64(digits) {
		return x.Lsh(x, digits-uint(d))
	}
	return x.Rsh(x, uint(min(d-int64(digits), 64)))
}
