package profile

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// mostValues is how many values a domain that is printed may have.
const mostValues = 100

// findings make keys of answers.
type findings struct {
	result *Result
	rows   map[*policy.Table]string            // max_rows_per_unit that was found
	sums   map[*policy.Table]map[string]string // upper ends of per_unit, of columns whose lower bound is not below 0
	units  map[place]float64                   // how many there are, at least
}

// place is a column, or, without one, a table.
type place struct {
	table  *policy.Table
	column string
}

func newFindings(r *Result) *findings {
	return &findings{r, map[*policy.Table]string{}, map[*policy.Table]map[string]string{}, map[place]float64{}}
}

func (f *findings) key(q *question, name, value, comment string) {
	f.result.Keys = append(f.result.Keys, policy.Key{Table: q.table.Name, Column: q.column, Name: name, Value: value, Comment: comment})
}

func (f *findings) remark(q *question, format string, args ...any) {
	where := q.table.Name.String()
	if q.column != "" {
		where += "." + q.column
	}
	f.result.Remarks = append(f.result.Remarks, where+": "+fmt.Sprintf(format, args...))
}

// usable says whether a question has an answer, and else why not.
func (f *findings) usable(at *answer) bool {
	if at.err == nil {
		return true
	}
	if at.paid {
		f.remark(at.question, "charged, but not measured")
		f.result.Failed = errors.Join(f.result.Failed, fmt.Errorf("%s %s: %w", at.table.Name, at.column, at.err))
	} else {
		f.remark(at.question, "not profiled, and not charged: %v", at.err)
	}
	return false
}

// take reads an answer of the first phase.
func (f *findings) take(at *answer, fraction float64) {
	if !f.usable(at) {
		return
	}
	switch at.kind {
	case valuesKind:
		f.takeValues(at)
		return
	case unitsKind:
		if n, err := strconv.ParseFloat(at.rows[0][0], 64); err == nil {
			f.units[place{at.table, at.column}] = n
		}
		return
	}
	cells := make([]int, len(at.cells))
	for i := range cells {
		n, err := strconv.Atoi(at.rows[0][i])
		if err != nil { // NULL: no condition of the statement makes one
			f.remark(at.question, "no answer")
			return
		}
		cells[i] = n
	}
	off := rankError(at.charge.Curve.Pure/float64(at.releases), fraction, at.points)
	unit := at.table.Unit.Name
	if !f.enough(at, off, fraction) {
		return
	}
	if at.kind == rowsKind {
		rows := at.cells[0].upper(cells[0])
		f.rows[at.table] = rows
		f.key(at.question, "max_rows_per_unit", rows, fmt.Sprintf("%.4g-quantile over each %s, %s", fraction, unit, ranks(off)))
		return
	}
	low, high := at.cells[0].lower(cells[0]), at.cells[1].upper(cells[1])
	if slices.Index(at.cells[0].values, low) >= slices.Index(at.cells[1].values, high) {
		f.remark(at.question, "not enough of a %s for bounds at this epsilon: the lower would be %s and the upper %s", unit, low, high)
		return
	}
	f.key(at.question, "bounds", pair(low, high), fmt.Sprintf("%.4g- and %.4g-quantile of each %s's least and greatest, %s", 1-fraction, fraction, unit, ranks(off)))
	f.takeSum(at, cells, off, fraction)
}

// enough says whether there are units enough that a quantile does not lie beyond all values, which says nothing of them.
func (f *findings) enough(at *answer, off int, fraction float64) bool {
	beyond := (1 - fraction) * f.units[place{at.table, at.column}]
	if float64(off) <= beyond {
		return true
	}
	f.remark(at.question, "too little is known at this epsilon: a rank is off by up to %d of each %s (95 %%), and about %.0f are beyond the %.4g-quantile; take a larger --epsilon or a lower --quantile",
		off, at.table.Unit.Name, max(0, beyond), fraction)
	return false
}

// takeSum reads the bounds of a unit's sum.
func (f *findings) takeSum(at *answer, cells []int, off int, fraction float64) {
	if len(cells) < 3 {
		return
	}
	last := len(cells) - 1
	low, high := "0", at.cells[last].upper(cells[last])
	signed := sign(at.cells[0].lower(cells[0])) < 0 // with the bounds that were found
	if signed {
		if low = at.cells[2].lower(cells[2]); sign(low) > 0 {
			low = "0"
		}
	}
	if sign(high) < 0 {
		high = "0"
	}
	if low == high {
		f.remark(at.question, "no per_unit: most sums are 0")
		return
	}
	f.key(at.question, "per_unit", pair(low, high), fmt.Sprintf("%.4g-quantile of each %s's sum, %s", fraction, at.table.Unit.Name, ranks(off)))
	if signed {
		f.remark(at.question, "left_out does not count its sums, as they may be below 0")
	} else {
		if f.sums[at.table] == nil {
			f.sums[at.table] = map[string]string{}
		}
		f.sums[at.table][at.column] = high
	}
}

// takeValues reads the values that partition selection let through.
func (f *findings) takeValues(at *answer) {
	var values []string
	for _, row := range at.rows {
		if row[0] != "" {
			values = append(values, row[0])
		}
	}
	slices.Sort(values)
	switch values = slices.Compact(values); {
	case len(values) == 0:
		f.remark(at.question, "no value that enough of a %s have", at.table.Unit.Name)
	case len(values) > mostValues:
		f.remark(at.question, "%d values: too many for a domain", len(values))
	default:
		f.key(at.question, "values", policy.List(values), "those that enough of a "+at.table.Unit.Name+" have; rows with others will be left out of groups by it")
	}
}

// takeBeyond reads an answer of the second phase: of rows and of each sum the most that may be beyond its bound, and the
// least that there is in all.
func (f *findings) takeBeyond(at *answer) {
	if !f.usable(at) {
		return
	}
	worst := 0.0
	for i := 0; i+1 < len(at.rows[0]); i += 2 {
		over, err := strconv.ParseFloat(at.rows[0][i], 64)
		all, err2 := strconv.ParseFloat(at.rows[0][i+1], 64)
		if err != nil || err2 != nil || all <= 0 {
			f.remark(at.question, "no left_out: too little is known at this epsilon")
			return
		}
		worst = max(worst, over/all)
	}
	value, ok := atMost(worst)
	if !ok {
		f.remark(at.question, "no left_out: too little is known at this epsilon")
		return
	}
	f.key(at.question, "left_out", value, fmt.Sprintf("at most (95 %%), over the whole table; what a %s has below 0 or beyond %d times a bound is not in it", at.table.Unit.Name, beyondFactor))
}

// order puts the keys in the order of the policy.
func (f *findings) order(tables []*policy.Table) {
	place := func(k policy.Key) int {
		for i, t := range tables {
			if t.Name != k.Table {
				continue
			}
			column := slices.IndexFunc(t.Columns, func(c *policy.Column) bool { return c.Name == k.Column })
			return i<<20 + column + 1
		}
		return -1
	}
	slices.SortStableFunc(f.result.Keys, func(a, b policy.Key) int { return place(a) - place(b) })
}

// pair prints bounds. What has a colon is quoted: not every reader of YAML takes it for text.
func pair(low, high string) string {
	if strings.Contains(low+high, ":") {
		return policy.List([]string{low, high})
	}
	return "[" + low + ", " + high + "]"
}

// sign is that of a decimal number.
func sign(text string) int {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0
	}
	return x.Sign()
}

// ranks says how far a quantile may be off.
func ranks(off int) string { return fmt.Sprintf("± %d of them in rank and a grid step (95 %%)", off) }
