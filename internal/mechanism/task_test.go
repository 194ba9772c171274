package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

// allocations visits every way to spread at most rows over groups.
func allocations(rows, groups int, visit func(n []int)) {
	n := make([]int, groups)
	var next func(g, left int)
	next = func(g, left int) {
		if g == groups {
			visit(n)
			return
		}
		for n[g] = 0; n[g] <= left; n[g]++ {
			next(g+1, left-n[g])
		}
	}
	next(0, rows)
}

// Truncated noise over several groups is charged what the worst spread of a unit's rows costs, not a bound on it: its
// curve against every spread of the exact divergences of one group.
func TestTruncationOverGroupsIsExact(t *testing.T) {
	const rows, groups, row = 4, 3, 2
	for _, noise := range []Noise{Laplace, Gaussian} {
		for _, v := range []Range{{{0, 30}}, {{0, 9}, {12, 30}}} {
			if noise == Laplace && len(v) > 1 {
				continue // its curve is that of the pure loss
			}
			release := Release{
				Kind: Scalar, Range: v, Sensitivity: rows * row, Total: rows * row, Row: row, Groups: groups,
				Choice: Choice{Noise: noise, Bounding: Truncate},
			}
			p, err := prepare(release, Guarantee{Epsilon: .5, Order: Orders[12]})
			if err != nil {
				t.Fatal(err)
			}
			table, curve := p.Tabulate(), p.Curve()
			for _, i := range []int{0, 6, 12, 18} {
				cost := make([]float64, rows+1)
				for n := 1; n <= rows; n++ {
					cost[n] = math.Max(cost[n-1], math.Max(table.Renyi(Orders[i], []int{n * row}).Value,
						table.Renyi(Orders[i], []int{n*row - 1}).Value))
				}
				worst := 0.0
				allocations(rows, groups, func(n []int) {
					sum := 0.0
					for _, d := range n {
						sum += cost[d]
					}
					worst = math.Max(worst, sum)
				})
				if curve.Renyi[i] < worst*(1-1e-9) || curve.Renyi[i] > worst*1.02 {
					t.Errorf("%s in %v at order %g: charged %g, the worst spread costs %g", noise, v, Orders[i], curve.Renyi[i], worst)
				}
			}
		}
	}
}

// R rows over any number of groups cost what R rows in one group cost, for plain noise.
func TestGroupsAreFree(t *testing.T) {
	for _, g := range []Guarantee{{Epsilon: .5}, {Epsilon: .05, Order: 8}} {
		for _, choice := range []Choice{
			{Laplace, Fold, ""},
			{Gaussian, Fold, ""},
			{Laplace, Denoise, ""},
			{Gaussian, Clamp, ""},
		} {
			if choice.Noise == Gaussian && g.Order == 0 {
				continue
			}
			r := Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 50, Total: 50, Row: 1, Choice: choice}
			one, err := Prepare(r, g)
			if err != nil {
				t.Fatal(err)
			}
			r.Groups = 100
			many, err := Prepare(r, g)
			if err != nil {
				t.Fatal(err)
			}
			if one.Chosen().Scale != many.Chosen().Scale {
				t.Errorf("%v: scale %g in one group, %g in a hundred", choice, one.Chosen().Scale, many.Chosen().Scale)
			}
			for i, x := range many.Curve().Renyi {
				if x != one.Curve().Renyi[i] {
					t.Fatalf("%v: order %g costs %g in a hundred groups, %g in one", choice, Orders[i], x, one.Curve().Renyi[i])
				}
			}
		}
	}
}

