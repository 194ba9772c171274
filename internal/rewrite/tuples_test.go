package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// TestPublicRowsChange: what becomes of a public row between plan and measure takes its group away, and moves or fails
// nothing else.
func TestPublicRowsChange(t *testing.T) {
	ctx, w := context.Background(), theWorld
	exec := func(sql string) {
		t.Helper()
		if _, err := w.main.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	w.pin(plain)
	exec(rewritetest.Hostile(rand.New(rand.NewPCG(3, 4)), 0))
	exec(
		"INSERT INTO patients (id, name, score, diagnosis, ward, admitted) SELECT 7000 + i, 'Zoe', 0, 'flu', (ARRAY['icu', 'er', 'onc'])[i % 3 + 1], '2021-01-01' FROM generate_series(1, 60) i")
	asked,
		err := w.ask(
		"SELECT w.ward, w.name, w.floor, count(*) FROM patients p JOIN wards w ON w.ward = p.ward GROUP BY w.ward", nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := func() map[string]int64 {
		t.Helper()
		w.measuring()
		if !w.allProven(asked.plan) {
			t.Error("a proof fails")
		}
		all, _, err := w.run(asked)
		if err != nil {
			t.Fatal(err)
		}
		out, declared := map[string]int64{}, &exact{values: map[string][]int64{}, bins: map[string]map[int][]bin{}}
		declared.declared(&asked.plan.Blocks[0])
		for i, name := range all[0].keys {
			if declared.values[name] == nil {
				continue // the proxy drops it
			}
			out[fmt.Sprint(*all[0].texts[i][0])] = all[0].values[name][0]
		}
		return out
	}
	before := counts()
	if len(before) != 3 || before["icu"] < 20 || before["er"] < 20 || before["onc"] < 20 {
		t.Fatalf("counts %v, want those of three wards", before)
	}
	for _, change := range []struct{ do, undo, gone string }{
		{
			"UPDATE wards SET name = 'Renamed' WHERE ward = 'icu'",
			"UPDATE wards SET name = 'Intensive care' WHERE ward = 'icu'", "icu",
		},
		{"DELETE FROM wards WHERE ward = 'er'", "INSERT INTO wards VALUES ('er', 'Emergency', 0, 12)", "er"},
		{"UPDATE wards SET floor = 1 WHERE ward = 'onc'", "UPDATE wards SET floor = 2 WHERE ward = 'onc'", "onc"},
	} {
		exec(change.do)
		after := counts()
		exec(change.undo)
		for ward, n := range before {
			if ward == change.gone {
				n = 0
			}
			if after[ward] != n {
				t.Errorf("%s: %d in %s, want %d", change.do, after[ward], ward, n)
			}
		}
	}
}

// TestListedKeys: of a private column with values_from main names the groups whose keys the public table has, and NULL,
// and no others: not one that a person alone has, and not one that has left the table. No list is sent to it.
func TestListedKeys(t *testing.T) {
	ctx, w := context.Background(), theWorld
	exec := func(sql string) {
		t.Helper()
		if _, err := w.main.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	w.pin(plain)
	exec(rewritetest.Hostile(rand.New(rand.NewPCG(3, 4)), 0))
	exec(
		"INSERT INTO patients (id, name, score, diagnosis, ward, age, admitted) SELECT 7000 + i, 'Zoe', 0, 'flu', (ARRAY['icu', 'er', 'secret', NULL])[i % 4 + 1], 30, '2021-01-01' FROM generate_series(1, 80) i")
	defer exec("DELETE FROM patients WHERE id > 7000")
	for _, sql := range []string{
		"SELECT ward, count(*) FROM patients GROUP BY ward",
		"SELECT ward, count(*) FROM patients WHERE ward <> 'none' OR ward IS NULL GROUP BY ward",
		"SELECT ward, count(DISTINCT age), sum(DISTINCT age) FROM patients GROUP BY ward",
		"SELECT ward, percentile_disc(0.5) WITHIN GROUP (ORDER BY age), max(age) FROM patients GROUP BY ward",
		"SELECT p.ward, count(*), sum(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY p.ward",
	} {
		asked, err := w.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		block := &asked.plan.Blocks[0]
		if !block.ByKey || strings.Contains(block.Measure.Text, "unnest") {
			t.Errorf("%s: main is sent a list: %s", sql, block.Measure.Text)
		}
		named := func() map[string]bool {
			t.Helper()
			w.measuring()
			if !w.allProven(asked.plan) {
				t.Errorf("%s: a proof fails", sql)
			}
			all, _, err := w.run(asked)
			if err != nil {
				t.Fatal(err)
			}
			declared, names := &exact{values: map[string][]int64{}, bins: map[string]map[int][]bin{}}, map[string]bool{}
			declared.declared(block)
			for i, name := range all[0].keys {
				if declared.values[name] == nil {
					t.Errorf("%s: main names a group that the list has not", sql)
				}
				if ward := all[0].texts[i][0]; ward != nil {
					names[*ward] = slices.ContainsFunc(all[0].values[name], func(n int64) bool { return n != 0 }) ||
						len(all[0].bins[name]) > 0
				}
			}
			return names
		}
		exec(
			"INSERT INTO visits (visit_id, patient_id, ward, visited, minutes, urgent, cost) SELECT 90000 + id, id, 'er', '2021-01-01', 5, true, 7 FROM patients WHERE id > 7000")
		if got := named(); !got["icu"] || !got["er"] || got["secret"] {
			t.Errorf("%s: groups %v", sql, got)
		}
		exec("UPDATE wards SET ward = 'er2' WHERE ward = 'er'")
		if got := named(); !got["icu"] || got["er"] {
			t.Errorf("%s: groups %v once a ward has gone", sql, got)
		}
		exec("UPDATE wards SET ward = 'er' WHERE ward = 'er2'; DELETE FROM visits WHERE visit_id > 90000")
	}
}

// TestPublicBoundsChange: bounds that were read from public rows are proven of them as long as they hold, and not when
// a row has left them.
func TestPublicBoundsChange(t *testing.T) {
	ctx, w := context.Background(), theWorld
	asked, err := w.ask("SELECT sum(w.beds), avg(w.floor + 1) FROM patients p JOIN wards w ON w.ward = p.ward", nil)
	if err != nil {
		t.Fatal(err)
	}
	holding := func() (holds []bool) {
		for _, p := range asked.plan.Proofs {
			if p.Values.Text != "" && p.Of == "" {
				holds = append(holds, w.proven(t, p))
			}
		}
		return holds
	}
	for _, c := range []struct{ change, want string }{
		{"UPDATE wards SET beds = beds", "[true true]"},
		{"UPDATE wards SET beds = 9 WHERE ward = 'icu'", "[true true]"},
		{"UPDATE wards SET beds = 7 WHERE ward = 'icu'", "[false true]"},
		{"UPDATE wards SET beds = 21 WHERE ward = 'icu'", "[false true]"},
		{"UPDATE wards SET floor = 3 WHERE ward = 'icu'", "[true false]"},
		{"DELETE FROM wards", "[true true]"},
	} {
		for _, sql := range []string{"BEGIN", c.change} {
			if _, err := w.main.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(holding()); got != c.want {
			t.Errorf("%s: the proofs hold: %s, want %s", c.change, got, c.want)
		}
		if _, err := w.main.Exec(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadRowsAreConstants: a statement means the rows that were read of a public query, whatever becomes of its
// tables, and needs no proof of them (docs/privacy.md P4g).
func TestReadRowsAreConstants(t *testing.T) {
	ctx, w := context.Background(), theWorld
	if err := w.fill(rand.New(rand.NewPCG(3, 4)), oraclePatients); err != nil {
		t.Fatal(err)
	}
	asked,
		err := w.ask(
		"SELECT w.rank, count(*) FROM patients p JOIN (SELECT ward, rank() OVER (ORDER BY beds DESC) AS rank FROM wards) w ON w.ward = p.ward GROUP BY w.rank", nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := func() string {
		t.Helper()
		w.measuring()
		if !w.allProven(asked.plan) {
			t.Error("a proof fails")
		}
		all, _, err := w.run(asked)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all[0].values)
	}
	before := counts()
	if _, err := w.main.Exec(ctx, "UPDATE wards SET beds = 21 - beds"); err != nil {
		t.Fatal(err)
	}
	after := counts()
	again, err := w.ask(asked.sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.main.Exec(ctx, "UPDATE wards SET beds = 21 - beds"); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("%s before the public rows changed, %s after", before, after)
	}
	if again.plan.Fingerprint == asked.plan.Fingerprint {
		t.Error("other rows are the same question")
	}
}
