package mechanism

import "math"

// Plain says that what is released of a number follows from a noisy value that no range has bounded: the sum of such
// values over groups has no bias.
func (p *Prepared) Plain() bool {
	if p.release.Kind != Scalar {
		return false
	}
	b := p.Chosen().Bounding
	return p.cube != nil || b != Truncate && b != Cells
}

// sumStep is that part: of two noises which are 0 but for 5% each, one or the other is not in 10%, and they need a
// step.
const sumStep = math.Sqrt2 / 2

// normalQuantile is the quantile of a normal distribution's magnitude, in standard deviations.
func normalQuantile(probability float64) float64 { return math.Sqrt2 * math.Erfinv(probability) }

// SumMargin is u·√n: the noises of n groups together, of the first n where they are Running, are beyond it with a
// probability of at most wrong. u is the margin of one, and a part of a step of its values more, or that of a normal
// distribution as wide, which it comes near to with n: distributions with longer tails than that come from above, and
// others from below (docs/mechanisms.md, section 18).
func (p *Prepared) SumMargin(n int, wrong float64) float64 {
	if p.Running() {
		return p.running.margin(n, wrong)
	}
	return p.sumMargin(wrong) * math.Sqrt(float64(n))
}

func (p *Prepared) sumMargin(wrong float64) float64 {
	if p.added != nil {
		return p.added(wrong)
	}
	in, part := 1-wrong, sumStep
	if wrong < Wrong { // a step is more of what is further out
		part = 1
	}
	if p.cube != nil {
		law := p.cube.marginal(p.coordinate)
		return math.Max(law.errorQuantile(in)+part, normalQuantile(in)*law.rmse())
	}
	n, step := p.Chosen().kernel, 1.0
	if n.noise == Staircase {
		step = float64(n.period)
	}
	return math.Max(n.plainQuantile(in)+part*step, normalQuantile(in)*n.openErrors())
}
