package mechanism

import (
	"math"
	"testing"
)

// TestSumMargins: the noises of n groups are within their margin in 95% of the draws, by enumeration, and hardly more than
// a normal law needs where noise is wide against its steps.
func TestSumMargins(t *testing.T) {
	for _, n := range []kernel{
		newKernel(Laplace, 5), newKernel(Laplace, 2), newKernel(Laplace, .5), newKernel(Laplace, .1),
		newKernel(Laplace, 3.6), newKernel(Laplace, 3), newKernel(Laplace, 1),
		newKernel(Gaussian, 4), newKernel(Gaussian, 3.7), newKernel(Gaussian, 3), newKernel(Gaussian, 2), newKernel(Gaussian, .5), newKernel(Gaussian, .01),
		newStairs(3.6, 4), newStairs(3, 3), newStairs(2, 5), newStairs(1.5, 7), newStairs(.4, 6), newStairs(.2, 9),
	} {
		p := &Prepared{candidates: []Candidate{{design: design{kernel: n}}}}
		u, one := p.SumMargin(), lawOf(n)
		sum, groups := one, 1
		for range 8 {
			far := int(math.Floor(u * math.Sqrt(float64(groups))))
			if in := within(sum, far); in < confidence {
				t.Errorf("%s of κ %g, %d groups: %.4f are within %d", n.noise, n.kappa, groups, in, far)
			}
			sum, groups = convolved(sum, sum), 2*groups
		}
		if most := 1.25 * normalQuantile * n.openErrors(); u > most+2*float64(max(1, n.period)) {
			t.Errorf("%s of κ %g: %g, where a normal law needs %g", n.noise, n.kappa, u, most/1.25)
		}
	}
}

// lawOf lists the probabilities of a noise, from −(len−1)/2 on.
func lawOf(n kernel) []float64 {
	far := int(n.distance(30)) + 1
	law, all := make([]float64, 2*far+1), 0.0
	for i := range law {
		law[i] = math.Exp(n.log(float64(i - far)))
		all += law[i]
	}
	for i := range law {
		law[i] /= all
	}
	return law
}

func convolved(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		if x < 1e-18 {
			continue
		}
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

func within(law []float64, far int) (in float64) {
	middle := len(law) / 2
	for i, p := range law {
		if i-middle <= far && middle-i <= far {
			in += p
		}
	}
	return in
}

// TestDrawPlain: what is released follows from the noisy value, which has no bias at the ends of the range.
func TestDrawPlain(t *testing.T) {
	src := seededSource(7)
	for _, b := range []Bounding{Clamp, Fold, Denoise} {
		p, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 40}}, Sensitivity: 2, Choice: Choice{Noise: Laplace, Bounding: b}}, Guarantee{Epsilon: 1})
		if err != nil || !p.Plain() {
			t.Fatalf("%s: %v", b, err)
		}
		const rounds = 40000
		sum := 0.0
		for range rounds {
			z, plain := p.DrawPlain(src, 0, 0)
			if want := int64(p.Chosen().post(float64(plain))); z != want {
				t.Fatalf("%s: %d of %d, want %d", b, z, plain, want)
			}
			sum += float64(plain)
		}
		if mean, most := sum/rounds, 6*p.Chosen().openErrors()/math.Sqrt(rounds); math.Abs(mean) > most { // 2e-9
			t.Errorf("%s: a mean of %g, where it should be 0 ± %g", b, mean, most)
		}
	}
	if p, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 40}}, Choice: Choice{Bounding: Truncate}}, Guarantee{Epsilon: 1}); err != nil || p.Plain() {
		t.Errorf("truncated noise is plain (%v)", err)
	}
}
