package rewrite_test

import (
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestTables says what statements a slice may be a part of.
func TestTables(t *testing.T) {
	for sql, want := range map[string][]string{
		"SELECT count(*) FROM t":                           nil,
		"SELECT count(*) FROM t WHERE a = 1":               {"SELECT count(*), a FROM t GROUP BY a"},
		"SELECT b, count(*) FROM t WHERE 2 < a GROUP BY 1": {"SELECT b, count(*), a FROM t GROUP BY 1, a"},
		"SELECT a, count(*) FROM t WHERE a IN (1, 2) GROUP BY a": {
			"SELECT a, count(*) FROM t GROUP BY a",
		},
		"SELECT count(*) FROM t WHERE t.a = 1 AND b = 2 AND t.a < 3 AND a + b > 1": {
			"SELECT count(*), t.a FROM t WHERE b = 2 AND (a + b) > 1 GROUP BY t.a",
			"SELECT count(*), b FROM t WHERE t.a = 1 AND t.a < 3 AND (a + b) > 1 GROUP BY b",
			"SELECT count(*), t.a, b FROM t WHERE (a + b) > 1 GROUP BY t.a, b",
		},
		"SELECT count(*) FROM t WHERE a = $1 OR a IS NULL HAVING count(*) > 3": {
			"SELECT count(*), a FROM t GROUP BY a HAVING count(*) > 3",
		},
		"SELECT count(*) FROM t WHERE a IN (SELECT b FROM u)":        nil,
		"SELECT count(*) FROM t WHERE true":                          nil,
		"SELECT DISTINCT count(*) FROM t WHERE a = 1":                nil,
		"SELECT count(*) FROM t WHERE a = 1 UNION SELECT 2":          nil,
		"EXPLAIN SELECT count(*) FROM t WHERE a = 1":                 nil,
		"SELECT b FROM (SELECT count(*) FROM t WHERE a = 1) AS q(b)": nil,
	} {
		list, err := rewrite.Parse(sql, 1000)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := rewrite.Tables(list[0], 1000)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, table := range tables {
			got = append(got, table.SQL)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	list, err := rewrite.Parse("SELECT count(*) FROM t WHERE a = 1 AND b = 1 AND c = 1 AND d = 1", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if tables, err := rewrite.Tables(list[0], 1000); err != nil || len(tables) != 7 {
		t.Errorf("%d tables of four conditions, %v", len(tables), err)
	}
}
