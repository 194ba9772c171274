package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// row is a part of the table that can be asked for alone.
type row struct {
	name string
	run  func(ctx context.Context, w *world, n int) ([]figure, error)
}

// rows are in the order of the table. n is how often a question over groups is asked; others are asked more often.
var rows = []row{
	{"demo", demoRow},
	{"grouped", groupedRow},
	{"fine", fineRow},
	{"shown", shownRow},
	{"running", runningRow},
	{"nested", nestedRow},
	{"single", singleRow},
	{"variance", varianceRow},
	{"quantiles", quantilesRow},
	{"extremes", extremesRow},
	{"margin", marginRow},
	{"averages", averageMarginRow},
	{"statements", statementsRow},
	{"noise", noiseRow},
	{"levels", levelsRow},
	{"dashboard", dashboardRow},
	{"averaged", averagedRow},
	{"coverage", coverageRow},
	{"intervals", intervalsRow},
	{"twin", twinRow},
}

// cheap is how many times more often a question of few rows is asked.
const cheap = 10

// conditions are what a proxy's questions are asked under.
var conditions = map[string]string{clinic: "demo", pure: "pure, ε 1", renyi: "rdp, ε 0.5", kept: "rdp, ε 0.5, answers kept"}

// demoRow asks for the visits of the demo by ward, in one statement each.
func demoRow(ctx context.Context, w *world, n int) ([]figure, error) {
	if _, err := w.proxy(ctx, clinic); err != nil {
		return nil, err
	}
	visits := w.policies[clinic].Table(policy.Name{Schema: "public", Relation: "visits"})
	rows := float64(visits.MaxRowsPerUnit)
	perUnit, err := strconv.ParseFloat(visits.Column("cost").PerUnit.Hi, 64)
	if err != nil {
		return nil, err
	}
	tallies, err := w.tallies(ctx, "clinic", fmt.Sprintf(
		`SELECT ward, rank, sum(least(n, %[1]f)), sum(least(cost*least(1, %[1]f/n), %[2]f))
		FROM (SELECT ward, count(*) AS n, sum(least(cost, 20000)) AS cost, row_number() OVER (PARTITION BY patient_id ORDER BY md5(patient_id || ward)) AS rank
			FROM visits GROUP BY patient_id, ward) g GROUP BY ward, rank`, rows, perUnit))
	if err != nil {
		return nil, err
	}
	cost := sum(1, 0, perUnit)
	var figures []figure
	for _, ask := range []struct {
		sql  string
		goal float64
		peer aggregate
	}{
		{"sum(cost)", 0.015, single(cost)},
		{"count(*)", 0.02, single(count(rows))},
		{"avg(cost)", 0.009, mean(count(rows), cost, 0)},
	} {
		q := question{clinic, "ward", []string{ask.sql}, "visits"}
		r, err := w.ask(ctx, q, n, true)
		if err != nil {
			return nil, err
		}
		f := newFigure(conditions[clinic]+": "+q.sql(), "median relative error", medianSize(r.errors(0, true)))
		f.percent, f.most = true, ask.goal
		f.compare(tallies, []aggregate{ask.peer}, 0, r.truth, statementEpsilon, true, medianSize)
		held := newFigure(f.question, "share of announced intervals that hold the truth", r.covered(0))
		held.percent, held.least = true, 0.94 // and more: they count with left_out in every ward
		figures = append(figures, f, held)
	}
	return figures, nil
}

// compare fills in what plain systems do at the same (ε, δ).
func (f *figure) compare(tallies []map[string]tally, list []aggregate, column int, truth answer, epsilon float64,
	relative bool, size func([]float64) estimate,
) {
	f.laplace = plain(plainLaplace, tallies, list, column, truth, epsilon, budgetDelta, relative, size)
	f.gaussian = plain(plainGaussian, tallies, list, column, truth, epsilon, budgetDelta, relative, size)
}

const (
	maxCost    = 20_000.0
	maxMinutes = 600.0
	maxAge     = 120.0
)

// byWard asks for a count, a sum and an average of many rows per person.
func byWard(proxy string) question {
	return question{proxy, "ward", []string{"count(*)", "sum(cost)", "avg(minutes)"}, "visits"}
}

