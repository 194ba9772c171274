package mechanism

import (
	"context"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"

	"github.com/dpproxy/dpproxy/internal/loss"
)

func TestSelectionIsPrivate(t *testing.T) {
	for _, g := range []Guarantee{
		{Epsilon: 1, Delta: 1e-6},
		{Epsilon: .1, Delta: 1e-9},
		{Epsilon: .01, Delta: 1e-5},
		{Epsilon: 5, Delta: 1e-12},
		{Epsilon: 30, Delta: 1e-6},
		{Epsilon: .5, Delta: .1},
	} {
		s, err := newSelector(g.Epsilon, g.Delta)
		if err != nil {
			t.Fatal(err)
		}
		pi := func(n int) float64 {
			if n >= len(s.pi) {
				return 1
			}
			return float64(s.pi[n]) / selectionOne
		}
		if pi(0) != 0 {
			t.Errorf("%v: an empty group is kept with probability %g", g, pi(0))
		}
		grow := math.Exp(g.Epsilon)
		for n := range s.pi {
			p, q := pi(n), pi(n+1)
			if q < p || q > grow*p+g.Delta+1e-15*grow || 1-p > grow*(1-q)+g.Delta+1e-15*grow {
				t.Fatalf("%v: π(%d) = %g, π(%d) = %g", g, n, p, n+1, q)
			}
			// Optimal: one of the conditions is tight up to the rounding.
			if room := math.Min(grow*p+g.Delta, 1-(1-p-g.Delta)/grow); q < math.Min(room, 1)*(1-1e-6)-1e-8 && q < 1 {
				t.Fatalf("%v: π(%d) = %g could be %g", g, n+1, q, room)
			}
		}
	}
}

// The closed form of Desfontaines et al., theorem 1: π(n) = δ(e^{nε}−1)/(e^ε−1) up to the crossing.
func TestSelectionClosedForm(t *testing.T) {
	const eps, delta = .7, 1e-6
	s, err := newSelector(eps, delta)
	if err != nil {
		t.Fatal(err)
	}
	cross := 1 + int(math.Floor(math.Log((math.Exp(eps)+2*delta-1)/((math.Exp(eps)+1)*delta))/eps))
	for n := 1; n <= cross; n++ {
		near(t, "π", float64(s.pi[n])/selectionOne, delta*math.Expm1(float64(n)*eps)/math.Expm1(eps), 1e-6)
	}
}

func TestSelectDraws(t *testing.T) {
	const draws = 50000
	p, err := Prepare(Release{Kind: Selection, Groups: 2}, Guarantee{Epsilon: 2, Delta: 2e-4})
	if err != nil {
		t.Fatal(err)
	}
	half, always := p.SelectThreshold()
	if half <= 0 || always <= half {
		t.Fatalf("thresholds %d and %d", half, always)
	}
	src := seededSource(9)
	for _, n := range []int64{-5, 0, 1, half - 1, half, always - 1, always, always + 1000} {
		want := 1.0
		if n < always {
			want = float64(p.units.(*selector).pi[max(n, 0)]) / selectionOne
		}
		hits, before := 0, src.Draws()
		for range draws {
			if p.Select(src, n) {
				hits++
			}
		}
		if want > 0 && want < 1 && (!stattest.AtLeast(hits, draws, want) || !stattest.AtMost(hits, draws, want)) ||
			want == 0 && hits > 0 || want == 1 && hits < draws {
			t.Errorf("%d units: kept %d of %d, want a fraction %g", n, hits, draws, want)
		}
		if src.Draws()-before != draws {
			t.Errorf("%d units: %d words for %d decisions", n, src.Draws()-before, draws)
		}
	}
	if c := p.Curve(); c.Pure != 2 {
		t.Errorf("curve's pure ε %g, want the ε part, 2", c.Pure)
	}
	if p.Margin(5, 0, Wrong) != 0 {
		t.Error("a selection has no margin")
	}
}

func TestSelectionBadInput(t *testing.T) {
	for _, g := range []Guarantee{
		{Epsilon: 1, Delta: 0},
		{Epsilon: 0, Delta: 1e-6},
		{Epsilon: 1e-7, Delta: 1e-6},
		{Epsilon: 1, Delta: 1e-25},
		{Epsilon: math.NaN(), Delta: 1e-6},
	} {
		if _, err := Prepare(Release{Kind: Selection}, g); err == nil {
			t.Errorf("%v: no error", g)
		}
	}
}

