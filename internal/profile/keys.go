package profile

import (
	"cmp"
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
	result  *Result
	units   map[place]float64 // how many have a value in a column, or rows in a table, at least
	bounded []*bounded
	domains []domain
	ranges  []ranged
}

// place is a column, or, without one, a table.
type place struct {
	table  *policy.Table
	column string
}

// bounded is a table whose rows per unit are found.
type bounded struct {
	table  *policy.Table
	rows   string            // max_rows_per_unit
	sums   map[string]string // upper ends of per_unit, of columns whose lower bound is not below 0
	most   int64
	groups []inGroup
}

// domain is a column's values that enough units have.
type domain struct {
	*question
	values []string
}

// ranged is a column of dates or of numbers whose bounds are found.
type ranged struct {
	*question
	low, high string
	sum, over string // of numbers: the size that a unit counts with at most, and with how much of what is beyond
}

// share says of what the share beyond its bounds is.
func (r ranged) share() string {
	of := "rows"
	if r.number {
		of = "rows, and of the sums,"
	}
	comment := fmt.Sprintf("share of the %s that a %s counts with beyond bounds, at most (95 %%)", of, r.table.Unit.Name)
	if r.over != r.sum {
		comment += fmt.Sprintf("; what is more than %s beyond them is not in it", r.over)
	}
	return comment
}

func newFindings(r *Result) *findings { return &findings{result: r, units: map[place]float64{}} }

// of returns what is found of a table; nil: nothing is.
func (f *findings) of(t *policy.Table) *bounded {
	at := slices.IndexFunc(f.bounded, func(b *bounded) bool { return b.table == t })
	if at < 0 {
		return nil
	}
	return f.bounded[at]
}

func (f *findings) key(q *question, name, value, comment string) {
	f.result.Keys = append(f.result.Keys, policy.Key{
		Table: q.table.Name, Column: q.column, Name: name, Value: value,
		Comment: comment,
	})
}

func (f *findings) remark(q *question, format string, args ...any) {
	where := q.table.Name.String()
	if q.column != "" {
		where += "." + q.column
	}
	if q.kind == inGroupKind || q.kind == excessKind {
		where += " (rows in one group by " + cmp.Or(q.cut, "value") + ")"
	}
	f.result.Remarks = append(f.result.Remarks, where+": "+fmt.Sprintf(format, args...))
}

// usable reports whether a question has an answer, and else why not.
func (f *findings) usable(at *answer) bool {
	if at.Err == nil {
		return true
	}
	if at.Paid {
		f.remark(at.question, "charged, but not measured")
		f.result.Failed = errors.Join(f.result.Failed, fmt.Errorf("%s %s: %w", at.table.Name, at.column, at.Err))
	} else {
		f.remark(at.question, "not profiled, and not charged: %v", at.Err)
	}
	return false
}

// take reads the answer to a question for bounds, rows or values.
func (f *findings) take(at *answer) {
	if !f.usable(at) {
		return
	}
	if at.kind == valuesKind {
		f.takeValues(at)
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
	unit := at.table.Unit.Name
	if at.kind == inGroupKind {
		f.takeInGroup(at, at.cells[0].upper(cells[0]))
		return
	}
	if at.kind == rowsKind {
		rows := at.cells[0].upper(cells[0])
		f.bounded = append(f.bounded, &bounded{at.table, rows, map[string]string{}, f.most(at), nil})
		f.key(at.question, "max_rows_per_unit", rows, fmt.Sprintf("%.4g-quantile over each %s, %s", at.fraction, unit,
			ranks(at)))
		return
	}
	low, high, ok := at.cells[0].pair(cells[0], cells[1])
	if !ok {
		f.remark(at.question, "not enough of a %s for bounds at this epsilon: the lower would be %s and the upper %s", unit,
			low, high)
		return
	}
	f.key(at.question, "bounds", pair(low, high),
		fmt.Sprintf("%.4g- and %.4g-quantile of each %s's least and greatest, %s", 1-at.fraction, at.fraction, unit,
			ranks(at)))
	r := ranged{question: at.question, low: low, high: high}
	if len(cells) > 2 {
		r.sum = f.takeSum(at, cells)
		r.over = r.sum
	} else if at.number {
		r.sum = larger(low, high)
		r.over = times(r.sum, f.most(at)-1)
	}
	if at.cells[0].ends != nil || r.sum != "" {
		f.ranges = append(f.ranges, r)
	}
}

// most is up to how many times a bound a unit counts where it is asked how much is beyond.
func (f *findings) most(at *answer) int64 {
	return 1 + max(1, min(3, int64(f.unitsFor(at.question)/(40*at.off))))
}

// takeSum reads the bounds of a unit's sum, and gives the larger one; "" where there are none.
func (f *findings) takeSum(at *answer, cells []int) string {
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
		return ""
	}
	f.key(at.question, "per_unit", pair(low, high), fmt.Sprintf("%.4g-quantile of each %s's sum, %s", at.fraction,
		at.table.Unit.Name, ranks(at)))
	if signed {
		f.remark(at.question, "left_out does not count its sums, as they may be below 0")
	} else if b := f.of(at.table); b != nil {
		b.sums[at.column] = high
	}
	return larger(low, high)
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
		f.domains = append(f.domains, domain{at.question, values})
	}
}

