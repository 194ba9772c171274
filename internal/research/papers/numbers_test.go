package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/study"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.6g, want %.6g within %g", what, got, want, tolerance)
	}
}

// TestLaws: densities and probabilities are gonum's.
func TestLaws(t *testing.T) {
	for _, c := range []struct {
		own   law
		known interface {
			Prob(float64) float64
			CDF(float64) float64
		}
	}{
		{gaussian{1, .7}, distuv.Normal{Mu: 1, Sigma: .7}},
		{laplace{-2, 3}, distuv.Laplace{Mu: -2, Scale: 3}},
	} {
		for x := -9.0; x <= 9; x += .25 {
			near(t, fmt.Sprintf("density of %v at %g", c.own, x), c.own.density(x), c.known.Prob(x), 1e-15)
			near(t, fmt.Sprintf("probability of %v below %g", c.own, x), c.own.below(x), c.known.CDF(x), 1e-15)
		}
	}
}

// Table 1 of Chen and Hale as printed, to half a unit of the last digit: but for 84.3, which is 84.38.
func TestTable1AsPrinted(t *testing.T) {
	tight := []float64{290.9, 61.39, 32.34, 22.46, 17.41, 14.31, 12.20}
	for i, r := range table1 {
		v := graphVariances(r.eps)
		at := fmt.Sprintf("ε = %g: ", r.eps)
		near(t, at+"generalised", v.generalised, r.generalised, .05)
		near(t, at+"reduction", v.reduction(v.bounded), r.reduction, .05)
		near(t, at+"tight", v.tight, tight[i], .05)
		if r.eps == 1 {
			near(t, at+"bounded, mended", v.bounded, 84.38, .005)
		} else {
			near(t, at+"bounded", v.bounded, r.bounded, .05)
		}
		if v.loss > r.eps/2 {
			t.Errorf("%sthe paper's variance costs %g: the page says less than half", at, v.loss)
		}
		if x := v.reduction(v.tight); x < 72 || x > 78 {
			t.Errorf("%stight reduction %g: the page says 72 to 78", at, x)
		}
	}
}

// Densities integrate to 1, and their ratio at the far corner is what the exact loss says.
func TestBoxDensity(t *testing.T) {
	const n = 200
	sigma, sum := math.Sqrt(graphVariances(1).tight), 0.0
	for i := range n {
		for j := range n {
			sum += boxDensity(sigma, []float64{10 * (float64(i) + .5) / n, 1 + 8*(float64(j)+.5)/n})
		}
	}
	near(t, "mass", sum*80/(n*n), 1, 1e-5)
}

// (7) and (8) against integration, below α/2σ² everywhere, and the suprema over positions on either side of them.
func TestTheorem31(t *testing.T) {
	for _, i := range []interval{{0, 1}, {0, 5}, {0, 20}, {-50, 50}, {2, 5}, {-3, -1}} {
		for _, order := range []float64{1.5, 2, 8} {
			bound := order / 18
			for _, d := range [][2]float64{{0, 1}, {1, 0}} {
				integral := study.PairDivergence(mechanism.Gaussian, 3, order, i.a, i.b, d[0], d[1])
				near(t, fmt.Sprintf("%v, α = %g", i, order), formula7(i, order, 3, d[0], d[1]), integral, 1e-11)
				if integral > bound*(1+1e-9) {
					t.Errorf("%v, α = %g: %g exceeds %g", i, order, integral, bound)
				}
				if all := mechanism.Divergence(mechanism.Gaussian, i.grid(), grid, 3*grid, order); i.a <= 0 && i.b >= 1 &&
					all < integral*(1-1e-6) {
					t.Errorf("%v, α = %g: over all pairs %g, but one has %g", i, order, all, integral)
				}
			}
		}
	}
	for _, c := range []struct{ l, want, tolerance float64 }{
		{1, .00102, 1e-5},
		{5, .0234, 1e-4},
		{20, .1099, 2e-4},
		{100, .1111, 1e-4},
	} {
		near(t, fmt.Sprintf("any values in [0, %g]", c.l), mechanism.Divergence(mechanism.Gaussian, interval{0, c.l}.grid(),
			grid, 3*grid, 2), c.want, c.tolerance)
	}
}

// Theorem 4.1 holds in its regimes and fails outside; μ = λ = 1.
func TestTheorem41(t *testing.T) {
	for _, c := range []struct {
		i           interval
		order, want float64
		exceeds     bool
	}{
		{interval{-3, -1}, 8, 0, false},
		{interval{2, 5}, 8, 0, false},
		{interval{.2, .8}, 2, .11658, false},
		{interval{0, 1}, 8, .67866, false},
		{interval{0, 5}, 8, 1.0995, true},
		{interval{-3, 3}, 8, .9311, true},
		{interval{-10, 10}, 8, .91022, true},
		{interval{-3, 3}, 2, .6216, true},
	} {
		d := laplaceAt(c.i, c.order, 1)
		near(t, c.i.String(), d, c.want, 5e-5)
		bound := mechanism.FuLaplaceRenyi(c.order, 1, 1)
		if got := d > bound*(1+1e-9); got != c.exceeds {
			t.Errorf("%v, α = %g: %g against %g", c.i, c.order, d, bound)
		}
		if outside := c.i.regime() == "none"; c.exceeds && !outside {
			t.Errorf("%v is in regime %s", c.i, c.i.regime())
		}
	}
	near(t, "(6)", mechanism.FuLaplaceRenyi(8, 1, 1), .9102, 5e-5)
	near(t, "(22) mended", study.FuRegime3(2, .6, 1), .11658, 5e-6)
	near(t, "regime II, root mean square", errorFromZero(interval{2, 5}), 2.93, 5e-3)
}

