package main

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// intervalsRow asks for the intervals of aggregates that are computed of several releases, and how wide they are for
// what they say.
func intervalsRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for _, c := range []struct {
		q     question
		times int
		most  float64 // width, over the 95% error; 0: no goal
	}{
		{question{pure, "", []string{"variance(age)", "stddev(age)"}, "patients"}, cheap * n, 3},
		{question{renyi, "", []string{"variance(age)", "stddev(age)"}, "patients"}, cheap * n, 3},
		{question{pure, "ward", []string{"stddev(minutes)", "covar_pop(cost, minutes)"}, "visits"}, n, 3},
		{question{renyi, "", []string{"corr(cost, minutes)"}, "visits"}, cheap * n, 0},
		{question{pure, "", []string{"percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)"}, "visits"}, n, 0},
		{question{pure, "ward", []string{"percentile_cont(0.75) WITHIN GROUP (ORDER BY cost)"}, "visits"}, n, 0},
		{question{renyi, "ward", []string{"percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes)"}, "visits"}, n, 0},
	} {
		r, err := w.ask(ctx, c.q, c.times, true)
		if err != nil {
			return nil, err
		}
		for i, a := range c.q.aggregates {
			name := conditions[c.q.proxy] + ": " + c.q.sql()
			f := newFigure(name, fmt.Sprintf("%s: share of %d announced intervals that hold the truth", a, c.times*len(r.truth)),
				r.covered(i))
			f.percent, f.least = true, 0.95
			width := newFigure(name, a+": mean width of the interval, over the 95% error", r.width(i))
			if c.most > 0 {
				width.most = c.most
			}
			figures = append(figures, f, width)
		}
	}
	return figures, nil
}

// width is the mean width of the announced intervals of a column over the 95% quantile of its errors, of answers with
// intervals.
func (r releases) width(column int) estimate {
	var ratios []float64
	for key, truth := range r.truth {
		var sizes []float64
		sum := 0.0
		for _, a := range r.released {
			row := a[key]
			sum += row[3*column+2] - row[3*column+1]
			sizes = append(sizes, math.Abs(row[3*column]-truth[column]))
		}
		slices.Sort(sizes)
		n := len(sizes)
		ratios = append(ratios, sum/float64(n)/sizes[n*95/100])
	}
	mean := 0.0
	for _, x := range ratios {
		mean += x / float64(len(ratios))
	}
	// the density of an error at its 95% quantile is about 1/5 of that over it
	return estimate{mean, mean * math.Sqrt(.95*.05/float64(len(r.released)*len(ratios))) * 5}
}
