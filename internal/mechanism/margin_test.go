package mechanism

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

var marginReleases = []struct {
	name string
	r    Release
	g    Guarantee
}{
	{"count", Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 1}, Guarantee{Epsilon: .5}},
	{"open count", Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1}, Guarantee{Epsilon: .5, Delta: 1e-6}},
	{"narrow truncated laplace", Release{
		Kind: Scalar, Range: Range{{0, 10}}, Sensitivity: 5,
		Choice: Choice{Noise: Laplace, Bounding: Truncate},
	}, Guarantee{Epsilon: .5}},
	{"truncated laplace", Release{
		Kind: Scalar, Range: Range{{0, 300}}, Sensitivity: 5,
		Choice: Choice{Noise: Laplace, Bounding: Truncate},
	}, Guarantee{Epsilon: 1}},
	{"truncated gaussian", Release{
		Kind: Scalar, Range: Range{{-30, 30}}, Sensitivity: 2,
		Choice: Choice{Noise: Gaussian, Bounding: Truncate},
	}, Guarantee{Epsilon: 1}},
	{"paper gaussian", Release{
		Kind: Scalar, Range: Range{{-30, 30}}, Sensitivity: 2,
		Choice: Choice{Gaussian, Truncate, Paper},
	}, Guarantee{Epsilon: 1}},
	{
		"gaussian rdp",
		Release{Kind: Scalar, Range: Range{{0, 200}}, Sensitivity: 3, Choice: Choice{Noise: Gaussian}},
		Guarantee{Epsilon: .5, Delta: 1e-6},
	},
	{"denoised", Release{
		Kind: Scalar, Range: Range{{0, 30}}, Sensitivity: 3,
		Choice: Choice{Noise: Laplace, Bounding: Denoise},
	}, Guarantee{Epsilon: .7}},
	{"clamped", Release{
		Kind: Scalar, Range: Range{{0, 30}}, Sensitivity: 3,
		Choice: Choice{Noise: Laplace, Bounding: Clamp},
	}, Guarantee{Epsilon: .7}},
	{"gaps truncated", Release{
		Kind: Scalar, Range: Range{{0, 9}, {30, 40}}, Sensitivity: 3,
		Choice: Choice{Noise: Laplace, Bounding: Truncate},
	}, Guarantee{Epsilon: .7}},
	{"gaps folded", Release{
		Kind: Scalar, Range: Range{{0, 9}, {30, 40}}, Sensitivity: 3,
		Choice: Choice{Noise: Laplace, Bounding: Fold},
	}, Guarantee{Epsilon: .7}},
	{"chained", Release{Kind: SumGivenCount, PerRow: Interval{-20, 30}, Sensitivity: 30}, Guarantee{Epsilon: 1}},
	{"chained truncated", Release{
		Kind: SumGivenCount, PerRow: Interval{-20, 30}, Sensitivity: 30,
		Choice: Choice{Noise: Laplace, Bounding: Truncate},
	}, Guarantee{Epsilon: .5, Delta: 1e-6}},
	{
		"order",
		Release{Kind: Scalar, Range: Range{{0, 200}}, Sensitivity: 3, Total: 9, Groups: 5},
		Guarantee{Epsilon: .05, Order: 12},
	},
	{"order narrow", Release{Kind: Scalar, Range: Range{{0, 10}}, Sensitivity: 5}, Guarantee{Epsilon: .01, Order: 20}},
	{"order truncated", Release{
		Kind: Scalar, Range: Range{{0, 40}}, Sensitivity: 2,
		Choice: Choice{Noise: Gaussian, Bounding: Truncate},
	}, Guarantee{Epsilon: .02, Order: 4}},
	{"order chained", Release{
		Kind: SumGivenCount, PerRow: Interval{-20, 30}, Sensitivity: 90, Total: 90, Groups: 3,
		Layer: 2,
	}, Guarantee{Epsilon: .1, Order: 9}},
}

// Wherever the true value is, 95% of the releases are within their own margin, and the interval says the same.
func TestMarginCovers(t *testing.T) {
	const draws, count = 20000, 12
	src := seededSource(11)
	for _, c := range marginReleases {
		p, err := Prepare(c.r, c.g)
		if err != nil {
			t.Fatal(err)
		}
		h := p.rangeAt(count).hull()
		hi := min(h.Hi, h.Lo+5000)
		for _, at := range []float64{0, .03, .2, .5, .8, 1} {
			s := h.Lo + int64(at*float64(hi-h.Lo))
			hits := 0
			for range draws {
				z := p.Draw(src, s, count)
				m := p.Margin(z, count, Wrong)
				lo, up := p.Interval(z, count, Wrong)
				in := math.Abs(float64(z-s)) <= m
				if in != (lo <= s && s <= up) && m == math.Trunc(m) {
					t.Fatalf("%s: released %d, margin %g, but interval [%d, %d] and true value %d", c.name, z, m, lo, up, s)
				}
				if in {
					hits++
				}
			}
			if !stattest.AtLeast(hits, draws, confidence) {
				t.Errorf("%s at %d: %d of %d within the margin", c.name, s, hits, draws)
			}
		}
	}
}

