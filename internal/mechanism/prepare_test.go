package mechanism

import (
	"math"
	"strings"
	"sync"
	"testing"
)

func TestBadInput(t *testing.T) {
	ok := Range{{0, 10}}
	for _, c := range []struct {
		r    Release
		g    Guarantee
		want string
	}{
		{Release{Kind: Scalar, Range: ok}, Guarantee{}, "epsilon is 0"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: -1}, "epsilon is -1"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: math.NaN()}, "epsilon is NaN"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: math.Inf(1)}, "epsilon is +Inf"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: 1e-9}, "the least that can be calibrated"},
		{Release{Kind: Scalar, Range: ok, Groups: 1 << 20}, Guarantee{Epsilon: 1e-2}, "the least that can be calibrated"},
		{Release{Kind: Scalar, Range: ok, Groups: 1<<20 + 1}, Guarantee{Epsilon: 1}, "groups per unit"},
		{Release{Kind: Scalar, Range: ok, Groups: -1}, Guarantee{Epsilon: 1}, "groups per unit"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: 1, Delta: -1}, "delta is -1"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: 1, Delta: 1}, "delta is 1"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: 1, Delta: math.NaN()}, "delta is NaN"},
		{Release{Kind: Scalar, Range: ok}, Guarantee{Epsilon: 1, Delta: 1e-300}, "too small"},
		{Release{Kind: Scalar, Range: ok, Sensitivity: -1}, Guarantee{Epsilon: 1}, "sensitivity is -1"},
		{Release{Kind: Scalar, Range: ok, Sensitivity: 1 << 61}, Guarantee{Epsilon: 1}, "coarser grid"},
		{Release{Kind: Scalar}, Guarantee{Epsilon: 1}, "range is empty"},
		{Release{Kind: Scalar, Range: Range{{5, 4}}}, Guarantee{Epsilon: 1}, "lower end 5 is above upper end 4"},
		{Release{Kind: Scalar, Range: Range{{0, 1 << 61}}}, Guarantee{Epsilon: 1}, "coarser grid"},
		{Release{Kind: Scalar, Range: Range{{0, 5}, {5, 9}}}, Guarantee{Epsilon: 1}, "overlap or are out of order"},
		{Release{Kind: Scalar, Range: Range{{7, 9}, {0, 5}}}, Guarantee{Epsilon: 1}, "overlap or are out of order"},
		{Release{Kind: Scalar, Range: Range{{0, NoUpper}, {5, 9}}}, Guarantee{Epsilon: 1}, "only its outer ends"},
		{Release{Kind: Scalar, Range: Range{{0, 5}, {NoLower, 9}}}, Guarantee{Epsilon: 1}, "only its outer ends"},
		{Release{Kind: Scalar, Range: Range{{NoLower, 5}, {7, 9}}}, Guarantee{Epsilon: 1}, "must have both ends"},
		{Release{Kind: SumGivenCount, PerRow: Interval{3, 2}}, Guarantee{Epsilon: 1}, "per-row range"},
		{Release{Kind: Quantile, Range: Range{{0, NoUpper}}}, Guarantee{Epsilon: 1}, "both ends"},
		{Release{Kind: Quantile, Range: ok, Fraction: 1.5}, Guarantee{Epsilon: 1}, "between 0 and 1"},
		{Release{Kind: Quantile, Range: ok, Fraction: math.NaN()}, Guarantee{Epsilon: 1}, "between 0 and 1"},
		{Release{Kind: "sum", Range: ok}, Guarantee{Epsilon: 1}, `kind "sum" is unknown`},
		{
			Release{Kind: Scalar, Range: ok, Choice: Choice{Noise: "cauchy"}},
			Guarantee{Epsilon: 1},
			`noise "cauchy" is unknown`,
		},
		{
			Release{Kind: Scalar, Range: ok, Choice: Choice{Bounding: "wrap"}},
			Guarantee{Epsilon: 1},
			`bounding "wrap" is unknown`,
		},
		{
			Release{Kind: Scalar, Range: ok, Choice: Choice{Calibration: "loose"}},
			Guarantee{Epsilon: 1},
			`calibration "loose" is unknown`,
		},
		{
			Release{Kind: Scalar, Range: ok, Choice: Choice{Noise: Gaussian, Bounding: Fold}},
			Guarantee{Epsilon: 1},
			"no pure epsilon",
		},
		{
			Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Choice: Choice{Noise: Gaussian}},
			Guarantee{Epsilon: 1},
			"fixed finite range",
		},
		{
			Release{Kind: SumGivenCount, PerRow: Interval{0, 9}, Choice: Choice{Bounding: Denoise}},
			Guarantee{Epsilon: 1},
			"denoise needs",
		},
		{
			Release{Kind: Scalar, Range: ok, Choice: Choice{Bounding: Fold, Calibration: Paper}},
			Guarantee{Epsilon: 1},
			"papers calibrate truncation only",
		},
		{Release{
			Kind: Scalar, Range: Range{{0, 1}, {1 << 40, 1 << 41}}, Sensitivity: 1,
			Choice: Choice{Noise: Gaussian, Bounding: Truncate},
		}, Guarantee{Epsilon: 10}, "cannot cross a gap"},
	} {
		_, err := Prepare(c.r, c.g)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %v: error %v, want %q", c.r, c.g, err, c.want)
		}
	}
}

