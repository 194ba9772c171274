package mechanism

import (
	"fmt"
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
		p := clamped(t, n)
		if p.Added(1) != p || p.Draws() != 1 {
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

// TestAveraged: the mean of two numbers, each of some draws, is within its margins, no further from 0 over no rows than
// its tails say, and as far off as it says, by enumeration; the shares are by inverse variance.
func TestAveraged(t *testing.T) {
	kernels := []kernel{
		newKernel(Laplace, 3), newKernel(Laplace, .3), newKernel(Gaussian, 4), newKernel(Gaussian, .5), newKernel(Gaussian, .01),
		newStaircaseKernel(3, 3),
	}
	for i, a := range kernels {
		for _, b := range kernels[i:] {
			for _, draws := range [][2]int{{1, 1}, {1, 3}, {4, 1}, {2, 2}, {1, 12}} {
				list := []*Prepared{clamped(t, a).Added(draws[0]), clamped(t, b).Added(draws[1])}
				q, shares := Averaged(list)
				name := fmt.Sprintf("%d of %s of κ %g, %d of %s of κ %g", draws[0], a.noise, a.kappa, draws[1], b.noise, b.kappa)
				one, other := list[0].plainDeviation(), list[1].plainDeviation()
				if math.Abs(shares[0]+shares[1]-1) > 1e-12 || one > 1e-3 && other > 1e-3 &&
					math.Abs(shares[0]*one*one/(shares[1]*other*other)-1) > 1e-9 {
					t.Errorf("%s: shares %g of deviations %g and %g", name, shares, one, other)
				}
				checkAveraged(t, name, q, averagedLaw(manyOf(a, draws[0]), manyOf(b, draws[1]), shares[1]))
			}
		}
	}
}

// clamped is a count with such a noise.
func clamped(t *testing.T, n kernel) *Prepared {
	t.Helper()
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
	return &p
}

// manyOf is the law of a sum of draws.
func manyOf(n kernel, draws int) []float64 {
	law := lawOf(n)
	sum := law
	for range draws - 1 {
		sum = convolved(sum, law)
	}
	return sum
}

// averagedLaw is that of x + share·(y − x), rounded as means are.
func averagedLaw(a, b []float64, share float64) []float64 {
	far := max(len(a), len(b))
	out := make([]float64, 2*far+1)
	for i, p := range a {
		if p < 1e-14 {
			continue
		}
		x := i - len(a)/2
		for j, q := range b {
			out[far+x+int(math.RoundToEven(share*float64(j-len(b)/2-x)))] += p * q
		}
	}
	return out
}

func checkAveraged(t *testing.T, name string, q *Prepared, law []float64) {
	t.Helper()
	for _, wrong := range []float64{.05, .01, 1e-4, 1e-6} {
		far := int(math.Floor(q.ErrorQuantile(1 - wrong)))
		if in := within(law, far); in < 1-wrong*(1+1e-6) {
			t.Errorf("%s: %g are beyond %d, want %g", name, 1-in, far, wrong)
		}
	}
	for far := int64(1); far < int64(len(law)/2) && q.EmptyTail(far) > 1e-9; far += 1 + far/8 {
		if exact := 1 - within(law, int(far)-1); q.EmptyTail(far) < exact*(1-1e-6)-1e-12 {
			t.Errorf("%s: %g are as far as %d, not %g", name, exact, far, q.EmptyTail(far))
		}
	}
	mean, squares := 0.0, 0.0
	for i, p := range law {
		z := float64(i - len(law)/2)
		mean, squares = mean+p*z, squares+p*z*z
	}
	if said := q.StdDev(1<<30, 0); math.Sqrt(squares) > said || math.Abs(mean) > 1e-6*(1+said) {
		t.Errorf("%s: deviation %g, said to be %g, and mean %g", name, math.Sqrt(squares), said, mean)
	}
}
