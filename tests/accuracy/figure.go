package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// figure is one measured number.
type figure struct {
	question string
	what     string
	estimate
	percent bool

	least, most       float64 // the goal; infinite where there is none
	laplace, gaussian float64 // the same for a plain system (peers.go); NaN: not calculated
}

// estimate is a number with its standard error.
type estimate struct{ value, err float64 }

// newFigure has no goal and no peers.
func newFigure(q, what string, e estimate) figure {
	return figure{
		question: q, what: what, estimate: e, least: math.Inf(-1), most: math.Inf(1), laplace: math.NaN(),
		gaussian: math.NaN(),
	}
}

// sigmas is by how many standard errors a figure has to be beyond its goal to miss it: chance alone does that about
// once in 700 figures that are just at their goals.
const sigmas = 3

func (f figure) missed() bool {
	return math.IsNaN(f.value) || f.value-sigmas*f.err > f.most || f.value+sigmas*f.err < f.least
}

func (f figure) goal() string {
	switch {
	case math.IsInf(f.most, 1) && math.IsInf(f.least, -1):
		return ""
	case math.IsInf(f.most, 1):
		return "≥ " + f.text(f.least)
	case math.IsInf(f.least, -1):
		return "≤ " + f.text(f.most)
	}
	return f.text(f.least) + " to " + f.text(f.most)
}

// text writes a number with three digits.
func (f figure) text(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case f.percent:
		return digits(100*x) + " %"
	}
	return digits(x)
}

func (f figure) measured() string {
	if f.err == 0 {
		return f.text(f.value)
	}
	scale, unit := 1.0, ""
	if f.percent {
		scale, unit = 100, " %"
	}
	return fmt.Sprintf("%s ± %s%s", digits(scale*f.value), significant(scale*f.err, 1), unit)
}

// digits writes a number with three significant digits, and all that are before the point.
func digits(x float64) string { return significant(x, 3) }

func significant(x float64, n int) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', max(0, n-1-int(math.Floor(math.Log10(math.Abs(x))))), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// rootMeanSquare is that of errors.
func rootMeanSquare(errors []float64) estimate {
	n := float64(len(errors))
	var squares, fourth float64
	for _, e := range errors {
		squares += e * e / n
		fourth += e * e * e * e / n
	}
	rms := math.Sqrt(squares)
	return estimate{rms, math.Sqrt(math.Max(0, fourth-squares*squares)/n) / (2 * rms)}
}

// medianSize is the median of |e|; its standard error follows from the order statistics beside it.
func medianSize(errors []float64) estimate {
	sizes := make([]float64, len(errors))
	for i, e := range errors {
		sizes[i] = math.Abs(e)
	}
	slices.Sort(sizes)
	n := float64(len(sizes))
	at := func(q float64) float64 { return sizes[min(max(int(q*n), 0), len(sizes)-1)] }
	return estimate{at(0.5), (at(0.5+0.5/math.Sqrt(n)) - at(0.5-0.5/math.Sqrt(n))) / 2}
}

// share is that of hits among n.
func share(hits, n int) estimate {
	p := float64(hits) / float64(n)
	return estimate{p, math.Sqrt(p * (1 - p) / float64(n))}
}

// errors are those of a column of all groups: released − truth, over the truth if relative.
func (r releases) errors(column int, relative bool) []float64 {
	var all []float64
	for key, truth := range r.truth {
		for _, a := range r.released {
			e := math.NaN() // the group is missing
			if row := a[key]; row != nil {
				e = row[column] - truth[column]
			}
			if relative {
				e /= truth[column]
			}
			all = append(all, e)
		}
	}
	return all
}

// covered is the share of announced intervals that hold the truth, of answers with intervals; NaN where one is missing.
func (r releases) covered(column int) estimate {
	hits, n := 0, 0
	for key, truth := range r.truth {
		for _, a := range r.released {
			row := a[key]
			if row == nil || math.IsNaN(row[3*column+1]) || math.IsNaN(row[3*column+2]) {
				return estimate{math.NaN(), 0}
			}
			n++
			if row[3*column+1] <= truth[column] && truth[column] <= row[3*column+2] {
				hits++
			}
		}
	}
	return share(hits, n)
}
