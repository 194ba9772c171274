package main

import (
	"context"
	"fmt"
	"math"
)

// quantilesRow asks for nine deciles in one statement, and for each in a statement of its own with a ninth of the ε: of
// 108,000 visits, whose number hides most of the noise, and by ward.
func quantilesRow(ctx context.Context, w *world, n int) (figures []figure, err error) {
	for _, ask := range []struct {
		key              string
		together, single int     // how often each is asked
		less             float64 // by how much the error has to be less
	}{{"", 2 * n, 3 * n / 4, 5}, {"ward", n / 10, n / 10, 5}} {
		more, err := deciles(ctx, w, ask.key, max(12, ask.together), max(12, ask.single), ask.less)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

func deciles(ctx context.Context, w *world, key string, n, singles int, goal float64) ([]figure, error) {
	q := question{proxy: pure, key: key, from: "visits"}
	for i := 1; i <= 9; i++ {
		q.aggregates = append(q.aggregates, fmt.Sprintf("percentile_cont(0.%d) WITHIN GROUP (ORDER BY cost)", i))
	}
	together, err := w.ask(ctx, q, n, false)
	if err != nil {
		return nil, err
	}
	var one, nine []float64
	for i, aggregate := range q.aggregates {
		single := question{proxy: pure, key: key, aggregates: []string{aggregate}, from: q.from}
		apart, err := w.askAt(ctx, single, singles, 1.0/9)
		if err != nil {
			return nil, err
		}
		one, nine = append(one, together.errors(i, false)...), append(nine, apart.errors(0, false)...)
	}
	a, b := rootMeanSquare(one), rootMeanSquare(nine)
	ratio := estimate{b.value / a.value, b.value / a.value * math.Hypot(a.err/a.value, b.err/b.value)}
	name := conditions[pure] + ": nine deciles of `cost` in one statement"
	if key != "" {
		name += ", by " + key
	}
	f, times := newFigure(name, "RMSE", a), newFigure(name, "RMSE of nine statements of ε 1/9, over that", ratio)
	times.least = goal
	return []figure{f, times}, nil
}

// askAt asks n times at an ε of its own.
func (w *world) askAt(ctx context.Context, q question, n int, epsilon float64) (r releases, err error) {
	if r.truth, err = w.truth(ctx, q); err != nil {
		return r, err
	}
	conn, err := w.connect(ctx, q.proxy, w.nextAnalyst(q.proxy))
	if err != nil {
		return r, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, fmt.Sprintf("SET dpproxy.epsilon = %g", epsilon)); err != nil {
		return r, err
	}
	for range n {
		a, err := query(ctx, conn, q.sql(), q.key != "")
		if err != nil {
			return r, fmt.Errorf("%s: %w", q.sql(), err)
		}
		r.released = append(r.released, a)
	}
	return r, nil
}

// extremesRow asks for the greatest of payments of up to 46 per customer, whose prices are a dollar apart.
func extremesRow(ctx context.Context, w *world, n int) ([]figure, error) {
	q := question{proxy: renyi, aggregates: []string{"max(amount)"}, from: "payments"}
	r, err := w.ask(ctx, q, 2*n, false)
	if err != nil {
		return nil, err
	}
	truth := r.truth[""][0]
	near, mean := 0, 0.0
	for _, a := range r.released {
		if z := a[""][0]; z >= truth-1 && z <= truth {
			near++
		}
		mean += a[""][0] / float64(len(r.released))
	}
	f := newFigure(conditions[renyi]+": "+q.sql(), "share of answers within 1.00 below the truth",
		share(near, len(r.released)))
	f.percent, f.least = true, 0.9
	return []figure{f, newFigure(f.question, fmt.Sprintf("mean, of a truth of %.2f", truth), estimate{value: mean})}, nil
}
