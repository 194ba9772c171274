package synthetic

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// drawn are the rows of a table before they are written: what each hangs on, and the cells of its attributes.
type drawn struct {
	*table
	n       int
	parents []int32 // rows of the parent; nil: it has none
	cells   map[*attribute][]uint16
	random  *rand.Rand
	left    int  // rows that are left out, as they have the keys of others
	again   bool // a row is made again: what was drawn for it cannot be
}

// draw draws the rows of all tables. The same answers and seed give the same rows.
func (s *survey) draw(seed uint64) map[*table]*drawn {
	all := map[*table]*drawn{}
	for _, t := range s.tables {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t.String())) // it never fails
		d := &drawn{table: t, cells: map[*attribute][]uint16{}, random: rand.New(rand.NewPCG(seed, h.Sum64()))}
		all[t] = d
		if t.parent == nil {
			d.n = int(math.Round(s.found[t].rows))
		} else {
			d.hang(all[t.parent])
		}
		for i, e := range s.found[t].edges {
			d.attribute(all[t.parent], s.found[t].pairs[i], e)
		}
	}
	return all
}

// hang gives each row of the parent its number of rows.
func (d *drawn) hang(parent *drawn) {
	at := slices.IndexFunc(parent.attributes, func(a *attribute) bool { return a.rows == d.table })
	rows := parent.attributes[at]
	for p, cell := range parent.cells[rows] {
		for range rows.step(d.random, cell) {
			d.parents = append(d.parents, int32(p))
		}
	}
	d.n = len(d.parents)
}

// step draws a step of a cell of a grid; 0 for NULL.
func (a *attribute) step(r *rand.Rand, cell uint16) int64 {
	if int(cell) >= len(a.starts) {
		return 0
	}
	from := a.starts[cell]
	return from + r.Int64N(a.end(int(cell))-from)
}

// released are the counts that were released, for as many rows as columns have: some of a unit's do not count, and
// those that noise may have made have what is left of them.
func (p pair) released(columns []float64) model.Counts {
	c := model.Shrink(p.counts, columns, p.asked.noise)
	c.At = model.Scaled(c.At, model.Sum(columns))
	return c
}

// any draws a cell of a grid by its rows.
func (a *attribute) any(r *rand.Rand) uint16 {
	masses := a.masses[:len(a.starts)]
	x := r.Float64() * model.Sum(masses)
	for cell, mass := range masses {
		if x -= mass; x < 0 {
			return uint16(cell)
		}
	}
	return uint16(len(masses) - 1)
}

// attribute draws the cells of an attribute, given those of another one of the row or of its parent's.
func (d *drawn) attribute(parent *drawn, p pair, e model.Edge) {
	all := model.Counts{Rows: 1, Columns: p.to.size(), At: p.to.masses}
	if e.From < 0 {
		d.cells[p.to] = model.Draw(d.random, make([]uint16, d.n), all)
		return
	}
	from, ok := d.cells[p.from]
	if !ok {
		from = make([]uint16, d.n)
		for row, at := range d.parents {
			from[row] = parent.cells[p.from][at]
		}
	}
	given := p.fromBins.values(from)
	rows := model.Tally(given, p.fromBins.n)
	columns := model.Scaled(p.toBins.sums(p.to.masses), float64(d.n))
	bins := model.Draw(d.random, given, model.Fit(p.released(columns), rows, columns))
	within := model.New(p.toBins.n, p.to.size())
	for cell, mass := range p.to.masses {
		within.Row(p.toBins.of[cell])[cell] = mass
	}
	for bin, mass := range p.toBins.sums(p.to.masses) {
		if mass <= 0 { // any of its cells: those of others have none
			for cell, of := range p.toBins.of {
				if of == bin {
					within.Row(bin)[cell] = 1
				}
			}
		}
	}
	d.cells[p.to] = model.Draw(d.random, bins, within)
}