// A Gaussian threshold, by enumeration over two groups: a unit's own groups are kept with probability δ at most, and
// the decision on any other group costs no more than the noise.
func TestThresholdIsPrivate(t *testing.T) {
	const groups = 3
	g := Guarantee{Epsilon: .05, Delta: 1e-6, Order: Orders[25]}
	p, err := Prepare(Release{Kind: Selection, Groups: groups}, g)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := p.units.(*threshold)
	if !ok {
		t.Fatal("optimal selection is better here: the test sees nothing")
	}
	// P(n + noise ≥ tau) and its complement, each summed from its own end.
	total := s.total()
	keep := func(n int64) float64 { return mass(s.kernel, float64(s.tau-n), 4000) / total }
	drop := func(n int64) float64 { return mass(s.kernel, float64(n-s.tau+1), 4000) / total }
	if d := groups * keep(1); d > g.Delta || groups*keep(2) < g.Delta {
		t.Errorf("a unit's own groups are kept with probability %g and could be with %g; delta %g", d, groups*keep(2),
			g.Delta)
	}
	if !(keep(s.tau) >= .5 && keep(s.tau-1) < .5) {
		t.Errorf("tau %d: kept with probability %g, one unit less %g", s.tau, keep(s.tau), keep(s.tau-1))
	}
	curve := p.Curve()
	if !math.IsInf(curve.Pure, 1) || curve.Renyi[25] > g.Epsilon || curve.Renyi[25] < g.Epsilon*(1-1e-6) {
		t.Errorf("charged %g at the order, pure %g", curve.Renyi[25], curve.Pure)
	}
	for i := 0; i < 40; i += 4 {
		a := Orders[i]
		for n := int64(2); n < 2*s.tau; n++ {
			for _, pair := range [][2]int64{{n, n - 1}, {n - 1, n}} {
				sum := 0.0
				for _, q := range []func(int64) float64{keep, drop} {
					sum += math.Exp(a*math.Log(q(pair[0])) + (1-a)*math.Log(q(pair[1])))
				}
				if d := groups * math.Log(sum) / (a - 1); d > curve.Renyi[i]*(1+1e-9)+1e-13 {
					t.Fatalf("order %g, %d against %d units: %g above %g", a, pair[0], pair[1], d, curve.Renyi[i])
				}
			}
		}
	}
}

// mass is Σ w(d) over d ≥ from, added one by one.
func mass(n kernel, from, reach float64) float64 {
	sum := 0.0
	for d := reach; d >= from && d >= -reach; d-- {
		sum += math.Exp(n.log(d))
	}
	return sum
}

func TestThresholdDraws(t *testing.T) {
	const draws = 50000
	g := Guarantee{Epsilon: .02, Delta: 1e-6, Order: 20}
	p, err := Prepare(Release{Kind: Selection, Groups: 4}, g)
	if err != nil {
		t.Fatal(err)
	}
	s := p.units.(*threshold)
	half, always := p.SelectThreshold()
	if half != s.tau || always <= half {
		t.Errorf("thresholds %d and %d, tau %d", half, always, s.tau)
	}
	src := seededSource(10)
	words := uint64(0)
	for _, n := range []int64{math.MinInt64, -1, 0, 1, half - 30, half - 1, half, half + 17, always, math.MaxInt64} {
		want := mass(s.kernel, math.Max(-3000, float64(s.tau)-float64(n)), 3000) / s.total()
		if n <= 0 {
			want = 0
		}
		hits, before := 0, src.Draws()
		for range draws {
			if p.Select(src, n) {
				hits++
			}
		}
		if !stattest.AtLeast(hits, draws, want) || !stattest.AtMost(hits, draws, want) || n <= 0 && hits > 0 {
			t.Errorf("%d units: kept %d of %d, want a fraction %g", n, hits, draws, want)
		}
		used := src.Draws() - before
		if words == 0 {
			words = used
		}
		if used != words {
			t.Errorf("%d units: %d words, %d for others", n, used, words)
		}
	}
}

