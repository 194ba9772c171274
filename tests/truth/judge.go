package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// expected is what PostgreSQL itself answers: the rows that are shown, and those among which HAVING or LIMIT choose.
type expected struct{ shown, among answer }

// held counts printed intervals, and those that hold the truth.
type held struct{ held, printed int }

// add reports whether it holds.
func (h *held) add(truth, low, high float64) bool {
	h.printed++
	slack := 1e-9 * math.Abs(truth)
	holds := low-slack <= truth && truth <= high+slack
	if holds {
		h.held++
	}
	return holds
}

// verdict is what one answer is worth.
type verdict struct {
	near              float64 // share of the cells, also those missing or invented, that are within 10 % of the truth
	median            float64 // of their relative errors
	shown, invented   int     // rows, and those that are not there
	existing, missing int     // rows that are there, and those that are not shown
	intervals         map[string]held
	beside            []string // intervals that do not hold the truth
	silent            string   // what is off without a word
}

// Shares of the truth, and of a printed margin.
const (
	nearly = 0.1
	// farOff is beyond what noise does: three times a margin of 95 % is passed once in ten thousand times, of Laplace
	// noise.
	farOff = 3
	// mostJudged is how many rows of an answer have their intervals compared, so that one of a thousand rows does not
	// outweigh all others.
	mostJudged = 30
)

// certain is what a hint says of the first places.
var certain = regexp.MustCompile(`first (\d+) places are certain`)

// unmargined is what a hint says of columns without a margin.
var unmargined = regexp.MustCompile(`No margin is known of ([^.]*)\.`)

// saysNone reports whether the hint names a column as one without a margin.
func (a answer) saysNone(column string) bool {
	m := unmargined.FindStringSubmatch(a.hint)
	return m != nil && slices.Contains(strings.Split(m[1], ", "), column)
}

// judge compares an answer with the truth. Its margins are those of the notice or, if it has them, columns with ends.
func (q question) judge(e expected, got answer) verdict {
	v := verdict{shown: len(got.rows), intervals: map[string]held{}}
	var errors []float64
	for n, id := range got.order {
		row := got.rows[id]
		truth := e.among.rows[id]
		if truth == nil {
			v.invented++
			errors = append(errors, math.Inf(1))
		}
		for i, kind := range q.columns {
			if kind != key {
				at := got.column(e.among.columns[i])
				if n < mostJudged {
					q.cell(&v, e, got, id, i, at)
				}
				if truth != nil {
					errors = append(errors, e.relative(i, truth[i], row[at]))
				}
			}
		}
	}
	if !q.cut {
		v.existing = len(e.shown.rows)
		for id := range e.shown.rows {
			if got.rows[id] == nil {
				v.missing++
				errors = append(errors, 1)
			}
		}
	}
	v.median, v.near = math.Inf(1), 0
	if n := len(errors); n > 0 {
		slices.Sort(errors)
		v.median = (errors[(n-1)/2] + errors[n/2]) / 2
		v.near = float64(sort.Search(n, func(i int) bool { return errors[i] > nearly })) / float64(n)
	}
	if v.missing > 0 && !strings.Contains(strings.ToLower(got.hint), "group") {
		v.silent = "rows are missing"
	}
	if m := certain.FindStringSubmatch(got.hint); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n = min(n, len(got.order)); !slices.Equal(got.order[:n], e.shown.order[:min(n, len(e.shown.order))]) {
			v.silent = "other rows have the places that are called certain"
		}
	}
	return v
}

// cell counts the interval of one cell, and notes what nothing announces. A row that is not there has counts and sums
// of 0, and no other values.
func (q question) cell(v *verdict, e expected, got answer, id string, i, at int) {
	kind, is := q.columns[i], math.NaN()
	truth, row := e.among.rows[id], got.rows[id]
	switch {
	case truth != nil:
		is = truth[i]
	case kind == "count" || kind == "sum":
		is = 0
	}
	low, high, printed := got.interval(at, row)
	if !printed {
		if truth != nil && e.relative(i, is, row[at]) > nearly && !got.saysNone(got.columns[at]) {
			v.silent = "no margin, and more than 10 % off"
		}
		return
	}
	h := v.intervals[kind]
	if !h.add(is, low, high) {
		v.beside = append(v.beside, fmt.Sprintf("%s %s: %g in [%g, %g], truth %g", id, got.columns[at], row[at], low, high,
			is))
	}
	v.intervals[kind] = h
	if wide := farOff * math.Max(high-row[at], row[at]-low); math.Abs(is-row[at]) > wide {
		v.silent = "far beyond the margin"
	}
}

// interval returns what is printed of a cell: the columns behind it, or the margin of its column in the notice. An end
// that is NULL is open.
func (a answer) interval(at int, row []float64) (low, high float64, printed bool) {
	if l, h := a.column(a.columns[at]+"_low"), a.column(a.columns[at]+"_high"); l >= 0 && h >= 0 {
		low, high = row[l], row[h]
		if math.IsNaN(low) && math.IsNaN(high) {
			return 0, 0, false
		}
		if math.IsNaN(low) {
			low = math.Inf(-1)
		}
		if math.IsNaN(high) {
			high = math.Inf(1)
		}
		return low, high, true
	}
	margin, known := a.margins[a.columns[at]]
	return row[at] - margin, row[at] + margin, known && !math.IsNaN(row[at])
}

// relative is the error over the truth; of times, over how far the truth's times are apart, or over a year.
func (e expected) relative(i int, truth, got float64) float64 {
	switch {
	case math.IsNaN(truth) && math.IsNaN(got), truth == got:
		return 0
	case math.IsNaN(truth) || math.IsNaN(got):
		return 1
	}
	size := math.Abs(truth)
	if e.among.times[i] {
		size = e.span()
	}
	return math.Abs(got-truth) / size
}

// span is how far apart the times of the truth are.
func (e expected) span() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range e.among.rows {
		for i, x := range row {
			if e.among.times[i] && !math.IsNaN(x) {
				least, most = math.Min(least, x), math.Max(most, x)
			}
		}
	}
	if most > least {
		return most - least
	}
	return 365 * 86400
}

// keys is how many of the columns are keys: they come first.
func (q question) keys() int {
	n := 0
	for _, k := range q.columns {
		if k == key {
			n++
		}
	}
	return n
}
