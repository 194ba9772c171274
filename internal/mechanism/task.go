package mechanism

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// task is a scalar or chained release reduced to what calibration needs. Sensitivities are whole numbers, in float64
// because Δ·K may exceed 2^63.
type task struct {
	v      Range   // closed; for chained releases and open ends a finite substitute
	delta  float64 // Δ: of one group
	total  float64 // Δ₁: of all groups together
	groups float64 // K
	row    float64 // M: how far one row moves a group, where rows add up to Δ₁; else 1
	// truncation is charged by the worst spread over groups, which is dear to find, and not by a bound on it
	exact   bool
	layered bool // other releases may use up the rest of the same unit's rows
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
	t := task{
		delta: float64(r.Sensitivity), total: float64(r.Total), groups: float64(r.cells()),
		row: math.Max(1, float64(r.Row)), layered: r.Layered(), g: g,
	}
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
		return fmt.Errorf("the divergence at order %g is %g: the least that can be calibrated is %g", t.g.Order, t.g.Epsilon,
			minRenyi)
	}
	each := t.least() / minEps
	return fmt.Errorf("epsilon %g over %g groups is %g each: the least that can be calibrated is %g", t.g.Epsilon, each,
		t.g.Epsilon/each, minEps)
}

// step is how far one unit can move the value of one group: at most the range's length.
func (t task) step() float64 {
	return math.Min(math.Min(t.delta, t.total), float64(t.v.hull().span()))
}

// most is the largest number of groups that one unit can move.
func (t task) most() float64 { return math.Min(t.groups, t.total) }

// parts is the cost of all groups in units of that of one at the full step, for a cost that is linear.
func (t task) parts() float64 {
	switch c := t.step(); {
	case c <= 0:
		return 1
	case t.layered:
		return t.total / c
	default:
		return math.Min(t.groups, t.total/c)
	}
}

// cost is what noise of that kernel is charged over all groups (loss.Scalar), by a bound that is quick to find where
// many are compared.
func (t task) cost(n kernel, b Bounding) loss.Scalar {
	h := t.v.hull()
	m := t.scalar(n, b, []int64{h.Lo, h.Hi}, t.unit()) // cells cost the same wherever they are cut
	m.Rough = b == Truncate && !t.exact && t.most() > 1
	return m
}

// pureLoss is the pure ε over all groups, +Inf where there is none; renyi the divergence of order a.
func (t task) pureLoss(n kernel, b Bounding) float64 { return t.cost(n, b).Bound(math.Inf(1)) }

func (t task) renyi(n kernel, b Bounding, a float64) float64 { return t.cost(n, b).Bound(a) }

// curve is what the release costs over all its groups (for a range that follows from a count, the supremum over all of
// them: docs/mechanisms.md, section 11).
func (t task) curve(d design) Curve {
	if t.step() <= 0 {
		return Curve{}
	}
	all := costOf(t.cost(d.kernel, d.bounding))
	if t.g.pure() || d.noise != Gaussian && !t.g.atOrder() {
		all.Pure = math.Max(all.Pure, t.g.Epsilon) // what was asked for, without the rounding of its calibration
	}
	return all
}