func TestDefinedResults(t *testing.T) {
	src := seededSource(4)
	point, err := Prepare(Release{Kind: Scalar, Range: Range{{7, 7}}, Sensitivity: 3}, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if z := point.Draw(src, 1000, 0); z != 7 || point.Margin(7, 0, Wrong) != 0 || point.StdDev(7, 0) != 0 ||
		point.Curve().Pure != 0 {
		t.Errorf("a one-point range: released %d, margin %g, curve %v", z, point.Margin(7, 0, Wrong), point.Curve())
	}
	zero, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 100}}}, Guarantee{Epsilon: 1})
	if err != nil || zero.Chosen().Scale < .99 {
		t.Errorf("sensitivity 0 is 1: %v, scale %g", err, zero.Chosen().Scale)
	}
	// Values outside the range are clamped, whatever they are; releases stay inside.
	p, err := Prepare(Release{Kind: Scalar, Range: Range{{-5, 20}}, Sensitivity: 3}, Guarantee{Epsilon: .1})
	if err != nil {
		t.Fatal(err)
	}
	for _, exact := range []int64{math.MinInt64, -6, 21, math.MaxInt64} {
		for range 100 {
			if z := p.Draw(src, exact, 0); z < -5 || z > 20 {
				t.Fatalf("true value %d: released %d", exact, z)
			}
		}
	}
	large, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 1}, Guarantee{Epsilon: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if z := large.Draw(src, 123, 0); z != 123 {
			t.Fatalf("epsilon 1e9: released %d for 123", z)
		}
	}
}

// The widest noise there is: a sensitivity of 2^60 steps at the least ε, on the longest range and on a short one;
// folded, a scale of 2^53.
func TestWidestNoise(t *testing.T) {
	src := seededSource(6)
	for _, c := range []Release{
		{Kind: Scalar, Range: Range{{0, limit}}, Sensitivity: limit},
		{Kind: Scalar, Range: Range{{0, limit}}, Sensitivity: limit, Choice: Choice{Noise: Gaussian}},
		{Kind: Scalar, Range: Range{{0, 1 << 52}}, Sensitivity: 1 << 34, Choice: Choice{Bounding: Fold}},
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: limit},
		{Kind: SumGivenCount, PerRow: Interval{-limit, limit}, Sensitivity: limit},
		// denoised, it is always the middle
		{Kind: Scalar, Range: Range{{0, 3}}, Sensitivity: limit, Choice: Choice{Bounding: Truncate}},
	} {
		p, err := Prepare(c, Guarantee{Epsilon: 2e-6})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.sampler().env); n > 4096 {
			t.Errorf("%+v: %d blocks", c, n)
		}
		low := 0
		v := p.rangeAt(1).hull()
		for range 400 {
			z := p.Draw(src, 0, 1)
			if z < v.Lo || z > v.Hi {
				t.Fatalf("%+v: released %d", c, z)
			}
			if z < v.Lo+int64(v.span()/2) {
				low++
			}
		}
		if low < 100 || low > 300 { // nearly uniform: 200 ± 10 (ten standard deviations allowed)
			t.Errorf("%+v: %d of 400 in the lower half", c, low)
		}
	}
}

func TestChained(t *testing.T) {
	src := seededSource(5)
	p, err := Prepare(Release{Kind: SumGivenCount, PerRow: Interval{-3, 5}, Sensitivity: 5}, Guarantee{Epsilon: .2})
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []int64{-7, 0} {
		if z := p.Draw(src, 4, count); z != 0 || p.Margin(0, count, Wrong) != 0 {
			t.Errorf("count %d: released %d", count, z)
		}
	}
	for _, count := range []int64{1, 2, 50, math.MaxInt64} {
		for _, exact := range []int64{math.MinInt64, -2, 0, 4, math.MaxInt64} {
			for range 50 {
				z := p.Draw(src, exact, count)
				if v := p.rangeAt(count).hull(); z < v.Lo || z > v.Hi {
					t.Fatalf("count %d: released %d outside %v", count, z, v)
				}
			}
		}
	}
	if h := p.rangeAt(math.MaxInt64).hull(); h.Lo != -limit || h.Hi != limit {
		t.Errorf("a range beyond 2^60 saturates: %v", h)
	}
}