// Selection at a divergence takes the lower threshold: Gaussian for many groups, optimal for one at a high order.
func TestSelectionAtOrder(t *testing.T) {
	for _, c := range []struct {
		g        Guarantee
		groups   int
		gaussian bool
	}{
		{Guarantee{Epsilon: .05, Delta: 1e-6, Order: 10}, 50, true},
		{Guarantee{Epsilon: 1, Delta: 1e-6, Order: 1e5}, 1, false},
		{Guarantee{Epsilon: 1, Delta: 1e-6}, 50, false},
		{Guarantee{Epsilon: 1e-6, Delta: 1e-6, Order: 2}, 4, true}, // too little for a table
	} {
		p, err := Prepare(Release{Kind: Selection, Groups: c.groups}, c.g)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.units.(*threshold); ok != c.gaussian {
			t.Errorf("%v, %d groups: Gaussian threshold %v", c.g, c.groups, ok)
		}
		if half, _ := p.SelectThreshold(); half < 2 {
			t.Errorf("%v: threshold %d", c.g, half)
		}
		if c.g.Order > 0 {
			for i, a := range RenyiOrders {
				if math.Abs(a/c.g.Order-1) < 1e-9 && p.Curve().Renyi[i] > c.g.Epsilon {
					t.Errorf("%v: charged %g", c.g, p.Curve().Renyi[i])
				}
			}
		}
	}
}

// The thresholds of docs/mechanisms.md, section 10.
func TestThresholdTable(t *testing.T) {
	for _, c := range []struct {
		groups            int
		rho               float64
		optimal, gaussian int64
		weighed           int64 // 0: by number alone
	}{
		{1, .05, 102, 50, 0},
		{1, .3, 35, 21, 0},
		{5, .05, 257, 115, 52},
		{5, .3, 106, 48, 22},
		{50, .05, 903, 390, 56},
		{50, .3, 392, 160, 23},
	} {
		p, err := Prepare(Release{Kind: Selection, Groups: c.groups}, Guarantee{Epsilon: c.rho, Delta: 1e-6, Order: 10})
		if err != nil {
			t.Fatal(err)
		}
		k := float64(c.groups)
		s, err := newSelector(epsilonAt(func(eps float64) float64 { return k * loss.Response(10, eps) }, k, c.rho), 1e-6/k)
		if err != nil {
			t.Fatal(err)
		}
		if half, _ := p.SelectThreshold(); half != c.gaussian || s.half != c.optimal {
			t.Errorf("%d groups, %g: %d, optimal %d", c.groups, c.rho, half, s.half)
		}
		if c.weighed == 0 {
			continue
		}
		w, err := Prepare(byWeights(c.groups, 1<<20), Guarantee{Epsilon: c.rho, Delta: 1e-6, Order: 10})
		if err != nil {
			t.Fatal(err)
		}
		if half, _ := w.SelectThreshold(); half != c.weighed || w.SpreadThreshold() != c.gaussian {
			t.Errorf("%d groups, %g, by weights: %d to %d", c.groups, c.rho, half, w.SpreadThreshold())
		}
	}
}

