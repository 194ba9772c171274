package mechanism

import (
	"math"
	"testing"
)

func TestOrders(t *testing.T) {
	if Orders[0] != 1.05 || Orders[len(Orders)-1] != 1e5 {
		t.Errorf("orders from %g to %g", Orders[0], Orders[len(Orders)-1])
	}
	for i := 1; i < len(Orders); i++ {
		if Orders[i] <= Orders[i-1] {
			t.Errorf("order %g after %g", Orders[i], Orders[i-1])
		}
	}
}

func TestEpsilonAt(t *testing.T) {
	// Lemma 2.6 of Fu et al., by hand: R = 0.1, α = 32, δ = 1e-5.
	want := .1 + math.Log(31./32) - (math.Log(1e-5)+math.Log(32))/31
	near(t, "conversion", EpsilonAt(32, .1, 1e-5), want, 1e-12)
	for _, c := range []struct{ order, renyi, delta, want float64 }{
		{2, 0, 1, 0},
		{2, 0, 2, 0},
		{2, 1, 0, math.Inf(1)},
		{2, 1, -1, math.Inf(1)},
		{1, 1, .1, math.Inf(1)},
		{2, math.NaN(), .1, math.Inf(1)},
		{2, math.Inf(1), .1, math.Inf(1)},
		{1e5, 0, .5, 0},
	} {
		if got := EpsilonAt(c.order, c.renyi, c.delta); got != c.want {
			t.Errorf("EpsilonAt(%g, %g, %g) = %g, want %g", c.order, c.renyi, c.delta, got, c.want)
		}
	}
}

func TestCompose(t *testing.T) {
	a, b := PureCurve(.3), PureCurve(.5)
	sum, twice := a.Add(b), a.Times(2)
	if sum.Pure != .8 || twice.Pure != .6 || a.Times(0).Pure != 0 || a.Times(-1).Renyi != nil {
		t.Errorf("sum %g, twice %g", sum.Pure, twice.Pure)
	}
	for i := range Orders {
		near(t, "sum", sum.Renyi[i], a.Renyi[i]+b.Renyi[i], 1e-12)
		near(t, "twice", twice.Renyi[i], a.Add(a).Renyi[i], 1e-12)
	}
	if z := (Curve{}).Add(a); z.Pure != a.Pure || z.Renyi[3] != a.Renyi[3] {
		t.Error("the zero curve costs nothing")
	}
	if z := a.Add(Curve{}); z.Renyi[3] != a.Renyi[3] {
		t.Error("the zero curve costs nothing")
	}
	c := a.Add(b)
	c.Renyi[0] = 99
	if a.Renyi[0] == 99 || sum.Renyi[0] == 99 {
		t.Error("curves share memory")
	}
}

// Randomised response is the worst ε-DP mechanism, and PureCurve is exactly its divergence.
func TestPureCurve(t *testing.T) {
	for _, eps := range []float64{1e-6, 1e-3, .1, 1, 5, 50, 1e4} {
		c := PureCurve(eps)
		for i, a := range Orders {
			if c.Renyi[i] > eps || c.Renyi[i] < 0 || i > 0 && c.Renyi[i] < c.Renyi[i-1]*(1-1e-9) {
				t.Errorf("ε %g, order %g: %g", eps, a, c.Renyi[i])
			}
			if p := 1 / (1 + math.Exp(-eps)); eps <= 5 && eps >= .1 && a < 50 {
				want := math.Log(math.Pow(p, a)*math.Pow(1-p, 1-a)+math.Pow(1-p, a)*math.Pow(p, 1-a)) / (a - 1)
				near(t, "randomised response", c.Renyi[i], want, 1e-6)
			}
		}
	}
	if z := PureCurve(0); z.Pure != 0 || z.Renyi != nil {
		t.Error("PureCurve(0) costs nothing")
	}
}

// The best conversion of a Gaussian curve at ε below 0.138, which needs orders beyond 64.
func TestLargeOrdersMatter(t *testing.T) {
	n := newKernel(Gaussian, kappaOf(Gaussian, 400))
	c := Curve{Pure: math.Inf(1), Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = n.plainRenyi(a, 1)
	}
	if eps := c.Epsilon(1e-6); eps > .014 {
		t.Errorf("σ = 400: ε %g", eps)
	}
}
