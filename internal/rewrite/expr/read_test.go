package expr

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// TestAsColumn: a subselect's column keeps what its expression promises, and promises no bounds that the SQL does not
// enforce.
func TestAsColumn(t *testing.T) {
	scope := offlineScope(t)
	for text, enforced := range map[string]bool{
		"age": false, "age::int": true, "age + 1": true, "n2": false, "m": false,
		"CASE WHEN b THEN m END": true, `t COLLATE "C"`: true, "dom": false,
	} {
		e, err := Build(parseExpr(t, text), scope)
		if err != nil {
			t.Fatal(err)
		}
		scope.columns["below"] = e.AsColumn(query.Named("s").Column("c1"), "below")
		x, err := Build(parseExpr(t, "below"), scope)
		if err != nil {
			t.Fatal(err)
		}
		if scope.columns["below"].Enforced != enforced || x.Type() != e.Type() || x.Scale() != e.Scale() ||
			x.Bounds().String() != e.Bounds().String() || x.isEnum() != e.isEnum() || x.collation != e.collation {
			t.Errorf("%s becomes %+v", text, scope.columns["below"])
		}
	}
}

// TestRead: what prints clamped. A bare column does not, so that an index serves comparisons and keys are compared as
// they are.
func TestRead(t *testing.T) {
	scope := offlineScope(t)
	enforced := *scope.columns["age"]
	enforced.Enforced = true
	scope.columns["e"] = &enforced
	for text, clamped := range map[string]bool{
		"age": false, "age > 5": false, "age IN (1, 2)": false, "dom = 5": false, "t = 'x'": false, "lower(t)": false,
		"e + 1": false, "u4 % 10": false,
		"age::int": true, "age::int4 > 5": true, "dom::int": true, "COALESCE(age)": true, "age + 1": true, "f8::float8": true,
		"d::date": true, "iv::interval": true,
	} {
		e, err := Build(parseExpr(t, text), scope)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Contains(sqlOf(e), "CASE WHEN r.") || strings.Contains(sqlOf(e), "CASE WHEN (r.") ||
			strings.Contains(sqlOf(e), "(CASE WHEN pg_catalog.date_part"); got != clamped {
			t.Errorf("%s prints %s", text, sqlOf(e))
		}
	}
	// an enforced column is clamped where a branch narrows it
	e, err := Build(parseExpr(t, "CASE WHEN e > 5 THEN 1 / e END"), scope)
	if err != nil || !strings.Contains(sqlOf(e), `(CASE WHEN r."age" OPERATOR(pg_catalog.<) 6 THEN 6 ELSE r."age" END)`) {
		t.Errorf("%v, %v", sqlOf(e), err)
	}
}
