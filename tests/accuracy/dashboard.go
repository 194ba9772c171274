package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// dashboardTables are three tables of two keys, with all that they add up to.
func dashboardTables() (list []question) {
	for _, key := range []string{"ward, month", "ward, urgent", "month, urgent", "ward", "month", "urgent", ""} {
		list = append(list, question{key: key, aggregates: []string{"count(*)"}, from: "visits"})
	}
	return list
}

// dashboardSlices are 23 slices of these.
func dashboardSlices() (list []question) {
	ask := func(key, where string, of ...any) {
		list = append(list, question{
			key: key, aggregates: []string{"count(*)"}, from: "visits WHERE " + fmt.Sprintf(where, of...),
		})
	}
	for i := range wards {
		ask("month", "ward = '%s'", wardName(i))
	}
	for month := 1; month <= 12; month++ {
		ask("urgent", "month = %d", month)
	}
	ask("ward", "urgent")
	return list
}

// dashboard is what one proxy makes of dashboards of these 30 tiles.
type dashboard struct {
	charged float64 // tiles of each
	share   float64 // of the budget, that each takes
	slices  []releases
}

// askDashboards asks as so many analysts, the tables first or, in one message, at last.
func (w *world) askDashboards(ctx context.Context, proxy string, atOnce bool, analysts int) (d dashboard, err error) {
	var texts []string
	for _, q := range dashboardSlices() {
		q.proxy = proxy
		truth, err := w.truth(ctx, q)
		if err != nil {
			return d, err
		}
		d.slices, texts = append(d.slices, releases{truth: truth}), append(texts, q.withIntervals())
	}
	tables := 0 // before the slices
	for _, q := range dashboardTables() {
		if atOnce {
			texts = append(texts, q.sql())
		} else {
			texts, tables = slices.Insert(texts, tables, q.sql()), tables+1
		}
	}
	if atOnce {
		texts = []string{strings.Join(texts, "; ")}
	}
	for range analysts {
		if err := w.askDashboard(ctx, proxy, texts, tables, &d); err != nil {
			return d, err
		}
	}
	d.charged, d.share = d.charged/float64(analysts), d.share/float64(analysts)
	return d, nil
}

// askDashboard asks as one analyst, and adds what comes of it.
func (w *world) askDashboard(ctx context.Context, proxy string, texts []string, tables int, d *dashboard) error {
	conn, err := w.connect(ctx, proxy, w.nextAnalyst(proxy))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var results []*pgconn.Result
	for _, text := range texts {
		more, err := conn.PgConn().Exec(ctx, text).ReadAll()
		if err != nil {
			return err
		}
		results = append(results, more...)
	}
	for i := range d.slices {
		a, err := numbers(results[tables+i], true)
		if err != nil {
			return err
		}
		d.slices[i].released = append(d.slices[i].released, a)
	}
	var charged, share float64
	err = conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM dpproxy.history), share_spent FROM dpproxy.budget").
		Scan(&charged, &share)
	d.charged, d.share = d.charged+charged, d.share+share
	return err
}

// errors are those of all slices.
func (d dashboard) errors() (all []float64) {
	for _, r := range d.slices {
		all = append(all, r.answers().errors(0, false)...)
	}
	return all
}

// dashboardRow compares a dashboard whose tiles follow from kept answers with one of which every tile is charged.
func dashboardRow(ctx context.Context, w *world, n int) ([]figure, error) {
	before, err := w.askDashboards(ctx, renyi, false, max(1, n/20))
	if err != nil {
		return nil, err
	}
	name := conditions[kept] + ": a dashboard of 30 slices and roll-ups of three tables of two keys"
	var figures []figure
	for _, atOnce := range []bool{false, true} {
		after, err := w.askDashboards(ctx, kept, atOnce, max(1, n/20))
		if err != nil {
			return nil, err
		}
		if atOnce {
			name += ", asked in one message, slices first"
		}
		figures = append(figures, after.over(before, name)...)
	}
	return figures, nil
}

// over compares a dashboard with one of which every tile is charged.
func (d dashboard) over(before dashboard, name string) []figure {
	charged := newFigure(name, "tiles that are charged", estimate{d.charged, 0})
	charged.most = 8
	budget := newFigure(name, "share of the budget, over that where every tile is charged",
		estimate{d.share / before.share, 0})
	budget.most = 8. / 30
	was, is := rootMeanSquare(before.errors()), rootMeanSquare(d.errors())
	ratio := is.value / was.value * math.Sqrt(d.share/before.share)
	same := newFigure(name, "slices: RMSE for the same budget, over that where every tile is charged",
		estimate{ratio, ratio * math.Hypot(is.err/is.value, was.err/was.value)})
	same.most = .55
	hits, all := 0.0, 0.0
	for _, r := range d.slices {
		n := float64(len(r.truth) * len(r.released))
		hits, all = hits+r.covered(0).value*n, all+n
	}
	held := newFigure(name, fmt.Sprintf("slices: share of %.0f announced intervals that hold the truth", all),
		share(int(math.Round(hits)), int(all)))
	held.percent, held.least, held.most = true, 0.94, 0.98
	return []figure{charged, budget, same, held}
}

// averagedRow compares slices that three kept tables determine with the groups of these.
func averagedRow(ctx context.Context, w *world, n int) ([]figure, error) {
	var list []question
	for _, column := range []string{"cost", "minutes", "month"} {
		list = append(list, question{kept, "ward", []string{"count(*)", "sum(" + column + ")"}, "visits"})
	}
	tables := len(list)
	for i := range wards {
		list = append(list, question{kept, "", []string{"count(*)"}, fmt.Sprintf("visits WHERE ward = '%s'", wardName(i))})
	}
	all := make([]releases, len(list))
	var err error
	for i, q := range list {
		if all[i].truth, err = w.truth(ctx, q); err != nil {
			return nil, err
		}
	}
	for range n / 4 {
		if err := w.askOnce(ctx, list, all); err != nil {
			return nil, err
		}
	}
	var one, mean []float64
	hits := 0.0
	for i, r := range all {
		if i < tables {
			one = append(one, r.errors(0, false)...)
			continue
		}
		mean, hits = append(mean, r.errors(0, false)...), hits+r.covered(0).value*float64(len(r.released))
	}
	name := conditions[kept] + ": count(*) of a ward, after three tables by ward with a count and a sum each"
	was, is := rootMeanSquare(one), rootMeanSquare(mean)
	ratio := newFigure(name, "RMSE, over that of one table", estimate{
		is.value / was.value, is.value / was.value * math.Hypot(is.err/is.value, was.err/was.value),
	})
	ratio.most = .62
	held := newFigure(name, fmt.Sprintf("share of %d announced intervals that hold the truth", len(mean)),
		share(int(math.Round(hits)), len(mean)))
	held.percent, held.least, held.most = true, 0.94, 0.98
	return []figure{ratio, held}, nil
}

// askOnce asks each question once, as one analyst, and adds the answers.
func (w *world) askOnce(ctx context.Context, list []question, to []releases) error {
	conn, err := w.connect(ctx, list[0].proxy, w.nextAnalyst(list[0].proxy))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for i, q := range list {
		a, err := query(ctx, conn, q.withIntervals(), q.key != "")
		if err != nil {
			return err
		}
		to[i].released = append(to[i].released, a)
	}
	return nil
}
