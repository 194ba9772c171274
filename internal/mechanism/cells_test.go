package mechanism

import (
	"math"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// prepareCells asks for cells.
func prepareCells(t *testing.T, r Release, g Guarantee) *Prepared {
	t.Helper()
	r.Kind, r.Choice.Bounding = Scalar, Cells
	p, err := Prepare(r, g)
	if err != nil {
		t.Fatalf("%+v, %+v: %v", r, g, err)
	}
	return p
}

// TestCutIsTheBest tries all cuts of a short range into intervals, with every point for each.
func TestCutIsTheBest(t *testing.T) {
	for length := 1; length <= 7; length++ {
		for _, kappa := range []float64{.5, 1, 2, 3.5, 6, 40} {
			least := math.Inf(1)
			for ends := 1; ends < 1<<length; ends++ { // bit x: a cell ends with x
				sum, m, from := 0.0, 0, 0
				for x := 0; x <= length; x++ {
					if x < length && ends>>x&1 == 0 {
						continue
					}
					sum += bestPoint(from, x, length, kappa)
					m, from = m+1, x+1
				}
				least = math.Min(least, sum/(math.Exp(kappa)+float64(m)-1)/float64(length+1))
			}
			h := Interval{-3, int64(length) - 3}
			d := design{kernel: response(kappa), bounding: Cells, v: Range{h}, cells: newResponseCells(h, kappa)}
			average, _ := d.errors()
			near(t, "error", average*average, least, 1e-9)
			near(t, "enumerated", d.tabulate().RMSE(), average, 1e-9)
		}
	}
}

// bestPoint is the least Σ (x−z)² over [0, length], those of the cell [from, to] e^κ times.
func bestPoint(from, to, length int, kappa float64) float64 {
	least := math.Inf(1)
	for z := 0; z <= length; z++ {
		sum := 0.0
		for x := 0; x <= length; x++ {
			w := 1.0
			if from <= x && x <= to {
				w = math.Exp(kappa)
			}
			sum += w * float64((x-z)*(x-z))
		}
		least = math.Min(least, sum)
	}
	return least
}

// TestCellDraws compares draws with the probabilities that the charge rests on.
func TestCellDraws(t *testing.T) {
	src := seededSource(31)
	for _, c := range []struct {
		length int64
		eps    float64
		step   int64
		noise  Noise
	}{
		{1, .6, 1, Staircase},
		{3, 2, 3, Staircase},
		{10, 5, 10, Staircase},
		{10, 2, 10, Staircase},
		{63, 6, 63, Staircase},
		{63, 1, 63, Staircase},
		{5, 12, 5, Staircase},
		{1, 1, 1, Laplace},
		{5, 2, 3, Laplace},
		{10, .7, 2, Laplace},
		{63, 3, 9, Laplace},
		{63, .6, 1, Laplace},
	} {
		p := prepareCells(t, Release{Range: Range{{-2, c.length - 2}}, Sensitivity: c.step, Choice: Choice{Noise: c.noise}},
			Guarantee{Epsilon: c.eps})
		law := p.Tabulate()
		for _, s := range []int64{-2, c.length/2 - 2, c.length - 2} {
			counts, want := map[int64]int{}, map[int64]float64{}
			for range 40000 {
				counts[p.Draw(src, s, 0)]++
			}
			for z, l := range law.Log[s+2] {
				if !math.IsInf(l, -1) {
					want[int64(z)-2] = math.Exp(l)
				}
			}
			if got, limit := stattest.ChiSquare(counts, want); got > limit {
				t.Errorf("%+v at %d: chi-square %.1f, limit %.1f", c, s, got, limit)
			}
			inside := 0.0
			for z, l := range law.Log[s+2] {
				if math.Abs(float64(int64(z)-2-s)) <= p.PlannedMargin() {
					inside += math.Exp(l)
				}
			}
			if inside < confidence {
				t.Errorf("%+v at %d: the margin %g holds %.4f", c, s, p.PlannedMargin(), inside)
			}
		}
	}
}

// TestCellsCost: every group that a unit's rows can reach takes a stair, and nothing of a pair of true values costs
// more than what is charged.
func TestCellsCost(t *testing.T) {
	const order, eps = 8.5, 1.7
	for _, c := range []struct {
		r      Release
		groups float64
	}{
		{Release{Range: Range{{0, 5}}, Sensitivity: 3, Choice: Choice{Noise: Laplace}}, 1},
		{Release{Range: Range{{0, 40}}, Sensitivity: 9, Total: 20, Row: 5, Groups: 9, Choice: Choice{Noise: Laplace}}, 4},
		{Release{Range: Range{{0, 12}}, Sensitivity: 4, Total: 6, Groups: 3, Choice: Choice{Noise: Laplace}}, 3},
		{Release{Range: Range{{0, 5}}, Sensitivity: 5}, 1},
		{Release{Range: Range{{0, 5}}, Sensitivity: 9, Groups: 3}, 3},
		{Release{Range: Range{{0, 40}}, Sensitivity: 40, Total: 40, Row: 10, Groups: 7}, 4},
		{Release{Range: Range{{0, 4}}, Sensitivity: 4, Total: 6, Groups: 3}, 3},
	} {
		for _, g := range []Guarantee{{Epsilon: 6}, {Epsilon: 3, Order: order}, {Epsilon: 6, Delta: 1e-6}} {
			p := prepareCells(t, c.r, g)
			law := p.Tabulate()
			all := Distances(int(c.r.Sensitivity), len(law.Log))
			pure, one := law.LogRatio(all).Value, p.Chosen().kappa
			near(t, "log-ratio of a group", pure, one, 1e-9)
			if curve := p.Curve(); c.groups*pure > curve.Pure*(1+1e-12) {
				t.Errorf("%+v, %+v: %g groups at %g are charged %g", c.r, g, c.groups, pure, curve.Pure)
			}
			for i, a := range RenyiOrders {
				if d := c.groups * law.Renyi(a, all).Value; d > p.Curve().Renyi[i]*(1+1e-9)+1e-12 {
					t.Errorf("%+v, %+v: %g at order %g, charged %g", c.r, g, d, a, p.Curve().Renyi[i])
				}
			}
			if g.Delta > 0 {
				if d := law.HockeyStick(eps, all).Value; d > p.task.profile(p.Chosen().kernel, Cells, eps)*(1+1e-9) {
					t.Errorf("%+v: δ(%g) is %g", c.r, eps, d)
				}
			}
		}
	}
}

// TestCellsWhere: what cells are refused for, and what auto does not take them for.
func TestCellsWhere(t *testing.T) {
	short := Range{{0, 10}}
	for _, c := range []struct {
		r    Release
		want string
	}{
		{Release{Range: Range{{0, 64}}, Sensitivity: 64}, "at most 63"},
		{Release{Range: Range{{0, NoUpper}}, Sensitivity: 4}, "fixed range"},
		{Release{Range: Range{{0, 3}, {7, 10}}, Sensitivity: 10}, "without gaps"},
		{Release{Range: short, Sensitivity: 10, Choice: Choice{Noise: Gaussian}}, "no pure epsilon"},
		{Release{Range: short, Sensitivity: 10, Groups: 20}, "use denoise"},
		{Release{Range: short, Sensitivity: 10, Total: 10, Row: 1, Groups: 3, Layer: 1}, "other releases"},
	} {
		c.r.Kind, c.r.Choice.Bounding = Scalar, Cells
		if _, err := Prepare(c.r, Guarantee{Epsilon: 4}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.want)
		}
	}
	auto := func(r Release) Bounding {
		r.Kind = Scalar
		p, err := Prepare(r, Guarantee{Epsilon: 4})
		if err != nil {
			t.Fatal(err)
		}
		return p.Chosen().Bounding
	}
	if got := auto(Release{Range: short, Sensitivity: 10}); got != Cells {
		t.Errorf("the whole range moves, and auto takes %s", got)
	}
	if got := auto(Release{Range: short, Sensitivity: 10, Decides: true}); got == Cells {
		t.Error("cells decide which groups are shown")
	}
	if got := auto(Release{Range: short, Sensitivity: 1}); got == Cells {
		t.Error("cells where one unit moves one step")
	}
	if p := prepareCells(t, Release{Range: short, Sensitivity: 5}, Guarantee{Epsilon: 2}); p.Chosen().Noise != Laplace {
		t.Errorf("half of the range moves, and cells are of %s noise", p.Chosen().Noise)
	}
}
