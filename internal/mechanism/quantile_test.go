package mechanism

import (
	"math"
	"sort"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

func prepareQuantile(t *testing.T, q float64, v Range, rows int64, g Guarantee) *Prepared {
	t.Helper()
	p, err := Prepare(Release{Kind: Quantile, Range: v, Sensitivity: rows, Fraction: q}, g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// quantilePMF enumerates the exponential mechanism point by point.
func (p *Prepared) quantilePMF(h Histogram) map[int64]float64 {
	s := p.rank
	var rows int64
	for _, b := range h {
		rows += b.Count
	}
	target, below1, above1, hull := float64(s.fraction)/(1<<rankBits)*float64(rows), 1., 1., s.v.hull()
	lowest, highest := s.end < 0, s.end > 0
	switch {
	case s.end != 0:
		target += float64(s.end) * float64(s.aside)
	case s.fraction == 0: // a value too low is worse
		target, below1, lowest, highest = float64(s.aside), overshoot, false, true
	case s.fraction == 1<<rankBits:
		target, above1, lowest, highest = float64(rows)-float64(s.aside), overshoot, true, false
	}
	out, total := map[int64]float64{}, 0.0
	for _, i := range s.v {
		for z := i.Lo; z <= i.Hi; z++ {
			var below, upTo float64
			for _, b := range h {
				step := s.v.hull().clamp(b.Step)
				if step < z {
					below += float64(b.Count)
				}
				if step <= z {
					upTo += float64(b.Count)
				}
			}
			score := math.Max(0, math.Max(above1*(below-target), below1*(target-upTo)))
			if highest && z == hull.Hi && target >= below || lowest && z == hull.Lo && target <= upTo {
				score = 0 // that end of the grid stands for all ranks beyond it
			}
			out[z] = math.Exp(-s.kappa * (1 << rankBits) * score)
			total += out[z]
		}
	}
	for z := range out {
		out[z] /= total
	}
	return out
}

var histograms = []Histogram{
	nil,
	{{5, 1}},
	{{0, 3}, {10, 4}, {11, 2}, {40, 9}},
	{{-100, 3}, {20, 10}, {1000, 2}}, // outside the range: clamped
	{{0, 50}, {50, 50}},
}

// prepareEnd prepares an end of the interval of a quantile.
func prepareEnd(t *testing.T, q float64, end int, v Range, rows int64, g Guarantee) *Prepared {
	t.Helper()
	p, err := Prepare(Release{Kind: Quantile, Range: v, Sensitivity: rows, Fraction: q, End: end}, g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// endPMF is the distribution of an end beside a released quantile.
func (p *Prepared) endPMF(h Histogram, quantile int64) map[int64]float64 {
	out := map[int64]float64{}
	for band, w := range p.quantilePMF(p.rank.inBands(h, quantile)) {
		out[p.rank.endOf(band, quantile)] += w
	}
	return out
}

// TestBands: every distance is in one band, and those of the bands rise.
func TestBands(t *testing.T) {
	for _, span := range []int64{0, 1, 7, 120, 1 << 20, 1 << 60} {
		c := bandsOver(span)
		if c.of(-5) != 0 || c.furthest(len(c)-1) < span || len(c) > 400 {
			t.Errorf("%d: %d bands", span, len(c))
		}
		for i, from := range c {
			if c.of(from) != i || c.of(min(span, c.furthest(i))) != i || i > 0 && c.furthest(i-1) != from-1 {
				t.Errorf("%d: band %d from %d to %d", span, i, from, c.furthest(i))
			}
		}
	}
}

func TestQuantileMatchesPMF(t *testing.T) {
	const draws = 60000
	src := seededSource(5)
	for _, c := range []struct {
		q   float64
		end int
	}{{0, 0}, {.25, 0}, {.5, 0}, {.9, 0}, {1, 0}, {.5, -1}, {.9, 1}, {0, -1}, {1, 1}} {
		q := c.q
		for _, v := range []Range{{{0, 50}}, {{0, 9}, {30, 50}}} {
			p := prepareEnd(t, q, c.end, v, 2, Guarantee{Epsilon: 1.5})
			for i, h := range histograms {
				counts := map[int64]int{}
				draw, pmf := func() int64 { return p.DrawQuantile(src, h) }, p.quantilePMF
				if c.end != 0 {
					draw, pmf = func() int64 { return p.DrawEnd(src, h, 20) }, func(h Histogram) map[int64]float64 {
						return p.endPMF(h, 20)
					}
				}
				for range draws {
					counts[draw()]++
				}
				if got, limit := stattest.ChiSquare(counts, pmf(h)); got > limit {
					t.Errorf("quantile %g of histogram %d on %v: chi-square %.1f above %.1f", q, i, v, got, limit)
				}
			}
		}
	}
}

// The privacy of the released point, by enumeration: all histograms against those with one more unit of up to m rows.
func TestQuantileIsPrivate(t *testing.T) {
	const rows, eps = 2, 1.0
	v := Range{{0, 6}}
	for _, c := range []struct {
		q   float64
		end int
	}{{0, 0}, {.3, 0}, {.5, 0}, {1, 0}, {.5, -1}, {.5, 1}, {.3, -1}, {0, -1}, {.9, 1}} {
		q := c.q
		p := prepareEnd(t, q, c.end, v, rows, Guarantee{Epsilon: eps})
		pmf := p.quantilePMF
		if c.end != 0 {
			pmf = func(h Histogram) map[int64]float64 { return p.quantilePMF(p.rank.inBands(h, 3)) }
		}
		worst, span := 0.0, 0.0
		base := []Histogram{
			nil,
			{{3, 1}},
			{{0, 2}, {3, 5}},
			{{1, 4}, {5, 4}},
			{{6, 7}},
			{{0, 30}, {6, 31}},
			{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}},
		}
		for _, h := range base {
			a := pmf(h)
			for x := int64(0); x <= 6; x++ {
				for y := x; y <= 6; y++ {
					for _, extra := range []Histogram{{{x, 1}}, {{x, 1}, {y, 1}}} {
						b := pmf(merge(h, extra))
						lo, hi := math.Inf(1), math.Inf(-1)
						for z := range a {
							r := math.Log(a[z] / b[z])
							worst = math.Max(worst, math.Abs(r))
							lo, hi = math.Min(lo, r), math.Max(hi, r)
						}
						span = math.Max(span, hi-lo)
					}
				}
			}
		}
		if worst > eps*(1+1e-9) || span > eps*(1+1e-9) {
			t.Errorf("quantile %g: log-ratio %g, range %g, epsilon %g", q, worst, span, eps)
		}
		if span < eps/4 {
			t.Errorf("quantile %g: range %g: the test sees nothing", q, span)
		}
	}
}

func merge(a, b Histogram) Histogram {
	m := map[int64]int64{}
	for _, h := range []Histogram{a, b} {
		for _, x := range h {
			m[x.Step] += x.Count
		}
	}
	var out Histogram
	for s, c := range m {
		out = append(out, Bin{s, c})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Step < out[j].Step })
	return out
}

func TestQuantileDrawsAreConstant(t *testing.T) {
	p := prepareQuantile(t, .5, Range{{0, 1e6}}, 1, Guarantee{Epsilon: .1})
	src := seededSource(6)
	long := make(Histogram, 500)
	for i := range long {
		long[i] = Bin{int64(i * 1999), int64(i % 7)}
	}
	for _, h := range append(histograms, long) {
		for range 200 {
			before := src.Draws()
			p.DrawQuantile(src, h)
			if got := src.Draws() - before; got != 3 {
				t.Fatalf("%d bins: %d words instead of 3", len(h), got)
			}
		}
	}
}

// The slow inversion is the fast one.
func TestPickBigAgrees(t *testing.T) {
	p := prepareQuantile(t, .5, Range{{0, 50}}, 2, Guarantee{Epsilon: 1.5})
	src := seededSource(8)
	for _, h := range histograms {
		list := p.rank.runs(h.within(p.rank.v.hull()), p.rank.v)
		best := list[0].dist
		for _, r := range list {
			best = min(best, r.dist)
		}
		for range 300 {
			u1, u0 := src.Uint64(), src.Uint64()
			i, ok := shareAt(runShares{p.rank, list, best}, u1, u0)
			if j := shareAtLong(src, runShares{p.rank, list, best}, u1, u0); ok && i != j {
				t.Fatalf("run %d by 63 bits, %d by more", i, j)
			}
		}
	}
}

// The least of 400 values in [0, 120] (docs/mechanisms.md, section 9).
func TestMinimumIsUseful(t *testing.T) {
	p := prepareQuantile(t, 0, Range{{0, 120}}, 1, Guarantee{Epsilon: .5})
	var h Histogram
	for z := int64(20); z <= 100; z++ {
		h = append(h, Bin{z, 5})
	}
	sum := 0.0
	for z, q := range p.quantilePMF(h) {
		sum += q * float64((z-20)*(z-20))
	}
	if e := math.Sqrt(sum); e > 6 {
		t.Errorf("error of the minimum %g", e)
	}
}

// Whatever the rows are, the least value is above what is released of it, and the greatest below, with at most 5%.
func TestExtremesAreNotBeyond(t *testing.T) {
	for _, v := range []Range{{{0, 50}}, {{-3, 2000}}} {
		for _, eps := range []float64{.01, .3, 4} {
			for i, h := range append(histograms[1:len(histograms):len(histograms)], Histogram{{7, 1}, {8, 3}},
				Histogram{{20, 1000}}, Histogram{{5, 11}, {20, 60}}) {
				for _, q := range []float64{0, 1} {
					p := prepareQuantile(t, q, v, 2, Guarantee{Epsilon: eps})
					h := h.within(v.hull())
					least, most, beyond := h[0].Step, h[len(h)-1].Step, 0.0
					for z, w := range p.quantilePMF(h) {
						if q == 0 && z < least || q == 1 && z > most {
							beyond += w
						}
					}
					if beyond > .05 {
						t.Errorf("quantile %g of histogram %d on %v at epsilon %g is beyond it with %g", q, i, v, eps, beyond)
					}
				}
			}
		}
	}
}

// Whatever the rows are, and whatever is released of it, a quantile as PostgreSQL has it is above what is released as
// the lower end of its interval, and below the upper one, but for 2.5%: by enumeration.
func TestEndsHoldTheQuantile(t *testing.T) {
	for _, v := range []Range{{{0, 50}}, {{-3, 2000}}} {
		for _, eps := range []float64{.01, .3, 4} {
			for i, h := range append(histograms[1:len(histograms):len(histograms)], Histogram{{7, 1}, {8, 3}},
				Histogram{{20, 1000}}, Histogram{{5, 11}, {20, 60}}, Histogram{{3, 400}, {30, 400}, {31, 1}}) {
				h := h.within(v.hull())
				for _, q := range []float64{.001, .25, .5, 2. / 3, .9} {
					n := float64(h.rows())
					rank := q*n + 1 - q
					// percentile_cont lies between, percentile_disc is one of them
					low, high := h.at(math.Floor(rank)), h.at(math.Ceil(rank))
					for _, end := range []int{-1, 1} {
						p := prepareEnd(t, q, end, v, 2, Guarantee{Epsilon: eps})
						for _, released := range []int64{v[0].Lo, low - 3, low, high, 49, v[0].Hi} {
							beyond := 0.0
							for z, w := range p.endPMF(h, v[0].clamp(released)) {
								if end < 0 && z > low || end > 0 && z < high {
									beyond += w
								}
							}
							if beyond > .025 {
								t.Errorf(
									"end %d of quantile %g of histogram %d on %v at epsilon %g is beyond it with %g where %d is released of it",
									end, q, i, v, eps, beyond, released)
							}
						}
					}
				}
			}
		}
	}
}

// Of rows of which a share is left out, whichever they are, the ends hold the quantile of all: by enumeration.
func TestEndsHoldTheQuantileOfRowsLeftOut(t *testing.T) {
	const share = .1
	v := Range{{0, 50}}
	for i, all := range []Histogram{
		{{0, 30}, {10, 40}, {11, 20}, {40, 110}},
		{{0, 50}, {50, 50}},
		{{3, 400}, {30, 400}, {31, 200}},
	} {
		n := float64(all.rows())
		for _, kept := range []Histogram{all.without(int64(share*n), false), all.without(int64(share*n), true), all} {
			for _, q := range []float64{.05, .25, .5, .8, .97} {
				rank, lost := q*n+1-q, share/(1-share)
				for _, end := range []int{-1, 1} {
					f := math.Max(0, q-(1-q)*lost)
					if end > 0 {
						f = math.Min(1, q+q*lost)
					}
					p, beyond := prepareEnd(t, f, end, v, 1, Guarantee{Epsilon: 2}), 0.0
					for z, w := range p.endPMF(kept, 20) {
						if end < 0 && z > all.at(math.Floor(rank)) || end > 0 && z < all.at(math.Ceil(rank)) {
							beyond += w
						}
					}
					if beyond > .025 {
						t.Errorf("end %d of quantile %g of histogram %d is beyond it with %g", end, q, i, beyond)
					}
				}
			}
		}
	}
}

// without leaves out the least or the greatest rows.
func (h Histogram) without(rows int64, greatest bool) Histogram {
	out := append(Histogram{}, h...)
	for i := range out {
		at := &out[i]
		if greatest {
			at = &out[len(out)-1-i]
		}
		taken := min(rows, at.Count)
		at.Count, rows = at.Count-taken, rows-taken
	}
	return out
}

// at is the row of a rank from 1 on.
func (h Histogram) at(rank float64) int64 {
	for _, b := range h {
		if rank -= float64(b.Count); rank <= 0 {
			return b.Step
		}
	}
	return h[len(h)-1].Step
}

func TestQuantileMargins(t *testing.T) {
	p := prepareQuantile(t, .5, Range{{0, 100}}, 1, Guarantee{Epsilon: 1})
	if m := p.Margin(30, 0, Wrong); m != 70 {
		t.Errorf("margin %g: nothing but the range is public", m)
	}
	if lo, hi := p.Interval(30, 0, Wrong); lo != 0 || hi != 100 {
		t.Errorf("interval [%d, %d]", lo, hi)
	}
	if sd := p.StdDev(50, 0); math.Abs(sd-100/math.Sqrt(12)) > 1e-9 {
		t.Errorf("standard deviation %g", sd)
	}
}

// A release takes less than a millisecond with a thousand distinct values on a grid of a million points.
func BenchmarkQuantile(b *testing.B) {
	p, err := Prepare(Release{Kind: Quantile, Range: Range{{0, 1e6}}, Sensitivity: 1, Fraction: .5},
		Guarantee{Epsilon: .5})
	if err != nil {
		b.Fatal(err)
	}
	h := make(Histogram, 1000)
	for i := range h {
		h[i] = Bin{int64(i) * 997, 3}
	}
	src := NewSource()
	for b.Loop() {
		p.DrawQuantile(src, h)
	}
}

// Where a grid is so long that a word of 128 bits is often not uniform on its weights, the inversion takes it all the
// same: it is of a fraction, and what pick decides is what more digits would.
func TestPickOnLongGrids(t *testing.T) {
	s := &rankSampler{kernel: newKernel(Laplace, 1.0/(1<<rankBits))}
	src := seededSource(11)
	for _, shift := range []uint{62, 61, 60, 50} {
		list := []run{
			{n: 1 << shift / 7, dist: 9 << rankBits},
			{n: 1 << shift / 3},
			{n: 5, dist: 2 << rankBits},
			{n: 1 << shift / 5, dist: 1 << rankBits},
		}
		decided := 0
		for range 4000 {
			u1, u0 := src.Uint64(), src.Uint64()
			got, ok := shareAt(runShares{s, list, 0}, u1, u0)
			if !ok {
				continue
			}
			decided++
			if want := shareAtLong(src, runShares{s, list, 0}, u1, u0); got != want {
				t.Fatalf("%d points: %x %x chooses run %d instead of %d", uint64(1)<<shift, u1, u0, got, want)
			}
		}
		if decided < 3990 {
			t.Errorf("%d points: %d of 4000 decided", uint64(1)<<shift, decided)
		}
	}
}
