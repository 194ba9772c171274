package mechanism

import (
	"fmt"
	"math"
)

// Given marks the rows of TableAt: a scale that nothing is calibrated for. No policy can ask for it.
const Given Calibration = "given"

var tableBoundings = []Bounding{Truncate, Fold, Denoise, Clamp, Cells}

// Table calibrates every noise, bounding and calibration for a scalar release on a closed range, as a study: pure ε,
// and (ε, δ) too if Delta is above 0. The candidate that `auto` would take under that accounting is marked.
func Table(v Range, delta int64, g Guarantee) ([]Candidate, error) {
	r, err := studied(v, delta)
	if err != nil {
		return nil, err
	}
	if err := check(&r, g); err != nil {
		return nil, err
	}
	auto, err := prepare(r, g)
	if err != nil {
		return nil, err
	}
	guarantees := []Guarantee{{Epsilon: g.Epsilon}}
	if g.Delta > 0 {
		guarantees = append(guarantees, g)
	}
	var list []Candidate
	for _, q := range guarantees {
		t := oneGroup(auto.task.v, float64(delta), q)
		for _, n := range []Noise{Gaussian, Laplace, Staircase} {
			for _, b := range tableBoundings {
				for _, c := range []Calibration{Paper, Tight} {
					row, err := t.candidate(n, b, c)
					if err != nil {
						continue // not a mechanism for this guarantee
					}
					if chosen := auto.Chosen(); q == g && c == Tight && n == chosen.Noise && b == chosen.Bounding {
						row.Chosen = true
					}
					list = append(list, row.shown())
				}
			}
		}
	}
	return list, nil
}

// TableAt is what every noise and bounding costs at a given scale, in grid steps: the pure ε as the Loss where there is
// one, and, for tail above 0, the exact ε of (ε, tail)-DP too. The staircase has a shape besides, which calibration
// finds.
func TableAt(v Range, delta int64, scale, tail float64) ([]Candidate, error) {
	r, err := studied(v, delta)
	if err != nil {
		return nil, err
	}
	tails := []float64{0}
	if tail > 0 {
		tails = append(tails, tail)
	}
	var list []Candidate
	for _, q := range tails {
		for _, n := range []Noise{Gaussian, Laplace} {
			for _, b := range tableBoundings {
				// Any mechanism is admitted at ε = ∞; with a δ, what the best order converts to is above the exact ε.
				t := oneGroup(r.Range, float64(delta), Guarantee{Epsilon: math.Inf(1), Delta: q})
				kernel := newKernel(n, kappaOf(n, scale))
				if q > 0 {
					for _, a := range Orders {
						t.g.Epsilon = math.Min(t.g.Epsilon, EpsilonAt(a, t.renyi(kernel, b, a), q))
					}
				}
				if err := t.admissible(n, b, Tight); err != nil {
					continue
				}
				row, err := t.at(kernel, b, Given)
				if err != nil {
					continue
				}
				list = append(list, row.shown())
			}
		}
	}
	return list, nil
}

// studied is the release that a study is about.
func studied(v Range, delta int64) (Release, error) {
	r := Release{Kind: Scalar, Range: v, Sensitivity: delta}
	if err := v.check(); err != nil {
		return r, err
	}
	if delta <= 0 {
		return r, fmt.Errorf("sensitivity is %d grid steps: it must be at least one", delta)
	}
	r.Range, _, _ = v.closed()
	return r, nil
}

// Divergence bounds, to within its search, the Rényi divergence of order a of truncation to v at a given scale, over
// all pairs of true values in its hull at distance delta or less; at the order +Inf it is the exact pure ε.
func Divergence(noise Noise, v Range, delta int64, scale, a float64) float64 {
	t, n := oneGroup(v, float64(delta), Guarantee{}), newKernel(noise, kappaOf(noise, scale))
	if math.IsInf(a, 1) {
		return t.pureLoss(n, Truncate)
	}
	return t.renyi(n, Truncate, a)
}
