package main

import (
	"context"
	"fmt"
	"math"
)

// shownRow counts which groups of undeclared keys an answer has. Peers spend half of ε, and of δ, on which they show,
// and show those of which the number of units, with noise, reaches a threshold.
func shownRow(ctx context.Context, w *world, n int) ([]figure, error) {
	q := question{renyi, "diagnosis", []string{"count(*)"}, "visits"}
	r, err := w.ask(ctx, q, n, false)
	if err != nil {
		return nil, err
	}
	tallies, err := w.tallies(ctx, "people", `SELECT diagnosis, rank, count(*) FROM (SELECT diagnosis,
			row_number() OVER (PARTITION BY patient_id ORDER BY md5(patient_id || diagnosis)) AS rank
			FROM visits GROUP BY patient_id, diagnosis) g GROUP BY diagnosis, rank`)
	if err != nil {
		return nil, err
	}
	var sum, squares float64
	for _, a := range r.released {
		shown := float64(len(a))
		sum, squares = sum+shown, squares+shown*shown
	}
	times := float64(len(r.released))
	average := sum / times
	shown := estimate{average, math.Sqrt(math.Max(0, squares/times-average*average) / times)}
	f := newFigure(conditions[renyi]+": "+q.sql(), fmt.Sprintf("groups shown of %d", codes), shown)
	f.least = 385 // 2.5 times those that numbers of units show, each for a thousandth of δ_sel
	f.laplace = plainShown(tallies, func(c, delta float64) (float64, func(float64) float64) {
		scale := c / (statementEpsilon / 2)
		return 1 + scale*math.Log(c/(2*delta)), func(x float64) float64 {
			if x < 0 {
				return 1 - math.Exp(x/scale)/2
			}
			return math.Exp(-x/scale) / 2
		}
	})
	f.gaussian = plainShown(tallies, func(c, delta float64) (float64, func(float64) float64) {
		sigma := math.Sqrt(c) * gaussianSigma(statementEpsilon/2, delta/2)
		tail := func(x float64) float64 { return math.Erfc(x/sigma/math.Sqrt2) / 2 }
		low, high := 0.0, 100*sigma
		for range 100 {
			if mid := (low + high) / 2; c*tail(mid) > delta/2 {
				low = mid
			} else {
				high = mid
			}
		}
		return 1 + high, tail
	})
	return []figure{f}, nil
}

// plainShown is how many groups a peer shows in the mean, with the best number of groups of a unit. threshold gives
// what a number of units has to reach, and the distribution of its noise.
func plainShown(tallies []map[string]tally, threshold func(c, delta float64) (float64, func(float64) float64)) float64 {
	best := 0.0
	for c, groups := range tallies {
		least, tail := threshold(float64(c+1), budgetDelta/2)
		shown := 0.0
		for _, t := range groups {
			shown += tail(least - t[0])
		}
		best = math.Max(best, shown)
	}
	return best
}
