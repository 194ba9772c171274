package rewrite_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

const someVerifier = "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc="

const tpch = "../../tests/bench/tpch/"

// tpchExpected says how the answers to some queries differ from PostgreSQL's: a sum over no rows is 0 unless the count
// of its rows is released.
var tpchExpected = map[string]string{
	"q19.sql": "SELECT coalesce(revenue, 0) AS revenue FROM (@) AS q",
}

// TestTPCH plans the benchmark's queries, whose unit is reached through a chain of foreign keys, and holds their
// noiseless answers against PostgreSQL's.
func TestTPCH(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(tpch + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	schema := strings.ReplaceAll(read("schema.sql"), ":sf", "0.002")
	rules := strings.NewReplacer("@METRICS@", "127.0.0.1:0", "@VERIFIER@", someVerifier,
		"    max_rows_per_unit: 700\n", "    max_rows_per_unit: 700\n    max_rows: 6000000\n"). // so that all sums are exact
		Replace(read("policy.yaml"))
	w, err := newWorld(context.Background(), theServer, "tpch", "BENCH_", rules, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.backend.Close()
	files, err := filepath.Glob(tpch + "queries/*.sql")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			sql := strings.TrimSpace(read("queries/" + filepath.Base(f)))
			q, err := w.ask(sql, nil)
			if err != nil {
				t.Fatal(refusalText(err))
			}
			for _, l := range q.plan.Explain {
				t.Log(l)
			}
			t.Log(q.plan.Blocks[0].Measure.Text)
			got, err := w.finish(q)
			if err != nil {
				t.Fatal(err)
			}
			expected := strings.Replace(tpchExpected[filepath.Base(f)], "@", sql, 1)
			if d := w.compare(&answer{corpusQuery{expected: expected}, q, got}); d != "" {
				t.Error(d)
			}
		})
	}
}

// byName compares with a scalar subquery over a public table whose rows no index tells apart by that name.
const byName = `

-- Q by the name of a nation
SELECT count(*) FROM customer WHERE c_nationkey = (SELECT n_nationkey FROM nation WHERE n_name = 'CHINA')
`

// TestTPCHAtScale plans the benchmark's queries as published, under policies that say nothing of the tables' rows, and
// as many as there are at scales 1 and 100, and prepares the noise of all their releases.
func TestTPCHAtScale(t *testing.T) {
	ctx := context.Background()
	read := func(name string) string {
		text, err := os.ReadFile("../../tests/questions/tpch/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rules := strings.NewReplacer("@VERIFIER@", someVerifier, "    max_rows: 100000\n", "").Replace(read("policy.yaml"))
	w, err := newWorld(ctx, theServer, "tpch_scale", "QUESTIONS_", rules, read("schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.backend.Close()
	for _, scale := range []int64{0, 1, 100} {
		t.Run(fmt.Sprint(scale), func(t *testing.T) { w.plansAt(t, rules, scale, read("questions_1_published.sql")+byName) })
	}
}

// plansAt plans queries under a policy that says how many rows the private tables have at a scale; at 0 it says nothing
// of them.
func (w *world) plansAt(t *testing.T, rules string, scale int64, queries string) {
	ctx, at := context.Background(), *w
	if scale > 0 {
		for table, rows := range map[string]int64{"customer": 150_000, "orders": 1_500_000, "lineitem": 6_000_000} {
			rules = strings.Replace(rules, "\n  "+table+":\n", fmt.Sprintf("\n  %s:\n    max_rows: %d\n", table, rows*scale), 1)
		}
	}
	var err error
	if at.policy, err = policy.Parse("policy.yaml", []byte(rules)); err != nil {
		t.Fatal(err)
	}
	if at.backend, err = backend.Open(ctx, at.policy, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer at.backend.Close()
	if at.schema, err = at.backend.Schema(ctx); err != nil {
		t.Fatal(err)
	}
	prepared := 0
	for text := range strings.SplitSeq(queries, "\n\n") {
		name, sql, _ := strings.Cut(strings.TrimPrefix(text, "-- "), "\n")
		if !strings.HasPrefix(name, "Q") || strings.HasPrefix(sql, "-- refused") {
			continue
		}
		q, err := at.ask(strings.TrimSuffix(strings.TrimSpace(sql), ";"), nil)
		if err != nil {
			t.Errorf("%s: %s", name, refusalText(err))
			continue
		}
		if q.plan == nil {
			continue // of public tables alone
		}
		for _, b := range q.plan.Blocks {
			for _, r := range b.Releases {
				if _, err := mechanism.Prepare(r, mechanism.Guarantee{Epsilon: 1}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if most := 6e6 * 110_000 * float64(scale); scale > 0 && r.Kind == mechanism.Scalar &&
					float64(r.Range[0].Hi)*r.Grid.Step > most {
					t.Errorf("%s: %s lies in %v × %g, want no more than %g", name, r.Name, r.Range, r.Grid.Step, most)
				}
				prepared++
			}
		}
	}
	if prepared < 40 {
		t.Errorf("%d releases", prepared)
	}
}