// Units per group: K groups of one unit each. Laplace noise grows with K, Gaussian noise with √K.
func TestUnitsPerGroup(t *testing.T) {
	scale := func(noise Noise, groups int, g Guarantee) float64 {
		p, err := Prepare(Release{
			Kind: Scalar, Range: Range{{0, 1 << 20}}, Sensitivity: 1, Total: int64(groups),
			Groups: groups, Choice: Choice{noise, Fold, ""},
		}, g)
		if err != nil {
			t.Fatal(err)
		}
		return p.Chosen().Scale
	}
	near(t, "Laplace", scale(Laplace, 16, Guarantee{Epsilon: .5}), 32, 1e-8)
	order := Guarantee{Epsilon: .01, Order: 20}
	near(t, "Gaussian", scale(Gaussian, 16, order), 4*scale(Gaussian, 1, order), 1e-8)
}

// A divergence at one order: what is charged at that order is what was asked for, and hardly less.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 100 {
		delta, groups := 1+r.Int64N(6), 1+r.IntN(4)
		total := delta + r.Int64N(delta*int64(groups)-delta+1)
		i := r.IntN(len(Orders))
		g := Guarantee{Epsilon: math.Pow(10, -4+4*r.Float64()), Order: Orders[i]}
		choice := Choice{[]Noise{Laplace, Gaussian}[r.IntN(2)], []Bounding{Truncate, Fold, Clamp}[r.IntN(3)], ""}
		rel := Release{
			Kind: Scalar, Range: Range{{0, 3 + r.Int64N(300)}}, Sensitivity: delta, Total: total, Groups: groups,
			Choice: choice,
		}
		if choice.Bounding != Truncate && r.IntN(2) == 0 {
			rel.Layer = 1
		}
		p, err := prepare(rel, g)
		if err != nil {
			t.Fatal(err)
		}
		charged := p.Curve().Renyi[i]
		if charged > g.Epsilon || charged < g.Epsilon*(1-1e-3) && p.Chosen().kappa < maxKappa {
			t.Errorf("%+v, %v: %g charged at the order, κ %g", rel, g, charged, p.Chosen().kappa)
		}
	}
}

func TestOrderBadInput(t *testing.T) {
	r := Release{Kind: Scalar, Range: Range{{0, 10}}}
	for _, g := range []Guarantee{
		{Epsilon: 1, Order: 1},
		{Epsilon: 1, Order: .5},
		{Epsilon: 1, Order: -2},
		{Epsilon: 1, Order: math.NaN()},
		{Epsilon: 1e-13, Order: 2},
		{Epsilon: 1, Order: math.Inf(-1)},
	} {
		if _, err := Prepare(r, g); err == nil {
			t.Errorf("%v: no error", g)
		}
	}
	infinite, err := Prepare(r, Guarantee{Epsilon: 1, Order: math.Inf(1)})
	if err != nil || infinite.Curve().Pure != 1 {
		t.Errorf("order ∞ is pure ε: %v", err)
	}
	for _, total := range []int64{-1, limit + 1} {
		r.Total = total
		if _, err := Prepare(r, Guarantee{Epsilon: 1}); err == nil {
			t.Errorf("total %d: no error", total)
		}
	}
}

// Gaussian noise takes long sessions, Laplace noise short ones: at one order both are candidates.
func TestOrderChoosesTheNoise(t *testing.T) {
	r := Release{Kind: Scalar, Range: Range{{0, 1 << 20}}, Sensitivity: 1}
	for _, c := range []struct {
		g    Guarantee
		want Noise
	}{{Guarantee{Epsilon: .01, Order: 16}, Gaussian}, {Guarantee{Epsilon: .5, Order: 1e5}, Laplace}} {
		p, err := Prepare(r, c.g)
		if err != nil {
			t.Fatal(err)
		}
		if p.Chosen().Noise != c.want || len(p.Candidates()) < 2 {
			t.Errorf("%v: %s of %d candidates, want %s", c.g, p.Chosen().Noise, len(p.Candidates()), c.want)
		}
	}
}

