package rewrite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tpch = "../../tests/bench/tpch/"

// tpchExpected says how the answers to some queries differ from PostgreSQL's: all groups of the domain come back, and a sum
// over no rows is 0 unless the count of its rows is released.
var tpchExpected = map[string]string{
	"q1.sql": `SELECT l_returnflag, l_linestatus, sum_qty, sum_base_price, sum_disc_price, sum_charge, avg_qty, avg_price, avg_disc, coalesce(count_order, 0) AS count_order
		FROM (@) AS q RIGHT JOIN (unnest('{A,N,R}'::bpchar[]) AS l_returnflag CROSS JOIN unnest('{F,O}'::bpchar[]) AS l_linestatus) USING (l_returnflag, l_linestatus) ORDER BY 1, 2`,
	"q1_stored.sql": `SELECT returnflag, linestatus, sum_qty, sum_base_price, sum_disc_price, sum_charge, avg_qty, avg_price, avg_disc, coalesce(count_order, 0) AS count_order
		FROM (@) AS q RIGHT JOIN (unnest('{A,N,R}'::text[]) AS returnflag CROSS JOIN unnest('{F,O}'::text[]) AS linestatus) USING (returnflag, linestatus) ORDER BY 1, 2`,
	"q10_by_nation.sql": "SELECT n_name, coalesce(revenue, 0) AS revenue FROM (@) AS q RIGHT JOIN nation USING (n_name) ORDER BY revenue DESC",
	"q19.sql":           "SELECT coalesce(revenue, 0) AS revenue FROM (@) AS q",
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
	w, err := newWorld(context.Background(), theServer, "tpch", "BENCH_", schema, rules)
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
			if d := w.compare(&answer{corpusQuery{expected: expected}, w, q, got}); d != "" {
				t.Error(d)
			}
		})
	}
}
