package main

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// levelQuestions have a total beside its groups, once of few groups and once of many.
var levelQuestions = []question{
	{renyi, rollup + "age < 50", []string{"count(*)", "sum(age)"}, "patients"},
	{renyi, rollup + "ward", []string{"count(*)", "sum(cost)"}, "visits"},
}

// levelsRow compares a ROLLUP, whose levels are made to add up, with the same numbers from a UNION ALL, which are as
// they were drawn.
func levelsRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for i, q := range levelQuestions {
		times := []int{cheap * n / 2, n}[i]
		together, err := w.ask(ctx, q, times, true)
		if err != nil {
			return nil, err
		}
		union := q
		union.key = unionAll + strings.TrimPrefix(q.key, rollup)
		apart, err := w.ask(ctx, union, times, false)
		if err != nil {
			return nil, err
		}
		name := conditions[q.proxy] + ": " + q.sql()
		equal := newFigure(name, "share of answers whose groups add up to the total",
			share(together.answers().addUp(), times))
		equal.percent, equal.least = true, .995
		figures = append(figures, equal)
		for column, a := range q.aggregates {
			for _, part := range []struct {
				what  string
				total bool
			}{{"total", true}, {"groups", false}} {
				before := rootMeanSquare(apart.level(part.total).errors(column, false))
				level := together.level(part.total)
				after := rootMeanSquare(level.answers().errors(column, false))
				ratio := after.value / before.value
				f := newFigure(name, a+", "+part.what+": RMSE, over that of UNION ALL",
					estimate{ratio, ratio * math.Hypot(after.err/after.value, before.err/before.value)})
				f.most = 1
				held := newFigure(name, fmt.Sprintf("%s, %s: share of %d announced intervals that hold the truth", a, part.what,
					times*len(level.truth)), level.covered(column))
				held.percent, held.least, held.most = true, 0.94, 0.98
				figures = append(figures, f, held)
			}
		}
	}
	return figures, nil
}

// level has the total alone, or the groups alone.
func (r releases) level(total bool) releases {
	out := releases{truth: answer{}, released: r.released}
	for key, numbers := range r.truth {
		if (key == "") == total {
			out.truth[key] = numbers
		}
	}
	return out
}

// answers takes the ends of intervals away.
func (r releases) answers() releases {
	out := releases{truth: r.truth}
	for _, a := range r.released {
		alone := answer{}
		for key, numbers := range a {
			for i := 0; i < len(numbers); i += 3 {
				alone[key] = append(alone[key], numbers[i])
			}
		}
		out.released = append(out.released, alone)
	}
	return out
}

// addUp counts the answers in which every column of the groups adds up to the total, to the last cent.
func (r releases) addUp() (n int) {
	for _, a := range r.released {
		apart := false
		for column, total := range a[""] {
			sum := 0.0
			for key, numbers := range a {
				if key != "" {
					sum += numbers[column]
				}
			}
			apart = apart || math.Abs(sum-total) > .001
		}
		if !apart {
			n++
		}
	}
	return n
}
