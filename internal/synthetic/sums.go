package synthetic

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// summable reports whether sums by a pair's first attribute say more of its second than counts: the policy bounds what
// they are of one unit, whose rows are several.
func (p *pair) summable() bool {
	return !p.of.one() && p.from.grid == nil && p.from.rows == nil && p.to.grid != nil && p.to.grid.number &&
		p.to.rows == nil && p.of.policy.Column(p.to.column.Name).PerUnit != nil
}

// sum asks sums of the second attribute by the first.
func (p *pair) sum() *count {
	a, _, of := p.keys()
	p.sums = make([]float64, p.fromBins.n)
	p.summed = &count{
		of: p.of, cells: p.fromBins.n, what: fmt.Sprintf("sum of %s of %s by %s", p.to.name(), p.of, p.from.name()),
		sql: measureSQL("sum("+p.to.expression("t")+")", a, "", p.selected()),
	}
	p.summed.read = func(rows [][][]byte) {
		for _, row := range rows {
			if i, ok := of[0](row[0]); ok {
				p.sums[i] = numberIn(row[1])
			}
		}
	}
	return p.summed
}

// calibrate has the cells of each bin of the first attribute add up to its sum: to the mean of what was asked and of
// what the counts say, weighted by noise. Of a few rows the counts say as much as how far any are apart.
func (p *pair) calibrate(cells model.Counts) {
	if p.summed == nil || !(p.summed.noise > 0) {
		return
	}
	sizes, low := p.to.sizes()
	variance, spread := p.asked.noise*p.asked.noise*p.squares(sizes), deviation(p.to.masses, sizes)
	for i, sum := range p.sums {
		row := cells.Row(i)[:len(sizes)]
		had, n := moment(row, sizes), model.Sum(row)
		counted := math.Min(variance, n*n*spread*spread)
		gain := counted / (counted + p.summed.noise*p.summed.noise)
		if gain > 0 {
			copy(row, model.Tilt(row, sizes, math.Max(0, had+gain*(sum-low*n-had))))
		}
	}
}

// sizes are means of the cells of a number, from its lowest value on, which is low.
func (a *attribute) sizes() (list []float64, low float64) {
	number := func(step int64) float64 { return numberIn([]byte(a.grid.text(step))) }
	low = number(a.grid.low)
	for cell, from := range a.starts {
		list = append(list, (number(from)+number(a.end(cell)-1))/2-low)
	}
	return list, low
}

// squares adds up those of the sizes of bins: times noise's variance, it is that of a sum.
func (p *pair) squares(sizes []float64) (sum float64) {
	moments := make([]float64, len(p.to.masses))
	for cell, x := range sizes {
		moments[cell] = x * p.to.masses[cell]
	}
	had := p.toBins.sums(p.to.masses)
	for bin, x := range p.toBins.sums(moments) {
		if had[bin] > 0 {
			sum += x * x / (had[bin] * had[bin])
		}
	}
	return sum
}

func moment(masses, sizes []float64) (sum float64) {
	for cell, x := range sizes {
		sum += x * masses[cell]
	}
	return sum
}

// deviation is the standard one of sizes, of which there are so many.
func deviation(masses, sizes []float64) float64 {
	n, squares := model.Sum(masses[:len(sizes)]), 0.0
	if !(n > 0) {
		return 0
	}
	mean := moment(masses, sizes) / n
	for cell, x := range sizes {
		squares += masses[cell] * (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / n)
}