// Lemma 2.6 at the best order, which for σ = 3 is 15.14: no order that a ledger has.
func TestLemma26(t *testing.T) {
	near(t, "σ = 3", lemma26(func(order float64) float64 { return order / 18 }), 1.557656, 1e-6)
	near(t, "untruncated Laplace noise", lemma26(func(order float64) float64 {
		return mechanism.FuLaplaceRenyi(order, 1, 1)
	}), 1, 1e-4)
}

// Table 2 of Croft et al. as printed: 1.586 to its last digit, σ₂ below it, below 2 on ranges without ends, and at most
// 2.
func TestTable2AsPrinted(t *testing.T) {
	first := study.CroftDataDependent(0, 1)
	near(t, "σ₁", first, 1.586, 5e-4)
	for i := .01; i < 50; i *= 1.1 {
		if s := study.CroftDataDependent(i, 1); s >= first || s <= 1 {
			t.Errorf("σ₂ at %g: %g", i, s)
		}
	}
	for _, u := range unionsOf {
		list, largest := u.croftBounds(1)
		if n := len(u.spans) - 1; len(list) != 3*n+2 {
			t.Errorf("%v: %d bounds, want %d", u, len(list), 3*n+2)
		}
		if u.open && !(largest < 2*u.delta) || !u.open && math.Abs(largest-2*u.delta) > 1e-6 {
			t.Errorf("%v: λ = %g", u, largest)
		}
		ours, exact, err := u.ours(1, largest)
		if err != nil || exact > 1 || ours > largest {
			t.Errorf("%v: theirs costs %g, ours %g against %g, %v", u, exact, ours, largest, err)
		}
	}
	for _, c := range []struct{ i, want float64 }{{0, .8306}, {1, .9854}} {
		_, exact, _ := unionsOf[int(c.i)].ours(1, 2*unionsOf[int(c.i)].delta)
		near(t, unionsOf[int(c.i)].String(), exact, c.want, 5e-5)
	}
}

// The log-ratios under theorem 1 that docs/mechanisms.md names.
func TestTheorem1(t *testing.T) {
	want := []float64{1, .355, 4.47, 26.4, .1, .295, 1.59, 16.2}
	for k, c := range ratios {
		near(t, fmt.Sprint(c), study.CroftLogRatio(c.i, c.j, c.z, c.eps), want[k], 5e-3*want[k])
	}
}

// A gap's bound by lemma 9 is another one the other way round, and never decides; with an outer bound λ is 2Δ/ε.
func TestLemma9(t *testing.T) {
	list, _ := unionsOf[3].croftBounds(1)
	var gaps []float64
	for _, b := range list {
		if b.Lemma == 9 {
			gaps = append(gaps, b.Scale)
		}
	}
	if len(gaps) != 2 {
		t.Fatalf("gaps %v", gaps)
	}
	near(t, "first gap", gaps[0], .9476, 5e-5)
	near(t, "second gap", gaps[1], 1.0664, 5e-5)
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		v := mechanism.Range{}
		at := -20 * int64(grid) // far enough from the ends for the inner bounds to count
		for range 2 + r.IntN(3) {
			hi := at + 1 + r.Int64N(4*grid)
			v = append(v, mechanism.Interval{Lo: at, Hi: hi})
			at = hi + 2 + r.Int64N(4*grid)
		}
		eps := .2 + 2*r.Float64()
		inner := map[int]float64{}
		for _, b := range mechanism.CroftBounds(v, grid, eps) {
			outer := math.Abs(b.At-float64(v[0].Lo)) < 1 || math.Abs(b.At-float64(v[len(v)-1].Hi)) < 1
			if outer {
				near(t, "outer end", b.Scale*eps/grid, 2, 1e-6)
				continue
			}
			inner[b.Lemma] = math.Max(inner[b.Lemma], b.Scale)
		}
		if inner[9] > inner[7]*(1+1e-6) {
			t.Errorf("%v, ε = %g: lemma 9 asks for %g, lemma 7 for %g at the gaps", v, eps, inner[9]/grid, inner[7]/grid)
		}
	}
}

// The search on a range without ends: where no gap is left, the noise is plain.
func TestOpenLoss(t *testing.T) {
	u := union{spans: [][2]float64{{-far, 0}, {1e-9, far}}, delta: 1, open: true}
	near(t, "no gap", u.openLoss(2), .5, 1e-6)
}