// later is what is asked of what was found.
func (f *findings) later(p *policy.Policy) []*question {
	var list []*question
	for _, b := range f.bounded {
		list = append(list, beyond(p, *b)...)
	}
	for _, d := range f.domains {
		list = append(list, othersOf(p, place{d.table, d.column}, d.values))
	}
	f.ranges = slices.DeleteFunc(f.ranges, func(r ranged) bool { return f.of(r.table) == nil && !r.one })
	for _, r := range f.ranges {
		rows := "1"
		if b := f.of(r.table); b != nil {
			rows = b.rows
		}
		list = append(list, outsideOf(p, r, rows)...)
	}
	for _, b := range f.bounded {
		list = append(list, excessOf(p, *b)...)
	}
	return list
}

// takeLater reads the answers to that.
func (f *findings) takeLater(answers []*answer) {
	for i, at := range answers {
		if !f.usable(at) {
			continue
		}
		switch at.kind {
		case beyondKind:
			if at.table.MaxRowsPerGroup > 0 {
				f.remark(at.question, "left_out does not count the table's own %s, which is of any key", rowsInGroup)
			}
			f.takeShare(at, answers[i+1], f.excess(at.table, answers[i+1], answers), "left_out", fmt.Sprintf(
				"at most (95 %%), over the whole table; what a %s has below 0 or beyond %d times a bound is not in it",
				at.table.Unit.Name, f.of(at.table).most))
		case outsideKind:
			f.takeShare(at, answers[i+1], 0, "outside", f.ranges[(i-2*len(f.bounded)-len(f.domains))/2].share())
		case othersKind:
			f.takeOthers(at, f.domains[i-2*len(f.bounded)])
		}
	}
}

// takeShare reads the most that may be beyond bounds, and the least that there is in all. More may be beyond others.
func (f *findings) takeShare(at, total *answer, more float64, name, comment string) {
	if total.Err != nil {
		return
	}
	worst := 0.0
	for i := range at.rows[0] {
		worst = max(worst, shareOf(at.rows[0][i], total.rows[0][i]))
	}
	value, ok := atMost(worst + more)
	if !ok {
		f.remark(at.question, "no %s: too little is known at this epsilon", name)
		return
	}
	f.key(at.question, name, value, comment)
}

// shareOf is a part of what there is in all; 1 where nothing is known of it.
func shareOf(part, all string) float64 {
	x, err := strconv.ParseFloat(part, 64)
	of, err2 := strconv.ParseFloat(all, 64)
	if err != nil || err2 != nil || of <= 0 {
		return 1
	}
	return x / of
}

// mostOthers is the greatest share of units that may have other values than those of a domain.
const mostOthers = 0.1

// takeOthers reads how many units have other values than those that were found. Where they are many, it is no domain:
// the names that a few people share, of the many that there are.
func (f *findings) takeOthers(at *answer, d domain) {
	others, err := strconv.ParseFloat(at.rows[0][0], 64)
	share := others / f.unitsFor(d.question)
	value, ok := atMost(share)
	if err != nil || !ok || share > mostOthers {
		f.remark(at.question, "no domain: too many of a %s may have other values than the %d that are often enough",
			at.table.Unit.Name, len(d.values))
		return
	}
	f.key(at.question, "values", policy.List(d.values),
		fmt.Sprintf("at most %s of those who have one (95 %%) have others, which groups by it will leave out", value))
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

// larger is the size of the number that is further from 0, of two decimal ones.
func larger(low, high string) string {
	below := times(low, -1)
	x, _ := new(big.Rat).SetString(below)
	if y, _ := new(big.Rat).SetString(high); x.Cmp(y) > 0 {
		return below
	}
	return high
}

// ranks says how far a quantile may be off at most.
func ranks(at *answer) string {
	return fmt.Sprintf("± %.0f of them in rank at most and a grid step (95 %%)", at.off)
}
