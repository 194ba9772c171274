package mechanism

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

func TestExpNeg(t *testing.T) {
	worst := uint64(0)
	src := seededSource(1)
	for i := range 20000 {
		hi, lo := src.Uint64()%50, src.Uint64()
		if i < 100 {
			hi, lo = 0, uint64(i)
		}
		num := new(big.Int).SetUint64(hi)
		num.Lsh(num, 64).Or(num, new(big.Int).SetUint64(lo))
		diff := new(big.Int).SetUint64(expNeg(hi, lo))
		diff.Lsh(diff, 32).Sub(diff, bigExp(num, 64, 63+32))
		worst = max(worst, diff.Abs(diff).Rsh(diff, 32).Uint64()+1)
	}
	t.Logf("largest error: %d units of 2^-63", worst)
	if worst > expSlack/2 {
		t.Errorf("exp: off by %d units of 2^-63; expSlack is %d and must leave room", worst, expSlack)
	}
}

func TestBigExp(t *testing.T) {
	for _, x := range []float64{0, 1e-9, .3, 1, 2.5, 30, 200} {
		num, m := newKernel(Laplace, math.Max(x, 1e-300)).bigExponent(1)
		got, _ := new(big.Float).SetInt(bigExp(num, m, 400)).Float64()
		near(t, "exp", math.Ldexp(got, -400), math.Exp(-math.Min(x, maxKappa)), 1e-14)
	}
}

// pmf is the distribution that a design must draw from, by enumeration.
func (d design) pmf(s int64) map[int64]float64 {
	out := map[int64]float64{}
	h := d.v.hull()
	if d.bounding == Truncate {
		total := 0.0
		for _, i := range d.v {
			for z := i.Lo; z <= i.Hi; z++ {
				out[z] = math.Exp(d.log(float64(z-s)) - d.log(float64(d.v.nearest(s)-s)))
				total += out[z]
			}
		}
		for z := range out {
			out[z] /= total
		}
		return out
	}
	far := int64(d.reach()) + 1
	total := d.total()
	for x := s - far; x <= s+far; x++ {
		y := x
		if d.bounding == Fold {
			y = h.fold(x)
		} else if d.bounding == Denoise {
			y = int64(d.post(float64(x)))
		}
		out[d.v.nearest(y)] += math.Exp(d.log(float64(x-s))) / total
	}
	return out
}

func TestDrawMatchesPMF(t *testing.T) {
	const draws = 200000
	src := seededSource(7)
	for _, c := range []struct {
		noise Noise
		scale float64
		b     Bounding
		v     Range
		s     int64
	}{
		{Laplace, 1.5, Truncate, Range{{0, 10}}, 0},
		{Laplace, 1.5, Truncate, Range{{0, 10}}, 7},
		{Laplace, 200, Truncate, Range{{-50, 300}}, -50},
		{Laplace, 200, Truncate, Range{{-50, 300}}, 120},
		{Laplace, 1e9, Truncate, Range{{0, 20}}, 3},
		{Laplace, 2, Truncate, Range{{0, 3}, {9, 10}, {40, 47}}, 5},
		{Laplace, .3, Truncate, Range{{0, 3}, {400, 402}}, 201},
		{Laplace, .3, Truncate, Range{{0, 3}, {400, 402}}, 202},
		{Laplace, 300, Truncate, Range{{0, 3}, {90, 100}, {400, 470}}, 95},
		{Laplace, 2, Fold, Range{{0, 10}}, 1},
		{Laplace, 30, Fold, Range{{0, 10}}, 1},
		{Laplace, 300, Fold, Range{{0, 1000}}, 1},
		{Laplace, 2, Clamp, Range{{0, 10}}, 1},
		{Laplace, 2, Denoise, Range{{0, 10}}, 1},
		{Laplace, 5, Fold, Range{{0, 3}, {9, 10}}, 9},
		{Gaussian, 1.2, Truncate, Range{{0, 10}}, 2},
		{Gaussian, 150, Truncate, Range{{0, 500}}, 40},
		{Gaussian, 1e9, Truncate, Range{{0, 30}}, 40},
		{Gaussian, 5, Truncate, Range{{0, 10}, {20, 22}}, 14},
		{Gaussian, 700, Truncate, Range{{0, 10}, {50, 300}}, 14},
		{Gaussian, 3, Fold, Range{{0, 10}}, 2},
		{Gaussian, 400, Fold, Range{{0, 300}}, 2},
		{Staircase, .4, Clamp, Range{{0, 40}}, 2}, // the scale is 1/κ, the stairs are 10 steps long
		{Staircase, 1, Clamp, Range{{-40, 40}}, 0},
		{Staircase, 3, Denoise, Range{{0, 40}}, 31},
	} {
		d := design{kernel: newKernel(c.noise, kappaOf(c.noise, c.scale)), bounding: c.b, v: c.v}
		if c.noise == Staircase {
			d.kernel = newStaircaseKernel(1/c.scale, 10)
		}
		p := fixed(d)
		counts := map[int64]int{}
		for range draws {
			counts[p.Draw(src, c.s, 0)]++
		}
		got, limit := stattest.ChiSquare(counts, d.pmf(c.v.hull().clamp(c.s)))
		if got > limit {
			t.Errorf("%+v: chi-square %.1f, limit %.1f (false alarm below %g)", c, got, limit, stattest.FalseAlarm)
		}
	}
}

