package mechanism

import (
	"math"
	"testing"
)

// TestAdded: sums of draws are within their margins, and no further from 0 over no rows than their tails say, by
// enumeration; what is said of the margin and of the tail of one draw is left as it is.
func TestAdded(t *testing.T) {
	for _, n := range []kernel{
		newKernel(Laplace, 3), newKernel(Laplace, .3), newKernel(Gaussian, 4), newKernel(Gaussian, .5),
		newStaircaseKernel(3, 3),
	} {
		one, err := Prepare(Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Choice: Choice{
			Noise: Laplace, Bounding: Clamp,
		}}, Guarantee{Epsilon: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := *one
		p.candidates = []Candidate{{Noise: n.noise, Bounding: Clamp, design: design{
			kernel: n, v: one.candidates[0].v, bounding: Clamp,
		}}}
		p.chosen = 0
		if p.Added(1) != &p || p.Draws() != 1 {
			t.Error("one draw is made another")
		}
		law := lawOf(n)
		sum := law
		for draws := 2; draws <= 9; draws++ {
			sum = convolved(sum, law)
			q := p.Added(draws)
			for _, wrong := range []float64{.05, .01, 1e-4, 1e-6} {
				far := int(math.Floor(q.ErrorQuantile(1 - wrong)))
				if in := within(sum, far); in < 1-wrong*(1+1e-6) {
					t.Errorf("%s of κ %g, %d draws: %g are beyond %d, want %g", n.noise, n.kappa, draws, 1-in, far, wrong)
				}
			}
			for far := int64(1); far < int64(len(sum)/2) && q.EmptyTail(far) > 1e-9; far += 1 + far/8 {
				if exact := 1 - within(sum, int(far)-1); q.EmptyTail(far) < exact*(1-1e-6)-1e-12 {
					t.Errorf("%s of κ %g, %d draws: %g are as far as %d, not %g", n.noise, n.kappa, draws, exact, far,
						q.EmptyTail(far))
				}
			}
			if got, want := q.StdDev(1<<30, 0), n.openErrors()*math.Sqrt(float64(draws)); math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s of κ %g, %d draws: deviation %g, want %g", n.noise, n.kappa, draws, got, want)
			}
		}
	}
}
