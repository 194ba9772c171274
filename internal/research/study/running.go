package study

import (
	"context"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// runningCase is as many groups whose running totals are asked for, or as many parts of a chain, of which a unit moves
// each by up to delta, up to groups of them, and all by up to total together.
type runningCase struct {
	n, groups    int
	delta, total int64
	chain        bool
	g            mechanism.Guarantee
}

func runningCases() (list []runningCase) {
	guarantees := []mechanism.Guarantee{
		{Epsilon: .3, Order: mechanism.Orders[12]},
		{Epsilon: 2, Order: mechanism.Orders[18]},
		{Epsilon: 4, Order: mechanism.Orders[24]},
	}
	for n := 2; n <= 3; n++ {
		for delta := int64(1); delta <= 2; delta++ {
			for _, g := range guarantees {
				list = append(list, runningCase{n, 1, delta, delta, false, g}, runningCase{n, 2, delta, delta + 1, false, g})
			}
			for _, g := range append(guarantees, mechanism.Guarantee{Epsilon: .5}, mechanism.Guarantee{Epsilon: 3}) {
				list = append(list, runningCase{n, 1, delta, delta, true, g})
			}
		}
	}
	return list
}

func (c runningCase) String() string {
	return fmt.Sprintf("%d numbers, %d at once by %d, %d together, epsilon %g at order %g", c.n, c.groups, c.delta, c.total,
		c.g.Epsilon, c.g.Order)
}

// runningTotals compares what running totals and chains are charged with the worst that a unit does to their noise.
func runningTotals() (Summary, error) {
	cases := runningCases()
	return tried(len(cases), func(i int) (Summary, error) { return cases[i].enumerate() })
}

func (c runningCase) releases() []mechanism.Release {
	list := make([]mechanism.Release, 1)
	if c.chain {
		list = make([]mechanism.Release, c.n)
	}
	for i := range list {
		list[i] = mechanism.Release{
			Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}, Sensitivity: c.delta, Total: c.total,
			Groups: c.groups, Running: c.n,
		}
		if c.chain {
			list[i].Layer, list[i].Chain, list[i].Place = 1, 1, i+1
		}
	}
	return list
}

func (c runningCase) enumerate() (Summary, error) {
	s, list := newSummary(), c.releases()
	prepared, err := mechanism.PrepareVector(context.Background(), list, c.g)
	if err != nil {
		return s, fmt.Errorf("%v: %w", c, err)
	}
	chosen, kind := prepared[0].Chosen(), checkRunning
	switch {
	case c.chain:
		kind = checkChains
	case !prepared[0].Running():
		return s, nil // independent noise, as of several groups
	}
	s.Mechanisms++
	curve, reach := mechanism.Compose(list, prepared), make([]int64, c.n)
	for i := range reach {
		reach[i] = c.delta + int64(math.Ceil(10*chosen.Scale))
	}
	table := mechanism.TabulateNoise(prepared, reach)
	for _, move := range c.moves() {
		for _, i := range someOrders {
			at := fmt.Sprintf("%v, moved by %v", c, move)
			if i < 0 {
				if chosen.Noise != mechanism.Gaussian {
					s.note(kind, table.Divergence(math.Inf(1), move), curve.Pure, 1e-9, at)
				}
				continue
			}
			if a := mechanism.Orders[i]; chosen.Noise != mechanism.Gaussian || a*float64(c.delta) <= 4*chosen.Scale {
				s.note(kind, table.Divergence(a, move), curve.Renyi[i], 1e-11*a/(a-1), fmt.Sprintf("%s, order %.4g", at, a))
			}
		}
	}
	return s, nil
}

// moves are all that a unit can do.
func (c runningCase) moves() (list [][]int64) {
	var next func(move []int64, cells int, left int64)
	next = func(move []int64, cells int, left int64) {
		if len(move) == c.n {
			list = append(list, append([]int64(nil), move...))
			return
		}
		next(append(move, 0), cells, left)
		for d := int64(1); cells > 0 && d <= min(left, c.delta); d++ {
			next(append(move, d), cells-1, left-d)
			next(append(move, -d), cells-1, left-d)
		}
	}
	cells := c.groups
	if c.chain {
		cells *= c.n
	}
	next(nil, cells, c.total)
	return list
}
