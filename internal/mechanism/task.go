package mechanism

import (
	"fmt"
	"math"
)

// task is a scalar or chained release reduced to what calibration needs. Sensitivities are whole numbers, in float64
// because Δ·K may exceed 2^63.
type task struct {
	v       Range   // closed; for chained releases and open ends a finite substitute
	delta   float64 // Δ: of one group
	total   float64 // Δ₁: of all groups together
	groups  float64 // K
	row     float64 // M: how far one row moves a group, where rows add up to Δ₁; else 1
	exact   bool    // truncation is charged by the worst spread over groups, which is dear to find, and not by a bound on it
	layered bool    // other releases may use up the rest of the same unit's rows
	g       Guarantee
	open    bool // no finite range to calibrate on: one end is open, or the range follows from a count
	endless bool // both ends open
}

// oneGroup is the task of a release in which a unit is in one group.
func oneGroup(v Range, delta float64, g Guarantee) task {
	return task{v: v, delta: delta, total: delta, groups: 1, row: 1, g: g}
}

// newTask reduces a release whose defaults are filled in. A quantile and a selection have no range that bounds how far
// one unit moves them.
func newTask(r Release, g Guarantee) (task, error) {
	t := task{delta: float64(r.Sensitivity), total: float64(r.Total), groups: float64(r.Groups), row: math.Max(1, float64(r.Row)), layered: r.Layered(), g: g}
	if r.Total == 0 {
		t.total = t.delta * t.groups
	}
	if r.Kind != Scalar {
		t.v, t.open = Range{{-limit, limit}}, true
		return t, nil
	}
	var lo, hi bool
	t.v, lo, hi = r.Range.closed()
	t.open, t.endless = lo || hi, lo && hi
	if t.open && len(t.v) > 1 {
		return t, fmt.Errorf("range: a range with gaps must have both ends")
	}
	return t, nil
}

// least is the smallest Epsilon that can be calibrated.
func (t task) least() float64 {
	if t.g.atOrder() {
		return minRenyi
	}
	each := t.total / math.Min(t.delta, t.total)
	if !t.layered {
		each = math.Min(each, t.groups)
	}
	return minEps * each
}

// check refuses what is too little to calibrate.
func (t task) check() error {
	if t.g.Epsilon >= t.least() {
		return nil
	}
	if t.g.atOrder() {
		return fmt.Errorf("the divergence at order %g is %g: the least that can be calibrated is %g", t.g.Order, t.g.Epsilon, minRenyi)
	}
	each := t.least() / minEps
	return fmt.Errorf("epsilon %g over %g groups is %g each: the least that can be calibrated is %g", t.g.Epsilon, each, t.g.Epsilon/each, minEps)
}

// step is how far one unit can move the value of one group: at most the range's length.
func (t task) step() float64 {
	return math.Min(math.Min(t.delta, t.total), float64(t.v.hull().span()))
}

// worst is the largest Σ h(d) over the groups of one unit, for a cost h that is convex with h(0) = 0: as many groups as
// possible at the full step and one with the rest. In a layer the rest of the unit may be in other releases, and what
// counts is the cost per row, which is largest at the full step (docs/mechanisms.md, section 13).
func (t task) worst(h func(d float64) float64) float64 {
	c := t.step()
	if t.layered {
		return t.total / c * h(c)
	}
	full := math.Min(t.groups, math.Floor(t.total/c))
	sum := full * h(c)
	if rest := t.total - full*c; full < t.groups && rest > 0 {
		sum += h(math.Min(rest, c))
	}
	return sum
}

// even is the largest Σ l(d) for a concave cost l with l(0) = 0: the most groups there can be, all at the same distance.
func (t task) even(l func(d float64) float64) float64 {
	c, k := t.step(), t.most()
	if k*c <= t.total {
		return k * l(c)
	}
	d := math.Floor(t.total / k)
	more := t.total - k*d
	return (k-more)*l(d) + more*l(d+1)
}

