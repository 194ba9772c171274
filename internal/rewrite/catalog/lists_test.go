package catalog_test

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// laterRelations and laterFunctions came after the oldest server that dpproxy works with; a server may lack them.
var (
	laterRelations = map[string]bool{
		"pg_catalog.pg_stat_checkpointer": true, "pg_catalog.pg_stat_io": true,
		"pg_catalog.pg_wait_events": true,
	}
	laterFunctions = map[string]bool{
		"any_value": true, "array_sample": true, "array_shuffle": true, "date_add": true, "date_subtract": true,
		"pg_basetype": true, "pg_input_is_valid": true,
	}
)

// TestRelations reads every allowed relation on the shadow as its role: each has the columns that PostgreSQL has, and
// those about the cluster and its statistics have no row.
func TestRelations(t *testing.T) {
	_, shadow, _ := sides(t)
	ctx := context.Background()
	relations := catalog.Relations()
	names := make([]string, 0, len(relations))
	for n := range relations {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		t.Run(n, func(t *testing.T) {
			sql := "SELECT * FROM " + n
			original, err := shadow.conn.PgConn().Prepare(ctx, "", sql, nil)
			if err != nil {
				if !laterRelations[n] {
					t.Fatal(err)
				}
				return
			}
			tree, err := pg_query.Parse(sql)
			if err != nil {
				t.Fatal(err)
			}
			r, err := catalog.Check(tree.Stmts[0].Stmt, sql, input)
			if err != nil {
				t.Fatal(describe(err))
			}
			got := shadow.run(r.SQL, make([]*string, len(r.Supplies)))
			if got.err != nil {
				t.Fatalf("%v\n%s", got.err, r.SQL)
			}
			compareColumns(t, answer{columns: original.Fields}, got, sql)
			if relations[n] && len(got.rows) > 0 {
				t.Errorf("%d rows, want none", len(got.rows))
			}
		})
	}
}

