package mechanism

import (
	"math"
	"testing"
)

// TestLadderIsTheBest tries all cuts of a short range whose inner cells are as long as one unit can move the value.
func TestLadderIsTheBest(t *testing.T) {
	for length := 1; length <= 9; length++ {
		for step := 1; step <= length; step++ {
			for _, kappa := range []float64{.5, 1, 2, 5} {
				least := math.Inf(1)
				for ends := 1; ends < 1<<length; ends++ {
					if list := endsOf(ends, length); inner(list, step) {
						cost, _ := laplaceCellsCost(list, kappa)
						least = math.Min(least, math.Sqrt(cost/float64(length+1)))
					}
				}
				h := Interval{-3, int64(length) - 3}
				d := design{kernel: newKernel(Laplace, kappa), bounding: Cells, v: Range{h}, cells: newLaplaceCells(h, kappa, step)}
				average, _ := d.errors()
				if average < least-1e-9 || average > 1.002*least {
					t.Errorf("length %d, step %d, κ %g: %g, the least is %g", length, step, kappa, average, least)
				}
				near(t, "enumerated", d.tabulate().RMSE(), average, 1e-9)
			}
		}
	}
}

// endsOf are the ends of cells: bit x says that one ends behind x.
func endsOf(bits, length int) (ends []int) {
	for x := range length {
		if bits>>x&1 == 1 {
			ends = append(ends, x+1)
		}
	}
	return append(ends, length+1)
}

// inner says whether all cells but the first and the last are at least so long.
func inner(ends []int, step int) bool {
	for i := 1; i+1 < len(ends); i++ {
		if ends[i]-ends[i-1] < step {
			return false
		}
	}
	return true
}

// TestLadderMovesOneCell: no two values that one unit can move to each other are more than a cell apart.
func TestLadderMovesOneCell(t *testing.T) {
	for length := int64(1); length <= longestCells; length += 3 {
		for step := int64(1); step <= length; step++ {
			c := newLaplaceCells(Interval{0, length}, 1.3, int(step))
			for x := range length + 1 {
				if y := min(length, x+step); c.of(y)-c.of(x) > 1 {
					t.Fatalf("[0, %d], step %d: %d and %d are %d cells apart", length, step, x, y, c.of(y)-c.of(x))
				}
			}
		}
	}
}

// TestLadderMargins: a margin of any probability holds.
func TestLadderMargins(t *testing.T) {
	for _, noise := range []Noise{Laplace, Staircase} {
		p := prepareCells(t, Release{Range: Range{{0, 30}}, Sensitivity: 15, Choice: Choice{Noise: noise}},
			Guarantee{Epsilon: 4})
		law := p.Tabulate()
		for _, probability := range []float64{.5, .9, confidence, .975, .999} {
			m := p.ErrorQuantile(probability)
			for s, row := range law.Log {
				inside := 0.0
				for z, l := range row {
					if math.Abs(float64(z-s)) <= m {
						inside += math.Exp(l)
					}
				}
				if inside < probability-1e-12 {
					t.Errorf("%s: |z − %d| ≤ %g has probability %g, not %g", noise, s, m, inside, probability)
				}
			}
		}
	}
}
