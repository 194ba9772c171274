package synthetic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// Parts of the price: of the look at how many rows there are, of counts by one attribute, of those by two that say
// which pairs the tree has, of how many rows of a unit these have in one group, and of sums by groups. The pairs of the
// tree take the rest.
const lookPart, singlePart, coarsePart, spreadPart, sumPart = 0.05, 0.2, 0.1, 0.01, 0.1

// Bins of counts by two attributes, and which error by noise they are to have at most, as total variation.
const (
	mostCoarse, coarseError = 8, 0.04
	mostFine, fineError     = 36, 0.06
	fewestBins              = 3
)

// count is one statement, counts of a table's rows or sums of a column, and where its answer goes.
type count struct {
	of    *table
	cells int    // of the answer, about
	what  string // for who reads a dry run
	sql   string
	part  float64 // of the price
	limits
	read  func(rows [][][]byte)
	noise float64 // the most standard deviation of its numbers; known once it is asked
}

// limits are how many rows of one unit count, in all and in one group; 0: as many as the policy says.
type limits struct{ rows, group int }

// root is what noise is times that for one row: Gaussian noise follows what a unit moves all groups by, in L2.
func (l limits) root() float64 { return math.Sqrt(float64(l.rows) * float64(l.group)) }

// divide gives statements parts of a part of the price. Their errors are cells times noise, over rows, and noise
// follows the root of a part: the errors' power of 2/3 makes them least in sum.
func (s *survey) divide(part float64, list []*count) {
	total := 0.0
	for _, c := range list {
		c.part = math.Pow(float64(c.cells)*c.root()/math.Max(1, s.found[c.of].rows), 2./3)
		total += c.part
	}
	for _, c := range list {
		c.part *= part / total
	}
}

// survey asks what a twin is made of, in five rounds: each follows from what was released before it.
type survey struct {
	*plan
	price price
	ask   func(ctx context.Context, list []*count) error
	found map[*table]*findings
	left  float64 // of the price
}

// findings are what was released of a table.
type findings struct {
	rows   float64
	units  []float64 // units by their rows, which start at starts; nil: each has one
	starts []int64
	edges  []model.Edge
	coarse []*pair // all
	pairs  []*pair // of the edges
}

// pair is two attributes with their bins and the counts by these.
type pair struct {
	of               *table
	from, to         *attribute // from: nil where to is drawn alone
	parents          bool       // from is the parent's
	fromBins, toBins bins
	counts           model.Counts
	asked            *count
	largest          []float64 // units by their rows in the group where they have most; nil: not asked
	sums             []float64 // of to by the bins of from; nil: not asked
	summed           *count
}

// run asks everything.
func (s *survey) run(ctx context.Context) error {
	for _, round := range []func() []*count{s.look, s.singles, s.coarse, s.spread, s.fine} {
		list := round()
		if len(list) == 0 {
			continue
		}
		if err := s.ask(ctx, list); err != nil {
			return err
		}
		for _, c := range list {
			s.left -= c.part
		}
	}
	s.refine()
	return nil
}

// countSQL counts rows by up to two keys, with how far noise may move them.
func countSQL(a, b, from string) string { return measureSQL("count(*)", a, b, from) }

// measureSQL asks an aggregate of rows so.
func measureSQL(aggregate, a, b, from string) string {
	keys, by := "", ""
	if a != "" {
		keys, by = a+" AS a, ", " GROUP BY 1"
	}
	if b != "" {
		keys, by = keys+b+" AS b, ", " GROUP BY 1, 2"
	}
	return fmt.Sprintf("SELECT %s%s AS n, dpproxy.noise_stddev(%[2]s) AS noise FROM %[3]s%[4]s", keys, aggregate, from, by)
}

func numberIn(text []byte) float64 {
	x, _ := strconv.ParseFloat(string(text), 64) // NULL is none
	return x
}

// singles asks counts by each attribute.
func (s *survey) singles() []*count {
	n := 0
	for _, t := range s.tables {
		n += len(t.attributes)
	}
	var list []*count
	for _, t := range s.tables {
		for _, a := range t.attributes {
			list = append(list, s.single(t, a, singlePart/float64(n)))
		}
	}
	s.divide(singlePart, list)
	return list
}

// single asks counts by one attribute. Of listed values the answer says what they are.
func (s *survey) single(t *table, a *attribute, part float64) *count {
	f, b := s.found[t], a.single()
	key, bin := a.key("t", b)
	c := &count{
		of: t, cells: max(b.n, listedBins), what: t.String() + " by " + a.name(),
		sql: countSQL(key, "", t.selected(nil, a)),
	}
	c.limits = s.limits(t, a.largest, part, c.cells)
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
		a.variances = slices.Repeat([]float64{c.noise * c.noise}, b.n)
		if a.rows != nil || a.column.NotNull {
			masses[b.n-1] = 0
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
