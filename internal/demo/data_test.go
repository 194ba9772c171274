package demo

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/policies"
)

// TestLoad looks at the whole clinic: what the documentation says of it, what the policy promises of it, and that it is
// the same everywhere.
func TestLoad(t *testing.T) {
	s, db := pgservertest.Database(t)
	ctx := context.Background()
	if err := Load(ctx, s.DSN(db, pgserver.Superuser), Patients); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, s.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	visits, results, cost, leftOut := promised(t)
	for _, c := range []struct {
		sql    string
		lo, hi float64
	}{
		{"SELECT count(*) FROM patients", 120000, 120000},
		{"SELECT count(*) FROM visits", 500000, 800000},
		{"SELECT count(*) FROM lab_results", 250000, 500000},
		{"SELECT count(*) FROM wards", 10, 10},
		{"SELECT avg(age) FROM patients", 44, 50},
		{"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY income) FROM patients", 25000, 36000},
		{"SELECT max(income) FROM patients", 200000, 500000},
		{"SELECT avg(weight) FROM patients WHERE age >= 18", 75, 81},
		{"SELECT count(*) FILTER (WHERE weight IS NULL)::float8 / count(*) FROM patients", 0.015, 0.025},
		{"SELECT count(*) FILTER (WHERE smoker)::float8 / count(*) FROM patients", 0.1, 0.25},
		{"SELECT count(DISTINCT diagnosis) FROM patients", 8, 8},
		{"SELECT count(DISTINCT ward) FROM patients", 10, 10},
		// What the policy vouches for holds, and something is left to bound.
		{"SELECT max(n) FROM (SELECT count(*) n FROM visits GROUP BY patient_id) c", visits + 1, 80},
		{fmt.Sprintf("SELECT sum(greatest(0, n - %v)) / sum(n) FROM (SELECT count(*) n FROM visits GROUP BY patient_id) c",
			visits), 0.001, leftOut},
		{
			fmt.Sprintf(
				"SELECT sum(greatest(0, s - %v)) / sum(s) FROM (SELECT sum(least(cost, 20000)) s FROM visits GROUP BY patient_id) c", cost), 0.001, leftOut,
		},
		{
			"SELECT max(n) FROM (SELECT count(*) n FROM visits JOIN lab_results USING (visit_id) GROUP BY patient_id) c", 50,
			results,
		},
		{"SELECT count(*) FILTER (WHERE cost > 20000) FROM visits", 1, 1000},
		{"SELECT count(*) FROM visits WHERE minutes NOT BETWEEN 0 AND 600", 0, 0},
		// outside
		{
			"SELECT max(1 - kept / whole) FROM (SELECT sum(least(cost, 20000)) kept, sum(cost) whole FROM visits GROUP BY ward) w", 0.001, 0.003,
		},
		{"SELECT count(*) FROM visits WHERE visited NOT BETWEEN '2015-01-01' AND '2026-12-31'", 0, 0},
		{"SELECT count(*) FROM lab_results WHERE value NOT BETWEEN 0 AND 1000", 0, 0},
		{
			`SELECT count(*) FROM patients WHERE age NOT BETWEEN 0 AND 120 OR income NOT BETWEEN 0 AND 500000 OR weight NOT BETWEEN 0 AND 250
			OR admitted NOT BETWEEN '2015-01-01' AND '2026-12-31'`, 0, 0,
		},
		{"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id WHERE v.visited < p.admitted", 0, 0},
		{"SELECT extract(year FROM max(visited)) FROM visits", 2026, 2026},
	} {
		var got float64
		if err := conn.QueryRow(ctx, "SELECT ("+c.sql+")::float8").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got < c.lo || got > c.hi {
			t.Errorf("%s = %v, want between %v and %v", c.sql, got, c.lo, c.hi)
		}
	}
	var sums [3]string
	if err := conn.QueryRow(ctx, `SELECT (SELECT sum(hashtextextended(p::text, 0)) FROM patients p)::text,
		(SELECT sum(hashtextextended(v::text, 0)) FROM visits v)::text, (SELECT sum(hashtextextended(l::text, 0)) FROM lab_results l)::text`).Scan(&sums[0], &sums[1], &sums[2]); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sums); runtime.GOARCH == "amd64" && got != fingerprint {
		t.Errorf("the clinic changed: %s", got)
	}
}

// promised returns what the policy says of one patient: the most visits, laboratory results and costs that count, and
// the share of the visits and of their costs that is beyond.
func promised(t *testing.T) (visits, results, cost, leftOut float64) {
	t.Helper()
	p, err := policy.Parse("clinic.yaml", []byte(policies.Clinic))
	if err != nil {
		t.Fatal(err)
	}
	v, r := p.Table(policy.Name{Schema: "public", Relation: "visits"}),
		p.Table(policy.Name{Schema: "public", Relation: "lab_results"})
	if cost, err = strconv.ParseFloat(v.Column("cost").PerUnit.Hi, 64); err != nil || v.LeftOut == nil ||
		r.LeftOut == nil || *r.LeftOut != 0 {
		t.Fatalf("the policy promises too little: %v, %+v, %+v", err, v, r)
	}
	return float64(v.MaxRowsPerUnit), float64(r.MaxRowsPerUnit), cost, *v.LeftOut
}

// fingerprint is a sum over all rows; other processors may round an amount in its last digit differently. Whoever
// changes the data on purpose changes it, and the documentation's outputs.
const fingerprint = "[1907720998222992444933 6845138477171257443682 483951648624727179871]"
