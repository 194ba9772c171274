package mechanism

import "fmt"

// Table calibrates every noise, bounding and calibration for a scalar release on [0, steps], as a study: pure ε, and
// (ε, δ) too if Delta is above 0. The candidate that `auto` would take under that accounting is marked.
func Table(steps, delta int64, g Guarantee) ([]Candidate, error) {
	r := Release{Kind: Scalar, Range: Range{{0, steps}}, Sensitivity: delta}
	if err := check(&r, g); err != nil {
		return nil, err
	}
	if delta <= 0 {
		return nil, fmt.Errorf("sensitivity is %d grid steps: it must be at least one", delta)
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
			for _, b := range []Bounding{Truncate, Fold, Denoise, Clamp} {
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
