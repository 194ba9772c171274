package mechanism

import (
	"fmt"
	"math"
)

// Cells cut a short range: noise is on the number of the true value's cell, and a point of the range is released for
// each number (docs/mechanisms.md, section 16).
//
// With a staircase they are randomised response (Warner 1965): the true value's cell is drawn with e^κ times the
// probability of each other one. Where one unit can move a value from one end of its range to the other, enumeration
// finds nothing that errs less. The staircase is truncated to the numbers: one stair at every distance, and the same
// sum of weights wherever the true value is.
//
// With Laplace noise (laplacecells.go) one unit moves a value to the next cell at most.

// cellPartition is a short range cut into cells, in order.
type cellPartition struct {
	last  []int64 // the last value of each
	point []int64 // what is released of each
}

// cellPartition is that for a noise.
func (t task) cellPartition(n kernel) *cellPartition {
	if n.noise == Laplace {
		return newLaplaceCells(t.v.hull(), n.kappa, int(t.step()))
	}
	return newResponseCells(t.v.hull(), n.kappa)
}

// longestCells is the longest range that is cut: its points are few enough to try all cuts.
const longestCells = denseSpan

// response is the noise on the numbers of cells: e^−κ for each but the true one.
func response(kappa float64) kernel {
	n := newKernel(Staircase, kappa)
	n.period, n.inner = longestCells, 1
	return n
}

// newResponseCells has the cells, at least two where there are two values, of the least mean squared error over a
// uniform true value of h. With m cells, that is a sum over them, over e^κ + m − 1; so the last cell is added to the
// best cut of what is below it.
func newResponseCells(h Interval, kappa float64) *cellPartition {
	n := int(h.span()) + 1
	gain := math.Expm1(kappa)
	whole := powerSums(0, n)
	type lastCell struct {
		cost  float64
		from  int
		point float64
	}
	cuts := make([][]lastCell, n+1) // [m][b]: the best m cells of [0, b)
	cuts[0] = make([]lastCell, n+1)
	for b := 1; b <= n; b++ {
		cuts[0][b].cost = math.Inf(1)
	}
	fewest := min(2, n)
	best, least := fewest, math.Inf(1)
	for m := 1; m <= n; m++ {
		cuts[m] = make([]lastCell, n+1)
		for b := range cuts[m] {
			cuts[m][b].cost = math.Inf(1)
			for a := m - 1; a < b; a++ {
				own := powerSums(a, b)
				// Every true value has the point with weight 1, those of the cell with e^κ.
				all := powers{whole.s0 + gain*own.s0, whole.s1 + gain*own.s1, whole.s2 + gain*own.s2}
				point := math.Round(all.s1 / all.s0)
				if c := cuts[m-1][a].cost + all.around(point); c < cuts[m][b].cost {
					cuts[m][b] = lastCell{c, a, point}
				}
			}
		}
		if c := cuts[m][n].cost / (gain + float64(m)); m >= fewest && c < least {
			best, least = m, c
		}
	}
	out := &cellPartition{last: make([]int64, best), point: make([]int64, best)}
	for m, b := best, n; m > 0; m-- {
		c := cuts[m][b]
		out.last[m-1], out.point[m-1] = h.Lo+int64(b)-1, h.Lo+int64(c.point)
		b = c.from
	}
	return out
}

// powers are Σ x^k of some true values, k = 0, 1, 2.
type powers struct{ s0, s1, s2 float64 }

// powerSums are those of a, …, b − 1.
func powerSums(a, b int) powers {
	upTo := func(n float64) powers { return powers{n, n * (n - 1) / 2, (n - 1) * n * (2*n - 1) / 6} }
	p, q := upTo(float64(b)), upTo(float64(a))
	return powers{p.s0 - q.s0, p.s1 - q.s1, p.s2 - q.s2}
}

// around is Σ (x − z)².
func (p powers) around(z float64) float64 { return p.s2 - 2*z*p.s1 + z*z*p.s0 }

// of is the number of the cell of a value.
func (c *cellPartition) of(x int64) int {
	i := 0
	for x > c.last[i] {
		i++
	}
	return i
}

// cellLog is the logarithm of the probability of cell i where the true value is in cell own.
func (d design) cellLog(own, i int) float64 {
	if d.noise == Laplace {
		return laplaceCellLog(d.kappa, own, i, len(d.cells.point))
	}
	return d.log(float64(i-own)) - math.Log1p(float64(len(d.cells.point)-1)*math.Exp(d.log(1)))
}

// each visits the points with their probabilities at the true value s.
func (d design) each(s float64, visit func(point, probability float64)) {
	own := d.cells.of(int64(s))
	for i, z := range d.cells.point {
		visit(float64(z), math.Exp(d.cellLog(own, i)))
	}
}

// cellError is E(z−s)².
func (d design) cellError(s float64) (sum float64) {
	d.each(s, func(z, p float64) { sum += p * (z - s) * (z - s) })
	return sum
}

// cellErrorQuantile is the quantile of |z−s| at a probability.
func (d design) cellErrorQuantile(s, probability float64) float64 {
	return leastInteger(float64(d.v.hull().span()), func(m float64) bool {
		inside := 0.0
		d.each(s, func(z, p float64) {
			if math.Abs(z-s) <= m {
				inside += p
			}
		})
		return inside >= probability
	})
}

// cellsRow fills in the logarithms of the probabilities of all outputs at the true value s. Cells may have the same
// point.
func (d design) cellsRow(row []float64, s int64) {
	h := d.v.hull()
	for z := range row {
		row[z] = math.Inf(-1)
	}
	own := d.cells.of(h.Lo + s)
	for i, z := range d.cells.point {
		l, known := d.cellLog(own, i), row[z-h.Lo]
		row[z-h.Lo] = math.Max(l, known) + math.Log1p(math.Exp(-math.Abs(l-known)))
	}
}

// drawCell draws a cell and releases its point.
func (d design) drawCell(s *Source, smp *sampler, exact int64) int64 {
	own, last := int64(d.cells.of(exact)), int64(len(d.cells.point))-1
	if d.noise == Laplace {
		return d.cells.point[Interval{0, last}.clamp(own+signed(smp.draw(s, &smp.plain)))]
	}
	var storage [4]segment
	smp.propose(&s.scratch, Range{{0, last}}.segments(own, storage[:0]))
	return d.cells.point[own+signed(smp.draw(s, &s.scratch))]
}

// cellsAdmissible says why there are no cells for this task.
func (t task) cellsAdmissible(noise Noise) error {
	switch {
	case noise == Gaussian:
		return fmt.Errorf("cells are released with staircase or laplace noise, or use another bounding")
	case t.open || len(t.v) > 1 || t.v.hull().span() > longestCells:
		return fmt.Errorf("cells need a fixed range without gaps, of at most %d grid steps: use clamp, fold or denoise",
			longestCells)
	case t.layered:
		return fmt.Errorf(
			"what one cell costs does not fall with the rows that move it, and the unit's other rows are in other releases: use clamp or fold")
	}
	return nil
}

// cellsGain says whether auto compares cells: staircases where one unit moves the value over half the range or more,
// Laplace cells where it moves it by some steps. A point may be 0 or not, whatever the true value, and no groups are
// shown by that.
func (p *Prepared) cellsGain(n Noise) bool {
	if p.release.Decides || p.task.cellsAdmissible(n) != nil {
		return false
	}
	return n == Laplace && p.task.step() > 1 || n == Staircase && 2*p.task.step() >= float64(p.task.v.hull().span())
}
