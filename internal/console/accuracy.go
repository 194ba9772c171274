package console

import (
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// figureOf is a row of dpproxy.last: a column, or an aggregate that one is computed of.
type figureOf struct {
	Name   string
	Margin float64 // the widest of its values, of times in seconds; +Inf: none is known
}

const lastSQL = "SELECT column_name, margin FROM dpproxy.last"

// figures reads dpproxy.last.
func (a *answer) figures() []figureOf {
	list := make([]figureOf, len(a.Rows))
	for i := range a.Rows {
		margin, err := strconv.ParseFloat(a.text(i, "margin"), 64)
		if err != nil || math.IsNaN(margin) || margin < 0 {
			margin = math.Inf(1)
		}
		list[i] = figureOf{a.text(i, "column_name"), margin}
	}
	return list
}

// notice is what the proxy says of the answer; nil: it reads nothing private.
func (a *answer) notice() *pgconn.Notice {
	for _, n := range a.Notices {
		if strings.HasPrefix(n.Message, noticePrefix) {
			return n
		}
	}
	return nil
}

const noticePrefix = "dpproxy: "

// accuracy is how far the values of a column may be off.
type accuracy struct {
	released bool      // they are computed of what was released
	ends     *interval // the columns that hold the interval of each value
	margin   float64   // that holds for each of them; +Inf: none is known
	isEnd    bool      // the column is an end of another's interval
}

// interval names the columns that hold the ends of another's interval.
type interval struct{ low, high int }

// accuracies finds, for each column x, the columns x_low and x_high that dpproxy.intervals puts behind it, and else
// what dpproxy.last knows.
func (a *answer) accuracies() []accuracy {
	list := make([]accuracy, len(a.Columns))
	for i, k := range a.Columns {
		list[i].margin = math.Inf(1)
		for _, f := range a.Figures {
			if f.Name == k.Name && !list[i].isEnd {
				list[i].released, list[i].margin = true, f.Margin
			}
		}
		if i+2 < len(list) && a.Columns[i+1].Name == k.Name+"_low" && a.Columns[i+2].Name == k.Name+"_high" {
			list[i].released, list[i].ends = true, &interval{i + 1, i + 2}
			list[i+1].isEnd, list[i+2].isEnd = true, true
		}
	}
	return list
}

// isKey says that values of the column say what a row is about.
func (k accuracy) isKey() bool { return !k.released && !k.isEnd }

// drawn says that a chart shows the column.
func (k accuracy) drawn(c column) bool {
	return k.released && isNumber(c.OID) && (k.ends != nil || !math.IsInf(k.margin, 1))
}

// around is the interval of a value of the column. One with an end that is not known is the value alone.
func (k accuracy) around(row []cell, v float64) (low, high float64) {
	switch {
	case k.ends != nil:
		l, errLow := strconv.ParseFloat(row[k.ends.low].Text, 64)
		h, errHigh := strconv.ParseFloat(row[k.ends.high].Text, 64)
		if errLow == nil && errHigh == nil {
			return l, h
		}
	case !math.IsInf(k.margin, 1):
		return v - k.margin, v + k.margin
	}
	return v, v
}

// widest is the widest margin of a column of numbers, and whether some rows may have a narrower one.
func (a *answer) widest(at int, k accuracy) (margin string, several bool) {
	least, most := math.Inf(1), 0.0
	for _, row := range a.Rows {
		if v, err := strconv.ParseFloat(row[at].Text, 64); err == nil {
			low, high := k.around(row, v)
			off := math.Max(v-low, high-v)
			least, most = math.Min(least, off), math.Max(most, off)
		}
	}
	if k.ends == nil {
		several, most = len(a.Rows) > 1, k.margin
	} else {
		several = number(least) != number(most)
	}
	if most == 0 {
		return "", false
	}
	return number(most), several
}

// within is the widest margin of a column as a page shows it.
func (k accuracy) within(c column) string {
	switch {
	case math.IsInf(k.margin, 1):
		return "unknown"
	case isNumber(c.OID):
		return "± " + number(k.margin)
	}
	return "± " + duration(k.margin)
}

// keyName names several keys as one.
func (a *answer) keyName(keys []int) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = a.Columns[k].Name
	}
	return strings.Join(names, ", ")
}

// keyOf is what a row is about. A boolean says of what.
func (a *answer) keyOf(row []cell, keys []int) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = row[k].Text
		if row[k].Null {
			texts[i] = "NULL"
		}
		if len(keys) > 1 && (row[k].Null || a.Columns[k].OID == pgtype.BoolOID) {
			texts[i] = a.Columns[k].Name + " " + texts[i]
		}
	}
	return strings.Join(texts, " · ")
}
