package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// FuzzCheck feeds SQL to Check: it never panics, every refusal is an error for clients, what it accepts still parses
// as one SELECT whose names are written out in full, and the tree it was given is unchanged.
func FuzzCheck(f *testing.F) {
	for _, st := range fixtures(f) {
		if len(st.sql) < 2000 {
			f.Add(st.sql)
		}
	}
	for _, s := range []string{
		"SELECT current_setting(a) FROM current_user a", "TABLE pg_database", "SELECT (a||b)::regclass FROM c",
		"SELECT * FROM clinic.pg_catalog.pg_class pg_class", "SELECT U&\"a\"", "SELECT set_config('jit', $1, $2)",
		"VALUES (current_user, 1)",
		"SELECT * FROM ROWS FROM (current_database(), unnest($1)) WITH ORDINALITY a(b)", "SELECT d.x FROM unnest($1) d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 4000 || strings.Count(sql, "(") > 200 {
			return // the parser's own limits are rewrite's business
		}
		tree, err := pg_query.Parse(sql)
		if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].StmtLocation != 0 {
			return
		}
		text := sql
		if n := tree.Stmts[0].StmtLen; n > 0 {
			text = sql[:n]
		}
		r, err := catalog.Check(tree.Stmts[0].Stmt, text, goldenInput())
		if err != nil {
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code == "" || e.Message == "" {
				t.Fatalf("%q: %v is not an error for clients", sql, err)
			}
			return
		}
		again, err := pg_query.Parse(r.SQL)
		if err != nil || len(again.Stmts) != 1 || again.Stmts[0].Stmt.GetSelectStmt() == nil {
			t.Fatalf("%q became %q: %v", sql, r.SQL, err)
		}
		with := map[string]bool{}
		everyMessage(again.Stmts[0].Stmt.ProtoReflect(), func(m any) {
			if x, ok := m.(*pg_query.CommonTableExpr); ok {
				with[x.Ctename] = true
			}
		})
		empty := catalog.Empty(tree.Stmts[0].Stmt)
		everyMessage(again.Stmts[0].Stmt.ProtoReflect(), func(m any) { qualified(t, m, with, empty) })
		if _, err := catalog.Check(tree.Stmts[0].Stmt, text, goldenInput()); err != nil {
			t.Fatalf("%q: a second Check gives %v: the first changed the tree", sql, err)
		}
	})
}

// qualified fails if a node names a function or a relation without its schema, or a private relation. WITH names pass
// anywhere: that they are in scope is for the golden tests.
func qualified(t *testing.T, m any, with map[string]bool, empty bool) {
	t.Helper()
	switch x := m.(type) {
	case *pg_query.RangeVar:
		if x.Schemaname == "" && !with[x.Relname] {
			t.Fatalf("relation %q is not qualified", x.Relname)
		}
		if goldenInput().Private[policy.Name{Schema: x.Schemaname, Relation: x.Relname}] && !empty {
			t.Fatalf("private relation %q", x.Relname)
		}
	case *pg_query.FuncCall:
		if len(x.Funcname) < 2 && !(len(x.Args) > 1 && x.Funcname[0].GetString_().GetSval() == "unnest") {
			t.Fatalf("function %v is not qualified", x.Funcname)
		}
	}
}

// everyMessage calls f for m and all messages below it.
func everyMessage(m protoreflect.Message, f func(any)) {
	f(m.Interface())
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.Kind() != protoreflect.MessageKind:
		case d.IsList():
			for i := 0; i < v.List().Len(); i++ {
				everyMessage(v.List().Get(i).Message(), f)
			}
		default:
			everyMessage(v.Message(), f)
		}
		return true
	})
}
