package mechanism

import (
	"math"
	"slices"
)

// Added is what the sum of n draws of a release errs by, each with a noise of its own that no range has bounded
// (Plain): for margins and tails, and never to be drawn from. That of one draw is the release itself.
func (p *Prepared) Added(n int) *Prepared {
	if n == 1 {
		return p
	}
	root := math.Sqrt(float64(n))
	q := *p
	q.candidates = slices.Clone(p.candidates)
	c := &q.candidates[q.chosen]
	deviation := c.openErrors()
	if p.cube != nil {
		deviation = p.cube.marginal(p.coordinate).rmse()
	}
	c.RMSEAverage, c.RMSEWorst = deviation*root, deviation*root
	q.added = func(wrong float64) float64 { return p.sumMargin(wrong) * root }
	q.draws, q.outline = n, func() *Outline { return nil }
	q.cube = nil // its law is that of one draw
	q.quantiles, q.tails, q.thresholds = &quantiles[float64]{}, &quantiles[int64]{}, &quantiles[float64]{}
	return &q
}

// Draws is how many draws it is the sum of.
func (p *Prepared) Draws() int { return max(1, p.draws) }

// leastTail is the least probability that addedTail tells apart.
const leastTail = 1e-12

// addedTail is a probability of at most wrong with which the noise of a sum of draws is as far out, from the margins
// that hold with it; 1 where it is no less than Wrong.
func (p *Prepared) addedTail(far int64) float64 {
	beyond := func(wrong float64) bool { return p.added(wrong) < float64(far) }
	if !beyond(Wrong) {
		return 1
	}
	lo, hi := math.Log(leastTail), math.Log(Wrong)
	for hi-lo > .01 {
		if mid := (lo + hi) / 2; beyond(math.Exp(mid)) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return math.Exp(hi)
}