// groupedRow has ε = 1 for all of a statement's aggregates.
func groupedRow(ctx context.Context, w *world, n int) ([]figure, error) {
	q := byWard(pure)
	r, err := w.ask(ctx, q, n, false)
	if err != nil {
		return nil, err
	}
	tallies, err := w.tallies(ctx, "people", `SELECT ward, rank, sum(n), sum(cost), sum(minutes)
		FROM (SELECT ward, count(*) AS n, sum(cost) AS cost, sum(minutes) AS minutes, row_number() OVER (PARTITION BY patient_id ORDER BY md5(patient_id || ward)) AS rank
			FROM visits GROUP BY patient_id, ward) g GROUP BY ward, rank`)
	if err != nil {
		return nil, err
	}
	peers := []aggregate{
		single(count(maxVisits)), single(sum(1, 0, maxVisits*maxCost)),
		mean(count(maxVisits), sum(2, maxMinutes/2, maxVisits*maxMinutes/2), maxMinutes/2),
	}
	var figures []figure
	for i, goal := range []float64{0.007, 0.045, 0.035} {
		f := newFigure(conditions[pure]+": "+q.sql(), q.aggregates[i]+": median relative error",
			medianSize(r.errors(i, true)))
		f.percent, f.most = true, goal
		f.compare(tallies, peers, i, r.truth, 1, true, medianSize)
		figures = append(figures, f)
	}
	return figures, nil
}

// fineRow counts visits by keys of which a patient has few rows in one group: noise follows the root of what a patient
// has in one group and in all. Peers bound a patient by the rows in all.
func fineRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for _, ask := range []struct {
		key  string
		goal float64
	}{{"visited", 11.5}, {"code", 11.5}, {"date_trunc('month', visited)", 20}} {
		q := question{renyi, ask.key, []string{"count(*)"}, "visits"}
		r, err := w.ask(ctx, q, max(1, n/10), true)
		if err != nil {
			return nil, err
		}
		tallies, err := w.tallies(ctx, "people", `SELECT k, rank, sum(n) FROM (SELECT `+ask.key+`::text AS k, count(*) AS n,
			row_number() OVER (PARTITION BY patient_id ORDER BY md5(patient_id || `+ask.key+`::text)) AS rank
			FROM visits GROUP BY patient_id, `+ask.key+`) g GROUP BY k, rank`)
		if err != nil {
			return nil, err
		}
		f := newFigure(conditions[renyi]+": "+q.sql(), "RMSE", rootMeanSquare(r.errors(0, false)))
		f.most = ask.goal
		f.compare(tallies, []aggregate{single(count(maxVisits))}, 0, r.truth, statementEpsilon, false, rootMeanSquare)
		held := newFigure(f.question, "share of announced intervals that hold the truth", r.covered(0))
		held.percent, held.least, held.most = true, 0.94, 0.98
		figures = append(figures, f, held)
	}
	return figures, nil
}

// patientSums are what peers release of the ages: one group.
func patientSums(ctx context.Context, w *world) ([]map[string]tally, error) {
	return w.tallies(ctx, "people", "SELECT '', 1, count(*), sum(age), sum(age::bigint*age) FROM patients")
}

func singleRow(ctx context.Context, w *world, n int) ([]figure, error) {
	age := sum(1, maxAge/2, maxAge/2)
	return patients(ctx, w, cheap*n, question{pure, "", []string{"count(*)", "sum(age)", "avg(age)"}, "patients"},
		[]float64{2.6, 180, 0.0065}, []aggregate{single(count(1)), single(sum(1, 0, maxAge)), mean(count(1), age, maxAge/2)})
}

func varianceRow(ctx context.Context, w *world, n int) ([]figure, error) {
	const squares = maxAge * maxAge / 2
	return patients(ctx, w, cheap*n, question{pure, "", []string{"variance(age)"}, "patients"}, []float64{0.45},
		[]aggregate{variance(count(1), sum(1, maxAge/2, maxAge/2), sum(2, squares, squares), maxAge/2, squares)})
}

// patients asks about all patients as one group, with ε = 1.
func patients(ctx context.Context, w *world, n int, q question, goals []float64, peers []aggregate) ([]figure, error) {
	r, err := w.ask(ctx, q, n, false)
	if err != nil {
		return nil, err
	}
	tallies, err := patientSums(ctx, w)
	if err != nil {
		return nil, err
	}
	var figures []figure
	for i, goal := range goals {
		f := newFigure(conditions[pure]+": "+q.sql(), q.aggregates[i]+": RMSE", rootMeanSquare(r.errors(i, false)))
		f.most = goal
		f.compare(tallies, peers, i, r.truth, 1, false, rootMeanSquare)
		figures = append(figures, f)
	}
	return figures, nil
}

