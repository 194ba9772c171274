package main

import (
	"context"
	"fmt"
)

// oneCount and twelveCounts have one release and twelve. The conditions of the twelve overlap, so that none follows
// from others and no two of them exclude each other.
var (
	oneCount     = question{renyi, "", []string{"count(*)"}, "patients"}
	twelveCounts = question{renyi, "", overlapping(12), "patients"}
)

// mixture has noise of several kinds.
var mixture = []question{
	oneCount,
	{renyi, "ward", []string{"count(*)"}, "visits"},
	{renyi, "", []string{"percentile_cont(0.5) WITHIN GROUP (ORDER BY age)"}, "patients"},
}

func overlapping(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("count(*) FILTER (WHERE age > %d)", 15+5*i))
	}
	return list
}

// statementsRow counts how many statements at ε = 0.5 a budget of (20, 1e-6) answers.
func statementsRow(ctx context.Context, w *world, _ int) ([]figure, error) {
	one, err := w.untilRefused(ctx, w.nextAnalyst(renyi), []question{oneCount})
	if err != nil {
		return nil, err
	}
	twelve, err := w.untilRefused(ctx, w.nextAnalyst(renyi), []question{twelveCounts})
	if err != nil {
		return nil, err
	}
	mixed, err := w.untilRefused(ctx, w.nextAnalyst(renyi), mixture)
	if err != nil {
		return nil, err
	}
	const what = "statements that (20, 1e-6) answers"
	first := newFigure(conditions[renyi]+": "+oneCount.sql(), what, estimate{float64(len(one)), 0})
	first.least = 54
	second := newFigure(conditions[renyi]+": a statement of twelve counts", what, estimate{float64(len(twelve)), 0})
	second.least, second.most = 0.9*first.value, 1.1*first.value
	third := newFigure(conditions[renyi]+": a count, counts by ward and a median in turn", what,
		estimate{float64(len(mixed)), 0})
	third.least = 49
	list := []figure{first, second, third}
	for i := range list { // their ε add up, whatever is asked for it
		list[i].laplace = budgetEpsilon / statementEpsilon
	}
	return list, nil
}

// noiseRow compares the noise of those statements.
func noiseRow(ctx context.Context, w *world, n int) ([]figure, error) {
	one, err := w.ask(ctx, oneCount, cheap*n, false)
	if err != nil {
		return nil, err
	}
	twelve, err := w.ask(ctx, twelveCounts, cheap*n/4, false)
	if err != nil {
		return nil, err
	}
	var errors []float64
	for i := range twelveCounts.aggregates {
		errors = append(errors, twelve.errors(i, false)...)
	}
	alone, among := rootMeanSquare(one.errors(0, false)), rootMeanSquare(errors)
	first := newFigure(conditions[renyi]+": "+oneCount.sql(), "RMSE", alone)
	first.most = 2.4
	second := newFigure(conditions[renyi]+": a statement of twelve counts", "RMSE of each, over that of one count alone",
		estimate{among.value / alone.value, among.value / alone.value * (among.err/among.value + alone.err/alone.value)})
	second.most = 3.6
	tallies, err := patientSums(ctx, w)
	if err != nil {
		return nil, err
	}
	first.compare(tallies, []aggregate{single(count(1))}, 0, one.truth, statementEpsilon, false, rootMeanSquare)
	second.laplace = 12
	second.gaussian = gaussianSigma(statementEpsilon/12, budgetDelta/12) / gaussianSigma(statementEpsilon, budgetDelta)
	return []figure{first, second}, nil
}
