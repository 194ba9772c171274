package synthetic

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

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
	n := 0
	for _, t := range s.tables {
		n += s.pairsOf(t)
	}
	var list []*count
	for _, t := range s.tables {
		f, known := s.found[t], len(s.given(t))
		all := slices.Concat(s.given(t), t.attributes)
		for j := known; j < len(all); j++ {
			for i := range j {
				p := s.pair(t, all[i], all[j], i < known, coarsePart/float64(n), mostCoarse, coarseError, nil)
				f.pairs, list = append(f.pairs, p), append(list, s.by(p, coarsePart/float64(n)))
			}
		}
	}
	s.divide(coarsePart, list)
	return list
}

// noiseOf is about the standard deviation of a count by Gaussian noise, times ε.
const noiseOf = 1.1

// pair makes bins of two attributes, of which the first may be the parent's: so many that noise, where a part of the
// price buys their counts, has a part in these up to an error.
func (s *survey) pair(
	t *table, from, to *attribute, parents bool, part float64, most int, off float64, largest []float64,
) *pair {
	noise := noiseOf * s.limits(t, largest, part, most*most).root() / s.price.at(part)
	bound := min(most, max(fewestBins, int(math.Sqrt(off*s.found[t].rows/(0.4*noise)))))
	p := &pair{of: t, from: from, to: to, parents: parents, fromBins: merge(from, bound), toBins: merge(to, bound)}
	p.counts = model.New(p.fromBins.n, p.toBins.n)
	return p
}

// keys are SQL for the bins of both, and which they are of.
func (p *pair) keys() (a, b string, of [2]func([]byte) (int, bool)) {
	as := "t"
	if p.parents {
		as = "p"
	}
	a, of[0] = p.from.key(as, p.fromBins)
	b, of[1] = p.to.key("t", p.toBins)
	return a, b, of
}

// selected are the rows with what both read.
func (p *pair) selected() string {
	if p.parents {
		return p.of.selected(p.from, p.to)
	}
	return p.of.selected(nil, p.from, p.to)
}

// by asks counts by a pair.
func (s *survey) by(p *pair, part float64) *count {
	a, b, of := p.keys()
	p.asked = &count{
		of: p.of, cells: len(p.counts.At),
		what: fmt.Sprintf("%s by %s and %s, %d by %d", p.of, p.from.name(), p.to.name(), p.fromBins.n, p.toBins.n),
		sql:  countSQL(a, b, p.selected()),
	}
	p.asked.limits = s.limits(p.of, p.largest, part, p.asked.cells)
	p.asked.read = func(rows [][][]byte) {
		for _, row := range rows {
			i, ok := of[0](row[0])
			j, also := of[1](row[1])
			if ok && also {
				p.counts.Row(i)[j] = numberIn(row[2])
			}
		}
	}
	return p.asked
}

// finePart is that of the pairs of trees.
const finePart = 1 - lookPart - singlePart - coarsePart - spreadPart - sumPart

// spread chooses the tree of each table's attributes by what the coarse counts say, and asks how many rows units have
// in one group by its pairs.
func (s *survey) spread() []*count {
	n := 0
	for _, t := range s.tables {
		f, known := s.found[t], len(s.given(t))
		all := slices.Concat(s.given(t), t.attributes)
		coarse := map[[2]*attribute]float64{}
		for _, p := range f.pairs {
			coarse[[2]*attribute{p.from, p.to}] = model.Dependence(p.counts, p.asked.noise)
		}
		f.coarse, f.edges, f.pairs = f.pairs, model.Tree(len(all), known, func(i, j int) float64 {
			return coarse[[2]*attribute{all[min(i, j)], all[max(i, j)]}]
		}), nil
		for _, e := range f.edges {
			if e.From >= 0 {
				n++
			}
		}
	}
	var list []*count
	for _, t := range s.tables {
		f, known := s.found[t], len(s.given(t))
		all := slices.Concat(s.given(t), t.attributes)
		for _, e := range f.edges {
			if e.From < 0 {
				to := all[e.To]
				p := &pair{of: t, to: to, toBins: to.single(), counts: model.New(1, to.size()), largest: to.largest}
				f.pairs = append(f.pairs, p)
				continue
			}
			from, to := all[e.From], all[e.To]
			p := s.pair(t, from, to, e.From < known, finePart/float64(n), mostFine, fineError, to.largest)
			f.pairs = append(f.pairs, p)
			if !t.one() && from.rows == nil && to.rows == nil {
				a, b, _ := p.keys()
				list = append(list, s.units(t, from.name()+" and "+to.name(), []string{a, b}, p.parents, &p.largest))
			}
		}
	}
	for _, c := range list {
		c.part = spreadPart / float64(len(list))
	}
	return list
}

// fine asks counts by the pairs of the trees; where there are none, once more by each attribute: for what is left of
// the price.
func (s *survey) fine() []*count {
	var pairs, alone []*pair
	for _, t := range s.tables {
		for _, p := range s.found[t].pairs {
			if p.from != nil {
				pairs = append(pairs, p)
			} else if p.to.rows == nil {
				alone = append(alone, p)
			}
		}
	}
	var list, sums []*count
	for _, p := range pairs {
		if p.summable() {
			sums = append(sums, p.sum())
		}
	}
	for _, c := range sums {
		c.part = sumPart / float64(len(sums))
		s.left -= c.part
	}
	for _, p := range pairs {
		list = append(list, s.by(p, s.left/float64(len(pairs))))
	}
	if len(pairs) == 0 {
		for _, p := range alone {
			list = append(list, s.again(p, s.left/float64(len(alone))))
		}
	}
	s.divide(s.left, list)
	return append(list, sums...)
}

// again asks counts by one attribute as single does.
func (s *survey) again(p *pair, part float64) *count {
	key, bin := p.to.key("t", p.toBins)
	p.asked = &count{
		of: p.of, cells: p.toBins.n, what: fmt.Sprintf("%s by %s", p.of, p.to.name()),
		sql: countSQL(key, "", p.of.selected(nil, p.to)),
	}
	p.asked.limits = s.limits(p.of, p.largest, part, p.asked.cells)
	p.asked.read = func(rows [][][]byte) {
		for _, row := range rows {
			if at, ok := bin(row[0]); ok {
				p.counts.At[at] = numberIn(row[1])
			}
		}
		if p.to.grid != nil {
			p.counts.At = s.settle(p.to, p.counts.At, s.found[p.of].rows, p.asked.noise)
		}
	}
	return p.asked
}

// chosen are the pairs of columns of a table's tree.
func (s *survey) chosen(t *table) []Pair {
	var list []Pair
	for i, e := range s.found[t].edges {
		p := s.found[t].pairs[i]
		if e.From >= 0 && p.from.rows == nil && p.to.rows == nil {
			list = append(list, Pair{p.from.name(), p.to.name(), e.From < len(s.given(t))})
		}
	}
	return list
}
