package synthetic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// look asks how many rows there are, and of how many units each has.
func (s *survey) look() []*count {
	var list []*count
	for _, t := range s.tables {
		f := &findings{most: t.policy.MaxRowsPerUnit, inPairs: t.policy.MaxRowsPerUnit, share: 1}
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

// divide chooses how many rows of a unit count, and how tables share the price. Noise is a unit's rows times what a
// statement's noise is for one; its part of a count is least in sum where each table has the power 2/3 of that.
func (s *survey) divide() {
	total := 0.0
	for _, t := range s.tables {
		f := s.found[t]
		if f.units != nil {
			f.most = s.rowsThatCount(t, f, singlePart, heavyAlone, cellsAlone)
			f.inPairs = s.rowsThatCount(t, f, 1-singlePart-coarsePart, heavyGiven, cellsOfPair)
		}
		statements := math.Sqrt(float64(1 + len(t.attributes) + s.pairsOf(t)))
		f.share = math.Pow(float64(f.inPairs)*statements/math.Max(f.rows, 1), 2./3)
		if len(t.attributes) == 0 {
			f.share = 0
		}
		total += f.share
	}
	for _, f := range s.found {
		f.share /= math.Max(total, math.SmallestNonzeroFloat64)
	}
}

// Rows of units with many of them are taken to differ from others by heavyAlone, in total variation; and of rows that
// are alike in one attribute, which has the counts that were released alone, by heavyGiven in another: a unit counts in
// each group with a whole number, so that groups of few of its rows lose. cellsAlone is how
// many cells of an attribute have rows, about, and cellsOfPair of two.
const heavyAlone, heavyGiven, cellsAlone, cellsOfPair = 0.25, 0.2, 60, 290

// rowsThatCount are those of one unit, where part of the price buys counts by cells: more would add more noise than
// there is in the rows that are left out, which differ from others by heavy.
func (s *survey) rowsThatCount(t *table, f *findings, part, heavy, cells float64) int {
	epsilon := s.price.at(part / float64(max(1, len(t.attributes)*len(s.tables))))
	best, least := t.policy.MaxRowsPerUnit, math.Inf(1)
	for _, most := range f.starts {
		left, all := 0.0, 0.0
		for i, x := range f.starts {
			all += f.units[i] * float64(x)
			left += f.units[i] * math.Max(0, float64(x-most))
		}
		e := heavy*left/math.Max(all, 1) + 0.4*noiseOf*cells*float64(most)/epsilon/math.Max(f.rows, 1)
		if e < least {
			best, least = int(most), e
		}
	}
	return best
}
