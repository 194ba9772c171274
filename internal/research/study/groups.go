package study

import (
	"context"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// groupCase is a release whose unit has up to rows rows over all groups, each of which moves a value by up to row.
type groupCase struct {
	length, row, rows int64
	groups            int
	each              bool // one unit for each group instead: Δ = 1, in every group
}

// groupCases are all small ones. Ranges shorter than a unit's rows are among them.
func groupCases() (list []groupCase) {
	for _, length := range []int64{2, 6, 12} {
		for groups := 2; groups <= 3; groups++ {
			for row := int64(1); row <= 2; row++ {
				for rows := int64(1); rows <= 4; rows++ {
					list = append(list, groupCase{length: length, row: row, rows: rows, groups: groups})
				}
			}
			list = append(list, groupCase{length: length, row: 1, rows: int64(groups), groups: groups, each: true})
		}
	}
	return list
}

func (c groupCase) release(choice mechanism.Choice) mechanism.Release {
	r := mechanism.Release{
		Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: c.length}}, Choice: choice,
		Sensitivity: c.row * c.rows, Total: c.row * c.rows, Row: c.row, Groups: c.groups,
	}
	if c.each {
		r.Sensitivity = 1
	}
	return r
}

func (c groupCase) String() string {
	return fmt.Sprintf("range [0, %d], %d groups, %d rows of %d", c.length, c.groups, c.rows, c.row)
}

// groupGuarantees are the guarantees that every case is calibrated for.
var groupGuarantees = []mechanism.Guarantee{
	{Epsilon: .4},
	{Epsilon: 3},
	{Epsilon: .01, Order: mechanism.Orders[12]},
	{Epsilon: .3, Order: mechanism.Orders[24]},
	{Epsilon: 2, Order: mechanism.Orders[36]},
}

// someOrders are the indices of the orders at which curves are compared; −1 is the pure ε.
var someOrders = []int{-1, 0, 6, 12, 18, 24, 30, 36}

// severalGroups compares, for every noise and bounding, what is charged for all groups of a unit with the worst way to
// spread its rows over them; and for two releases of disjoint rows, over both.
func severalGroups() Summary {
	cases := groupCases()
	return inParallel(len(cases), func(i int) Summary { return cases[i].enumerate() })
}

func (c groupCase) enumerate() Summary {
	s := newSummary()
	for _, g := range groupGuarantees {
		var bounded []mechanism.Release
		for _, choice := range choices {
			r := c.release(choice)
			p, err := mechanism.Prepare(r, g)
			if err != nil || p.Chosen().Scale > 100 {
				continue // not selectable, or too many images to add up
			}
			s.oneRelease(c, r, p, g)
			if choice.Bounding != mechanism.Truncate {
				bounded = append(bounded, r)
			}
		}
		for i := 0; i+1 < len(bounded); i++ {
			s.oneLayer(c, bounded[i:i+2], g)
		}
	}
	return s
}

// oneRelease enumerates one mechanism.
func (t *Summary) oneRelease(c groupCase, r mechanism.Release, p *mechanism.Prepared, g mechanism.Guarantee) {
	t.Mechanisms++
	curve := p.Curve()
	cost := newRowCosts(c, r, p)
	for _, i := range someOrders {
		found, counted := cost.worst(c, i, nil)
		if !counted {
			continue
		}
		at := fmt.Sprintf("%v, %v, epsilon %g at order %g", p.Chosen(), c, g.Epsilon, g.Order)
		if i < 0 {
			t.note(checkGroupsPure, found, curve.Pure, 0, at)
			continue
		}
		a := mechanism.Orders[i]
		rounding := float64(c.groups) * 5e-15 * a / (a - 1)
		t.note(checkGroupsCurve, found, curve.Renyi[i], rounding, fmt.Sprintf("%s, order %.4g", at, a))
		if a == g.Order {
			t.note(checkGroupsCurve, found, g.Epsilon, rounding, at)
		}
	}
}

