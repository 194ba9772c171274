package synthetic

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// refine lets counts by pairs say what they know of their attributes alone: numbers of rows by bins become the mean
// of what each says, weighted by noise.
func (s *survey) refine() {
	for _, t := range s.tables {
		for _, p := range s.found[t].pairs {
			if p.asked == nil {
				continue
			}
			p.to.refine(p.toBins, p.counts, p.asked.noise)
			if p.from != nil && !p.parents {
				p.from.refine(p.fromBins, p.counts.Transposed(), p.asked.noise)
			}
		}
	}
}

// refine takes counts by the attribute's bins, in their columns.
func (a *attribute) refine(b bins, c model.Counts, noise float64) {
	if a.rows != nil { // their sum is known better
		return
	}
	sums, had, variances := make([]float64, b.n), b.sums(a.masses), b.sums(a.variances)
	for i := range c.Rows {
		for j, x := range c.Row(i) {
			sums[j] += x
		}
	}
	total := model.Sum(a.masses)
	sums = model.Scaled(sums, total)
	for cell, bin := range b.of {
		gain := variances[bin] / (variances[bin] + noise*noise*float64(c.Rows))
		if had[bin] > 0 {
			a.masses[cell] *= 1 + gain*(sums[bin]/had[bin]-1)
		}
		a.variances[cell] *= 1 - gain
	}
	a.masses = model.Scaled(a.masses, total)
}

// turned exchanges the attributes.
func (p *pair) turned() *pair {
	return &pair{
		from: p.to, to: p.from, fromBins: p.toBins, toBins: p.fromBins, counts: p.counts.Transposed(), asked: p.asked,
	}
}

// fitted are the counts that were released, for rows with these bins of the first attribute. Those that noise may
// have made have what is left of them: along a column's grid it falls off, else it is shared as the second
// attribute's rows are.
func (p *pair) fitted(given []uint16) model.Counts {
	n := float64(len(given))
	columns := model.Scaled(p.toBins.sums(p.to.masses), n)
	c := model.Shrink(p.counts, columns, p.asked.noise)
	if last := c.Columns - 1; p.to.grid != nil && p.to.rows == nil {
		widths := make([]float64, last)
		for j := range widths {
			widths[j] = math.Max(columns[j], 1e-6*n)
		}
		for i := range c.Rows {
			copy(c.Row(i), model.Smooth(p.counts.Row(i)[:last], widths, p.asked.noise))
		}
	}
	for i := range c.Rows {
		for j, x := range columns { // a value that noise has hidden may have rows
			c.Row(i)[j] += 1e-9 * x
		}
	}
	return model.Rake(c, model.ColumnSums(columns, c.Rows), model.RowSums(model.Tally(given, c.Rows), c.Columns))
}

// shares are how the rows of a bin are divided by its cells.
func (b bins) shares(masses []float64) []float64 {
	sums, sizes, out := b.sums(masses), make([]float64, b.n), make([]float64, len(masses))
	for _, bin := range b.of {
		sizes[bin]++
	}
	for cell, bin := range b.of {
		if out[cell] = 1 / sizes[bin]; sums[bin] > 0 {
			out[cell] = masses[cell] / sums[bin]
		}
	}
	return out
}

// given are the bins of the first attribute of a pair for each row; nil: it is not drawn yet.
func (d *drawn) given(parent *drawn, p *pair) []uint16 {
	if !p.parents {
		return p.fromBins.values(d.cells[p.from])
	}
	out := make([]uint16, d.n)
	for row, at := range d.parents {
		out[row] = uint16(p.fromBins.of[parent.cells[p.from][at]])
	}
	return out
}

// attribute draws the cells of an attribute, given those of the one that the tree says, and of one more where coarse
// counts say what the tree does not, and all rows count in these.
func (d *drawn) attribute(parent *drawn, p *pair, coarse []*pair) {
	if p.from == nil {
		all := model.Counts{Rows: 1, Columns: p.to.size(), At: p.to.masses}
		d.cells[p.to] = model.Draw(d.random, make([]uint16, d.n), all)
		return
	}
	given := d.given(parent, p)
	by := p.fitted(given)
	cells := model.New(by.Rows, p.to.size()) // of each bin of the first attribute
	for cell, share := range p.toBins.shares(p.to.masses) {
		for i := range by.Rows {
			cells.Row(i)[cell] = by.Row(i)[p.toBins.of[cell]] * share
		}
	}
	p.calibrate(cells)
	q, also, more := d.second(parent, p, given, cells, coarse)
	if q == nil {
		d.cells[p.to] = model.Draw(d.random, given, cells)
		return
	}
	groups, n := make([]uint16, d.n), by.Rows*more.Rows
	for row := range groups {
		groups[row] = given[row]*uint16(more.Rows) + also[row]
	}
	first, other, x := make([]int, n), make([]int, n), model.New(n, p.to.size())
	for i := range n {
		first[i], other[i] = i/more.Rows, i%more.Rows
		copy(x.Row(i), cells.Row(first[i]))
	}
	rows := model.RowSums(model.Tally(groups, n), x.Columns)
	model.Rake(x, rows)
	model.Rake(x, model.Margin{Rows: first, Columns: p.toBins.of, Counts: by},
		model.Margin{Rows: other, Columns: q.toBins.of, Counts: more}, rows)
	d.cells[p.to] = model.Draw(d.random, groups, x)
}

// second is the pair of what p draws with another attribute whose counts are furthest from those that are expected
// where cells follow from p's bins alone; nil: noise explains all. It returns the other one's bins and the fitted
// counts too.
func (d *drawn) second(parent *drawn, p *pair, given []uint16, cells model.Counts, coarse []*pair) (
	best *pair, also []uint16, by model.Counts,
) {
	if !d.one() { // of units with many rows some do not count, and what is missing would look like a surprise
		return nil, nil, by
	}
	most := 0.0
	totals := model.Tally(given, cells.Rows)
	for _, q := range coarse {
		if q.from == p.to && !q.parents {
			q = q.turned()
		}
		if q.to != p.to || q.from == p.from || !q.parents && d.cells[q.from] == nil {
			continue
		}
		bins := d.given(parent, q)
		counts, expected := q.fitted(bins), model.New(q.counts.Rows, q.counts.Columns)
		both := model.New(cells.Rows, q.counts.Rows)
		for row, i := range given {
			both.Row(int(i))[bins[row]]++
		}
		for i, total := range totals {
			for cell, n := range cells.Row(i) {
				for j, rows := range both.Row(i) {
					if total > 0 {
						expected.Row(j)[q.toBins.of[cell]] += n * rows / total
					}
				}
			}
		}
		if x := model.Surprise(counts, expected, q.asked.noise); x > most {
			best, also, by, most = q, bins, counts, x
		}
	}
	return best, also, by
}
