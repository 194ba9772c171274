package synthetic

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/policies"
)

// columnsOf are those of the clinic that have a domain, by table, with what its parent has.
var columnsOf = map[string][]string{
	"patients t": {"t.age", "t.income", "t.weight", "t.diagnosis", "t.ward", "t.admitted", "t.smoker"},
	"visits t JOIN patients p ON p.id = t.patient_id": {"t.ward", "t.visited", "t.cost", "t.minutes", "p.ward", "p.age", "p.diagnosis", "p.admitted"},
	"lab_results t JOIN visits p USING (visit_id)":    {"t.value", "p.ward", "p.cost"},
}

var listed = map[string]bool{"ward": true, "diagnosis": true, "smoker": true}

// binned is SQL for the bin of a column of main: of numbers and dates, as many quantiles.
func (w *world) binned(t *testing.T, from, column string, n int) string {
	if listed[column[2:]] {
		return column
	}
	var edges string
	sql := fmt.Sprintf(`SELECT array_agg(DISTINCT q)::text FROM unnest((SELECT percentile_disc((SELECT array_agg(i / %d.0) FROM generate_series(1, %d) i))
		WITHIN GROUP (ORDER BY %s) FROM %s)) q`, n, n-1, column, from)
	if err := w.main.QueryRow(context.Background(), sql).Scan(&edges); err != nil {
		t.Fatal(sql, err)
	}
	kind := "numeric"
	switch column[2:] {
	case "admitted", "visited":
		kind = "date"
	}
	return fmt.Sprintf("width_bucket(%s::%s, '%s'::%s[])", column, kind, edges, kind)
}

func TestClinic(t *testing.T) {
	ctx := context.Background()
	load := func(n int) func(string) error {
		return func(dsn string) error { return demo.Load(ctx, dsn, n) }
	}
	patients := demo.Patients
	if testing.Short() {
		patients = 20_000
	}
	w := newWorld(t, policies.Clinic, load(patients), load(1))
	began := time.Now()
	r, err := Run(ctx, w.policy, w.ledger, Options{Budget: budget, Seed: 1}, w.sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %s", r, time.Since(began))
	for from, columns := range columnsOf {
		var pairs []float64
		for i, a := range columns {
			x := w.apart(t, fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY 1", w.binned(t, from, a, 16), from))
			t.Logf("%.20s %s: %.2f %%", from, a, 100*x)
			for _, b := range columns[i+1:] {
				x := w.apart(t, fmt.Sprintf("SELECT %s, %s, count(*) FROM %s GROUP BY 1, 2", w.binned(t, from, a, 8), w.binned(t, from, b, 8), from))
				t.Logf("%.20s %s %s: %.2f %%", from, a, b, 100*x)
				pairs = append(pairs, x)
			}
		}
		slices.Sort(pairs)
		t.Logf("%.20s median of pairs %.2f %%", from, 100*pairs[len(pairs)/2])
	}
	t.Logf("rows per patient: %.2f %%", 100*w.apart(t, "SELECT n, count(*) FROM (SELECT count(v.visit_id) AS n FROM patients LEFT JOIN visits v ON id = patient_id GROUP BY id) x GROUP BY 1"))
	t.Logf("results per visit: %.2f %%", 100*w.apart(t, "SELECT n, count(*) FROM (SELECT count(v.lab_id) AS n FROM visits LEFT JOIN lab_results v USING (visit_id) GROUP BY visit_id) x GROUP BY 1"))
	for _, sql := range []string{
		"SELECT ward, avg(cost) FROM visits GROUP BY 1", "SELECT ward, avg(minutes) FROM visits GROUP BY 1",
		"SELECT ward, avg(age) FROM patients GROUP BY 1", "SELECT ward, avg(income) FROM patients GROUP BY 1", "SELECT count(*) FROM visits", "SELECT count(*) FROM lab_results",
	} {
		truth, made := counts(t, w.main, sql), counts(t, w.twin, sql)
		for key, x := range truth {
			t.Logf("%s %s: %.1f of %.1f: %+.1f %%", sql, key, made[key], x, 100*(made[key]/x-1))
		}
	}
}
