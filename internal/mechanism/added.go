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
	return p.erring(n, p.plainDeviation()*root, func(wrong float64) float64 { return p.sumMargin(wrong) * root })
}

// leastVariance is that of noise which is next to none.
const leastVariance = 1e-12

// Averaged is what the mean of releases of one number errs by, each Added or drawn once, whose noises are independent
// and bounded by no range: rounded to a whole number, for margins and tails. shares are those by inverse variance, with
// which no mean has a smaller one.
func Averaged(list []*Prepared) (mean *Prepared, shares []float64) {
	all, draws := 0.0, 0
	for _, p := range list {
		weight := 1 / max(p.plainDeviation()*p.plainDeviation(), leastVariance)
		shares, all, draws = append(shares, weight), all+weight, draws+p.Draws()
	}
	squares := .25 // of what rounding adds, at most
	for i, p := range list {
		shares[i] /= all
		squares += shares[i] * shares[i] * p.plainDeviation() * p.plainDeviation()
	}
	return list[0].erring(draws, math.Sqrt(squares), func(wrong float64) float64 {
		margin := 0.0
		for i, p := range list {
			margin = math.Hypot(margin, shares[i]*p.sumMargin(wrong))
		}
		return margin + .5
	}), shares
}

// erring is the release with other errors: those of so many draws together.
func (p *Prepared) erring(draws int, deviation float64, margin func(wrong float64) float64) *Prepared {
	q := *p
	q.candidates = slices.Clone(p.candidates)
	c := &q.candidates[q.chosen]
	c.RMSEAverage, c.RMSEWorst = deviation, deviation
	q.draws, q.added, q.outline = draws, margin, func() *Outline { return nil }
	q.cube = nil // its law is that of one draw
	q.quantiles, q.tails, q.thresholds = &quantiles[float64]{}, &quantiles[int64]{}, &quantiles[float64]{}
	return &q
}

// plainDeviation is that of noise which no range has bounded.
func (p *Prepared) plainDeviation() float64 {
	switch {
	case p.added != nil:
		return p.Chosen().RMSEAverage
	case p.cube != nil:
		return p.cube.marginal(p.coordinate).rmse()
	}
	return p.Chosen().openErrors()
}

// Draws is how many draws it is made of.
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
