package sqltree_test

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// TestConjuncts: a row that is equated with another falls apart, where it is a list of values.
func TestConjuncts(t *testing.T) {
	for condition, want := range map[string]int{
		"a = b":                                1,
		"a = b AND (c > d AND e)":              3,
		"(a, b) = (c, d)":                      2,
		"ROW(a) = ROW(b)":                      1,
		"(a, b, 1) = (c, d, 2) AND e":          4,
		"(a, b) OPERATOR(pg_catalog.=) (c, d)": 1,
		"(a, b) <> (c, d)":                     1,
		"(a, b) <= (c, d)":                     1,
		"(a, b) IS NOT DISTINCT FROM (c, d)":   1, // holds of NULLs
		"(a, b) = (c, d) OR e":                 1,
		"NOT (a, b) = (c, d)":                  1,
		"(a, b) = (c, d, e)":                   1, // refused where it is built
		"(a, b) = (SELECT c, d)":               1,
		"((a, b), 1) = ((c, d), 1)":            1, // records are equal where NULLs meet
		"(x.*, 1) = (y.*, 1)":                  1,
		"ROW() = ROW()":                        1,
	} {
		tree, err := pg_query.Parse("SELECT 1 WHERE " + condition)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(sqltree.Conjuncts(tree.Stmts[0].Stmt.GetSelectStmt().WhereClause)); got != want {
			t.Errorf("%s: %d conditions, not %d", condition, got, want)
		}
	}
}
