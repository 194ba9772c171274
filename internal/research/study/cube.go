package study

import (
	"context"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// misfit is how far logarithms of tabulated probabilities may be off q^N(x): rounding of sums of thousands of boxes.
const misfit = 1e-9

// cubes enumerates the joint noise of one and two coordinates: whether the sampler's odds describe q^N(x), and how much
// the rows of a unit change the probability of any point, in one group and spread over two.
func cubes() (Summary, error) {
	s := newSummary()
	for _, moves := range [][]int64{{1}, {3}, {1, 1}, {2, 1}, {2, 3}} {
		for rows := int64(1); rows <= 4; rows++ {
			for _, shells := range []int64{1, 3} {
				for _, epsilon := range []float64{.1, 1, 3} {
					if err := s.cube(mechanism.CubeShape{Moves: moves, Rows: rows, Shells: shells}, epsilon); err != nil {
						return s, err
					}
				}
			}
		}
	}
	for _, p := range []pair{{1, 4, -2, 2}, {2, 4, -1, 2}, {1, 5, 0, 3}, {3, 2, -1, 1}} {
		for _, epsilon := range []float64{1, 3} {
			if err := s.pair(p, epsilon, p.rows); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func (t *Summary) cube(shape mechanism.CubeShape, epsilon float64) error {
	at := fmt.Sprintf("a row moves %v, %d rows, %d boxes per row, epsilon %g", shape.Moves, shape.Rows, shape.Shells,
		epsilon)
	c, err := mechanism.NewCube(shape, epsilon)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	t.Mechanisms++
	reach := make([]int64, len(shape.Moves))
	for a, m := range shape.Moves {
		reach[a] = shape.Rows*m + 2
	}
	table := c.Tabulate(reach)
	t.note(checkJoint, c.Worst(table), epsilon, 0, at)
	t.note(checkJointLaw, c.Misfit(table), misfit, 0, at)
	return nil
}

// pair is a count of at most most rows and the sum of a column in [lo, hi] over them, rows of them from one unit.
type pair struct{ rows, most, lo, hi int64 }

// exact is what a pair counts and adds up, or what it releases.
type exact struct{ count, sum int64 }

// pair enumerates what is released of a pair, bounding and all, from every exact value, and compares those that differ
// by one unit of so many rows.
func (t *Summary) pair(p pair, epsilon float64, unit int64) error {
	at := fmt.Sprintf("count up to %d and sum of [%d, %d], %d rows, epsilon %g", p.most, p.lo, p.hi, p.rows, epsilon)
	row := max(-p.lo, p.hi)
	prepared, err := mechanism.PrepareVector(context.Background(), []mechanism.Release{
		{Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: p.most}}, Sensitivity: p.rows, Total: p.rows, Row: 1},
		{
			Kind: mechanism.SumGivenCount, PerRow: mechanism.Interval{Lo: p.lo, Hi: p.hi}, Sensitivity: row * p.rows,
			Total: row * p.rows, Row: row,
		},
	}, mechanism.Guarantee{Epsilon: epsilon})
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	cube, _ := prepared[0].Joint()
	if cube == nil {
		return fmt.Errorf("%s: no joint noise", at)
	}
	t.Mechanisms++
	far := int64(math.Ceil(30 * float64(p.rows) / epsilon)) // noise beyond it has less than e^−30 of the probability
	noise := cube.Tabulate([]int64{far, far * row})
	law := map[exact]map[exact]float64{}
	for n := int64(0); n <= p.most; n++ {
		for s := n * p.lo; s <= n*p.hi; s++ {
			released := map[exact]float64{}
			noise.Each(func(i int, x []int64) {
				count := prepared[0].Bound(n, x[0], 0)
				released[exact{count, prepared[1].Bound(s, x[1], count)}] += math.Exp(noise.Log[i])
			})
			law[exact{n, s}] = released
		}
	}
	t.note(checkJointReleased, worstNeighbours(law, unit, unit*row), epsilon, 0, at)
	return nil
}

// worstNeighbours is the largest log-ratio of one released value between exact values that are at most so far apart.
func worstNeighbours(law map[exact]map[exact]float64, count, sum int64) float64 {
	worst := math.Inf(-1)
	for a, p := range law {
		for b, q := range law {
			if d := a.count - b.count; d > count || d < -count {
				continue
			}
			if d := a.sum - b.sum; d > sum || d < -sum {
				continue
			}
			for z, w := range p {
				worst = math.Max(worst, math.Log(w/q[z]))
			}
		}
	}
	return worst
}
