package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gonum.org/v1/gonum/stat/distuv"
)

// falseAlarm is the probability with which a private proxy fails one of these tests.
const falseAlarm = 1e-6

// TestNeighboursAreIndistinguishable asks two proxies, over databases that differ in one patient, the same question
// some thousand times, in a plain session and in every hostile one. If the answers are ε-DP, then of n answers equal to
// z (on both sides together) the number that came from one side is at most binomial with p = e^ε/(1+e^ε), whatever the
// true distribution is: an exact test.
func TestNeighboursAreIndistinguishable(t *testing.T) {
	const epsilon = 0.5
	draws := 3000
	if testing.Short() {
		draws = 900
	}
	plain := []string{
		"SELECT count(*) FROM patients WHERE age > 90",
		"SELECT round(avg(age)) FROM patients WHERE diagnosis = 'flu' AND age > 90",
		"SELECT round(sum(weight) / 100) FROM patients WHERE age > 95",
	}
	crossing := []string{ // values that cross between databases: float keys, and instants that are constants
		"SELECT n FROM (SELECT CASE WHEN name = 'Canary' THEN 0.1::float8 ELSE 0.1::float8 + age / 1e9 END AS k, count(*) AS n FROM patients WHERE age IS NOT NULL GROUP BY 1) s WHERE k = 0.1::float8",
		"SELECT count(*) FROM patients p JOIN (VALUES (timestamptz '2019-11-03 05:00:00+00'), ('2019-11-03 06:00:00+00'), ('2019-11-02 03:00:00+00')) x(k) ON x.k = (CASE WHEN p.name = 'Canary' THEN date '2019-11-03' ELSE p.admitted END)::timestamptz",
	}
	type trial struct {
		set, question string
		draws         int
	}
	var trials []trial
	for _, q := range plain {
		trials = append(trials, trial{"", q, draws})
	}
	const shown = "SELECT string_agg(diagnosis, ' ' ORDER BY diagnosis) FROM (SELECT diagnosis, sum(income) FROM patients WHERE age > 98 GROUP BY diagnosis) s"
	trials = append(trials, trial{"", shown, draws / 3}) // which groups there are
	for _, set := range tried() {
		for _, q := range crossing {
			trials = append(trials, trial{set, q, draws / 15})
		}
	}
	// The patient who is there or not is as extreme as the bounds allow.
	with := start(t, purePolicy("answers: {ttl: 0}", "timing: {steps: off}"), clinic+
		"INSERT INTO patients VALUES (5000, 'Canary', 120, 100000, 250, 'flu', 'A', '2021-01-01', true);")
	without := start(t, purePolicy("answers: {ttl: 0}", "timing: {steps: off}"), clinic)
	for _, x := range trials {
		here, there := answers(t, with, x.set, x.question, x.draws), answers(t, without, x.set, x.question, x.draws)
		p := math.Exp(epsilon) / (1 + math.Exp(epsilon))
		values := map[string]bool{}
		for v := range here {
			values[v] = true
		}
		for v := range there {
			values[v] = true
		}
		limit := falseAlarm / float64(2*len(values)*len(trials))
		for v := range values {
			a, b := here[v], there[v]
			for _, side := range []int{a, b} {
				// P(Binomial(a+b, p) ≥ side)
				tail := distuv.Binomial{N: float64(a + b), P: p}.Survival(float64(side) - 0.5)
				if tail < limit {
					t.Errorf(
						"%s\n%s\nanswer %s: %d times with the patient, %d times without; log-ratio %.2f, charged ε = %g (tail %.2g)",
						x.set, x.question, v, a, b, math.Log(float64(a)/float64(b)), epsilon, tail)
				}
			}
		}
	}
}

