package synthetic

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// Parts of the price: of the first look at how many rows there are, and, of what is left for a table, of counts by one
// attribute and of those by two that say which pairs the tree has. The pairs of the tree take the rest.
const lookPart, singlePart, coarsePart = 0.05, 0.25, 0.2

// Bins of counts by two attributes, and which error by noise they are to have at most, as total variation.
const (
	mostCoarse, coarseError = 8, 0.04
	mostFine, fineError     = 36, 0.06
	fewestBins              = 3
)

// count is one statement, counts of a table's rows, and where its answer goes.
type count struct {
	what  string // for who reads a dry run
	sql   string
	part  float64 // of the price
	rows  int     // of one unit that count; 0: as many as the policy says
	read  func(rows [][][]byte)
	noise float64 // the most standard deviation of its numbers; known once it is asked
}

// survey asks what a twin is made of, in four rounds: each follows from what was released before it.
type survey struct {
	*plan
	price price
	ask   func(ctx context.Context, list []*count) error
	found map[*table]*findings
}

// findings are what was released of a table.
type findings struct {
	rows    float64
	units   []float64 // units by their rows, which start at starts; nil: each has one
	starts  []int64
	most    int     // rows of a unit that count by one attribute
	inPairs int     // and by two
	share   float64 // of the price behind the first look
	edges   []model.Edge
	pairs   []pair // of the edges
}

// pair is two attributes with their bins and the counts by these.
type pair struct {
	from, to         *attribute // from may be the parent's
	fromBins, toBins bins
	counts           model.Counts
	asked            *count
}

// run asks everything.
func (s *survey) run(ctx context.Context) error {
	for _, round := range []func() []*count{s.look, s.singles, s.coarse, s.fine} {
		if list := round(); len(list) > 0 {
			if err := s.ask(ctx, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// countSQL counts rows by up to two keys, with how far noise may move them.
func countSQL(a, b, from string) string {
	keys, by := "", ""
	if a != "" {
		keys, by = a+" AS a, ", " GROUP BY 1"
	}
	if b != "" {
		keys, by = keys+b+" AS b, ", " GROUP BY 1, 2"
	}
	return fmt.Sprintf("SELECT %scount(*) AS n, dpproxy.noise_stddev(count(*)) AS noise FROM %s%s", keys, from, by)
}

func numberIn(text []byte) float64 {
	x, _ := strconv.ParseFloat(string(text), 64) // NULL is none
	return x
}

// singles asks counts by each attribute, at a price for each table that makes their errors least in sum.
func (s *survey) singles() []*count {
	s.divide()
	var list []*count
	for _, t := range s.tables {
		f := s.found[t]
		part := (1 - lookPart) * f.share / float64(max(1, len(t.attributes)))
		if s.pairsOf(t) > 0 {
			part *= singlePart
		}
		for _, a := range t.attributes {
			list = append(list, s.single(t, a, f, part))
		}
	}
	return list
}

// single asks counts by one attribute. Of listed values the answer says what they are.
func (s *survey) single(t *table, a *attribute, f *findings, part float64) *count {
	b := a.single()
	key, bin := a.key("t", b)
	c := &count{
		what: t.String() + " by " + a.name(), sql: countSQL(key, "", t.selected(nil, a)), part: part, rows: f.most,
	}
	c.read = func(rows [][][]byte) {
		if a.grid == nil {
			for _, row := range rows {
				if row[0] != nil {
					a.values = append(a.values, string(row[0]))
				}
			}
			b = a.single()
			_, bin = a.key("t", b)
		}
		masses := make([]float64, b.n)
		for _, row := range rows {
			if at, ok := bin(row[0]); ok {
				masses[at] = numberIn(row[1])
			}
		}
		if a.grid == nil {
			a.masses = model.Nearest(masses, min(f.rows, model.Sum(masses)))
			a.masses = model.Scaled(a.masses, f.rows) // some rows of a unit do not count
		} else {
			a.masses = s.settle(a, masses, f.rows, c.noise)
		}
	}
	return c
}

// settle has what noise put into empty cells of a grid near to cells that have rows, all of them add up to rows, and
// numbers of rows to those that were counted.
func (s *survey) settle(a *attribute, masses []float64, rows, noise float64) []float64 {
	n := len(a.starts)
	widths, sizes := make([]float64, n), make([]float64, n)
	for cell, from := range a.starts {
		widths[cell] = float64(a.end(cell) - from)
		sizes[cell] = float64(from+a.end(cell)-1) / 2
	}
	cells := model.Scaled(append(model.Smooth(masses[:n], widths, noise), masses[n]), rows)
	if a.rows != nil {
		copy(cells, model.Tilt(cells[:n], sizes, s.found[a.rows].rows))
	}
	return cells
}
