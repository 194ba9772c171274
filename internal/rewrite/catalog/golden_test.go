package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// goldenInput adds, to the clinic, a public table with listed columns, a second schema, and names that need quotes.
func goldenInput() catalog.Input {
	in := input
	in.Public = map[policy.Name][]string{
		{Schema: "public", Relation: "wards"}:   nil,
		{Schema: "public", Relation: "drugs"}:   {"code", "Trade Name"},
		{Schema: "ref", Relation: "Units"}:      nil,
		{Schema: "public", Relation: "pg_ward"}: nil,
	}
	in.Schemas = []string{"public", "ref"}
	return in
}

// check prints what Check makes of one statement.
func check(t *testing.T, sql string) string {
	t.Helper()
	tree, err := pg_query.Parse(sql)
	if err != nil || len(tree.Stmts) != 1 {
		t.Fatalf("%s: does not parse: %v", sql, err)
	}
	r, err := catalog.Check(tree.Stmts[0].Stmt, sql, goldenInput())
	if err != nil {
		var e *pgconn.PgError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v is not an error for clients", sql, err)
		}
		if e.Hint == "" && e.Code != "42704" && e.Code != "42P01" && !strings.HasPrefix(e.Message, "cross-database") {
			t.Errorf("%s: no hint: %s", sql, e.Message)
		}
		return fmt.Sprintf("%s at %d: %s\n", e.Code, e.Position, e.Message)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", map[catalog.Route]string{catalog.Shadow: "shadow", catalog.Public: "public"}[r.Route],
		r.SQL)
	for _, s := range r.Supplies {
		fmt.Fprintf(&b, "  $%d %s = kind %d %s\n", s.Parameter, s.Type, s.Kind, s.Name)
	}
	for _, a := range r.Assignments {
		fmt.Fprintf(&b, "  set %s = %q $%d local %v\n", a.Name, a.Value, a.Parameter, a.Local)
	}
	return b.String()
}

// TestRefused is the attack corpus: one statement a line, class by class of the threat model. All of them are refused.
func TestRefused(t *testing.T) {
	datadriven.Walk(t, "testdata/refused", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			for _, sql := range strings.Split(d.Input, "\n") {
				got := check(t, sql)
				if strings.HasPrefix(got, "shadow:") || strings.HasPrefix(got, "public:") {
					t.Errorf("%s: %s: accepted: %s", d.Pos, sql, got)
				}
				b.WriteString(got)
			}
			return b.String()
		})
	})
}

// TestEdited shows what accepted statements become.
func TestEdited(t *testing.T) {
	datadriven.Walk(t, "testdata/edited", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return check(t, d.Input)
		})
	})
}
