package mechanism

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// moments are a count, a sum and two sums of squares of the same rows, with values far wider than a row.
func moments(choices ...Choice) []Release {
	list := []Release{{
		Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Groups: 1, Total: 1, Row: 1,
		Choice: choices[0],
	}}
	for i, m := range []int64{120, 14400, 7000} {
		list = append(list, Release{
			Kind: SumGivenCount, PerRow: Interval{-m, m}, Sensitivity: m, Groups: 1, Total: m, Row: m,
			Choice: choices[(i+1)%len(choices)],
		})
	}
	return list
}

// TestCombinedMarginsHold draws sums of two to four errors, far from every bound. Each of the cases fails by chance
// with a probability of at most 2·stattest.FalseAlarm.
func TestCombinedMarginsHold(t *testing.T) {
	const draws, rows = 20000, 1_000_000
	laplace, gaussian, stairs := Choice{Noise: Laplace}, Choice{Noise: Gaussian, Bounding: Fold},
		Choice{Noise: Staircase, Bounding: Fold}
	src := seededSource(17)
	for _, c := range []struct {
		name    string
		choices []Choice
		g       Guarantee
		most    float64 // of the share that is held
	}{
		{"joint", []Choice{{}}, Guarantee{Epsilon: .4}, .99},
		{"joint, of few steps", []Choice{{}}, Guarantee{Epsilon: 4}, .999},
		{"laplace", []Choice{laplace}, Guarantee{Epsilon: 1}, .99},
		{"gaussian", []Choice{gaussian}, Guarantee{Epsilon: .01, Order: 8}, .99},
		{"laplace and gaussian", []Choice{laplace, gaussian}, Guarantee{Epsilon: 1, Delta: 1e-6}, .99},
		{"staircase", []Choice{stairs}, Guarantee{Epsilon: 8}, 1},
		{"a coordinate's and another", []Choice{{}, {}, {}, laplace}, Guarantee{Epsilon: 1}, 1},
	} {
		list := moments(c.choices...)
		prepared, err := PrepareVector(context.Background(), list, c.g)
		if err != nil {
			t.Fatal(err)
		}
		noise := make([][]float64, draws)
		for i := range noise {
			noise[i] = make([]float64, len(list))
			var vector [8]int64
			if cube := prepared[0].cube; cube != nil {
				cube.Draw(src, vector[:cube.Dimension()])
			}
			for j, p := range prepared {
				if p.cube != nil {
					noise[i][j] = float64(vector[p.coordinate])
				} else if exact := int64(0); j == 0 {
					noise[i][j] = float64(p.Draw(src, rows, 0) - rows)
				} else {
					noise[i][j] = float64(p.Draw(src, exact, rows))
				}
			}
		}
		for _, factors := range [][4]float64{
			{1, 1. / 120, 0, 0},
			{7200, -60, .5, 0},
			{100, -60, .5, 0},
			{7200, 1, .5, 0},
			{3000, 40, .01, 1},
			{0, 0, 0, 1},
		} {
			for _, wrong := range []float64{.05, .01} {
				var terms []Term
				for j, f := range factors {
					terms = append(terms, Term{prepared[j], f})
				}
				m, held := CombinedMargin(terms, wrong), 0
				for _, x := range noise {
					if math.Abs(factors[0]*x[0]+factors[1]*x[1]+factors[2]*x[2]+factors[3]*x[3]) <= m {
						held++
					}
				}
				name := fmt.Sprintf("%s, %v: the margin %g holds %d of %d draws", c.name, factors, m, held, draws)
				if !stattest.AtLeast(held, draws, 1-wrong) {
					t.Error(name)
				}
				if wrong == .05 && !stattest.AtMost(held, draws, c.most) {
					t.Error(name + ": it is wider than it has to be")
				}
			}
		}
	}
}

// TestBeyondUniform: the tail of up to four uniform numbers, against a sum over a grid of them.
func TestBeyondUniform(t *testing.T) {
	const steps = 40
	for _, sides := range [][]float64{{1}, {1, 1}, {1, .1}, {1, .5, .2}, {1, 1, 1, 1}, {1, 1. / 16, 1. / 16, 1. / 16}} {
		for _, m := range []float64{0, .3, .9, 1.5, 3} {
			want := grid(m, 0, sides, steps)
			if got := beyondUniform(m, sides); math.Abs(got-want) > .03 {
				t.Errorf("%v beyond %g: %g, want about %g", sides, m, got, want)
			}
		}
	}
}

// grid sums over the middles of cells.
func grid(m, at float64, sides []float64, steps int) float64 {
	if len(sides) == 0 {
		if math.Abs(at) > m {
			return 1
		}
		return 0
	}
	p := 0.0
	for i := range steps {
		p += grid(m, at+sides[0]*(2*(float64(i)+.5)/float64(steps)-1), sides[1:], steps) / float64(steps)
	}
	return p
}
