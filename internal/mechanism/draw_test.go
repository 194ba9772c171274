package mechanism

import (
	"math"
	"strings"
	"testing"
)

// foldedLog is the logarithm of the weight with which Draw folds to z, computed from what the sampler draws: noise of
// everywhere.
func foldedLog(n kernel, h Interval, s, z int64) float64 {
	period := 2 * (float64(h.span()) + 1)
	most, sum := math.Inf(-1), 0.0
	var logs []float64
	for _, image := range []float64{float64(z), 2*float64(h.Lo) - 1 - float64(z)} { // the same modulo the period
		for k := -8.0; k <= 8; k++ {
			if d := math.Abs(image + k*period - float64(s)); d <= float64(everywhere[0].to) {
				logs = append(logs, n.log(d))
				most = math.Max(most, n.log(d))
			}
		}
	}
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}

// TestNoiseEndsFarAway: the sampler's noise ends at ±2^61. Where that is close enough to tell neighbours apart, folding
// is refused.
func TestNoiseEndsFarAway(t *testing.T) {
	const delta = 1 << 55
	h := Interval{0, 3 << 58}
	r := Release{Kind: Scalar, Range: Range{h}, Sensitivity: delta, Choice: Choice{Noise: Laplace, Bounding: Fold}}
	answered, refused := 0, 0
	for eps := 64.; eps > 1e-6; eps *= .7 {
		p, err := Prepare(r, Guarantee{Epsilon: eps})
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "use a coarser grid or a larger epsilon") {
				t.Errorf("epsilon %g: %v", eps, err)
			}
			continue
		}
		answered++
		n := p.Chosen().kernel
		for i := int64(0); i <= 3; i++ {
			z := min(i<<58, h.Hi)
			for _, s := range []int64{0, 1 << 57, h.Hi - delta} {
				// Noise of unlimited length has the same total weight everywhere; that of limited length, less than e^−256 of it
				// less.
				if ratio := math.Abs(foldedLog(n, h, s, z) - foldedLog(n, h, s+delta, z)); ratio > eps {
					t.Errorf("epsilon %g: the log-ratio of %d between %d and %d is %g", eps, z, s, s+delta, ratio)
				}
			}
		}
	}
	if answered == 0 || refused == 0 {
		t.Errorf("%d answered, %d refused: the test needs both", answered, refused)
	}
	r.Choice = Choice{}
	if _, err := Prepare(r, Guarantee{Epsilon: 2e-6}); err != nil {
		t.Errorf("truncation draws within the range alone, and was refused: %v", err)
	}
	r.Choice = Choice{Noise: Gaussian, Bounding: Fold}
	if _, err := Prepare(r, Guarantee{Epsilon: 1e-6, Order: 10}); err == nil {
		t.Error("gaussian noise of 2^60 steps and more is folded")
	}
}