func TestEpsilonForMarginAtOrder(t *testing.T) {
	r := Release{Kind: Scalar, Range: Range{{0, 1 << 30}}, Sensitivity: 3, Total: 12, Groups: 5}
	for _, g := range []Guarantee{{Epsilon: 5, Order: 12}, {Epsilon: 5, Order: 3}, {Epsilon: 5}} {
		for _, margin := range []float64{20, 500, 50000} {
			got, err := EpsilonForMargin(r, margin, g)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Prepare(r, got)
			if err != nil {
				t.Fatal(err)
			}
			less, err := Prepare(r, Guarantee{Epsilon: got.Epsilon * .98, Order: g.Order})
			if err != nil {
				t.Fatal(err)
			}
			if p.PlannedMargin() > margin || less.PlannedMargin() <= margin*.98 || got.Order != g.Order {
				t.Errorf("%v, margin %g: %v has %g, 2%% less has %g", g, margin, got, p.PlannedMargin(), less.PlannedMargin())
			}
		}
	}
}

// The rows of a quantile may lie in one group or be spread, or belong to another quantile of the same layer: by
// enumeration of the divergence of d rows in one group.
func TestQuantileOverGroups(t *testing.T) {
	const rows, groups = 3, 2
	for _, g := range []Guarantee{{Epsilon: 1}, {Epsilon: .1, Order: Orders[20]}} {
		r := Release{
			Kind: Quantile, Range: Range{{0, 6}}, Sensitivity: rows, Total: rows, Groups: groups, Fraction: .3,
			Layer: 1,
		}
		p, err := Prepare(r, g)
		if err != nil {
			t.Fatal(err)
		}
		curve := Compose([]Release{r, r}, []*Prepared{p, p})
		if g.Order > 0 && curve.Renyi[20] > g.Epsilon || g.Order == 0 && curve.Pure != g.Epsilon {
			t.Errorf("%v: charged %g, %g", g, curve.Pure, curve.Renyi[20])
		}
		for i := -1; i < 36; i += 8 { // powers of higher orders overflow
			claimed := curve.Pure
			if i >= 0 {
				claimed = curve.Renyi[i]
			}
			loss := p.quantileLosses(rows, i)
			allocations(rows, 2*groups, func(n []int) {
				sum := 0.0
				for _, d := range n {
					sum += loss[d]
				}
				if sum > claimed*(1+1e-9) {
					t.Errorf("%v, order %d, rows %v: %g above %g", g, i, n, sum, claimed)
				}
			})
			if loss[rows] < claimed/10 {
				t.Errorf("%v, order %d: %g of %g: the test sees nothing", g, i, loss[rows], claimed)
			}
		}
	}
}

// quantileLosses are the worst divergences at Orders[i] (the log-ratio where i < 0) of adding up to d rows, by d.
func (p *Prepared) quantileLosses(rows, i int) []float64 {
	worst := make([]float64, rows+1)
	for _, h := range []Histogram{nil, {{3, 1}}, {{1, 4}, {5, 4}}, {{6, 7}}, {{0, 30}, {6, 31}}} {
		a := p.quantilePMF(h)
		for at := int64(0); at <= 6; at++ {
			for d := 1; d <= rows; d++ {
				b := p.quantilePMF(merge(h, Histogram{{at, int64(d)}}))
				var up, down float64
				for z := range a {
					if i < 0 {
						up = math.Max(up, math.Abs(math.Log(a[z]/b[z])))
						continue
					}
					up += math.Pow(a[z], Orders[i]) * math.Pow(b[z], 1-Orders[i])
					down += math.Pow(b[z], Orders[i]) * math.Pow(a[z], 1-Orders[i])
				}
				if i >= 0 {
					up = math.Log(math.Max(up, down)) / (Orders[i] - 1)
				}
				if !math.IsInf(up, 0) {
					worst[d] = math.Max(worst[d], up)
				}
			}
		}
	}
	for d := 1; d < len(worst); d++ {
		worst[d] = math.Max(worst[d], worst[d-1])
	}
	return worst
}
