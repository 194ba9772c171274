package synthetic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// Parts of the price: of the first look at how many rows there are, and, of what is left for a table, of counts by one
// attribute and of those by two that say which pairs the tree has. The pairs of the tree take the rest.
const lookPart, singlePart, coarsePart = 0.05, 0.25, 0.2

// Bins of counts by two attributes, and which error by noise they are to have at most, as total variation.
const (
	mostCoarse, coarseError = 8, 0.04
	mostFine, fineError     = 24, 0.04
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
	rows   float64
	units  []float64 // units by their rows, which start at starts; nil: each has one
	starts []int64
	most   int     // rows of a unit that count
	share  float64 // of the price behind the first look
	edges  []model.Edge
	pairs  []pair // of the edges
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

// look asks how many rows there are, and of how many units each has.
func (s *survey) look() []*count {
	var list []*count
	for _, t := range s.tables {
		f := &findings{most: t.policy.MaxRowsPerUnit, share: 1}
		s.found[t] = f
		list = append(list, &count{
			what: "rows of " + t.String(), sql: countSQL("", "", t.from("t")),
			read: func(rows [][][]byte) { f.rows = numberIn(rows[0][0]) },
		})
		if t.one() {
			continue
		}
		from, unit := t.units()
		f.starts = grid{low: 1, high: int64(t.policy.MaxRowsPerUnit), number: true}.cells()
		f.units = make([]float64, len(f.starts))
		edges := make([]string, len(f.starts)-1)
		for i, x := range f.starts[1:] {
			edges[i] = strconv.FormatInt(x, 10)
		}
		list = append(list, &count{
			what: "units by rows of " + t.String(),
			sql: countSQL("width_bucket(u.n, '{"+strings.Join(edges, ",")+"}'::int8[])", "",
				fmt.Sprintf("(SELECT %[1]s AS unit, count(*) AS n FROM %[2]s GROUP BY 1) AS u", unit, from)),
			read: func(rows [][][]byte) {
				for _, row := range rows {
					f.units[int(numberIn(row[0]))] = numberIn(row[1])
				}
			},
		})
	}
	for _, c := range list {
		c.part = lookPart / float64(len(list))
	}
	return list
}

func (t *table) String() string {
	if t.relation == nil {
		return "units of " + t.name.String()
	}
	return t.name.String()
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
			a.masses = model.Nearest(masses, f.rows)
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

// divide chooses how many rows of a unit count, and how tables share the price. Noise is a unit's rows times what a
// statement's noise is for one; its part of a count is least in sum where each table has the power 2/3 of that.
func (s *survey) divide() {
	total := 0.0
	for _, t := range s.tables {
		f := s.found[t]
		if f.units != nil {
			f.most = s.rowsThatCount(t, f)
		}
		statements := math.Sqrt(float64(1 + len(t.attributes) + s.pairsOf(t)))
		f.share = math.Pow(float64(f.most)*statements/math.Max(f.rows, 1), 2./3)
		if len(t.attributes) == 0 {
			f.share = 0
		}
		total += f.share
	}
	for _, f := range s.found {
		f.share /= math.Max(total, math.SmallestNonzeroFloat64)
	}
}

// heavy is by how much rows of units with many of them are taken to differ from others, in total variation.
const heavy = 0.25

// rowsThatCount are those of one unit: where more would add more noise than there is in the rows that are left out.
func (s *survey) rowsThatCount(t *table, f *findings) int {
	epsilon := s.price.at(singlePart / float64(max(1, len(t.attributes)*len(s.tables))))
	best, least := t.policy.MaxRowsPerUnit, math.Inf(1)
	for _, most := range f.starts {
		left, all := 0.0, 0.0
		for i, x := range f.starts {
			all += f.units[i] * float64(x)
			left += f.units[i] * math.Max(0, float64(x-most))
		}
		const cells = 60
		e := heavy*left/math.Max(all, 1) + 0.4*noiseOf*cells*float64(most)/epsilon/math.Max(f.rows, 1)
		if e < least {
			best, least = int(most), e
		}
	}
	return best
}

// pairsOf is how many pairs of attributes a table has.
func (s *survey) pairsOf(t *table) int {
	n := len(t.attributes)
	return n*(n-1)/2 + n*len(s.given(t))
}

// given are the attributes of a table's parent that its own may hang on.
func (s *survey) given(t *table) []*attribute {
	if t.parent == nil {
		return nil
	}
	var list []*attribute
	for _, a := range t.parent.attributes {
		if a.rows == nil {
			list = append(list, a)
		}
	}
	return list
}

// coarse asks counts by every pair of attributes, in few bins.
func (s *survey) coarse() []*count {
	var list []*count
	for _, t := range s.tables {
		f := s.found[t]
		given, n := s.given(t), s.pairsOf(t)
		known := len(given)
		all := slices.Concat(given, t.attributes)
		part := (1 - lookPart) * f.share * coarsePart / float64(max(1, n))
		for j := known; j < len(all); j++ {
			for i := range j {
				f.pairs = append(f.pairs, s.pair(t, all[i], all[j], i < known, part, mostCoarse, coarseError))
				list = append(list, f.pairs[len(f.pairs)-1].asked)
			}
		}
	}
	return list
}

// pair asks counts by two attributes, of which the first may be the parent's, in so many bins that noise has a part in
// them up to an error.
func (s *survey) pair(t *table, from, to *attribute, parents bool, part float64, most int, off float64) pair {
	f := s.found[t]
	noise := noiseOf * float64(f.most) / s.price.at(part)
	bound := min(most, max(fewestBins, int(math.Sqrt(off*f.rows/(0.4*noise)))))
	as := "t"
	var parent *attribute
	if parents {
		as, parent = "p", from
	}
	p := pair{from: from, to: to, fromBins: merge(from, bound), toBins: merge(to, bound)}
	a, binA := from.key(as, p.fromBins)
	b, binB := to.key("t", p.toBins)
	p.counts = model.New(p.fromBins.n, p.toBins.n)
	joined := []*attribute{from, to}
	if parents {
		joined = joined[1:]
	}
	p.asked = &count{
		what: fmt.Sprintf("%s by %s and %s, %d by %d", t, from.name(), to.name(), p.fromBins.n, p.toBins.n),
		sql:  countSQL(a, b, t.selected(parent, joined...)), part: part, rows: f.most,
	}
	p.asked.read = func(rows [][][]byte) {
		for _, row := range rows {
			i, ok := binA(row[0])
			j, also := binB(row[1])
			if ok && also {
				p.counts.Row(i)[j] = numberIn(row[2])
			}
		}
	}
	return p
}

// noiseOf is about the standard deviation of a count by Gaussian noise, times ε.
const noiseOf = 1.1

// fine chooses the tree of each table's attributes by what the coarse counts say, and asks its pairs in more bins.
func (s *survey) fine() []*count {
	var list []*count
	for _, t := range s.tables {
		f := s.found[t]
		given := s.given(t)
		known, all := len(given), slices.Concat(given, t.attributes)
		coarse := map[[2]*attribute]float64{}
		for _, p := range f.pairs {
			coarse[[2]*attribute{p.from, p.to}] = model.Dependence(p.counts, p.asked.noise)
		}
		f.edges = model.Tree(len(all), known, func(i, j int) float64 {
			return coarse[[2]*attribute{all[min(i, j)], all[max(i, j)]}]
		})
		f.pairs = nil
		n := 0
		for _, e := range f.edges {
			if e.From >= 0 {
				n++
			}
		}
		part := (1 - lookPart) * f.share * (1 - singlePart - coarsePart) / float64(max(1, n))
		for _, e := range f.edges {
			if e.From < 0 {
				f.pairs = append(f.pairs, pair{to: all[e.To]})
				continue
			}
			f.pairs = append(f.pairs, s.pair(t, all[e.From], all[e.To], e.From < known, part, mostFine, fineError))
			list = append(list, f.pairs[len(f.pairs)-1].asked)
		}
	}
	return list
}

// charges is what a survey has charged, and what the ledger says of it.
type charges struct {
	statements int
	balance    ledger.Balance
}

// asking asks through the engine; the first error of a statement ends it.
func asking(a *ask.Asker, at price, done *charges) func(ctx context.Context, list []*count) error {
	return func(ctx context.Context, list []*count) error {
		statements := make([]ask.Statement, len(list))
		for i, c := range list {
			statements[i] = ask.Statement{
				SQL: c.sql, Epsilon: at.at(c.part),
				Settings: map[string]string{"dpproxy.empty_groups": "keep"},
			}
			if c.rows > 0 {
				statements[i].Settings["dpproxy.max_rows"] = strconv.Itoa(c.rows)
			}
		}
		answers, err := a.Plan(ctx, statements)
		if err != nil {
			return err
		}
		for i, at := range answers { // what is refused costs nothing, and neither does the rest then
			if at.Err != nil {
				return fmt.Errorf("%s: %w", list[i].what, at.Err)
			}
		}
		balance, err := a.Ask(ctx, answers)
		if err != nil {
			return err
		}
		done.statements, done.balance = done.statements+len(list), balance
		for i, c := range list {
			if err := answers[i].Err; err != nil {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			for _, row := range answers[i].Rows {
				c.noise = math.Max(c.noise, numberIn(row[len(row)-1]))
			}
			c.read(answers[i].Rows)
		}
		return nil
	}
}
