package sqltree_test

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// TestDeparseKeepsTheMeaning: a print is the same statement again, also where the printer of the parser's library loses
// parentheses.
func TestDeparseKeepsTheMeaning(t *testing.T) {
	for sql, want := range map[string]string{
		"select a+1 as b from t where not (x or y)": "SELECT a + 1 AS b FROM t WHERE NOT (x OR y)",
		"SELECT (a OR b) IS NULL FROM t":            "SELECT (a OR b) IS NULL FROM t",
		"SELECT (NOT a) IS TRUE FROM t":             "SELECT (NOT a) IS TRUE FROM t",
		"SELECT 'it''s', E'\\n', -(-a)":             "SELECT 'it''s', '\n', - (- a)",
		`SELECT E'\\', '\'`:                         `SELECT E'\\', E'\\'`,

		"SELECT (CASE WHEN a THEN b END)[1], (coalesce(a, b)).x, (x.f).*, x.*": "SELECT ((CASE WHEN a THEN b END))[1], ((COALESCE(a, b))).x, (x.f).*, x.*",
		"SELECT (ARRAY(SELECT 1))[1], ((a[1]).b)[2], (current_user).c":         "SELECT ((ARRAY(SELECT 1)))[1], ((((a[1])).b))[2], ((current_user)).c",
		`SELECT (a || b) COLLATE "C", (a COLLATE "C" || b)::int`:               `SELECT (a || b) COLLATE "C", (a COLLATE "C" || b)::int`,
		"SELECT (a OR b) LIKE c, (a AND b) IN (c, NOT d), (a = b) = ANY (c)":   "SELECT (a OR b) LIKE c, (a AND b) IN (c, (NOT d)), (a = b) = ANY(c)",
		"SELECT (a OR b) = ANY (SELECT c), (a, b) IN (SELECT c, d)":            "SELECT (a OR b) = ANY (SELECT c), ((a, b)) IN (SELECT c, d)",
		"SELECT (a OR b) AT TIME ZONE c, a SIMILAR TO (b OR c)":                "SELECT (a OR b) AT TIME ZONE c, a SIMILAR TO (b OR c)",
		"SELECT (count(*) > 1 OR rank() OVER () > 1) IS NULL FROM t":           "SELECT (count(*) > 1 OR rank() OVER () > 1) IS NULL FROM t",
	} {
		tree, err := pg_query.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sqltree.Deparse(tree.Stmts[0].Stmt.GetSelectStmt())
		if err != nil || got != want {
			t.Errorf("%s is printed as %s, %v, want %s", sql, got, err, want)
		}
	}
}

func TestOutputNames(t *testing.T) {
	for sql, want := range map[string]string{
		"a": "a", "t.a": "a", "count(*)": "count", "a + 1": "?column?", "a::int": "a", "1::int": "int4",
		"CASE WHEN a THEN 1 END": "case",
		"coalesce(a, b)":         "coalesce", "EXISTS (SELECT 1)": "exists", "(SELECT max(x) FROM t)": "max",
		"a + 1 AS n":   "n",
		"nullif(a, b)": "nullif",
	} {
		tree, err := pg_query.Parse("SELECT " + sql)
		if err != nil {
			t.Fatal(err)
		}
		if got := sqltree.OutputName(tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget()); got != want {
			t.Errorf("%s is called %q, want %q", sql, got, want)
		}
	}
}
