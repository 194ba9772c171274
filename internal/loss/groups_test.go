package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The worst allocations against all of them: convex and concave costs, and such of any shape, capped by Δ, the range, K
// and the rows.
func TestWorstAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 600 {
		m := Scalar{Span: float64(1 + r.IntN(6)), Unit: Unit{
			Delta: float64(1 + r.IntN(5)), Total: float64(1 + r.IntN(7)),
			Groups: float64(1 + r.IntN(4)), Row: 1,
		}}
		power := 1 + 2*r.Float64()
		convex := func(d float64) float64 { return math.Pow(d, power) }
		concave := func(d float64) float64 { return math.Pow(d, 1/power) }
		steps := make([]float64, 8)
		for d := 1; d < len(steps); d++ {
			steps[d] = steps[d-1] + r.Float64()
		}
		shape := func(d float64) float64 { return steps[int(d)] }
		var most, least, worst float64
		m.spreads(m.Span, func(moved []int) {
			var up, down, sum float64
			for _, d := range moved {
				up, down, sum = up+convex(float64(d)), down+concave(float64(d)), sum+shape(float64(d))
			}
			most, least, worst = math.Max(most, up), math.Max(least, down), math.Max(worst, sum)
		})
		exact := func(what string, got, want float64) {
			if got < want*(1-1e-12) || got > want*(1+1e-12) {
				t.Fatalf("%+v: %s costs %g, by enumeration %g", m, what, got, want)
			}
		}
		exact("convex", m.convex(convex), most)
		exact("concave", m.even(concave), least)
		exact("any shape", m.spread(shape), worst)
		m.Shared = true
		if got := m.convex(convex); got < most*(1-1e-12) {
			t.Fatalf("%+v: where rows are shared %g, by enumeration %g", m, got, most)
		}
	}
}

// TestRefused: what has no bound, or none that is proven, costs +Inf.
func TestRefused(t *testing.T) {
	noise := Noise{Law: Laplace, Kappa: .5, Period: 1, Inner: 1}
	unit := Unit{Delta: 2, Total: 4, Row: 1, Groups: 3}
	m := Scalar{Noise: noise, Unit: unit, Span: 10}
	change := func(f func(m *Scalar)) Scalar {
		out := m
		f(&out)
		return out
	}
	for name, c := range map[string]Scalar{
		"no law":                     change(func(m *Scalar) { m.Law = 0 }),
		"no scale":                   change(func(m *Scalar) { m.Kappa = 0 }),
		"noise that ends too soon":   change(func(m *Scalar) { m.Kappa = 1e-17 }),
		"a shared truncation":        change(func(m *Scalar) { m.Shared, m.In = true, []Interval{{0, 10}} }),
		"truncated stairs":           change(func(m *Scalar) { m.Law, m.In = Staircase, []Interval{{0, 10}} }),
		"stairs shorter than a row":  change(func(m *Scalar) { m.Law, m.Row, m.Delta, m.Total = Staircase, 2, 4, 8 }),
		"a first stair that is long": change(func(m *Scalar) { m.Law, m.Inner = Staircase, 2 }),
		"cells shorter than a step":  change(func(m *Scalar) { m.Cells = []int64{0, 1, 4, 10} }),
		"cells out of order":         change(func(m *Scalar) { m.Law, m.Period, m.Cells = Staircase, 63, []int64{4, 3, 10} }),
		"more cells than a stair": change(func(m *Scalar) {
			m.Law, m.Period, m.Cells = Staircase, 2,
				[]int64{1, 4, 7, 10}
		}),
		"no rows": change(func(m *Scalar) { m.Row = 0 }),
	} {
		for _, order := range []float64{2, math.Inf(1)} {
			if got := c.Bound(order); !math.IsInf(got, 1) {
				t.Errorf("%s costs %g at order %g", name, got, order)
			}
		}
	}
	if got := m.Bound(1); !math.IsInf(got, 1) {
		t.Errorf("order 1 costs %g", got)
	}
}

// TestKeptEpsilon holds the ε of a table against all pairs of neighbouring numbers of units, and refuses tables that no
// ε allows.
func TestKeptEpsilon(t *testing.T) {
	const one = 1 << 20
	kept := []uint64{0, 1000, 3000, 9000, 400000, 900000, one - 1200}
	delta := 1000. / one
	eps := KeptEpsilon(kept, one, delta)
	worst := 0.0
	for n := 1; n <= len(kept); n++ {
		p, q := float64(kept[n-1])/one, 1.
		if n < len(kept) {
			q = float64(kept[n]) / one
		}
		for _, pair := range [][2]float64{{p, q}, {q, p}, {1 - p, 1 - q}, {1 - q, 1 - p}} {
			if pair[0] > delta {
				worst = math.Max(worst, math.Log((pair[0]-delta)/pair[1]))
			}
		}
	}
	if eps < worst || eps > worst*(1+1e-9) {
		t.Errorf("ε is %g, by all pairs %g", eps, worst)
	}
	for name, c := range map[string]struct {
		kept  []uint64
		delta float64
	}{
		"a group of no units": {[]uint64{1, 1000}, delta}, "one unit beyond δ": {[]uint64{0, 1001}, delta},
		"certain too soon": {[]uint64{0, 1000, one - 1001, one}, delta},
		"falling":          {[]uint64{0, 1000, 900}, delta}, "no δ": {kept, 0}, "no table": {nil, delta},
	} {
		if got := KeptEpsilon(c.kept, one, c.delta); !math.IsInf(got, 1) {
			t.Errorf("%s: ε is %g", name, got)
		}
	}
}

// TestAlike: the most over numbers of groups is no less than at any of them, and hardly more.
func TestAlike(t *testing.T) {
	for _, k := range []float64{1, 2, 20, 127, 128, 129, 5000} {
		for name, f := range map[string]func(d float64) float64{
			"tail":  func(d float64) float64 { return Noise{Law: Gaussian, Kappa: 2e-7}.Tail(8000 - d) },
			"line":  func(d float64) float64 { return d },
			"plain": func(d float64) float64 { return Noise{Law: Laplace, Kappa: 1e-3}.Plain(3, d) },
		} {
			const whole = 1 << 10
			u := Unit{Delta: whole, Total: whole * k, Row: 1, Groups: k, Squares: whole * whole}
			worst := 0.0
			for j := 1.0; j <= k; j++ {
				d := math.Floor(whole / math.Sqrt(j))
				worst = math.Max(worst, j*f(d))
			}
			if got := u.alike(f); got < worst || got > worst*1.03 {
				t.Errorf("%s, %g groups: %g, by enumeration %g", name, k, got, worst)
			}
		}
	}
}
