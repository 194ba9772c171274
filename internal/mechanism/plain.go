package mechanism

import "math"

// Plain says that what is released of a number follows from a noisy value that no range has bounded: the sum of such values
// over groups has no bias, and one noise for each group.
func (p *Prepared) Plain() bool {
	if p.release.Kind != Scalar {
		return false
	}
	b := p.Chosen().Bounding
	return p.cube != nil || b != Truncate && b != Cells
}

// sumStep is that part: of two noises which are 0 but for 5% each, one or the other is not in 10%, and they need a step.
const sumStep = math.Sqrt2 / 2

// normalQuantile is the 95% quantile of a normal law's magnitude, in standard deviations.
const normalQuantile = 1.96

// SumMargin is u: the noises of n groups together are beyond u·√n in 5% of the draws at most. It is the margin of one, and
// a part of a step of its values more, or that of a normal law as wide, which it comes near to with n: laws with longer tails
// than that come from above, and others from below (docs/mechanisms.md, section 18).
func (p *Prepared) SumMargin() float64 {
	if p.cube != nil {
		law := p.cube.marginal(p.coordinate)
		return math.Max(law.spread(confidence)+sumStep, normalQuantile*law.rmse())
	}
	n, step := p.Chosen().kernel, 1.0
	if n.noise == Staircase {
		step = float64(n.period)
	}
	return math.Max(n.plainQuantile(confidence)+sumStep*step, normalQuantile*n.openErrors())
}
