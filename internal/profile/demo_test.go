package profile

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/policies"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgservertest.Stop()
	os.Exit(code)
}

// generous charges anything.
type generous struct {
	calls int
	then  func() // what happens between the charge and the measure; nil: nothing
}

func (g *generous) Charge(context.Context, []ledger.Charge) (ledger.Balance, error) {
	if g.calls++; g.then != nil {
		g.then()
	}
	return ledger.Balance{}, nil
}

func (*generous) Preview(context.Context, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, nil
}

// clinic is the demo's, with its policy.
func clinic(t *testing.T, patients int) (*policy.Policy, *pgx.Conn) {
	return database(t, policies.Clinic, func(admin string) error {
		return demo.Load(context.Background(), admin, patients)
	})
}

// database loads one, and sets it up for a policy.
func database(t *testing.T, text string, load func(admin string) error) (*policy.Policy, *pgx.Conn) {
	t.Helper()
	ctx := context.Background()
	server, db := pgservertest.Database(t, "")
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	admin := server.DSN(db, pgserver.Superuser)
	if err := load(admin); err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("${DPPROXY_MAIN_DSN}", server.DSN(db, "pf_main"), "${DPPROXY_SHADOW_DSN}",
		server.DSN(db+"_shadow", "pf_shadow"),
		"${DPPROXY_PUBLIC_DSN}", server.DSN(db, "pf_public"), "${DPPROXY_ADMIN_DSN}", admin).Replace(text)
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Setup(ctx, p, io.Discard); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return p, conn
}

// truth is how to find the true ends of a key: quantiles, over units, of an aggregate.
type truth struct {
	key       string
	from      string
	low, high string // aggregates
	grid      grid
}

var (
	wholes  = numberGrid(&number{0, true, big.NewRat(1<<31-1, 1), pgtype.NumericArrayOID}, 1000)
	cents   = numberGrid(&number{2, true, power(8), pgtype.NumericArrayOID}, 1000)
	weights = numberGrid(anyNumber(&policy.Column{Bounds: &policy.Bounds{Lo: "0", Hi: "250"}}, 0), 1)
	values  = numberGrid(anyNumber(&policy.Column{Bounds: &policy.Bounds{Lo: "0", Hi: "1000"}}, 0), 1000)
	months  = monthGrid(pgtype.DateArrayOID)
)

const (
	ofPatients = "patients GROUP BY id"
	ofVisits   = "visits GROUP BY patient_id"
	ofResults  = "lab_results JOIN visits USING (visit_id) GROUP BY patient_id"
)

// inOne are the patients, with their visits in one unit of time.
func inOne(cut string) string {
	return fmt.Sprintf("(SELECT patient_id, count(*) AS n FROM visits GROUP BY 1, date_trunc('%s', visited)) g GROUP BY patient_id",
		cut)
}

var truths = []truth{
	{"public.patients.columns.age.bounds", ofPatients, "min(age)", "max(age)", wholes},
	{"public.patients.columns.income.bounds", ofPatients, "min(income)", "max(income)", cents},
	{"public.patients.columns.weight.bounds", ofPatients, "min(weight)", "max(weight)", weights},
	{"public.patients.columns.admitted.bounds", ofPatients, "min(admitted)", "max(admitted)", months},
	{"public.visits.max_rows_per_unit", ofVisits, "", "count(*)", wholes},
	{"public.visits.columns.visited.bounds", ofVisits, "min(visited)", "max(visited)", months},
	{"public.visits.columns.visited.max_rows_per_unit_and_group.day", inOne("day"), "", "max(n)", wholes},
	{"public.visits.columns.visited.max_rows_per_unit_and_group.month", inOne("month"), "", "max(n)", wholes},
	{"public.visits.columns.cost.bounds", ofVisits, "min(cost)", "max(cost)", cents},
	{"public.visits.columns.cost.per_unit", ofVisits, "", "sum(cost)", cents},
	{"public.visits.columns.minutes.bounds", ofVisits, "min(minutes)", "max(minutes)", wholes},
	{"public.visits.columns.minutes.per_unit", ofVisits, "", "sum(minutes)", wholes},
	{"public.lab_results.max_rows_per_unit", ofResults, "", "count(*)", wholes},
	{"public.lab_results.columns.value.bounds", ofResults, "min(value)", "max(value)", values},
	{"public.lab_results.columns.value.per_unit", ofResults, "", "sum(value)", values},
}

