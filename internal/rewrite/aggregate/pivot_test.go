package aggregate

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// rowScope has a few columns.
type rowScope map[string]*expr.Column

func newRowScope() rowScope {
	s := rowScope{}
	for name, oid := range map[string]uint32{
		"i": pgtype.Int4OID, "small": pgtype.Int2OID, "n": pgtype.NumericOID,
		"t": pgtype.TextOID, "b": pgtype.BoolOID, "d": pgtype.DateOID,
	} {
		c := &expr.Column{
			Ref: query.Named("r").Column(name), Name: name, Type: oid, Typmod: -1,
			TypeName: pgresolve.Qualified(oid, -1), Nullable: true, Scale: -1, DeterministicCollation: true,
		}
		if pgresolve.IsNumber(oid) {
			c.Bounds = bounds.Between(0, 100)
		}
		s[name] = c
	}
	return s
}

func (s rowScope) Column(fields []string, location int) (*expr.Column, error) {
	if c := s[fields[len(fields)-1]]; c != nil {
		return c, nil
	}
	return nil, expr.Refuse(refusal.Types, location, "no such column", "")
}
func (rowScope) Parameter(int) (uint32, *string, bool)        { return 0, nil, false }
func (rowScope) Literal(uint32, string) (string, bool, error) { return "", false, nil }
func (rowScope) Compute(*pg_query.Node, uint32, query.Scalar) (*string, bool, error) {
	return nil, false, nil
}
func (rowScope) DomainNamed(string, string) *expr.Domain           { return nil }
func (rowScope) Prints(uint32) bool                                { return true }
func (s rowScope) Expression(n *pg_query.Node) (*expr.Expr, error) { return expr.Build(n, s) }
func (s rowScope) Bounded(n *pg_query.Node) (*expr.Expr, error)    { return expr.Build(n, s) }
func (s rowScope) Condition(n *pg_query.Node) (*expr.Expr, error)  { return expr.BuildBoolean(n, s) }

func (rowScope) SubLink(*pg_query.SubLink, []*expr.Expr) (*expr.Expr, error) {
	return expr.Predicate(query.Raw("TRUE"), nil, false, nil, expr.Work{}, 0), nil
}