// In the middle of a wide range the margin is not wastefully large: the next smaller one covers less than 95%.
func TestMarginIsTight(t *testing.T) {
	for _, scale := range []float64{1.3, 17, 1e5} {
		for _, noise := range []Noise{Laplace, Gaussian} {
			n := newKernel(noise, kappaOf(noise, scale))
			m := n.plainQuantile(confidence)
			inside := func(m float64) float64 { return (2*n.sums(0, m+1).m0 - 1) / n.total() }
			smaller := math.Floor(m * (1 - 1e-6))
			if smaller == m {
				smaller--
			}
			if inside(m) < confidence || inside(smaller) >= confidence {
				t.Errorf("%s %g: margin %g covers %g, %g covers %g", noise, scale, m, inside(m), smaller, inside(smaller))
			}
		}
	}
}

// The standard deviation is that of the mechanism at the released value.
func TestStdDev(t *testing.T) {
	const draws, count = 40000, 12
	src := seededSource(12)
	for _, c := range marginReleases {
		p, err := Prepare(c.r, c.g)
		if err != nil {
			t.Fatal(err)
		}
		h := p.rangeAt(count).hull()
		s := p.rangeAt(count).nearest(h.Lo + int64(min(h.span(), 5000)/3))
		sum, most := 0.0, 0.0
		for range draws {
			e := float64(p.Draw(src, s, count) - s)
			sum += e * e
			most = math.Max(most, e*e)
		}
		want := p.StdDev(s, count)
		if !stattest.MeanWithin(sum/draws-want*want, 3*want*want, most, draws) {
			t.Errorf("%s: measured %g, says %g", c.name, math.Sqrt(sum/draws), want)
		}
	}
}

// TestStdDevOfOpenRanges: that of a small count is the same whatever the upper end of its range is, far away or open.
func TestStdDevOfOpenRanges(t *testing.T) {
	for _, noise := range []Noise{Laplace, Gaussian} {
		for _, bounding := range []Bounding{Clamp, Fold} {
			deviation := func(hi, z int64) float64 {
				p, err := Prepare(Release{
					Kind: Scalar, Sensitivity: 1, Groups: 1, Range: Range{{Lo: 0, Hi: hi}},
					Choice: Choice{Noise: noise, Bounding: bounding},
				},
					Guarantee{Epsilon: 1, Delta: 1e-6})
				if err != nil {
					t.Fatal(err)
				}
				return p.StdDev(z, 0)
			}
			for _, z := range []int64{0, 1, 10, 60, 100, 1000} {
				if got, want := deviation(NoUpper, z), deviation(1_000_000, z); math.Abs(got-want) > 1e-6*want {
					t.Errorf("%v %v: %g at %d, %g below an end", noise, bounding, got, z, want)
				}
			}
		}
	}
}

func TestEpsilonForMargin(t *testing.T) {
	for _, c := range marginReleases {
		g := Guarantee{Epsilon: 20, Delta: c.g.Delta, Order: c.g.Order}
		margin := 4 * float64(c.r.Sensitivity)
		got, err := EpsilonForMargin(c.r, margin, g)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, err := Prepare(c.r, got)
		if err != nil {
			t.Fatal(err)
		}
		if p.PlannedMargin() > margin {
			t.Errorf("%s: epsilon %g has margin %g, not %g", c.name, got.Epsilon, p.PlannedMargin(), margin)
		}
		if q, err := Prepare(c.r, Guarantee{Epsilon: got.Epsilon * .98, Delta: g.Delta, Order: g.Order}); err == nil &&
			q.PlannedMargin() <= margin && margin < float64(p.rangeAt(1000).hull().span()) {
			t.Errorf("%s: epsilon %g is not the least for margin %g", c.name, got.Epsilon, margin)
		}
	}
	wide := Release{
		Kind: Scalar, Range: Range{{0, 1 << 58}}, Sensitivity: 1 << 45,
		Choice: Choice{Noise: Laplace, Bounding: Fold},
	}
	if g, err := EpsilonForMargin(wide, 1<<57, Guarantee{Epsilon: 1}); err != nil || g.Epsilon > .01 {
		t.Errorf("a margin wider than any noise that can be drawn: epsilon %g, %v", g.Epsilon, err)
	}
	r := Release{Kind: Scalar, Range: Range{{0, 100}}, Sensitivity: 1}
	if _, err := EpsilonForMargin(r, 1, Guarantee{Epsilon: .1}); err == nil {
		t.Error("a margin of 1 needs more than epsilon 0.1")
	}
	if _, err := EpsilonForMargin(r, 0, Guarantee{Epsilon: 1}); err == nil {
		t.Error("a margin of 0 is not positive")
	}
	if _, err := EpsilonForMargin(Release{Kind: Quantile, Range: r.Range, Sensitivity: 1}, 5, Guarantee{Epsilon: 1}); err == nil {
		t.Error("quantiles have no margin in advance")
	}
}
