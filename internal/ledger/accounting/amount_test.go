package accounting

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// rat is an Amount as a rational number of units.
func (a Amount) rat() *big.Int {
	n := new(big.Int).SetUint64(a.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a.lo))
}

// unitsUp is ⌈x·10^digits⌉.
func unitsUp(x *big.Rat, digits int64) *big.Int {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)
	y := new(big.Rat).Mul(x, new(big.Rat).SetInt(scale))
	q, r := new(big.Int).QuoRem(y.Num(), y.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func TestAmountsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Pow(10, rapid.Float64Range(-25, 20).Draw(t, "log10 x"))
		if got, want := ceil(x).rat(), unitsUp(new(big.Rat).SetFloat64(x), 18); got.Cmp(want) != 0 {
			t.Errorf("ceil(%v) is %v units, want %v", x, got, want)
		}
		text, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'e', significant-1, 64))
		if !ok {
			t.Fatal("not a number")
		}
		if got, want := decimal(x, 18).rat(), unitsUp(text, 18); got.Cmp(want) != 0 {
			t.Errorf("decimal(%v) is %v units, want %v", x, got, want)
		}
		y := math.Pow(10, rapid.Float64Range(-25, 20).Draw(t, "log10 y"))
		a, b := ceil(x), ceil(y)
		if got, want := a.add(b).rat(), new(big.Int).Add(a.rat(), b.rat()); got.Cmp(want) != 0 {
			t.Errorf("%v + %v is %v, want %v", a, b, got, want)
		}
		if got, want := a.cmp(b), a.rat().Cmp(b.rat()); got != want {
			t.Errorf("cmp(%v, %v) is %d, want %d", a, b, got, want)
		}
		if got := a.add(b).sub(b); got != a {
			t.Errorf("(%v + %v) − %v is %v", a, b, b, got)
		}
	})
}

func TestAmountsAtTheirEnds(t *testing.T) {
	for _, tt := range []struct {
		got  Amount
		want string
	}{
		{decimal(0.1, epsilonDigits), "0.1"},
		{decimal(0.1+0.2, epsilonDigits), "0.3"}, // 0.30000000000000004
		{decimal(1e-30, epsilonDigits), "0.000000000000000001"},
		{decimal(0, epsilonDigits), "0"},
		{decimal(math.Inf(1), epsilonDigits), "unbounded"},
		{decimal(math.NaN(), epsilonDigits), "unbounded"},
		{decimal(-1, epsilonDigits), "unbounded"},
		{decimal(1e21, epsilonDigits), "unbounded"},
		{ceil(math.SmallestNonzeroFloat64), "0.000000000000000001"},
		{ceil(math.MaxFloat64), "unbounded"},
		{ceil(math.NaN()), "unbounded"},
		{unbounded.add(Amount{lo: 1}), "unbounded"},
		{Amount{hi: math.MaxUint64}.add(Amount{hi: 1}), "unbounded"},
		{Amount{lo: 1}.sub(Amount{lo: 2}), "0"},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
	if f := unbounded.Float(); !math.IsInf(f, 1) {
		t.Errorf("unbounded is %v", f)
	}
	if f := decimal(9.9, epsilonDigits).Float(); f != 9.9 {
		t.Errorf("9.9 comes back as %v", f)
	}
}