// oneLayer enumerates two releases of disjoint rows.
func (t *Summary) oneLayer(c groupCase, list []mechanism.Release, g mechanism.Guarantee) {
	list = []mechanism.Release{list[0], list[1]}
	list[0].Layer, list[1].Layer = 1, 1
	// The second one reads rows that weigh twice as much.
	list[1].Sensitivity, list[1].Total, list[1].Row = 2*list[1].Sensitivity, 2*list[1].Total, 2*list[1].Row
	prepared, err := mechanism.PrepareVector(context.Background(), list, g)
	if err != nil {
		return
	}
	t.Mechanisms++
	curve := mechanism.Compose(list, prepared)
	first := newRowCosts(c, list[0], prepared[0])
	second := newRowCosts(groupCase{length: c.length, row: 2 * c.row, rows: c.rows, groups: c.groups, each: c.each},
		list[1], prepared[1])
	at := fmt.Sprintf("%v and %v, %v, epsilon %g at order %g", prepared[0].Chosen(), prepared[1].Chosen(), c, g.Epsilon,
		g.Order)
	for _, i := range someOrders {
		found, counted := first.worst(c, i, second)
		if !counted {
			continue
		}
		claimed, rounding := curve.Pure, 0.0
		if i >= 0 {
			a := mechanism.Orders[i]
			claimed, rounding = curve.Renyi[i], 2*float64(c.groups)*5e-15*a/(a-1)
		}
		t.note(checkLayers, found, claimed, rounding, at)
	}
}

// rowCosts are the divergences that a number of rows in one group causes.
type rowCosts struct {
	table mechanism.Distribution
	p     *mechanism.Prepared
	most  []int // most[n]: how far n rows move the value
}

func newRowCosts(c groupCase, r mechanism.Release, p *mechanism.Prepared) *rowCosts {
	cost := &rowCosts{table: p.Tabulate(), p: p}
	for n := range c.rows + 1 {
		cost.most = append(cost.most, int(min(n*c.row, r.Sensitivity, c.length)))
	}
	return cost
}

// at enumerates the divergence at Orders[i] (the log-ratio where i < 0) of n rows in one group, over all true values
// and all distances up to theirs; false where the tabulation does not reach far enough.
func (k *rowCosts) at(n, i int) (float64, bool) {
	var distances []int
	for d := 1; d <= k.most[n]; d++ {
		distances = append(distances, d)
	}
	chosen := k.p.Chosen()
	switch {
	case len(distances) == 0:
		return 0, true
	case i < 0:
		unbounded := chosen.Noise == mechanism.Gaussian && chosen.Bounding != mechanism.Truncate
		return k.table.LogRatio(distances).Value, !unbounded
	}
	a := mechanism.Orders[i]
	return k.table.Renyi(a, distances).Value, tabulated(chosen, a, k.most[n])
}

// worst is the largest cost of spreading the unit's rows over the groups of this release, and of another one of
// disjoint rows where there is one.
func (k *rowCosts) worst(c groupCase, i int, other *rowCosts) (float64, bool) {
	costs := [][]float64{k.costs(i)}
	if other != nil {
		costs = append(costs, other.costs(i))
	}
	if costs[0] == nil || costs[len(costs)-1] == nil {
		return 0, false
	}
	return spread(costs, c.groups, int(c.rows), c.each), true
}

func (k *rowCosts) costs(i int) []float64 {
	list := make([]float64, len(k.most))
	for n := range list {
		x, ok := k.at(n, i)
		if !ok {
			return nil
		}
		list[n] = x
	}
	return list
}

// spread tries every way to give at most rows rows to the groups of the releases whose costs by number of rows are
// given; each says that a group gets one at most.
func spread(costs [][]float64, groups, rows int, each bool) float64 {
	best := 0.0
	var next func(slot, left int, sum float64)
	next = func(slot, left int, sum float64) {
		if slot == groups*len(costs) {
			best = math.Max(best, sum)
			return
		}
		most := left
		if each {
			most = min(left, 1)
		}
		for n := 0; n <= most; n++ {
			next(slot+1, left-n, sum+costs[slot/groups][n])
		}
	}
	next(0, rows, 0)
	return best
}
