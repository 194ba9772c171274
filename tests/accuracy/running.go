package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// runningRow adds up months: of a year, patients by the month of their first visit, of which each is in one; and all
// visits of three years. Plain noise of each month is added up as well.
func runningRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for _, ask := range []struct {
		key, from  string
		rows       float64 // of a patient
		last, mean float64
	}{
		{"month", `(SELECT patient_id, min(date_trunc('month', visited)) AS month FROM visits WHERE visited < '2022-01-01' GROUP BY patient_id) f`, 1, 1.8, 1.4},
		{"date_trunc('month', visited)", "visits", maxVisits, 1.2, 1.1},
	} {
		q := question{renyi, ask.key, []string{"sum(count(*)) OVER (ORDER BY " + ask.key + ")"}, ask.from}
		alone, err := w.ask(ctx, q, n, true)
		if err != nil {
			return nil, err
		}
		name := conditions[renyi] + ": " + q.sql()
		q.aggregates = append(q.aggregates, "count(*)")
		beside, err := w.ask(ctx, q, n, false)
		if err != nil {
			return nil, err
		}
		months := float64(len(alone.truth))
		for _, of := range []struct {
			what   string
			goal   float64
			errors func(releases) []float64
			months float64 // variance of what is added up, in that of one month
		}{
			{"the last month", ask.last, func(r releases) []float64 { return r.last().errors(0, false) }, months},
			{"all months", ask.mean, releases.together, (months + 1) / 2},
		} {
			before, after := rootMeanSquare(of.errors(beside)), rootMeanSquare(of.errors(alone))
			f := newFigure(name, of.what+": RMSE", after)
			f.laplace = math.Sqrt(2*of.months) * ask.rows / statementEpsilon
			f.gaussian = math.Sqrt(of.months) * ask.rows * gaussianSigma(statementEpsilon, budgetDelta)
			ratio := before.value / after.value
			gain := newFigure(name, of.what+": RMSE beside count(*), over that",
				estimate{ratio, ratio * math.Hypot(after.err/after.value, before.err/before.value)})
			gain.least = of.goal
			figures = append(figures, f, gain)
		}
		held := newFigure(name, fmt.Sprintf("share of %d announced intervals that hold the truth", n*len(alone.truth)),
			alone.covered(0))
		held.percent, held.least, held.most = true, 0.94, 0.98
		figures = append(figures, held)
	}
	return figures, nil
}

// nestedRow counts patients from an age on, at 4 and at 12 ages, in one statement; and as many counts of which none is
// within another.
func nestedRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for _, ask := range []struct {
		proxy      string
		counts     int
		epsilon    float64
		last, mean float64
	}{{renyi, 4, statementEpsilon, 1.3, 1.4}, {renyi, 12, statementEpsilon, 1.8, 1.9}, {pure, 12, 1, 1.5, 2}} {
		q := question{proxy: ask.proxy, from: "patients"}
		beside := q
		for i := range ask.counts {
			from := 20 + 36*i/ask.counts
			q.aggregates = append(q.aggregates, fmt.Sprintf("count(*) FILTER (WHERE age >= %d)", from))
			beside.aggregates = append(beside.aggregates, fmt.Sprintf("count(*) FILTER (WHERE age BETWEEN %d AND %d)", from, from+40))
		}
		r, err := w.ask(ctx, q, cheap*n, true)
		if err != nil {
			return nil, err
		}
		others, err := w.ask(ctx, beside, cheap*n, true)
		if err != nil {
			return nil, err
		}
		r = r.byColumn()
		before := rootMeanSquare(others.byColumn().together())
		widest := releases{answer{"0": r.truth["0"]}, r.released}
		name := fmt.Sprintf("%s: %d counts of the form `%s`", conditions[ask.proxy], ask.counts, q.aggregates[0])
		for _, of := range []struct {
			what   string
			goal   float64
			errors []float64
		}{{"the widest", ask.last, widest.errors(0, false)}, {"all", ask.mean, r.together()}} {
			size := rootMeanSquare(of.errors)
			f := newFigure(name, of.what+": RMSE", size)
			f.laplace = math.Sqrt2 * float64(ask.counts) / ask.epsilon
			f.gaussian = math.Sqrt(float64(ask.counts)) * gaussianSigma(ask.epsilon, budgetDelta)
			ratio := before.value / size.value
			gain := newFigure(name, of.what+": RMSE of counts that are not nested, over that",
				estimate{ratio, ratio * math.Hypot(size.err/size.value, before.err/before.value)})
			gain.least = of.goal
			figures = append(figures, f, gain)
		}
		held := newFigure(name, fmt.Sprintf("share of %d announced intervals that hold the truth", cheap*n*ask.counts),
			r.covered(0))
		held.percent, held.least, held.most = true, 0.94, 0.98
		figures = append(figures, held)
	}
	return figures, nil
}

// byColumn has a group for each column of answers of one row with intervals.
func (r releases) byColumn() releases {
	out := releases{truth: answer{}}
	for i, x := range r.truth[""] {
		out.truth[strconv.Itoa(i)] = []float64{x}
	}
	for _, a := range r.released {
		columns := answer{}
		for i := range r.truth[""] {
			columns[strconv.Itoa(i)] = a[""][3*i : 3*i+3]
		}
		out.released = append(out.released, columns)
	}
	return out
}

// last has the last group alone.
func (r releases) last() releases {
	key := slices.Max(slices.Collect(maps.Keys(r.truth)))
	return releases{truth: answer{key: r.truth[key]}, released: r.released}
}

// together are the root mean square errors of whole answers: those of one are not independent.
func (r releases) together() (sizes []float64) {
	for _, a := range r.released {
		sizes = append(sizes, rootMeanSquare(releases{r.truth, []answer{a}}.errors(0, false)).value)
	}
	return sizes
}
