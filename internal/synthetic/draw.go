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
		for _, p := range s.found[t].pairs {
			d.attribute(all[t.parent], p, s.found[t].coarse)
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
