package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/synthetic"
)

// twinBudget is what a twin is made for, twinBase where it is.
var twinBudget = policy.Budget{Epsilon: 3, Delta: budgetDelta}

const twinBase = "clinic_twin"

// twinTables are those of the clinic, with what they hang on, and their columns that have a domain.
var twinTables = []struct {
	from    string
	columns []string
}{
	{"patients t", []string{"t.age", "t.income", "t.weight", "t.diagnosis", "t.ward", "t.admitted", "t.smoker"}},
	{
		"visits t JOIN patients p ON p.id = t.patient_id",
		[]string{"t.ward", "t.visited", "t.cost", "t.minutes", "p.age", "p.diagnosis", "p.ward", "p.admitted"},
	},
	{"lab_results t JOIN visits p USING (visit_id)", []string{"t.value", "p.ward", "p.cost"}},
}

// twinRow makes a twin of the demo, once, and compares its marginals with the demo's: numbers and dates between 16
// quantiles, and between 8 of each of two.
func twinRow(ctx context.Context, w *world, n int) ([]figure, error) {
	made, err := w.makeTwin(ctx)
	if err != nil {
		return nil, err
	}
	var all []float64
	var one, chosen furthest
	var people pairCounts
	for i, t := range twinTables {
		truth, err := w.pairCounts(ctx, "clinic", t.from, t.columns, 8)
		if err != nil {
			return nil, err
		}
		twin, err := w.pairCounts(ctx, twinBase, t.from, t.columns, 8)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			people = truth
		}
		for pair, counts := range truth {
			x := apart(counts, twin[pair])
			if all = append(all, x); isChosen(made.Tables[i], t.columns[pair[0]], t.columns[pair[1]]) {
				chosen.take(x, t.columns[pair[0]]+", "+t.columns[pair[1]], t.from)
			}
		}
		if err := w.marginals(ctx, t.from, t.columns, &one); err != nil {
			return nil, err
		}
	}
	figures := []figure{
		twinFigure("one column: the furthest off, "+one.name, one.off, 0.02),
		twinFigure("pairs of columns that were chosen: the furthest off, "+chosen.name, chosen.off, 0.05),
		twinFigure("all pairs of columns: the median", median(all), 0.12),
	}
	more, err := w.twinSums(ctx)
	if err != nil {
		return nil, err
	}
	return append(append(figures, more...), otherTwins(people, len(twinTables[0].columns), n)...), nil
}

func twinFigure(what string, x, most float64) figure {
	f := newFigure("twin of the demo at (3, 1e-6)", what, estimate{x, 0})
	f.percent, f.most = true, most
	return f
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// makeTwin makes it in a database of its own.
func (w *world) makeTwin(ctx context.Context) (*synthetic.Result, error) {
	if _, err := w.proxy(ctx, clinic); err != nil {
		return nil, err
	}
	p := *w.policies[clinic]
	p.Synthetic = &twinBudget
	p.Databases.Synthetic = w.postgres.DSN(twinBase, "accuracy_shadow")
	p.Databases.Synthesize = w.postgres.DSN(twinBase, pgserver.Superuser)
	if err := provision.Setup(ctx, &p, io.Discard); err != nil {
		return nil, err
	}
	l, err := admin.OpenAccount(ctx, "file:"+filepath.Join(w.postgres.Folder(), "twin.ledger"), policy.SyntheticAccount,
		ledger.ConfigOf(&p))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return synthetic.Run(ctx, &p, l, synthetic.Options{Budget: twinBudget},
		synthetic.Database{DSN: p.Databases.Synthesize}, slog.New(slog.DiscardHandler))
}

// isChosen reports whether one of two columns was drawn by the other.
func isChosen(made synthetic.Made, a, b string) bool {
	return slices.ContainsFunc(made.Pairs, func(p synthetic.Pair) bool {
		from, to := "t."+p.From, "t."+p.To
		if p.OfParent {
			from = "p." + p.From
		}
		return from == a && to == b || from == b && to == a
	})
}

// pairCounts are numbers of rows by the bins of two columns, for each two of a list.
type pairCounts map[[2]int]map[[2]string]float64

// apart is the total variation between counts.
func apart[K comparable](a, b map[K]float64) float64 {
	n, m, off := 0.0, 0.0, 0.0
	for _, x := range a {
		n += x
	}
	for key, x := range b {
		if m += x; a[key] == 0 {
			off += x
		}
	}
	off /= m
	for key, x := range a {
		off += math.Abs(x/n - b[key]/m)
	}
	return off / 2
}

// binned is SQL for the bin of a column between as many quantiles of the demo.
func (w *world) binned(ctx context.Context, from, column string, n int) (string, error) {
	kind := "numeric"
	switch column[2:] {
	case "ward", "diagnosis", "smoker":
		return fmt.Sprintf("coalesce(%s::text, '')", column), nil
	case "admitted", "visited":
		kind = "date"
	}
	var edges string
	err := w.admin(ctx, "clinic", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, fmt.Sprintf(`SELECT array_agg(DISTINCT q)::text FROM unnest((SELECT percentile_disc(
			(SELECT array_agg(i / %d.0) FROM generate_series(1, %d) i)) WITHIN GROUP (ORDER BY %s) FROM %s)) q`, n, n-1, column,
			from)).Scan(&edges)
	})
	return fmt.Sprintf("coalesce(width_bucket(%s::%s, '%s'::%s[])::text, '')", column, kind, edges, kind), err
}

