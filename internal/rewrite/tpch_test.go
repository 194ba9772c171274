package rewrite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tpch = "../../tests/bench/tpch/"

// tpchExpected says how the answers to some queries differ from PostgreSQL's: a sum over no rows is 0 unless the count of its rows is
// released.
var tpchExpected = map[string]string{
	"q19.sql": "SELECT coalesce(revenue, 0) AS revenue FROM (@) AS q",
}

// TestTPCH plans the benchmark's queries, whose unit is reached through a chain of foreign keys, and holds their noiseless
// answers against PostgreSQL's.
func TestTPCH(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(tpch + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	schema := strings.ReplaceAll(read("schema.sql"), ":sf", "0.002")
	verifier := "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc="
	rules := strings.NewReplacer("@METRICS@", "127.0.0.1:0", "@VERIFIER@", verifier).Replace(read("policy.yaml"))
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
