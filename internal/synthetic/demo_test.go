package synthetic

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/policies"
)

// clinicTables are those of the clinic, each with what it hangs on, and their columns that have a domain.
var clinicTables = []struct {
	name, from string
	columns    []string
}{
	{"patients", "patients t", []string{"t.age", "t.income", "t.weight", "t.diagnosis", "t.ward", "t.admitted", "t.smoker"}},
	{
		"visits", "visits t JOIN patients p ON p.id = t.patient_id",
		[]string{"t.ward", "t.visited", "t.cost", "t.minutes", "p.ward", "p.age", "p.diagnosis", "p.admitted"},
	},
	{"lab_results", "lab_results t JOIN visits p USING (visit_id)", []string{"t.value", "p.ward", "p.cost"}},
}

var listed = []string{"ward", "diagnosis", "smoker"}

// binned is SQL for the bin of a column, between as many quantiles of main.
func (w *world) binned(t *testing.T, from, column string, n int) string {
	kind := "numeric"
	switch name := column[2:]; {
	case slices.Contains(listed, name):
		return column
	case name == "admitted" || name == "visited":
		kind = "date"
	}
	var edges string
	sql := fmt.Sprintf(`SELECT array_agg(DISTINCT q)::text FROM unnest((SELECT percentile_disc(
		(SELECT array_agg(i / %d.0) FROM generate_series(1, %d) i)) WITHIN GROUP (ORDER BY %s) FROM %s)) q`, n, n-1, column, from)
	if err := w.main.QueryRow(context.Background(), sql).Scan(&edges); err != nil {
		t.Fatal(sql, err)
	}
	return fmt.Sprintf("width_bucket(%s::%s, '%s'::%s[])", column, kind, edges, kind)
}

// timed is a Sink that says how long it took.
type timed struct {
	Database
	took time.Duration
}

func (s *timed) Replace(ctx context.Context, tables []Rows) (map[policy.Name]Written, error) {
	began := time.Now()
	defer func() { s.took = time.Since(began) }()
	return s.Database.Replace(ctx, tables)
}

// TestClinic measures how near the demo's twin is at (3, 1e-6), by the goals of docs/accuracy.md.
func TestClinic(t *testing.T) {
	if testing.Short() {
		t.Skip("asks 120 statements of a million rows")
	}
	ctx := context.Background()
	w := newWorld(t, policies.Clinic, func(dsn string) error { return demo.Load(ctx, dsn, demo.Patients) })
	began, sink := time.Now(), &timed{Database: w.sink}
	r, err := Run(ctx, w.policy, w.ledger, Options{Budget: budget, Seed: 1}, sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d statements, ε %.3f spent, %s in all, %s to write", r.Statements, r.Balance.EpsilonSpent, time.Since(began),
		sink.took)
	rows := 0
	for i, c := range clinicTables {
		rows += r.Tables[i].Rows
		w.compare(t, r.Tables[i], c.from, c.columns)
	}
	if limit := time.Minute * time.Duration(rows) / 1e6; sink.took > limit {
		t.Errorf("%d rows are written in %s, not in %s", rows, sink.took, limit)
	}
	for sql, most := range map[string]float64{
		`SELECT n, count(*) FROM (SELECT count(visit_id) AS n FROM patients LEFT JOIN visits ON id = patient_id GROUP BY id) x
			GROUP BY 1`: 0.03,
		`SELECT n, count(*) FROM (SELECT count(lab_id) AS n FROM visits LEFT JOIN lab_results USING (visit_id) GROUP BY visit_id) x
			GROUP BY 1`: 0.03,
	} {
		if x := w.apart(t, sql); x > most {
			t.Errorf("%s: %.2f %%", sql, 100*x)
		} else {
			t.Logf("%s: %.2f %%", sql, 100*x)
		}
	}
	for _, column := range []string{"cost", "minutes"} {
		sql := "SELECT ward, avg(" + column + ") FROM visits GROUP BY 1"
		made := counts(t, w.twin, sql)
		for ward, x := range counts(t, w.main, sql) {
			t.Logf("%s of %s: %.4g of %.4g: %+.1f %%", column, ward, made[ward], x, 100*(made[ward]/x-1))
		}
	}
}

// compare checks marginals of one and of two columns.
func (w *world) compare(t *testing.T, made Made, from string, columns []string) {
	var all []float64
	for i, a := range columns {
		x := w.apart(t, fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY 1", w.binned(t, from, a, 16), from))
		t.Logf("%s %s: %.2f %%", made.Name, a, 100*x)
		if x > 0.02 {
			t.Errorf("%s %s is %.2f %% off", made.Name, a, 100*x)
		}
		for _, b := range columns[i+1:] {
			x := w.apart(t, fmt.Sprintf("SELECT %s, %s, count(*) FROM %s GROUP BY 1, 2", w.binned(t, from, a, 8),
				w.binned(t, from, b, 8), from))
			is := slices.ContainsFunc(made.Pairs, func(p Pair) bool {
				one, other := "t."+p.From, "t."+p.To
				if p.OfParent {
					one = "p." + p.From
				}
				return one == a && other == b || one == b && other == a
			})
			t.Logf("%s %s %s: %.2f %%, chosen: %v", made.Name, a, b, 100*x, is)
			if is && x > 0.05 {
				t.Errorf("%s %s and %s are %.2f %% off", made.Name, a, b, 100*x)
			}
			all = append(all, x)
		}
	}
	slices.Sort(all)
	if median := all[len(all)/2]; median > 0.12 {
		t.Errorf("%s: the median of pairs is %.2f %% off", made.Name, 100*median)
	} else {
		t.Logf("%s: the median of pairs is %.2f %%", made.Name, 100*median)
	}
}