// TestFunctionLists compares the lists with the server's catalog: every name exists, and no overload of a pure function
// is volatile or takes what leads out of its arguments.
func TestFunctionLists(t *testing.T) {
	server := pgservertest.Start(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN("postgres", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ctx) })
	type function struct {
		Volatile  string
		Arguments string
		Definer   bool
	}
	overloads := map[string][]function{}
	rows,
		err := conn.Query(
		ctx,
		`SELECT proname, provolatile::text, oidvectortypes(proargtypes), prosecdef FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var f function
	if _, err := pgx.ForEachRow(rows, []any{&name, &f.Volatile, &f.Arguments, &f.Definer}, func() error {
		overloads[name] = append(overloads[name], f)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	clocks := map[string]bool{"clock_timestamp": true, "timeofday": true}
	// Arguments that name things outside of the call. age(xid) is stopped by its argument; min, max, count and the like
	// take any type and return what they are given.
	outside := []string{
		"regclass", "regproc", "regtype", "refcursor", "internal", "xml", "pg_snapshot", "txid_snapshot",
		"pg_lsn",
	}
	for n := range catalog.PureFunctions {
		if len(overloads[n]) == 0 && !laterFunctions[n] {
			t.Errorf("%s: no such function", n)
		}
		for _, f := range overloads[n] {
			if f.Definer || f.Volatile == "v" && !clocks[n] {
				t.Errorf("%s(%s) is volatile", n, f.Arguments)
			}
			for _, o := range outside {
				for _, a := range strings.Split(f.Arguments, ", ") {
					if strings.TrimSuffix(a, "[]") == o && !harmlessOverload(n, a) {
						t.Errorf("%s(%s) reaches outside of its arguments", n, f.Arguments)
					}
				}
			}
		}
	}
	for n := range catalog.CatalogFunctions {
		if len(overloads[n]) == 0 && !laterFunctions[n] {
			t.Errorf("%s: no such function", n)
		}
		if catalog.PureFunctions[n] {
			t.Errorf("%s is on both lists", n)
		}
	}
	for op := range catalog.Operators {
		var n int
		if err := conn.QueryRow(
			ctx, "SELECT count(*) FROM pg_operator WHERE oprname = $1 AND oprnamespace = 'pg_catalog'::regnamespace",
			op).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 && op != "BETWEEN" {
			t.Errorf("operator %s does not exist", op)
		}
	}
}

// TestConstantsAreComputedByPureFunctions: what pgresolve knows may be computed of constants on the shadow.
func TestConstantsAreComputedByPureFunctions(t *testing.T) {
	text, err := os.ReadFile("../pgresolve/catalog.txt")
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if f[0] != "func" {
			continue
		}
		if functions++; !catalog.PureFunctions[f[1]] {
			t.Errorf("%s is on no list of what may run on the shadow", f[1])
		}
	}
	if functions < 200 {
		t.Errorf("only %d functions", functions)
	}
}

// harmlessOverload names overloads whose argument is only a value there.
func harmlessOverload(name, argument string) bool {
	return name == "text" && argument == "xml" || argument == "pg_lsn" && (name == "min" || name == "max") ||
		name == "numeric" && argument == "pg_lsn"
}

// TestRoleCannot runs, as the shadow's role and past Check, what Check refuses: PostgreSQL refuses it as well.
func TestRoleCannot(t *testing.T) {
	_, shadow, _ := sides(t)
	for _, sql := range []string{
		"SELECT pg_sleep(1)", "SELECT query_to_xml('select 1', true, true, '')", "SELECT pg_ls_dir('.')",
		"SELECT pg_read_file('PG_VERSION')",
		"SELECT txid_current()", "SELECT pg_current_snapshot()", "SELECT pg_current_wal_lsn()", "SELECT pg_notify('a', 'b')",
		"SELECT pg_advisory_lock(1)", "SELECT lo_create(0)", "SELECT lo_import('/etc/passwd')",
		"SELECT pg_database_size('postgres')",
		"SELECT pg_tablespace_size('pg_default')", "SELECT * FROM pg_stat_get_activity(NULL)",
		"SELECT pg_stat_get_db_xact_commit(1)",
		"SELECT pg_terminate_backend(1)", "SELECT pg_export_snapshot()", "SELECT * FROM pg_authid",
		"SELECT * FROM ts_stat('select ''a''::tsvector')",
		"SELECT setseed(0)", "CREATE TABLE x (a int)", "CREATE TEMP TABLE x (a int)", "CREATE TABLE public.x (a int)",
		"INSERT INTO wards VALUES ('x', 1)",
		"CREATE SCHEMA x", "COPY wards TO '/tmp/x'", "COPY wards TO PROGRAM 'true'", "ALTER ROLE postgres NOLOGIN",
		"CREATE ROLE x", "SET ROLE postgres",
		"SET SESSION AUTHORIZATION postgres", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	} {
		if got := shadow.run(sql, nil); got.err == nil {
			t.Errorf("%s: the role may", sql)
		}
	}
	for name, want := range map[string]string{
		"default_transaction_read_only": "on", "statement_timeout": "30s",
		"jit": "off",
	} {
		var got string
		if err := shadow.conn.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&got); err != nil ||
			got != want {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
}

// TestShadowSQLAsOwner runs the set-up as an owner who is no superuser: managed servers have no other.
func TestShadowSQLAsOwner(t *testing.T) {
	server, name := pgservertest.Database(t)
	const owner = "catalog_test_owner"
	pgservertest.Exec(t, server.DSN("postgres", "postgres"),
		fmt.Sprintf(`DO $$BEGIN IF to_regrole('%[1]s') IS NULL THEN CREATE ROLE %[1]s LOGIN; END IF; END$$;
		ALTER DATABASE %[2]s OWNER TO %[1]s`, owner, name))
	pgservertest.Exec(t, server.DSN(name, "postgres"), "ALTER SCHEMA public OWNER TO "+owner)
	pgservertest.Exec(t, server.DSN(name, owner), catalog.ShadowSQL())
	pgservertest.Exec(t, server.DSN(name, "postgres"), "SELECT * FROM dpproxy.budget")
}

// TestShadowSQLTwice runs the set-up again over itself: it changes nothing and does not fail.
func TestShadowSQLTwice(t *testing.T) {
	server, name := pgservertest.Database(t, catalog.ShadowSQL())
	pgservertest.Exec(t, server.DSN(name, "postgres"), catalog.ShadowSQL())
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(name, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var got string
	err = conn.QueryRow(
		ctx,
		`SELECT string_agg(c.relname || '(' || (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) || ')', '; ' ORDER BY c.relname) FROM pg_class c WHERE relnamespace = 'dpproxy'::regnamespace`).Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	want :=
		"budget(analyst text, epsilon_total double precision, epsilon_spent double precision, epsilon_left double precision, delta double precision, period_ends timestamp with time zone, " +
			"share_spent double precision, share_left double precision); " +
			"columns(table_name text, column_name text, type text, lower text, upper text, domain text, uses text); help(topic text, text text); history(at timestamp with time zone, query text, epsilon double precision, share double precision); " +
			"last(column_name text, mechanism text, scale double precision, margin double precision, left_out double precision, epsilon double precision, place text)"
	if got != want {
		t.Errorf("schema dpproxy has\n%s\nwant\n%s", got, want)
	}
	for _, f := range []string{
		"interval_low(1::bigint)|bigint", "interval_high(1.5)|numeric",
		"noise_stddev(1)|double precision",
	} {
		call, typ, _ := strings.Cut(f, "|")
		if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT pg_typeof(dpproxy.%s)::text", call)).Scan(&got); err != nil ||
			got != typ {
			t.Errorf("%s has type %s, %v; want %s", call, got, err, typ)
		}
	}
}
