package catalog_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

func parse(t *testing.T, sql string) *pg_query.Node {
	t.Helper()
	tree, err := pg_query.Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tree.Stmts[0].Stmt
}

func TestEmpty(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT * FROM patients LIMIT 0":                                       true,
		"SELECT count(*) FROM patients LIMIT 0":                                true,
		"SELECT a FROM patients UNION SELECT b FROM patients LIMIT 0":          true,
		"SELECT TRUE AS x FROM patients WHERE 1 <> 1":                          true,
		"SELECT a, p.* FROM patients p WHERE 1 = 0":                            true,
		"SELECT a FROM patients WHERE false":                                   true,
		"SELECT a FROM patients WHERE 1 = 1":                                   false,
		"SELECT a FROM patients WHERE true":                                    false,
		"SELECT a FROM patients WHERE 1 <> 2":                                  false,
		"SELECT a FROM patients WHERE a = 0":                                   false,
		"SELECT a FROM patients WHERE 1 = 0 OR true":                           false,
		"SELECT a FROM patients LIMIT 1":                                       false,
		"SELECT a FROM patients LIMIT $1":                                      false,
		"SELECT a FROM patients LIMIT 0 + 1":                                   false,
		"SELECT count(*) FROM patients WHERE false":                            false, // one row
		"SELECT a FROM patients WHERE false UNION SELECT a FROM patients":      false,
		"SELECT 1 FROM patients WHERE false GROUP BY ()":                       false,
		"SELECT 1 FROM patients WHERE false HAVING true":                       false,
		"SELECT * FROM (SELECT * FROM patients LIMIT 0) q, patients":           false,
		"INSERT INTO patients SELECT 1 LIMIT 0":                                false,
		"SELECT a FROM patients WHERE 'x' = 'y'":                               false,
		"SELECT a FROM patients WHERE 1 OPERATOR(public.=) 0":                  false,
		"SELECT (SELECT name FROM patients LIMIT 1) FROM patients WHERE 1 = 0": false,
	} {
		if got := catalog.Empty(parse(t, sql)); got != want {
			t.Errorf("Empty(%s) is %v", sql, got)
		}
	}
}

// TestSuppliesFollow checks that added parameters never take a number that the client binds.
func TestSuppliesFollow(t *testing.T) {
	const sql = "SELECT $2::int, epsilon_left FROM dpproxy.budget"
	for bound, first := range map[int]int{0: 3, 2: 3, 5: 6} {
		in := input
		in.Parameters = bound
		r, err := catalog.Check(parse(t, sql), sql, in)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Supplies) != 8 || r.Supplies[0].Parameter != first || r.Supplies[7].Parameter != first+7 {
			t.Errorf("with %d bound: %+v", bound, r.Supplies)
		}
	}
}

// TestParameterTypes: a parameter's type is chosen by the client as freely as a cast.
func TestParameterTypes(t *testing.T) {
	for _, c := range []struct {
		sql  string
		oid  uint32
		code string
	}{
		{"SELECT $1", 23, ""},
		{"SELECT $1", 2205, ""},                       // regclass, on the shadow
		{"SELECT $1, ward FROM wards", 2205, "0A000"}, // on main it would tell which relations exist
		{"SELECT $1, ward FROM wards", 2210, "0A000"},
		{"SELECT $1, ward FROM wards", 1043, ""},
		{"SELECT $1", 4096, "42501"}, // regrole
		{"SELECT age($1)", 28, "0A000"},
		{"SELECT $1", 1033, "42501"},
	} {
		in := input
		in.ParameterTypes = []uint32{c.oid}
		_, err := catalog.Check(parse(t, c.sql), c.sql, in)
		var e *pgconn.PgError
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &e) || e.Code != c.code) {
			t.Errorf("%s with type %d: %v, want %q", c.sql, c.oid, err, c.code)
		}
	}
}

// TestCheckKeepsTree: analyses are cached by tree, so Check may not change the one it is given.
func TestCheckKeepsTree(t *testing.T) {
	const sql = "SELECT current_user, relacl, pg_get_userbyid(relowner) FROM pg_class, pg_database, unnest($1::int[])"
	tree := parse(t, sql)
	before := proto.Clone(tree)
	if _, err := catalog.Check(tree, sql, input); err != nil {
		t.Fatal(describe(err))
	}
	if !proto.Equal(before, tree) {
		t.Error("the tree changed")
	}
}

// TestHostileNames: what the client connected as goes into the text as a literal, whatever it holds.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{`a'b`, `a\b`, `a"b`, `'; DROP TABLE wards; --`, `\'; SELECT 1`, `$1`, `é`, ``} {
		in := input
		in.User, in.Database = name, name
		for _, sql := range []string{
			"SELECT current_user, current_database()", "SELECT * FROM pg_database, pg_roles, information_schema.tables",
			"SELECT pg_get_userbyid(10), 'x'::regclass, (current_database() || '.wards')::regclass",
		} {
			r, err := catalog.Check(parse(t, sql), sql, in)
			if err != nil {
				t.Errorf("%q: %s: %v", name, sql, describe(err))
				continue
			}
			if again, err := pg_query.Parse(r.SQL); err != nil || len(again.Stmts) != 1 {
				t.Errorf("%q: %s became %s", name, sql, r.SQL)
			}
		}
	}
}
