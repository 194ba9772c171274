package mechanism

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/loss"
)

func TestOrders(t *testing.T) {
	list := RenyiOrders
	if list[0] != 1.05 || list[len(list)-1] != 1e5 || !slices.Equal(Orders, append(slices.Clone(list), GDP)) {
		t.Errorf("orders %g", Orders)
	}
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			t.Errorf("order %g after %g", list[i], list[i-1])
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
		for i, a := range RenyiOrders {
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

// Divergences are never below the exact ones, computed with 300 bits, and above by rounding alone.
func TestDivergencesInManyDigits(t *testing.T) {
	for _, a := range []float64{1.0625, 1.09375, 1.5, 8, 1000} {
		for _, x := range []float64{1. / 512, 1. / 64, 1. / 8, 1, 4} {
			eps := math.Exp2(math.Round(math.Log2(x / a)))
			// Randomised response: (e^{αε} + e^{(1−α)ε})/(1+e^ε) − 1.
			e := exactExp(eps)
			sum := new(big.Float).Add(exactExp(a*eps), exactExp((1-a)*eps))
			between(t, "randomised response", loss.Response(a, eps), lnOf(sum.Quo(sum, e.Add(e, one))), a, 1e-11)
			for _, c := range []float64{1, 8, 1024} {
				// Laplace noise: A·e^{(α−1)κc} + (1−A)·e^{−ακc} (docs/mechanisms.md, section 13).
				k := eps / c
				q, r := exactExp(-k), exactExp(-(2*a-1)*k)
				minus := func(x *big.Float) *big.Float { return new(big.Float).Sub(one, x) }
				factor := new(big.Float).Quo(one, minus(q))
				factor.Add(factor, new(big.Float).Quo(r, minus(r)))
				factor.Mul(factor, minus(q)).Quo(factor, new(big.Float).Add(one, q))
				sum := new(big.Float).Mul(factor, exactExp((a-1)*eps))
				sum.Add(sum, new(big.Float).Mul(minus(factor), exactExp(-a*eps)))
				between(t, "Laplace", newKernel(Laplace, k).law().Plain(a, c), lnOf(sum), a, 1e-7)
			}
		}
	}
}

var one = new(big.Float).SetPrec(300).SetInt64(1)

// exactExp is e^x for a dyadic x, to 300 bits.
func exactExp(x float64) *big.Float {
	frac, exp := math.Frexp(math.Abs(x))
	e := new(big.Float).SetPrec(300).SetInt(bigExp(big.NewInt(int64(frac*(1<<53))), 53-exp, 300))
	e.SetMantExp(e, -300)
	if x > 0 {
		e.Quo(one, e)
	}
	return e
}

// lnOf is ln x for an x slightly or far above 1.
func lnOf(x *big.Float) float64 {
	above, _ := new(big.Float).Sub(x, one).Float64()
	return math.Log1p(above)
}

// between checks a divergence of order a against the exact (α−1)·D: not below, and above by a relative slack at most.
func between(t *testing.T, what string, got, exact, a, slack float64) {
	t.Helper()
	if want := exact / (a - 1); got < want || got > want*(1+slack) {
		t.Errorf("%s, order %g: %.17g, exactly %.17g", what, a, got, want)
	}
}

// The best conversion of a Gaussian curve at ε below 0.138, which needs orders beyond 64.
func TestLargeOrdersMatter(t *testing.T) {
	n := newKernel(Gaussian, kappaOf(Gaussian, 400))
	c := Curve{Pure: math.Inf(1), Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = n.law().Plain(a, 1)
	}
	if eps := c.Epsilon(1e-6); eps > .014 {
		t.Errorf("σ = 400: ε %g", eps)
	}
}

// TestLaplaceCurve holds the closed form against the divergence, integrated over the three parts of the line: e^x for x
// < 0, where the log-ratio falls from ε to −ε on [0, 1], and beyond.
func TestLaplaceCurve(t *testing.T) {
	for _, eps := range []float64{1e-6, 1e-3, .1, .5, 2, 30} {
		c := LaplaceCurve(eps)
		if c.Pure != eps {
			t.Errorf("ε %g: pure %g", eps, c.Pure)
		}
		last := 0.0
		for i, a := range RenyiOrders {
			if got := c.Renyi[i]; got < last || got > eps || got > a*eps*eps/2*(1+1e-6) {
				t.Fatalf("ε %g, order %g: %g after %g", eps, a, got, last)
			}
			last = c.Renyi[i]
			if a*eps > 300 || eps < .1 {
				continue
			}
			// With noise of density ε/2·e^{−ε|x|} around 0 and 1, the sum of p^α·q^{1−α}.
			const steps = 20000
			sum := (math.Exp((a-1)*eps) + math.Exp(-a*eps)) / 2
			for k := range steps {
				x := (float64(k) + .5) / steps
				sum += eps / 2 / steps * math.Exp(-a*eps*x-(1-a)*eps*(1-x))
			}
			if want := math.Log(sum) / (a - 1); math.Abs(c.Renyi[i]-want) > 1e-6*want+1e-9 {
				t.Errorf("ε %g, order %g: %g, want %g", eps, a, c.Renyi[i], want)
			}
		}
	}
}