// A chained release is charged for every range that its count may produce: enumerate ranges against the one curve.
func TestChainedCurveIsSupremum(t *testing.T) {
	for _, choice := range []Choice{
		{Laplace, Truncate, Tight},
		{Laplace, Fold, Tight},
		{Gaussian, Truncate, Tight},
		{Gaussian, Fold, Tight},
	} {
		p, err := Prepare(Release{Kind: SumGivenCount, PerRow: Interval{-3, 5}, Sensitivity: 5, Choice: choice},
			Guarantee{Epsilon: 1, Delta: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		curve := p.Curve()
		for _, count := range []int64{1, 2, 3, 6} {
			d := p.Chosen().design
			d.v = p.rangeAt(count)
			table := d.tabulate()
			distances := Distances(5, int(d.v.hull().span())+1)
			if r := table.LogRatio(distances); r.Value > curve.Pure*(1+1e-9) {
				t.Errorf("%v, count %d: log-ratio %g above %g", choice, count, r.Value, curve.Pure)
			}
			for i, a := range RenyiOrders {
				if i%6 > 0 || choice.Noise == Gaussian && a > 50 {
					continue
				}
				if r := table.Renyi(a, distances); r.Value > curve.Renyi[i]*(1+1e-9)+1e-13 {
					t.Errorf("%v, count %d, order %g: %g above %g", choice, count, a, r.Value, curve.Renyi[i])
				}
			}
			if h := table.HockeyStick(1, distances); h.Value > 1e-3 {
				t.Errorf("%v, count %d: δ(1) is %g", choice, count, h.Value)
			}
		}
	}
}

// The charge is exactly the ε asked for under pure accounting, whatever C is; a group gets ε/C.
func TestGroups(t *testing.T) {
	one, err := Prepare(Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1}, Guarantee{Epsilon: .1})
	if err != nil {
		t.Fatal(err)
	}
	seven, err := Prepare(Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Groups: 7},
		Guarantee{Epsilon: .7})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "scale", seven.Chosen().Scale, one.Chosen().Scale, 1e-9)
	if seven.Curve().Pure != .7 || seven.Epsilon() != .7 {
		t.Errorf("charge %g, want 0.7", seven.Curve().Pure)
	}
	for i, r := range seven.Curve().Renyi {
		near(t, "curve", r, 7*one.Curve().Renyi[i], 1e-9)
	}
}

// The papers' calibrations of ranges with an open end: Croft's 2Δ/ε and Fu's σ do not depend on the range.
func TestPaperOnOpenRanges(t *testing.T) {
	for _, r := range []Release{
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 3, Choice: Choice{Noise: Laplace, Calibration: Paper}},
		{Kind: SumGivenCount, PerRow: Interval{0, 3}, Sensitivity: 3, Choice: Choice{Noise: Laplace, Calibration: Paper}},
	} {
		p, err := Prepare(r, Guarantee{Epsilon: .5})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "λ", p.Chosen().Scale, 12, 1e-6)
		r.Choice.Noise = Gaussian
		if p, err = Prepare(r, Guarantee{Epsilon: .5, Delta: 1e-6}); err != nil {
			t.Fatal(err)
		}
		near(t, "σ", p.Chosen().Scale, 3*FuGaussianSigma(Guarantee{Epsilon: .5, Delta: 1e-6}), 1e-6)
	}
}

// Prepare may be called from many sessions at once.
func TestPrepareConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			p, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 77}}, Sensitivity: 2}, Guarantee{Epsilon: .3, Delta: 1e-7})
			if err != nil {
				t.Error(err)
				return
			}
			src := NewSource()
			for range 50 {
				z := p.Draw(src, int64(i), 0)
				if z < 0 || z > 77 || p.Margin(z, 0, Wrong) <= 0 || p.Curve().Pure <= 0 {
					t.Errorf("released %d", z)
				}
			}
		})
	}
	group.Wait()
}

// TestTruncationGainsNothing: on ranges without gaps the best of the mechanisms that are compared in its place errs no
// more than truncation.
func TestTruncationGainsNothing(t *testing.T) {
	for _, g := range []Guarantee{{}, {Order: 2}, {Order: 16}, {Order: 64}} {
		for _, eps := range []float64{.01, .3, 1, 3, 12} {
			for _, sensitivity := range []int64{1, 9} {
				for _, last := range []int64{1, 4, 20, 63, 300, 2000} {
					r := Release{Kind: Scalar, Range: Range{{0, last}}, Sensitivity: sensitivity}
					g.Epsilon = eps
					if g.Order > 0 {
						g.Epsilon = g.Order * eps * eps / 8
					}
					chosen, err := Prepare(r, g)
					if err != nil {
						t.Fatal(err)
					}
					r.Choice.Bounding = Truncate
					truncated, err := Prepare(r, g)
					if err != nil {
						continue
					}
					if a, b := chosen.Chosen(), truncated.Chosen(); b.RMSEAverage < a.RMSEAverage*(1-nearlyEqual) {
						t.Errorf("%v, sensitivity %d, 0 to %d: %v errs %g, %v %g", g, sensitivity, last, a, a.RMSEAverage, b,
							b.RMSEAverage)
					}
				}
			}
		}
	}
}