// cells are the places, in the grid, of the ends that a key should have.
func (tr truth) cells(t *testing.T, conn *pgx.Conn, fraction float64) (low, high int) {
	at := func(aggregate string, q float64) string {
		var v string
		sql := fmt.Sprintf("SELECT (percentile_disc(%g) WITHIN GROUP (ORDER BY x))::text FROM (SELECT %s AS x FROM %s) u", q,
			aggregate, tr.from)
		if err := conn.QueryRow(context.Background(), sql).Scan(&v); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return v
	}
	if tr.low != "" {
		v := at(tr.low, 1-fraction)
		low = slices.IndexFunc(tr.grid.values, func(x string) bool { return compare(x, v) > 0 }) - 1
	}
	v := at(tr.high, fraction)
	if tr.grid.ends != nil {
		return low, slices.IndexFunc(tr.grid.ends, func(x string) bool { return compare(x, v) >= 0 })
	}
	return low, slices.IndexFunc(tr.grid.values, func(x string) bool { return compare(x, v) >= 0 })
}

// near lists what is printed where both ends are one grid step off at most.
func (tr truth) near(low, high int) (near struct{ lows, highs []string }) {
	for from := low - 1; from <= low+1; from++ {
		for to := high - 1; to <= high+1; to++ {
			l, h, _ := tr.grid.pair(from+1, to)
			near.lows, near.highs = append(near.lows, l), append(near.highs, h)
		}
	}
	return near
}

// paths are the keys that were found, by where they stand.
func paths(r *Result) map[string]string {
	printed := map[string]string{}
	for _, k := range r.Keys {
		path := k.Table.String() + "." + k.Name
		if k.Column != "" {
			path = k.Table.String() + ".columns." + k.Column + "." + k.Name
		}
		printed[path] = k.Value
		if cuts, several := strings.CutPrefix(k.Value, "{"); several {
			for _, part := range strings.Split(strings.TrimSuffix(cuts, "}"), ", ") {
				cut, value, _ := strings.Cut(part, ": ")
				printed[path+"."+cut] = value
			}
		}
	}
	return printed
}

// compare compares two numbers or two days.
func compare(a, b string) int {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	if !ok || !ok2 {
		return strings.Compare(a, b)
	}
	return x.Cmp(y)
}

// TestDemoIsProfiledWithinAGridStep holds what is printed at ε = 1, for all tables together, against the true
// quantiles: within one step of the grid 95 % of the time. A right program fails with a probability below 1e-6
// (stattest.AtLeast).
func TestDemoIsProfiledWithinAGridStep(t *testing.T) {
	const runs, epsilon, fraction = 4, 1, 0.99
	p, conn := clinic(t, 20_000)
	p.Access = &policy.Access{Analysts: []string{"alice"}} // an administrator's questions are no analyst's
	type ends struct{ low, high int }
	want := map[string]ends{}
	for _, tr := range truths {
		low, high := tr.cells(t, conn, fraction)
		want[tr.key] = ends{low, high}
	}
	hits, n, beyond := 0, 0, 0
	for range runs {
		l := &generous{}
		started := time.Now()
		r, err := Run(context.Background(), p, l, Options{Epsilon: epsilon, Quantile: fraction, Groups: true},
			slog.New(slog.DiscardHandler))
		if err != nil || r.Failed != nil || l.calls != 3 {
			t.Fatal(err, r, l.calls)
		}
		printed := paths(r)
		for _, tr := range truths {
			low, high, pair := strings.Cut(strings.Trim(printed[tr.key], "[]"), ", ")
			if !pair {
				low, high = "", low
			}
			if low == "" {
				low = "0"
			} else if tr.low == "" && low != "0" {
				t.Errorf("%s: %s of a column that is never below 0", tr.key, low)
			}
			near := tr.near(want[tr.key].low, want[tr.key].high)
			if tr.low != "" {
				if n++; slices.Contains(near.lows, low) {
					hits++
				} else {
					t.Logf("%s: from %s, not %v", tr.key, low, near.lows)
				}
			}
			if n++; slices.Contains(near.highs, high) {
				hits++
			} else {
				t.Logf("%s: to %s, not %v", tr.key, high, near.highs)
			}
		}
		beyond += leftOut(t, conn, printed)
		t.Logf("%.1f s: %v", time.Since(started).Seconds(), printed)
	}
	if !stattest.AtLeast(hits, n, 0.95) {
		t.Errorf("%d of %d values are within one grid step of the true quantile, want 95 %%", hits, n)
	}
	// What is beyond a bound is the most of three 95 % intervals.
	if !stattest.AtLeast(beyond, runs, 0.95) {
		t.Errorf("%d of %d printed left_out hold the truth", beyond, runs)
	}
	t.Logf("%d of %d within one grid step, %d of %d left_out hold the truth", hits, n, beyond, runs)
}

