package console

import (
	"math"
	"regexp"
	"strconv"
)

// chart shows a column of an answer by a key, with the margin in which 95% of such answers are.
type chart struct {
	Column, Key string
	Margin      string
	Widest      bool // Margin is the widest of several: some keys have a narrower one
	Single      *single
	Bars        []bar
	Left        int  // keys that are not drawn
	Unsure      bool // some of Bars are of a place within the noise
	Lo, Hi      string
	Zero        float64 // where 0 is, in hundredths of the width
}

// single is an answer of one number.
type single struct{ Value, Margin string }

// bar is drawn from 0 to its value, in hundredths of the width.
type bar struct {
	Key, Value   string
	From, Width  float64
	Low, High    float64 // ends of the error bar
	Missing, Has bool
	Unsure       bool // of its place in the order of the answer
}

const (
	maxCharts = 4
	maxBars   = 40
)

// unsure finds in a HINT which places of the answer are within the noise, counted from 0; to is 0 where all are
// certain, or nothing is known.
func unsure(hint string) (from, to int) {
	found := unsurePlaces.FindStringSubmatch(hint)
	if found == nil {
		return 0, 0
	}
	from, _ = strconv.Atoi(found[2])
	if to, _ = strconv.Atoi(found[3]); to == 0 {
		to = from
	}
	return from - 1, to
}

// A hint of another order than that of the rows begins in another way.
var unsurePlaces = regexp.MustCompile(
	`(^|[.] )(?:The first (?:place is|\d+ places are) certain, place|Place)s? (\d+)(?: to (\d+))? (?:is|are) within the noise`)

// dim marks the bars of rows whose place in the answer is within the noise.
func dim(list []chart, hint string) {
	from, to := unsure(hint)
	for i := range list {
		for at := range list[i].Bars {
			list[i].Bars[at].Unsure = from <= at && at < to
			list[i].Unsure = list[i].Unsure || list[i].Bars[at].Unsure
		}
	}
}

// charts draws the columns of numbers that have a margin or an interval, by the columns that are not released.
func charts(a *answer) []chart {
	columns := a.accuracies()
	var keys []int
	for i, k := range columns {
		if k.isKey() {
			keys = append(keys, i)
		}
	}
	var list []chart
	for i, k := range columns {
		if !k.drawn(a.Columns[i]) || len(list) == maxCharts || len(a.Rows) == 0 {
			continue
		}
		ch := chart{Column: a.Columns[i].Name}
		ch.Margin, ch.Widest = a.widest(i, k)
		switch {
		case len(a.Rows) == 1 && (len(keys) == 0 || keys[0] > i):
			ch.Single = &single{figure(a.Rows[0][i].Text), ch.Margin}
		case len(keys) == 0:
			continue
		default:
			ch.Key = a.keyName(keys)
			ch.draw(a, keys, i, k)
		}
		list = append(list, ch)
	}
	return list
}

// datum is a row of a chart.
type datum struct {
	key, text        string
	value, low, high float64
	missing          bool
	own              bool // low and high are of this value, and not the widest of all
}

func (ch *chart) draw(a *answer, keys []int, value int, k accuracy) {
	var data []datum
	for _, row := range a.Rows {
		d := datum{key: a.keyOf(row, keys), text: figure(row[value].Text)}
		v, err := strconv.ParseFloat(row[value].Text, 64)
		d.missing = err != nil || math.IsNaN(v) || math.IsInf(v, 0)
		d.value = v
		d.low, d.high = k.around(row, v)
		d.own = k.ends != nil
		data = append(data, d)
	}
	if len(data) > maxBars {
		ch.Left, data = len(data)-maxBars, data[:maxBars]
	}
	ch.bars(data)
}

// span is the least interval that holds 0, every value and every error bar. The widest margin of all, around a value
// that is not negative, does not reach below 0: what is not negative has no such truth to show.
func span(data []datum) (lo, hi float64) {
	for _, d := range data {
		if d.missing {
			continue
		}
		lo, hi = math.Min(lo, d.value), math.Max(hi, math.Max(d.high, d.value))
		if d.own || d.value < 0 {
			lo = math.Min(lo, d.low)
		}
	}
	if hi == lo {
		hi = lo + 1
	}
	return lo, hi
}

func (ch *chart) bars(data []datum) {
	lo, hi := span(data)
	x := func(v float64) float64 { return 100 * (v - lo) / (hi - lo) }
	ch.Zero = x(0)
	for _, d := range data {
		b := bar{Key: d.key, Value: d.text, Missing: d.missing}
		if !d.missing {
			b.From, b.Width = math.Min(x(0), x(d.value)), math.Abs(x(d.value)-x(0))
			b.Low, b.High, b.Has = x(math.Max(d.low, lo)), x(d.high), d.high > d.low
		}
		ch.Bars = append(ch.Bars, b)
	}
}
