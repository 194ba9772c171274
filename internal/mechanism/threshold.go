package mechanism

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// threshold keeps a group if its number of units, or the sum of their weights, plus discrete noise reaches tau: the
// groups of one unit alone with probability at most δ, and none without units.
type threshold struct {
	kernel
	unit    loss.Unit
	tau     int64
	sampler *sampler
}

// leastNoise is that with the largest κ that it finds at which deciding about a unit's groups costs no more than
// want. Costs are nearly in proportion to κ.
func leastNoise(noise Noise, u loss.Unit, order, want float64) kernel {
	f := func(kappa float64) float64 {
		cost, _ := u.Threshold(order, newKernel(noise, kappa).law(), u.Delta)
		return cost
	}
	lo := want / f(1)
	for i := 0; i < mostHalvings && f(lo) > want; i++ {
		lo /= 2
	}
	return newKernel(noise, rising(f, lo, 2*lo, want))
}

// newThreshold finds the least tau at which no group that a unit is alone in is kept but with probability delta.
func newThreshold(n kernel, u loss.Unit, delta float64) *threshold {
	tau := leastInteger(math.Ceil(n.reach())+u.Delta, func(tau float64) bool {
		_, shown := u.Threshold(Orders[0], n.law(), tau)
		return shown <= delta*(1-1e-9)
	})
	return &threshold{kernel: n, unit: u, tau: int64(tau), sampler: newSampler(n)}
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
	of := func(sum float64) int64 { return int64(math.Ceil(sum / t.unit.Delta)) }
	return of(float64(t.tau)), of(float64(t.tau) + reach)
}

// spread is the least number of units kept with probability ½ or more that are in as many groups as one may be.
func (t *threshold) spread() int64 {
	return int64(math.Ceil(float64(t.tau) / t.unit.Each(t.unit.Groups)))
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
			fmt.Errorf("delta %g over %g groups is too small for the distribution of joint noise to say which groups are shown", delta,
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

// cost is the divergence of one order over all groups; Gaussian noise has none of order ∞.
func (t *threshold) cost(order float64) float64 {
	cost, _ := t.unit.Threshold(order, t.law(), float64(t.tau))
	return cost
}