// leftOut is 1 if the printed share holds what is truly beyond the printed bounds of visits.
func leftOut(t *testing.T, conn *pgx.Conn, printed map[string]string) int {
	sum := func(column string) string {
		_, high, _ := strings.Cut(strings.Trim(printed["public.visits.columns."+column+".per_unit"], "[]"), ", ")
		return high
	}
	inOneGroup := func(cut string) string {
		return printed["public.visits.columns.visited.max_rows_per_unit_and_group."+cut]
	}
	for _, key := range []string{"max_rows_per_unit", "left_out", "columns.cost.per_unit", "columns.minutes.per_unit"} {
		if printed["public.visits."+key] == "" { // too little was known: it holds nothing
			return 0
		}
	}
	var holds bool
	sql := fmt.Sprintf(
		`SELECT greatest(sum(greatest(n - %[1]s, 0, d)) / sum(n), sum(greatest(n - %[1]s, 0, o)) / sum(n), sum(greatest(c - %[2]s, 0)) / sum(c),
			sum(greatest(m - %[3]s, 0)) / sum(m)) <= %[4]s
		FROM (SELECT patient_id, count(*) AS n, sum(cost) AS c, sum(minutes) AS m FROM visits GROUP BY patient_id) u
		JOIN (SELECT patient_id, sum(greatest(n - %[5]s, 0)) AS d FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1, date_trunc('day', visited)) g GROUP BY 1) d USING (patient_id)
		JOIN (SELECT patient_id, sum(greatest(n - %[6]s, 0)) AS o FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1, date_trunc('month', visited)) g GROUP BY 1) o USING (patient_id)`,
		printed["public.visits.max_rows_per_unit"], sum("cost"), sum("minutes"), printed["public.visits.left_out"],
		inOneGroup("day"), inOneGroup("month"))
	if err := conn.QueryRow(context.Background(), sql).Scan(&holds); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if holds {
		return 1
	}
	return 0
}

// TestFailedMeasuresStayCharged: main refuses after the charge, with one text whatever it holds.
func TestFailedMeasuresStayCharged(t *testing.T) {
	p, conn := clinic(t, 50)
	l := &generous{then: func() {
		if _,
			err := conn.Exec(context.Background(),
			"REVOKE ALL ON visits FROM pf_main; REVOKE SELECT (visit_id, patient_id, ward, visited, cost, minutes) ON visits FROM pf_main"); err != nil {
			t.Error(err)
		}
	}}
	r, err := Run(context.Background(), p, l, Options{Table: "visits", Epsilon: 1, Quantile: 0.99},
		slog.New(slog.DiscardHandler))
	if err != nil || r.Failed == nil || len(r.Keys) != 0 || l.calls != 1 {
		t.Fatalf("%v, %+v, %d calls", err, r, l.calls)
	}
	for line := range strings.Lines(r.Failed.Error()) {
		if !strings.Contains(line, "the main database failed while measuring") {
			t.Error(line)
		}
	}
}

// TestEmptyTablesAreProfiled: nothing about the rows decides whether there is an answer.
func TestEmptyTablesAreProfiled(t *testing.T) {
	p, conn := clinic(t, 50)
	for _, change := range []string{
		"DELETE FROM lab_results; DELETE FROM visits WHERE patient_id > 1",
		"TRUNCATE patients CASCADE",
	} {
		if _, err := conn.Exec(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), p, &generous{}, Options{Epsilon: 1, Quantile: 0.99},
			slog.New(slog.DiscardHandler))
		if err != nil || r.Failed != nil {
			t.Errorf("%s: %v, %+v", change, err, r)
		}
	}
}
