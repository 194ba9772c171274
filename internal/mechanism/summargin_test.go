package mechanism

import (
	"context"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// TestSumMargins: the noises of n groups are within their margin in 95% of the draws, by enumeration, and hardly more
// than a normal distribution needs where noise is wide against its steps.
func TestSumMargins(t *testing.T) {
	for _, n := range []kernel{
		newKernel(Laplace, 5), newKernel(Laplace, 2), newKernel(Laplace, .5), newKernel(Laplace, .1),
		newKernel(Laplace, 3.6), newKernel(Laplace, 3), newKernel(Laplace, 1),
		newKernel(Gaussian, 4), newKernel(Gaussian, 3.7), newKernel(Gaussian, 3), newKernel(Gaussian, 2),
		newKernel(Gaussian, .5), newKernel(Gaussian, .01),
		newStaircaseKernel(3.6, 4), newStaircaseKernel(3, 3), newStaircaseKernel(2, 5), newStaircaseKernel(1.5, 7),
		newStaircaseKernel(.4, 6), newStaircaseKernel(.2, 9),
	} {
		p := &Prepared{candidates: []Candidate{{design: design{kernel: n}}}}
		sum, groups := lawOf(n), 1
		for range 8 {
			for _, wrong := range []float64{.05, .01, .001} {
				far := int(math.Floor(p.SumMargin(groups, wrong)))
				if in := within(sum, far); in < 1-wrong {
					t.Errorf("%s of κ %g, %d groups: %.4f are within %d", n.noise, n.kappa, groups, in, far)
				}
			}
			sum, groups = convolved(sum, sum), 2*groups
		}
		if u, most := p.SumMargin(1, .05), 1.25*normalQuantile(.95)*n.openErrors(); u > most+2*float64(max(1, n.period)) {
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
		p, err := Prepare(Release{
			Kind: Scalar, Range: Range{{0, 40}}, Sensitivity: 2,
			Choice: Choice{Noise: Laplace, Bounding: b},
		}, Guarantee{Epsilon: 1})
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
	if p, err := Prepare(Release{Kind: Scalar, Range: Range{{0, 40}}, Choice: Choice{Bounding: Truncate}},
		Guarantee{Epsilon: 1}); err != nil || p.Plain() {
		t.Errorf("truncated noise is plain (%v)", err)
	}
}

// TestJointPlain: joint noise of one number of many groups is within its margin too, and what is released follows from
// it. False alarms: 1e-9.
func TestJointPlain(t *testing.T) {
	src := seededSource(8)
	for _, rows := range []int64{1, 20} {
		prepared, err := PrepareVector(context.Background(), countAndSum(rows), Guarantee{Epsilon: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := prepared[0]
		cube, at := p.Joint()
		if cube == nil || !p.Plain() || prepared[1].Plain() {
			t.Fatalf("the noise of %d rows is not joint, or not plain", rows)
		}
		const rounds = 4000
		noise := make([]int64, cube.Dimension())
		for _, groups := range []int{1, 2, 50} {
			wrong := 0
			for range rounds {
				sum := int64(0)
				for range groups {
					cube.Draw(src, noise)
					z, plain := p.BoundPlain(0, noise[at], 0)
					if h := p.rangeAt(0).hull(); z != h.fold(plain) {
						t.Fatalf("%d of %d", z, plain)
					}
					sum += plain
				}
				if math.Abs(float64(sum)) > p.SumMargin(groups, .05) {
					wrong++
				}
			}
			if !stattest.AtMost(wrong, rounds, 1-confidence) {
				t.Errorf("%d rows, %d groups: %d of %d beyond", rows, groups, wrong, rounds)
			}
		}
	}
}
