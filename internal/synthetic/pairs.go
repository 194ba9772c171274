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
	noise := noiseOf * float64(f.inPairs) / s.price.at(part)
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
		sql:  countSQL(a, b, t.selected(parent, joined...)), part: part, rows: f.inPairs,
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
