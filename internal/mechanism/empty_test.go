package mechanism

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// TestEmptyTailIsTheLaw: it is what enumeration finds, of every noise and bounding.
func TestEmptyTailIsTheLaw(t *testing.T) {
	met := map[string]bool{}
	for _, noise := range []Noise{Laplace, Gaussian, Staircase} {
		for _, bounding := range []Bounding{Truncate, Clamp, Fold, Denoise, Cells} {
			for _, c := range []struct {
				lo, hi, step int64
				eps, delta   float64
			}{
				{0, 1, 1, 1, 0},
				{0, 10, 3, 1, 0},
				{-3, 40, 2, 1, 1e-6},
				{-20, 40, 20, .5, 0},
				{0, 400, 30, 1, 0},
				{0, 500, 20, .3, 1e-6},
				{-500, 0, 5, 1, 0},
			} {
				p, err := Prepare(Release{
					Kind: Scalar, Range: Range{{c.lo, c.hi}}, Sensitivity: c.step,
					Choice: Choice{Noise: noise, Bounding: bounding},
				}, Guarantee{Epsilon: c.eps, Delta: c.delta})
				if err != nil {
					continue
				}
				met[string(noise)+" "+string(bounding)] = true
				law := p.Tabulate()
				row := law.Log[-law.Lo]
				for far := int64(0); far <= max(c.hi, -c.lo)+1; far++ {
					want := 0.0
					for z, l := range row {
						if at := law.Lo + int64(z); at >= far || at <= -far {
							want += math.Exp(l)
						}
					}
					for _, got := range []float64{p.EmptyTail(far), p.EmptyTail(-far)} {
						if math.Abs(got-want) > 1e-8*want+1.1*denoisedCut {
							t.Errorf("%s %s in [%d, %d], from %d on: %g, enumeration %g", noise, bounding, c.lo, c.hi, far, got, want)
						}
					}
				}
				if m := p.EmptyThreshold(Wrong); p.EmptyTail(m+1) > .05 || m > 0 && p.EmptyTail(m) <= .05 {
					t.Errorf("%s %s in [%d, %d]: %d is exceeded in %g, %g", noise, bounding, c.lo, c.hi, m, p.EmptyTail(m+1),
						p.EmptyTail(m))
				}
			}
		}
	}
	if len(met) != 13 { // there are no gaussian cells, and no staircase is truncated
		t.Errorf("met: %v", met)
	}
}

// TestEmptyTailOfOpenRanges: of what is drawn over no rows, no more is as far from 0 as EmptyTail says, and hardly
// less; of joint noise too. False alarms: 1e-6 for all together at most.
func TestEmptyTailOfOpenRanges(t *testing.T) {
	const draws = 20000
	src := NewSource()
	tried := func(name string, p *Prepared, draw func() int64) {
		t.Helper()
		for _, probability := range []float64{.3, .05, .01} {
			m := leastInteger(limit, func(m float64) bool { return p.EmptyTail(int64(m)) <= probability })
			is, hits := p.EmptyTail(int64(m)), 0
			for range draws {
				if z := draw(); max(z, -z) >= int64(m) {
					hits++
				}
			}
			if !stattest.AtMost(hits, draws, is) || !stattest.AtLeast(hits, draws, is/(1+2*jointTail)) {
				t.Errorf("%s: %d of %d are %g or more from 0, want %g of them", name, hits, draws, m, is)
			}
		}
	}
	for _, noise := range []Noise{Laplace, Gaussian, Staircase} {
		for _, bounding := range []Bounding{Clamp, Fold, Truncate} {
			for _, v := range []Interval{{0, NoUpper}, {NoLower, NoUpper}, {0, 1 << 40}} {
				p, err := Prepare(Release{
					Kind: Scalar, Range: Range{v}, Sensitivity: 50,
					Choice: Choice{Noise: noise, Bounding: bounding},
				}, Guarantee{Epsilon: 1, Delta: 1e-6})
				if err != nil {
					continue
				}
				tried(fmt.Sprintf("%s %s in %v", noise, bounding, v), p, func() int64 { return p.Draw(src, 0, 0) })
			}
		}
	}
	prepared, err := PrepareVector(context.Background(), countAndSum(1), Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	cube, at := prepared[0].Joint()
	if cube == nil {
		t.Fatal("the noise is not joint")
	}
	noise := make([]int64, cube.Dimension())
	tried("joint", prepared[0], func() int64 {
		cube.Draw(src, noise)
		return prepared[0].Bound(0, noise[at], 0)
	})
	if p := prepared[1].EmptyTail(1000); p != 1 {
		t.Errorf("a sum whose range follows from a count: %g", p)
	}
}