func callOf(t *testing.T, text string) *Call {
	t.Helper()
	tree, err := pg_query.Parse("SELECT " + text)
	if err != nil {
		t.Fatal(err)
	}
	f := tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val.GetFuncCall()
	c, err := NewCall(&relation.Base{}, f, newRowScope())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// TestPivots: which aggregates of a CASE are read as ones with a filter, and of what.
func TestPivots(t *testing.T) {
	const positive = `(r.i OPERATOR(pg_catalog.>) 0)`
	for _, c := range []struct {
		call, filter, argument string // filter: empty for a call that stays as it is
		zero                   bool
	}{
		{"sum(CASE WHEN b THEN i END)", "r.b", "r.i", false},
		{"sum(CASE WHEN b THEN i ELSE NULL END)", "r.b", "r.i", false},
		{"sum(CASE WHEN b THEN i ELSE 0 END)", "r.b", "r.i", true},
		{"sum(CASE WHEN b THEN small ELSE 0 END)", "r.b", "r.small", true}, // bigint either way
		{"sum(CASE WHEN b THEN n ELSE 0 END)", "r.b", "r.n", true},
		{"sum(CASE WHEN b THEN i ELSE 0.0 END)", "", "", false}, // a numeric
		{"sum(CASE WHEN b THEN i ELSE 1 END)", "", "", false},
		{"avg(CASE WHEN b THEN i ELSE 0 END)", "", "", false},
		{"count(CASE WHEN b THEN i ELSE 0 END)", "", "", false},
		{"min(CASE WHEN b THEN i ELSE 0 END)", "", "", false},
		{"count(CASE WHEN b THEN 1 END)", "r.b", "1", false},
		{"count(DISTINCT CASE WHEN b THEN t END)", "r.b", "r.t", false},
		{"avg(CASE WHEN i > 0 THEN n END)", positive, "r.n", false},
		// it knows that i is at least 1
		{"sum(CASE WHEN i > 0 THEN i END)", positive, "(CASE WHEN " + positive +
			" THEN (CASE WHEN r.i OPERATOR(pg_catalog.<) 1 THEN 1 WHEN r.i OPERATOR(pg_catalog.>) 100 THEN 100 ELSE r.i END) ELSE NULL::pg_catalog.int4 END)", false},
		{"sum(CASE t WHEN 'x' THEN i END)", `(r.t OPERATOR(pg_catalog.=) 'x'::pg_catalog.text)`, "r.i", false},
		{"sum(CASE 'x' WHEN t THEN i END)", "", "", false},
		{"sum(CASE WHEN b THEN i WHEN i > 0 THEN 1 END)", "", "", false},
		{"sum(CASE WHEN EXISTS (SELECT 1) THEN i END)", "", "", false},
		{"count(CASE WHEN b THEN NULL END)", "", "", false},
		{"sum(CASE WHEN b THEN i END) FILTER (WHERE i > 0)", "(" + positive + " AND r.b)", "r.i", false},
		{"percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE WHEN b THEN n END)", "r.b", "r.n", false},
		{"corr(CASE WHEN b THEN i END, i)", "", "", false},
		{"sum(i) FILTER (WHERE b)", "r.b", "r.i", false},
	} {
		got := callOf(t, c.call)
		filter := ""
		if got.Filter != nil {
			filter = query.Text(got.Filter.SQL())
		}
		if filter != c.filter || got.Zero != c.zero || c.filter != "" && query.Text(got.Args[0].SQL()) != c.argument {
			t.Errorf("%s: %s FILTER (WHERE %s), zero %v", c.call, query.Text(got.Args[0].SQL()), filter, got.Zero)
		}
	}
}

// TestCallsExclude: rows count for a call where its filter holds and its argument is not NULL.
func TestCallsExclude(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"sum(CASE WHEN b THEN i END)", "sum(CASE WHEN NOT b THEN i ELSE 0 END)", true},
		{"count(*) FILTER (WHERE t = 'x')", "sum(CASE t WHEN 'y' THEN i END)", true},
		{"count(*) FILTER (WHERE t = 'x')", "count(*)", false},
		{"count(i)", "count(*) FILTER (WHERE i IS NULL)", true},
		{"avg(i)", "avg(n) FILTER (WHERE i IS NULL)", true},
		{"corr(i, n)", "count(*) FILTER (WHERE n IS NULL)", true},
		{"avg(CASE WHEN i < 5 THEN n ELSE 0 END)", "avg(CASE WHEN i >= 5 THEN n ELSE 0 END)", false}, // both count all rows
	} {
		if got := expr.Disjoint(callOf(t, c.a).rows(), callOf(t, c.b).rows()); got != c.want {
			t.Errorf("%s / %s: %v", c.a, c.b, got)
		}
	}
}

// TestForeignRowsExcludeNothing: the server of a foreign table may find its texts equal by rules of its own.
func TestForeignRowsExcludeNothing(t *testing.T) {
	calls := []*Call{callOf(t, "count(*) FILTER (WHERE t = 'x')"), callOf(t, "count(*) FILTER (WHERE t = 'y')")}
	name := policy.Name{Schema: "public", Relation: "r"}
	for kind, want := range map[byte]bool{'r': true, 'f': false, 'p': false} {
		b := &relation.Base{Schema: &schema.Schema{Relations: map[policy.Name]*schema.Relation{
			name: {Name: name, Kind: kind},
		}}}
		if got := Exclusions(b, &relation.Relation{Tables: []*policy.Table{{Name: name}}}, calls); got(0, 1) != want ||
			got(1, 0) != want {
			t.Errorf("%c: %v, want %v", kind, got(0, 1), want)
		}
	}
}