// most is the largest number of groups that one unit can move.
func (t task) most() float64 { return math.Min(t.groups, t.total) }

// parts is the cost of all groups in units of that of one at the full step, for a cost that is linear.
func (t task) parts() float64 {
	if t.step() <= 0 {
		return 1
	}
	return t.worst(func(d float64) float64 { return d }) / t.step()
}

// pureLoss is the pure ε over all groups, +Inf where there is none.
func (t task) pureLoss(n kernel, b Bounding) float64 {
	switch {
	case t.step() <= 0:
		return 0
	case n.noise == Gaussian && (b != Truncate || t.open):
		return math.Inf(1)
	case n.noise == Staircase || b == Cells:
		return t.stairs(b) * n.kappa
	case b != Truncate:
		return t.worst(func(d float64) float64 { return n.kappa * d })
	}
	l := func(d float64) float64 { return t.truncatedLoss(n, d) }
	if t.most() == 1 {
		return l(t.step())
	}
	rounding := t.most() * epsFloor
	if len(t.v) > 1 { // not concave, but l(d+e) ≤ l(d) + l(e)
		return math.Min(t.spread(l), math.Min(t.total*l(1), t.groups*l(t.step()))) + rounding
	}
	return t.even(l) + rounding
}

// truncatedLoss is the pure loss of truncation in one group at distance d; with an open end, the supremum over all
// finite ranges.
func (t task) truncatedLoss(n kernel, d float64) float64 {
	if t.open {
		return n.kappa*d + math.Log1p(math.Exp(-n.kappa)*-math.Expm1(-n.kappa*d))
	}
	return n.pureLoss(t.v, d)
}

// renyi bounds the divergence of order a over all groups (docs/mechanisms.md, section 13).
func (t task) renyi(n kernel, b Bounding, a float64) float64 {
	c := t.step()
	if c <= 0 {
		return 0
	}
	plain := func(d float64) float64 { return n.plainRenyi(a, d) }
	switch {
	case b == Cells:
		return t.stairs(b) * n.cellRenyi(a)
	case n.noise == Staircase:
		return t.stairWorst(plain)
	case b != Truncate:
		return t.worst(plain)
	}
	known := math.Inf(1)
	if loss := t.pureLoss(n, b); !math.IsInf(loss, 1) {
		// Randomised response at the loss of one group, as often as it fits into the loss of all: star-shaped.
		one := loss
		if t.most() > 1 {
			one = t.truncatedLoss(n, c)
		}
		known = pureRenyi(a, one*(1+renyiSlack)+epsFloor) * math.Max(1, loss/one)
	}
	if n.noise == Gaussian && len(t.v) == 1 {
		known = math.Min(known, t.worst(plain))
	}
	if t.open {
		return known
	}
	h := func(d float64) float64 {
		return n.truncatedRenyi(t.v, a, d, t.truncatedLoss(n, d)*(1+renyiSlack)+epsFloor)
	}
	// Exact to within the search for one group, and for any number of groups that move by one step.
	known = math.Min(known, t.most()*h(c))
	if t.exact {
		known = math.Min(known, t.spread(h))
	}
	return known
}

// curve is what the release costs over all its groups (for a range that follows from a count, the supremum over all of
// them: docs/mechanisms.md, section 11).
func (t task) curve(d design) Curve {
	if t.step() <= 0 {
		return Curve{}
	}
	all := Curve{Pure: t.pureLoss(d.kernel, d.bounding)*(1+renyiSlack) + epsFloor, Renyi: make([]float64, len(Orders))}
	if t.g.pure() || d.noise != Gaussian && !t.g.atOrder() {
		all.Pure = t.g.Epsilon // what was asked for, without the rounding of its calibration
	}
	for i, a := range Orders {
		all.Renyi[i] = math.Min(all.Pure, t.renyi(d.kernel, d.bounding, a))
	}
	return all
}
