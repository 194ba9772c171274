package rewrite_test

import (
	"context"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// TestNumbersOfOneUnit: what is computed of one unit's rows is of all of them, also of a unit with ten times as many as
// the policy lets count. Conditions and keys see it as it is. Only what is added up above is clamped, to what the plan
// says, and keys have no group beyond the bounds.
func TestNumbersOfOneUnit(t *testing.T) {
	const (
		counts = `(SELECT patient_id, count(*) AS n, sum(cost) AS total, avg(minutes) AS m FROM visits GROUP BY patient_id) t`
		daily  = `(SELECT patient_id, sum(k) AS n, max(k) AS most FROM (SELECT patient_id, visited, count(*) AS k FROM visits GROUP BY 1, 2) d GROUP BY 1) t`
	)
	exec := func(sql string) {
		t.Helper()
		if _, err := theWorld.main.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	empty := "TRUNCATE patients, visits, lab_results, profiles, staff"
	exec(empty)
	defer exec(empty)
	exec(
		`INSERT INTO patients (id, name, age, score, diagnosis, admitted) SELECT n, 'x', n, 1, 'flu', '2020-01-01' FROM generate_series(0, 40) n`)
	// Patient n has n visits, on two days.
	exec(`INSERT INTO visits (visit_id, patient_id, ward, visited, cost, minutes, urgent)
		SELECT 100 * n + k, n, 'icu', date '2020-01-01' + k % 2, 10 * n + k, k, k = 1 FROM generate_series(1, 40) n, generate_series(1, n) k`)
	for _, c := range []struct {
		sql      string
		expected string // of PostgreSQL; empty: sql
		maxRows  int
		cut      bool // a number counts as less
		beyond   bool // rows are in no group
		clamped  bool // a condition reads a number as less
	}{
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n > 30`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n > 30`, maxRows: 2},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n * n * n > 63`, clamped: true, expected: `SELECT count(*) FROM ` +
			counts + ` WHERE n >= 4`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n BETWEEN 3 AND 20 AND total > 1000`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n % 7 = 3`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n * 2 + 1 > 60`, maxRows: 2},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE n::int = 33`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE total / n > 200`},
		{sql: `SELECT count(*) FROM ` + counts + ` WHERE total > 12000`},
		{sql: `SELECT count(*), count(*) FILTER (WHERE n / 10 >= 2), sum(CASE WHEN n > 30 THEN 1 ELSE 0 END) FROM ` + counts},
		{sql: `SELECT avg(n % 4), max(least(n, 3)), bool_or(n > 35) FROM ` + counts},
		{sql: `SELECT avg(m) FROM ` + counts},
		{
			sql: `SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) > 30 AND count(DISTINCT minutes) > 32) t`,
		},
		{sql: `SELECT count(*) FROM ` + daily + ` WHERE n > 30 AND most > 17`},
		{
			sql: `WITH t AS (SELECT patient_id, count(*) FILTER (WHERE NOT urgent) AS n FROM visits GROUP BY 1) SELECT count(*) FROM t WHERE n + 1 > 30`,
		},
		{sql: `SELECT count(*) FROM patients p WHERE (SELECT count(*) FROM visits v WHERE v.patient_id = p.id) > 30`},
		{
			sql:     `SELECT count(*) FROM patients p WHERE (SELECT count(*) FROM visits v WHERE v.patient_id = p.id) * 2 > 60`,
			maxRows: 1,
		},
		{
			sql: `SELECT count(*) FROM patients p, LATERAL (SELECT count(*) AS n, sum(cost) AS total FROM visits v WHERE v.patient_id = p.id) t WHERE n > 30 AND total > 9000`,
		},
		{sql: `SELECT count(*) FROM patients p JOIN ` + counts + ` ON t.patient_id = p.id WHERE p.age < n + 1 AND n > 30`},
		{
			sql: `SELECT count(DISTINCT patient_id) FROM (SELECT patient_id, count(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE n > 30`,
		},
		{
			sql: `SELECT count(*) FROM (SELECT patient_id, visit_id, row_number() OVER (PARTITION BY patient_id ORDER BY visit_id) AS n FROM visits) t WHERE n % 50 = 31`,
		},
		{sql: `SELECT least(n, 9) AS k, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`},
		{sql: `SELECT n > 30 AS k, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`, maxRows: 2},
		{sql: `SELECT CASE WHEN n > 30 THEN 'many' WHEN n > 3 THEN 'some' ELSE 'few' END AS k, count(*) FROM ` + counts +
			` GROUP BY 1 ORDER BY 1`},
		{sql: `SELECT width_bucket(n, 0, 40, 4) AS k, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`},
		{sql: `SELECT k, count(*) FROM (SELECT least(n, 9) AS k FROM ` + counts + `) s GROUP BY 1 ORDER BY 1`},

		{
			sql: `SELECT n, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`, beyond: true,
			expected: `SELECT n, count(*) FROM ` + counts + ` WHERE n <= 4 GROUP BY 1 ORDER BY 1`,
		},
		{
			sql: `SELECT n, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`, maxRows: 1, beyond: true,
			expected: `SELECT n, count(*) FROM ` + counts + ` WHERE n <= 4 GROUP BY 1 ORDER BY 1`,
		},
		{
			sql: `SELECT n / 3 * 3 AS k, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`, beyond: true,
			expected: `SELECT n / 3 * 3 AS k, count(*) FROM ` + counts + ` WHERE n < 6 GROUP BY 1 ORDER BY 1`,
		},
		{
			sql: `SELECT n::text AS k, count(*) FROM ` + counts + ` GROUP BY 1 ORDER BY 1`, beyond: true,
			expected: `SELECT n::text AS k, count(*) FROM ` + counts + ` WHERE n <= 4 GROUP BY 1 ORDER BY 1`,
		},
		{
			sql: `SELECT k, count(*) FROM (SELECT n / 3 AS k FROM ` + counts + `) s GROUP BY 1 ORDER BY 1`, beyond: true,
			expected: `SELECT n / 3 AS k, count(*) FROM ` + counts + ` WHERE n < 6 GROUP BY 1 ORDER BY 1`,
		},
		{sql: `SELECT avg(n), sum(n) FROM ` + counts, cut: true, expected: `SELECT avg(least(n, 4)), sum(least(n, 4)) FROM ` +
			counts},
		{sql: `SELECT avg(n) FROM ` + counts, maxRows: 2, cut: true, expected: `SELECT avg(least(n, 2)) FROM ` + counts},
		{sql: `SELECT avg(n) FROM ` + counts + ` WHERE n <= 3`},
		{sql: `SELECT avg(n) FROM ` + counts + ` WHERE n > 30`, cut: true, expected: `SELECT 4::numeric AS avg`},
		{sql: `SELECT avg(n * 2 + 1) FROM ` + counts, cut: true, expected: `SELECT avg(least(n, 4) * 2 + 1) FROM ` + counts},
		{sql: `SELECT sum(total) FROM ` + counts, cut: true, expected: `SELECT sum(least(total, 6000)) FROM ` + counts},
		{
			sql: `SELECT sum((SELECT count(*) FROM visits v WHERE v.patient_id = p.id)) FROM patients p`, cut: true,
			expected: `SELECT sum((SELECT least(count(*), 4) FROM visits v WHERE v.patient_id = p.id)) FROM patients p`,
		},
	} {
		w := *theWorld
		w.maxRows = c.maxRows
		w.measuring()
		asked, err := w.ask(c.sql, nil)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		got, err := w.finish(asked)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if d := w.compare(&answer{corpusQuery{sql: c.sql, expected: c.expected}, asked, got}); d != "" {
			t.Errorf("%s (max_rows %d): %s\nmeasure: %s", c.sql, c.maxRows, d, asked.plan.Blocks[0].Measure.Text)
		}
		k := asked.plan.Blocks[0]
		if cut := slices.ContainsFunc(k.Columns, func(c release.Column) bool { return c.Cut != nil }); cut != c.cut {
			t.Errorf("%s: is a number cut? %v", c.sql, cut)
		}
		if clamped := len(asked.plan.CutConditions) > 0; clamped != c.clamped {
			t.Errorf("%s: does a condition read a number clamped? %v", c.sql, clamped)
		}
		if beyond := len(k.Beyond) > 0; beyond != c.beyond {
			t.Errorf("%s: are rows in no group? %v", c.sql, beyond)
		}
	}
}
