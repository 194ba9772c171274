package synthetic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// look asks how many rows there are, how many of them units have, and how many in the cell of an attribute where they
// have most.
func (s *survey) look() []*count {
	var list []*count
	for _, t := range s.tables {
		f := &findings{}
		s.found[t] = f
		list = append(list, &count{
			what: "rows of " + t.String(), sql: countSQL("", "", t.from("t")),
			read: func(rows [][][]byte) { f.rows = numberIn(rows[0][0]) },
		})
		if t.one() {
			continue
		}
		f.starts = grid{low: 1, high: int64(t.policy.MaxRowsPerUnit), number: true}.cells()
		list = append(list, s.units(t, "", nil, false, &f.units))
		for _, a := range t.attributes {
			if a.rows == nil {
				key, _ := a.key("t", a.single())
				list = append(list, s.units(t, a.name(), []string{key}, false, &a.largest))
			}
		}
	}
	for _, c := range list {
		c.part = lookPart / float64(len(list))
	}
	return list
}

// units counts units by their rows, or by those in the group of some keys where they have most.
func (s *survey) units(t *table, by string, keys []string, parents bool, to *[]float64) *count {
	f := s.found[t]
	edges := make([]string, len(f.starts)-1)
	for i, x := range f.starts[1:] {
		edges[i] = strconv.FormatInt(x, 10)
	}
	from, unit := t.units(parents)
	c, selected, groups := &count{what: "units by rows of " + t.String()}, unit+" AS unit", "1"
	for i, key := range keys {
		selected += fmt.Sprintf(", %s AS k%d", key, i+1)
		groups += fmt.Sprintf(", %d", i+2)
	}
	from = fmt.Sprintf("(SELECT %s, count(*) AS n FROM %s GROUP BY %s) AS u", selected, from, groups)
	if len(keys) > 0 {
		c.what += " by " + by
		from = "(SELECT unit, max(n) AS n FROM " + from + " GROUP BY 1) AS u"
	}
	c.sql = countSQL("width_bucket(u.n, '{"+strings.Join(edges, ",")+"}'::int8[])", "", from)
	c.read = func(rows [][][]byte) {
		masses, widths := make([]float64, len(f.starts)), make([]float64, len(f.starts))
		for i := range widths {
			widths[i] = 1
		}
		for _, row := range rows {
			masses[int(numberIn(row[0]))] = numberIn(row[1])
		}
		*to = model.Smooth(masses, widths, c.noise)
	}
	return c
}

func (t *table) String() string {
	if t.relation == nil {
		return "units of " + t.name.String()
	}
	return t.name.String()
}

// heavy is how far rows that do not count are taken to differ from others, in total variation.
const heavy = 0.5

// limits chooses how many rows of a unit count in counts by cells that a part of the price buys, in all and in one
// group: more would add more noise than there is in the rows that are left out. largest are units by their rows in
// the group where they have most; nil: these are all of them.
func (s *survey) limits(t *table, largest []float64, part float64, cells int) limits {
	f := s.found[t]
	best, least := limits{t.policy.MaxRowsPerUnit, t.policy.MaxRowsPerUnit}, math.Inf(1)
	noise := 0.4 * noiseOf * float64(cells) / s.price.at(part)
	for _, rows := range f.starts {
		for _, group := range f.starts {
			if group > rows || group < rows && (largest == nil || !s.price.gaussian) {
				continue
			}
			l, left := limits{int(rows), int(group)}, f.beyond(f.units, rows)
			if group < rows {
				left += 2 * f.beyond(largest, group) // other groups have some too
			}
			if e := heavy*left + noise*l.root(); e < least {
				best, least = l, e
			}
		}
	}
	return best
}

// beyond is how many rows units have that are more than most.
func (f *findings) beyond(units []float64, most int64) (left float64) {
	for i, x := range f.starts {
		left += units[i] * float64(max(0, x-most))
	}
	return left
}