// tallies asks main for (key, rank, sums …).
func (w *world) tallies(ctx context.Context, db, sql string) (all []map[string]tally, err error) {
	err = w.admin(ctx, db, func(conn *pgx.Conn) error {
		results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		var keys []string
		var numbers [][]float64
		for _, row := range results[0].Rows {
			keys = append(keys, string(row[0]))
			var list []float64
			for _, text := range row[1:] {
				x, err := strconv.ParseFloat(string(text), 64)
				if err != nil {
					return err
				}
				list = append(list, x)
			}
			numbers = append(numbers, list)
		}
		all = tallied(numbers, keys)
		return nil
	})
	return all, err
}

// coverageRow asks for announced 95% intervals.
func coverageRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var figures []figure
	for _, c := range []struct {
		q     question
		times int
	}{
		{question{pure, "", []string{"count(*)", "sum(age)", "avg(age)"}, "patients"}, cheap * n},
		{byWard(pure), n},
		{question{renyi, "", []string{"count(*)"}, "patients"}, cheap * n},
		{question{renyi, "", []string{"sum(age)", "avg(age)"}, "patients"}, cheap * n},
		{byWard(renyi), n},
		{question{renyi, "ward", []string{"sum(cost)"}, "visits"}, n},
		{question{renyi, "ward", []string{"count(DISTINCT patient_id)"}, "visits"}, n},
	} {
		r, err := w.ask(ctx, c.q, c.times, true)
		if err != nil {
			return nil, err
		}
		for i, a := range c.q.aggregates {
			what := fmt.Sprintf("%s: share of %d announced intervals that hold the truth", a, c.times*len(r.truth))
			f := newFigure(conditions[c.q.proxy]+": "+c.q.sql(), what, r.covered(i))
			f.percent, f.least, f.most = true, 0.94, 0.98
			figures = append(figures, f)
		}
	}
	return figures, nil
}

// marginRow counts how many counts with a margin of ±20 a budget of (10, 1e-6) buys.
func marginRow(ctx context.Context, w *world, _ int) ([]figure, error) {
	q := question{renyi, "", []string{"count(*)"}, "patients"}
	all, err := w.untilRefused(ctx, marginAnalyst, []question{q}, "SET dpproxy.margin = '20'")
	if err != nil {
		return nil, err
	}
	f := newFigure("SET dpproxy.margin = '20': "+q.sql(), "statements that (10, 1e-6) answers",
		estimate{float64(len(all)), 0})
	f.least = 335
	// A margin of ±20 is ε = ln 20/20 by Laplace noise, whose ε add up, and σ = 20/1.96 by Gaussian noise, which is
	// (ρ + 2·sqrt(ρ·ln 1/δ), δ)-DP with ρ = N/(2σ²) (Bun and Steinke 2016).
	f.laplace = math.Floor(10 / (math.Log(20) / 20))
	half := math.Sqrt(math.Log(1 / budgetDelta))
	rho := math.Pow(math.Sqrt(half*half+10)-half, 2)
	f.gaussian = math.Floor(rho * 2 * math.Pow(20/1.959964, 2))
	return []figure{f}, nil
}

// averageMarginRow asks for averages with a margin until a budget is spent: how much of the margin that is paid for is
// not needed.
func averageMarginRow(ctx context.Context, w *world, _ int) ([]figure, error) {
	const margin = 0.1
	q := question{renyi, "", []string{"avg(age)"}, "patients"}
	asked := q
	asked.aggregates = []string{"avg(age)", "dpproxy.interval_low(avg(age))", "dpproxy.interval_high(avg(age))"}
	all, err := w.untilRefused(ctx, w.nextAnalyst(renyi), []question{asked}, fmt.Sprintf("SET dpproxy.margin = '%g'", margin))
	if err != nil {
		return nil, err
	}
	mean, squares, n := 0.0, 0.0, float64(len(all))
	for _, a := range all {
		had := (a[""][2] - a[""][1]) / 2
		mean, squares = mean+had/n, squares+had*had/n
	}
	name := fmt.Sprintf("SET dpproxy.margin = '%g': %s", margin, q.sql())
	statements := newFigure(name, "statements that (20, 1e-6) answers", estimate{n, 0})
	statements.least = 1400
	had := newFigure(name, "margin that is paid for, over the mean of those had",
		estimate{margin / mean, margin / (mean * mean) * math.Sqrt((squares-mean*mean)/n)})
	had.most = 1.1
	return []figure{statements, had}, nil
}