// counted reads counts by two keys.
func (w *world) counted(ctx context.Context, db, a, b, from string) (map[[2]string]float64, error) {
	return w.numbers(ctx, db, fmt.Sprintf("SELECT %s, %s, count(*)::float8 FROM %s GROUP BY 1, 2", a, b, from))
}

// numbers reads a number for each two keys.
func (w *world) numbers(ctx context.Context, db, sql string) (map[[2]string]float64, error) {
	out := map[[2]string]float64{}
	err := w.admin(ctx, db, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql)
		if err != nil {
			return err
		}
		var key [2]string
		var n float64
		_, err = pgx.ForEachRow(rows, []any{&key[0], &key[1], &n}, func() error {
			out[key] = n
			return nil
		})
		return err
	})
	return out, err
}

func (w *world) pairCounts(ctx context.Context, db, from string, columns []string, n int) (pairCounts, error) {
	out, bins := pairCounts{}, make([]string, len(columns))
	for j, column := range columns {
		var err error
		if bins[j], err = w.binned(ctx, from, column, n); err != nil {
			return nil, err
		}
		for i := range j {
			if out[[2]int{i, j}], err = w.counted(ctx, db, bins[i], bins[j], from); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// furthest is what is furthest off of several.
type furthest struct {
	off  float64
	name string
}

func (f *furthest) take(off float64, columns, from string) {
	if off > f.off {
		table, _, _ := strings.Cut(from, " ")
		*f = furthest{off, strings.ReplaceAll(strings.ReplaceAll(columns, "t.", table+"."), "p.", "its parent's ")}
	}
}

// marginals looks how far single columns of the twin are off.
func (w *world) marginals(ctx context.Context, from string, columns []string, worst *furthest) error {
	for _, column := range columns {
		bin, err := w.binned(ctx, from, column, 16)
		if err != nil {
			return err
		}
		truth, err := w.counted(ctx, "clinic", bin, "''", from)
		if err != nil {
			return err
		}
		made, err := w.counted(ctx, twinBase, bin, "''", from)
		if err != nil {
			return err
		}
		worst.take(apart(truth, made), column, from)
	}
	return nil
}

// twinSums compares rows of a person, and averages by ward.
func (w *world) twinSums(ctx context.Context) ([]figure, error) {
	people := "(SELECT count(visit_id) AS n FROM patients LEFT JOIN visits ON id = patient_id GROUP BY id) x"
	truth, err := w.counted(ctx, "clinic", "n::text", "''", people)
	if err != nil {
		return nil, err
	}
	made, err := w.counted(ctx, twinBase, "n::text", "''", people)
	if err != nil {
		return nil, err
	}
	figures := []figure{twinFigure("visits of a patient", apart(truth, made), 0.03)}
	for _, column := range []string{"cost", "minutes"} {
		var off []float64
		sql := fmt.Sprintf("SELECT ward, '', avg(%s)::float8 FROM visits GROUP BY 1", column)
		truth, err := w.numbers(ctx, "clinic", sql)
		if err != nil {
			return nil, err
		}
		made, err := w.numbers(ctx, twinBase, sql)
		if err != nil {
			return nil, err
		}
		for ward, x := range truth {
			off = append(off, math.Abs(made[ward]/x-1))
		}
		figures = append(figures, twinFigure("avg("+column+") by ward: the median of ten", median(off), 0.05),
			twinFigure("avg("+column+") by ward: the furthest off", slices.Max(off), math.Inf(1)))
	}
	return figures, nil
}
