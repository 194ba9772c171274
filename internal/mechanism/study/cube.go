package study

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// misfit is how far logarithms of tabulated probabilities may be off q^N(x): rounding of sums of thousands of boxes.
const misfit = 1e-9

// cubes enumerates the joint noise of one and two coordinates: whether the sampler's odds describe q^N(x), and how much the rows of
// a unit change the probability of any point, in one group and spread over two.
func cubes() (Summary, error) {
	s := Summary{Checks: []Check{{Name: "joint: worst log-ratio"}, {Name: "joint: deviation from q^N(x)"}}}
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
	return s, nil
}

func (t *Summary) cube(shape mechanism.CubeShape, epsilon float64) error {
	at := fmt.Sprintf("a row moves %v, %d rows, %d boxes per row, epsilon %g", shape.Moves, shape.Rows, shape.Shells, epsilon)
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
	t.note(0, c.Worst(table), epsilon, 0, at)
	t.note(1, c.Misfit(table), misfit, 0, at)
	return nil
}