// TestCountThresholds: a group of one unit is shown with a probability of at most δ/K by the distribution of the count
// that decides, added up point by point, and with more by the next lower threshold.
func TestCountThresholds(t *testing.T) {
	settings := 0
	for _, order := range []float64{0, 8, 64} {
		for _, epsilon := range []float64{.05, .1, .2, .5, 1, 2, 4} {
			for _, delta := range []float64{1e-5, 1e-6, 1e-8, 1e-10} {
				for _, k := range []int{1, 2, 5} {
					for _, top := range []int64{NoUpper, 5000} {
						for _, choice := range []Choice{
							{Laplace, Fold, ""},
							{Laplace, Truncate, ""},
							{Laplace, Clamp, ""},
							{Gaussian, Fold, ""},
							{Gaussian, Truncate, ""},
						} {
							r := Release{Kind: Scalar, Range: Range{{0, top}}, Sensitivity: 1, Groups: k, Choice: choice}
							p, err := Prepare(r, Guarantee{Epsilon: epsilon, Order: order})
							if err != nil {
								continue // Gaussian noise without a divergence
							}
							x, err := p.CountThreshold(delta)
							if err != nil {
								t.Fatal(err)
							}
							settings++
							n := p.Chosen().kernel
							far := math.Min(math.Ceil(60*n.scale()), float64(min(top, 1<<40)-1))
							shown := func(least float64) float64 { // P(released ≥ least | 1 unit)
								noise := mass(n, least-1, far)
								switch choice.Bounding {
								case Truncate:
									return noise / mass(n, -1, far)
								case Fold:
									noise += mass(n, least+2, far)
								}
								return noise / n.total()
							}
							if shown(float64(x.Least))*float64(k) > delta || shown(float64(x.Least-1))*float64(k) < delta*(1-1e-3) {
								t.Errorf(
									"top %d %v %v, ε %g at order %g, δ %g, K %d: a group of one unit is shown with %g, from one less with %g", top,
									x, choice, epsilon, order, delta, k,
									shown(float64(x.Least)), shown(float64(x.Least-1)))
							}
							if hidden := mass(n, float64(x.Always-x.Least+1), far) / n.total(); hidden > 1e-9 {
								t.Errorf("%d units are hidden with %g", x.Always, hidden)
							}
						}
					}
				}
			}
		}
	}
	if settings < 1000 {
		t.Errorf("%d settings", settings)
	}
	denoised, err := Prepare(Release{
		Kind: Scalar, Range: Range{{0, 50}}, Sensitivity: 1,
		Choice: Choice{Bounding: Denoise},
	}, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := denoised.CountThreshold(1e-6); err == nil {
		t.Error("a posterior mean decides")
	}
}

// TestJointCountThreshold: the same of a count that has joint noise, whose law is added up over the boxes one by one.
func TestJointCountThreshold(t *testing.T) {
	for _, epsilon := range []float64{.3, 1, 3} {
		list := []Release{
			{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Total: 1, Groups: 1, Row: 1, Weight: 1},
			{Kind: Scalar, Range: Range{{NoLower, NoUpper}}, Sensitivity: 60, Total: 60, Groups: 1, Row: 60, Weight: 1},
		}
		prepared, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		cube, _ := prepared[0].Joint()
		if cube == nil {
			t.Fatal("no joint noise")
		}
		x, err := prepared[0].CountThreshold(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		// Of the box k the count takes half = ⌊k·row/shells⌋ points to either side; its weight is q^k times the points of all
		// coordinates.
		shown, all := map[int64]float64{}, 0.0
		for k := 0.0; k < 80/cube.kernel.kappa; k++ {
			w := math.Exp(-cube.kernel.kappa * k)
			half := 0.0
			for _, a := range cube.axes {
				w *= 2*cube.halfAt(a, k) + 1
				if a.at == 0 {
					half = cube.halfAt(a, k)
				}
			}
			all += w
			for _, least := range []int64{x.Least, x.Least - 1} {
				for _, from := range []float64{float64(least) - 1, float64(least) + 2} {
					shown[least] += w * math.Max(0, half-from+1) / (2*half + 1)
				}
			}
		}
		if at := shown[x.Least] / all; at > 1e-6 || shown[x.Least-1]/all < at {
			t.Errorf("ε %g: a group of one unit is shown with %g from %d on, with %g from one less on", epsilon, at, x.Least,
				shown[x.Least-1]/all)
		}
		if below := shown[x.Least-1] / all; below < 1e-6*(1-2*jointTail) {
			t.Errorf("ε %g: %d would do: %g", epsilon, x.Least-1, below)
		}
	}
}

// TestCountsThatSelect: auto takes a mechanism that has a threshold for a count that decides, however short its range
// is.
func TestCountsThatSelect(t *testing.T) {
	denoised := 0
	for _, top := range []int64{3, 10, 100, 1000} {
		for _, order := range []float64{0, 8} {
			for _, epsilon := range []float64{1e-4, .05, .3, 1} {
				r := Release{Kind: Scalar, Range: Range{{0, top}}, Sensitivity: 1}
				beside, err := Prepare(r, Guarantee{Epsilon: epsilon, Order: order})
				if err != nil {
					t.Fatal(err)
				}
				if beside.Chosen().Bounding == Denoise {
					denoised++
				}
				r.Decides = true
				p, err := Prepare(r, Guarantee{Epsilon: epsilon, Order: order})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.CountThreshold(1e-9); err != nil {
					t.Errorf("up to %d, ε %g at order %g: %v", top, epsilon, order, err)
				}
			}
		}
	}
	if denoised < 5 {
		t.Errorf("denoised elsewhere in %d settings: the test shows little", denoised)
	}
}

// TestJointCountOfManyGroups: where δ/K is below what the distribution of joint noise is known to, no threshold is made
// up.
func TestJointCountOfManyGroups(t *testing.T) {
	const groups = 1 << 17
	list := []Release{
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Total: groups, Groups: groups, Row: 1, Weight: 1},
		{
			Kind: Scalar, Range: Range{{NoLower, NoUpper}}, Sensitivity: 60, Total: 60 * groups, Groups: groups, Row: 60,
			Weight: 1,
		},
	}
	prepared, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if cube, _ := prepared[0].Joint(); cube == nil {
		t.Fatal("no joint noise")
	}
	if x, err := prepared[0].CountThreshold(5e-11); err == nil {
		t.Errorf("groups are shown from %d on", x.Least)
	}
	if _, err := prepared[0].CountThreshold(1e-6); err != nil {
		t.Error(err)
	}
}
