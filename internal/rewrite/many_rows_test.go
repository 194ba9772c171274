package rewrite_test

import (
	"context"
	"testing"
)

// TestManyRowsOfOneUnit: what a plan declares holds for a unit with very many more rows than it may have, and nothing
// fails.
func TestManyRowsOfOneUnit(t *testing.T) {
	w := theWorld
	exec := func(sql string) {
		t.Helper()
		if _, err := w.main.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	empty := "TRUNCATE patients, visits, lab_results, profiles, staff"
	defer exec(empty)
	for name, c := range map[string]struct{ rows, sql string }{
		// Each sum of the unit stops at about 2^60, and the magnitudes of eight of them are added.
		"large magnitudes": {
			`SELECT n, 1, 'icu', date '2020-01-01' + n % 8, 5, 60, NULL, false FROM generate_series(1, 8 * 8192) n`,
			`SELECT sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-01'), sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-02'),
				sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-03'), sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-04'),
				sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-05'), sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-06'),
				sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-07'), sum(minutes + 140737488355328) FILTER (WHERE visited = '2020-01-08') FROM visits`,
		},
		"many selected groups": {
			`SELECT n, 1, 'icu', date '2020-01-01', 2000, 60, NULL, false FROM generate_series(1, 40020) n`,
			`SELECT visit_id / 2 AS pair, sum(cost) FROM visits GROUP BY 1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			exec(empty)
			asked, err := w.ask(c.sql, nil)
			if err != nil {
				t.Fatal(err)
			}
			k := &asked.plan.Blocks[0]
			w.measuring()
			measure := func() *exact {
				t.Helper()
				rows, err := w.query(k.Measure, nil)
				if err != nil {
					t.Fatal(err)
				}
				return collect(k, [][][]*string{rows})
			}
			without := measure()
			exec("INSERT INTO visits " + c.rows)
			if problem := compare(k, measure(), without); problem != "" {
				t.Error(problem)
			}
		})
	}
}