// answers counts how often each answer came in a session of these settings; a refusal is an answer too.
func answers(t *testing.T, p *proxy, set, sql string, n int) map[string]int {
	t.Helper()
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {} })
	if _, err := conn.PgConn().Exec(context.Background(), set).ReadAll(); err != nil {
		t.Fatalf("%s: %v", set, err)
	}
	counts := map[string]int{}
	for range n {
		result, err := conn.PgConn().Exec(context.Background(), sql).ReadAll()
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused):
			counts[fmt.Sprintf("%+v", *refused)]++
			if refused.Code == "0A000" {
				return counts // before any draw: it says the same each time
			}
		case err != nil:
			t.Fatalf("%s: %v", sql, err)
		case len(result[0].Rows) == 0:
			counts["no row"]++
		default:
			counts[string(result[0].Rows[0][0])]++
		}
	}
	return counts
}

// TestOutcomesHaveOneShapeOnNeighbours compares everything but the numbers: columns, row counts, tags, errors. Which
// groups are shown is a number, too, unless all are.
func TestOutcomesHaveOneShapeOnNeighbours(t *testing.T) {
	rows :=
		"INSERT INTO patients VALUES (5000, 'Canary', 2147483647, 99999999.99, 'NaN', 'zzz-unheard-of', NULL, '5874897-12-31', NULL);" +
			strings.Repeat(
				"INSERT INTO visits SELECT 100000 + i, 5000, NULL, 'infinity', 99999999.99, -2147483648 FROM generate_series(1, 500) i;", 1)
	with := start(t, clinicPolicy("answers: {ttl: 0}"), clinic+rows).connect()
	without := start(t, clinicPolicy("answers: {ttl: 0}"), clinic).connect()
	questions := []string{
		"SELECT count(*) FROM patients",
		"SELECT diagnosis, count(*), avg(age) FROM patients GROUP BY diagnosis",
		"SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis HAVING count(*) > 1000000",
		"SELECT sum(weight), sum(income), avg(age + 1) FROM patients",
		"SELECT sum(age * age) FROM patients WHERE admitted > '2021-01-01'",
		"SELECT 1 / age FROM patients",
		"SELECT sum(1.0 / (weight - 80)) FROM patients",
		"SELECT * FROM patients",
		"SELECT max(name) FROM patients",
		"SELECT count(*) FROM patients WHERE name LIKE 'Can%'",
		"SELECT ward, count(*), avg(cost), sum(minutes) FROM visits GROUP BY ward",
		"SELECT count(*) FROM patients WHERE 1 / (age - 2147483647) > 0",
		"EXPLAIN SELECT count(*) FROM patients",
		"SELECT admitted, count(*) FROM patients WHERE admitted < '2021-02-01' GROUP BY admitted",
		"SELECT count(*) FROM patients WHERE admitted::timestamptz IN ('2021-01-01 05:00:00+00', '2021-06-01 00:00:00Z')",
		"SELECT weight / 3 AS w, count(*) FROM patients GROUP BY 1",
	}
	for _, set := range append([]string{""}, hostile...) {
		for _, conn := range []*pgx.Conn{with, without} {
			if _, err := conn.PgConn().Exec(context.Background(),
				"RESET ALL; SET dpproxy.epsilon = 0.01; SET dpproxy.empty_groups = keep; "+set).ReadAll(); err != nil {
				t.Fatalf("%s: %v", set, err)
			}
		}
		for _, q := range questions {
			if a, b := shape(with, q), shape(without, q); a != b {
				t.Errorf("%s; %s\nwith:    %s\nwithout: %s", set, q, a, b)
			}
		}
	}
}

// shape is an outcome without its numbers.
func shape(conn *pgx.Conn, sql string) string {
	results, err := conn.PgConn().Exec(context.Background(), sql).ReadAll()
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return fmt.Sprintf("%+v", *e)
	}
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s %d rows %+v", r.CommandTag, len(r.Rows), r.FieldDescriptions)
		if strings.HasPrefix(sql, "EXPLAIN") {
			fmt.Fprintf(&b, " %s", r.Rows)
		}
	}
	return b.String()
}
