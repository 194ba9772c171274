package mechanism

import (
	"fmt"
	"math"
)

// threshold keeps a group if its number of units plus discrete Gaussian noise reaches tau: a group with one unit with
// probability at most δ, and none without units.
type threshold struct {
	kernel
	tau     int64
	sampler *sampler
}

// newThreshold finds the least tau with P(noise ≥ tau − 1) ≤ delta.
func newThreshold(n kernel, delta float64) *threshold {
	enough := leastInteger(math.Ceil(n.reach()), func(m float64) bool { return n.tail(m) <= delta*(1-1e-9) })
	return &threshold{kernel: n, tau: int64(enough) + 1, sampler: newSampler(n)}
}

// tail bounds P(noise ≥ m), m ≥ 0, from above.
func (n kernel) tail(m float64) float64 { return n.law().Tail(m) }

// keep consumes as many words for every number of units.
func (t *threshold) keep(src *Source, units int64) bool {
	noise := signed(t.sampler.draw(src, &t.sampler.plain))
	return units > 0 && noise >= t.tau-units
}

func (t *threshold) thresholds() (half, always int64) {
	reach := leastInteger(math.Ceil(t.reach()), func(m float64) bool { return t.tail(m+1) <= 1e-9 })
	return t.tau, t.tau + int64(reach)
}

// CountThreshold decides by a released count of units, or of rows of which every unit has one at most, whether its
// group is shown: one noise serves both (docs/mechanisms.md, section 10).
type CountThreshold struct {
	// that the released count has to reach: that of a group of one unit does with a probability of at most δ/K
	Least  int64
	Always int64 // so many units are shown but for a chance below 1e-9
}

// jointTail is how much the tabulated distribution of joint noise may be below the true one, relatively, at any point
// of its tail: its boxes are 1/128 of their scale apart. jointCut is how much of the tail it may leave out.
const jointTail, jointCut = .03, 1e-15

// CountThreshold finds the threshold of a count for a selection with this δ over its K groups. An error says why there
// is none.
func (p *Prepared) CountThreshold(delta float64) (CountThreshold, error) {
	tail, reach := p.tail()
	var reached func(m float64) float64 // by one unit
	switch c := p.Chosen(); c.Bounding {
	case Clamp:
		reached = func(m float64) float64 { return tail(m - 1) }
	case Fold: // what is below 0 returns
		reached = func(m float64) float64 { return tail(m-1) + tail(m+2) }
	case Truncate:
		v, n := p.task.v.intervals(), c.law()
		reached = func(m float64) float64 { return n.Reaches(v, 1, m) }
	default:
		return CountThreshold{},
			fmt.Errorf("a count with %s cannot decide which groups are shown: use fold, truncate or clamp", c.Bounding)
	}
	few := func(m float64) bool { return m >= 1 && reached(m) <= delta/p.task.most()*(1-1e-9) }
	if !few(reach) {
		return CountThreshold{},
			fmt.Errorf("delta %g over %g groups is too small for the law of joint noise to say which groups are shown", delta,
				p.task.most())
	}
	least := leastInteger(reach, few)
	more := leastInteger(reach, func(m float64) bool { return tail(m+1) <= 1e-9 })
	return CountThreshold{int64(least), int64(least + more)}, nil
}

// tail bounds P(noise ≥ m) of a release from above, for m up to reach.
func (p *Prepared) tail() (tail func(m float64) float64, reach float64) {
	if p.cube == nil {
		n := p.Chosen().design.kernel
		return n.tail, math.Ceil(n.reach())
	}
	law := p.cube.marginal(p.coordinate)
	return func(m float64) float64 { return law.sums(m, law.reach()).m0*(1+jointTail) + jointCut }, math.Ceil(law.reach())
}

// curve is that of the noise in every group; no pure ε bounds it.
func (t *threshold) curve(groups float64) Curve {
	c := Curve{Pure: math.Inf(1), Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = groups * t.law().Plain(a, 1)
	}
	return c
}