// fixed is a prepared release with a given design.
func fixed(d design) *Prepared {
	smp := newSampler(d.kernel)
	return &Prepared{
		release: Release{Kind: Scalar}, task: task{v: d.v},
		candidates: []Candidate{{Noise: d.noise, Bounding: d.bounding, design: d}},
		sampler:    func() *sampler { return smp },
	}
}

// The number of random words is the same wherever the true value is.
func TestDrawsAreConstant(t *testing.T) {
	for _, c := range []struct {
		noise Noise
		scale float64
		b     Bounding
		v     Range
	}{
		{Laplace, 3, Truncate, Range{{0, 1000}}},
		{Laplace, 1e6, Truncate, Range{{0, 1000}}},
		{Laplace, 40, Fold, Range{{0, 9}}},
		{Gaussian, 500, Truncate, Range{{0, 1000}}},
		{Gaussian, 1e12, Truncate, Range{{0, 1 << 32}}},
		{Laplace, .5, Truncate, Range{{0, 1}, {1000, 1001}}},
	} {
		p := fixed(design{kernel: newKernel(c.noise, kappaOf(c.noise, c.scale)), bounding: c.b, v: c.v})
		src := seededSource(3)
		h := c.v.hull()
		for _, s := range []int64{h.Lo, h.Lo + 1, h.Lo + int64(h.span()/2), h.Hi - 1, h.Hi} {
			for range 2000 {
				before := src.Draws()
				p.Draw(src, s, 0)
				if got := src.Draws() - before; got != batch*wordsPerCandidate {
					t.Fatalf("%+v at %d: %d words instead of %d", c, s, got, batch*wordsPerCandidate)
				}
			}
		}
	}
}

// The slow branch: with a staircase that ends early most draws go through tail blocks and the big exponential.
func TestTailsMatchPMF(t *testing.T) {
	const draws = 20000
	src := seededSource(21)
	for _, c := range []struct {
		noise    Noise
		scale    float64
		exponent float64
		v        Range
	}{
		{Laplace, 2, .1, Range{{0, 60}}},
		{Laplace, 300, .5, Range{{0, 700}}},
		{Gaussian, 3, .1, Range{{-20, 20}}},
		{Gaussian, 200, .5, Range{{0, 900}}},
	} {
		d := design{kernel: newKernel(c.noise, kappaOf(c.noise, c.scale)), bounding: Truncate, v: c.v}
		p := fixed(d)
		smp := newStaircase(d.kernel, c.exponent)
		p.sampler = func() *sampler { return smp }
		s := c.v.hull().Lo + 7
		counts := map[int64]int{}
		for range draws {
			counts[p.Draw(src, s, 0)]++
		}
		if got, limit := stattest.ChiSquare(counts, d.pmf(s)); got > limit {
			t.Errorf("%+v: chi-square %.1f, limit %.1f", c, got, limit)
		}
	}
}

// Scales far too wide for counting single values: 40 bins of the distance, with their masses from the closed sums.
func TestWideScales(t *testing.T) {
	const draws, bins = 100000, 40
	src := seededSource(22)
	for _, c := range []struct {
		noise Noise
		scale float64
		b     Bounding
	}{
		{Laplace, 1 << 20, Fold},
		{Laplace, 1 << 40, Truncate},
		{Gaussian, 1 << 20, Fold},
		{Gaussian, 1 << 40, Truncate},
		{Laplace, 12345.678, Fold},
	} {
		n := newKernel(c.noise, kappaOf(c.noise, c.scale))
		const s = 1 << 52
		v := Range{{0, 2 * s}}
		p := fixed(design{kernel: n, bounding: c.b, v: v})
		width := math.Round(c.scale / 8)
		counts, want := map[int]int{}, map[int]float64{}
		for range draws {
			d := float64(p.Draw(src, s, 0) - s)
			counts[int(math.Max(-bins, math.Min(bins-1, math.Floor(d/width))))]++
		}
		total := n.total()
		for i := -bins + 1; i < bins-1; i++ {
			u := n.sums(float64(i)*width, width)
			want[i] = u.m0 * math.Exp(u.ref) / total
		}
		if got, limit := stattest.ChiSquare(counts, want); got > limit {
			t.Errorf("%+v: chi-square %.1f, limit %.1f", c, got, limit)
		}
	}
}
