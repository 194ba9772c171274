package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestMixedSources: a statement is wholly the data's or the twin's by the setting that holds where it is bound, through
// transactions, savepoints, prepared statements, cursors and portals, and none is charged for the other.
func TestMixedSources(t *testing.T) {
	p := twinned(t, twinRows)
	alice := p.twinClient(t, "alice")
	ofData := func(sql string) {
		t.Helper()
		before := alice.left()
		rows, warned, err := alice.texts(sql)
		if err != nil || warned || len(rows) == 0 || rows[len(rows)-1] == "30" || alice.left() == before {
			t.Errorf("%s: %q, warned %t, %v: it is not the data's, or not charged", sql, rows, warned, err)
		}
	}
	alice.synthetic("BEGIN; SET LOCAL dpproxy.source = synthetic; SELECT count(*) FROM patients; COMMIT", "30")
	ofData("SELECT count(*) FROM patients")
	alice.synthetic("BEGIN; SAVEPOINT a; SET dpproxy.source = synthetic; SELECT count(*) FROM patients; ROLLBACK TO a; COMMIT", "30")
	ofData("SELECT count(*) FROM patients WHERE age > 10")
	ofData("BEGIN; SET dpproxy.source = synthetic; ROLLBACK; SELECT count(*) FROM patients WHERE age > 11")
	ofData("PREPARE n AS SELECT count(*) FROM patients WHERE age > 12; EXECUTE n")
	alice.synthetic("SET dpproxy.source = synthetic; EXECUTE n", "30")
	ofData("RESET dpproxy.source; DEALLOCATE n; PREPARE n AS SELECT count(*) FROM patients WHERE age > 13; EXECUTE n")
	alice.synthetic("BEGIN; SET LOCAL dpproxy.source = synthetic; DECLARE c CURSOR FOR SELECT count(*) FROM patients; "+
		"SET LOCAL dpproxy.source = real; FETCH c; COMMIT", "30")
	ofData("BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM patients WHERE age > 14; SET LOCAL dpproxy.source = synthetic; FETCH c; COMMIT")
	alice.refused("SELECT set_config('dpproxy.source', 'synthetic', false), count(*) FROM patients", "0A000")
	alice.synthetic("SELECT name, (SELECT count(*) FROM visits) FROM patients WHERE id = -1", "Nobody 1|60")
	alice.synthetic("SELECT name FROM patients WHERE (SELECT count(*) FROM patients) = 30 AND id = -1", "Nobody 1")

	// a portal of each, bound before either runs
	ctx := context.Background()
	batch := &pgx.Batch{}
	for _, sql := range []string{
		"SET dpproxy.source = synthetic", "SELECT count(*) FROM patients WHERE age > 15", "RESET dpproxy.source",
		"SELECT count(*) FROM patients WHERE age > 15",
	} {
		batch.Queue(sql)
	}
	results := alice.SendBatch(ctx, batch)
	var counts [2]int
	for i := range 4 {
		var err error
		if i%2 == 0 {
			_, err = results.Exec()
		} else {
			err = results.QueryRow().Scan(&counts[i/2])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
	if counts[0] != 30 || counts[1] < 500 {
		t.Errorf("in a pipeline: %v", counts)
	}
}

// TestShapeOfSources: margins are the data's alone; a statement that was prepared as one with them is not answered as one
// without.
func TestShapeOfSources(t *testing.T) {
	p := twinned(t, twinRows)
	alice, ctx := p.twinClient(t, "alice"), context.Background()
	alice.synthetic("SET dpproxy.intervals = on; SET dpproxy.source = synthetic; SELECT count(*) FROM patients", "30")
	alice.synthetic("SELECT ward, count(*) FROM patients GROUP BY ward ORDER BY 1", "A|15", "B|15")
	if _, _, err := alice.texts("RESET dpproxy.source"); err != nil {
		t.Fatal(err)
	}
	alice.synthetic("SELECT name, (SELECT count(*) FROM visits) FROM patients WHERE id = -1", "Nobody 1|60")
	if _, err := alice.Prepare(ctx, "a", "SELECT count(*) FROM patients"); err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	for _, sql := range []string{ // rows by the value of the parameter
		"SELECT (SELECT count(*) FROM visits), 'x' FROM patients LIMIT $1", "SELECT 'x' FROM patients LIMIT $1",
	} {
		described, err := alice.Prepare(ctx, "", sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		result := alice.PgConn().ExecPrepared(ctx, "", [][]byte{[]byte("2")}, nil, nil).Read()
		for _, row := range result.Rows {
			if len(row) != len(described.Fields) {
				t.Errorf("%s: %d columns, described were %d", sql, len(row), len(described.Fields))
			}
		}
		if result.Err != nil && !errors.As(result.Err, &refused) {
			t.Errorf("%s: %v", sql, result.Err)
		}
	}
	if _, _, err := alice.texts("SET dpproxy.source = synthetic"); err != nil {
		t.Fatal(err)
	}
	result := alice.PgConn().ExecPrepared(ctx, "a", nil, nil, nil).Read()
	if !errors.As(result.Err, &refused) || !strings.Contains(refused.Message, "cached plan") {
		t.Errorf("with other columns than were described: %v %q", result.Err, result.Rows)
	}
}

// TestTwinIsNoWayToMain: what an analyst who is shown synthetic rows could try to read main, the server or its files by.
func TestTwinIsNoWayToMain(t *testing.T) {
	p := twinned(t, twinRows)
	alice := p.twinClient(t, "alice")
	main, twin := p.db, p.db+"_synthetic"
	for _, setting := range []string{"RESET dpproxy.source", "SET dpproxy.source = synthetic"} {
		if _, _, err := alice.texts(setting); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			"SELECT name, pg_read_file('/etc/passwd') FROM patients", "SELECT name, pg_ls_dir('.') FROM patients",
			"SELECT name, pg_read_binary_file('PG_VERSION') FROM patients", "SELECT name FROM patients, pg_ls_logdir()",
			"SELECT name, lo_import('/etc/passwd') FROM patients", "SELECT name, lo_get(1) FROM patients",
			"SELECT name, lo_creat(-1) FROM patients", "SELECT name, loread(lo_open(1, 262144), 100) FROM patients",
			"SELECT name FROM patients, dblink('dbname=" + main + "', 'SELECT 1') AS d(x int)",
			"SELECT name, dblink_connect('dbname=" + main + "') FROM patients",
			"SELECT name, query_to_xml('SELECT 1', true, true, '') FROM patients", "SELECT table_to_xml('patients', true, true, '')",
			"SELECT name, database_to_xml(true, true, '') FROM patients", "SELECT name, cursor_to_xml('c', 1, true, true, '') FROM patients",
			"SELECT name, ts_stat('SELECT to_tsvector(name) FROM patients') FROM patients",
			"SELECT name, pg_terminate_backend(1) FROM patients", "SELECT name, pg_reload_conf() FROM patients",
			"SELECT name, pg_notify('a', 'b') FROM patients",
			"SELECT name, current_setting('data_directory') FROM patients",
			"SELECT name, pg_relation_filepath('patients') FROM patients", "SELECT name, pg_stat_get_live_tuples('patients'::regclass) FROM patients",
			"SELECT name, txid_current() FROM patients", "SELECT name, nextval('s') FROM patients",
			"SELECT ctid, xmin, tableoid FROM patients", "SELECT name, 'secrets'::regclass FROM patients",
			"SELECT name, to_regclass('secrets') FROM patients", "SELECT name, pg_get_viewdef('adults'::regclass) FROM patients",
			"SELECT name, has_table_privilege('secrets', 'SELECT') FROM patients", "SELECT name FROM patients, pg_stats",
			"SELECT name FROM patients, pg_stat_activity", "SELECT name FROM patients, pg_authid", "SELECT name FROM patients, pg_stat_user_tables",
			"SELECT * FROM secrets", "SELECT name FROM patients p, secrets", "SELECT lab_id FROM lab_results",
			"SELECT * FROM " + twin + ".public.patients", "SELECT * FROM pg_temp.patients", "SELECT * FROM dpproxy_measure.patients",
			"COPY patients TO PROGRAM 'cat'", "COPY (SELECT name FROM patients) TO '/tmp/x'", "COPY patients FROM '/etc/passwd'",
			"SET ROLE postgres", "SET SESSION AUTHORIZATION postgres", "DO $$ BEGIN PERFORM 1; END $$", "CALL p()", "LOAD 'dblink'",
			"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE TEMP VIEW v AS SELECT * FROM patients",
			"CREATE EXTENSION dblink", "LOCK TABLE patients", "VACUUM patients", "SELECT name FROM patients FOR SHARE",
		} {
			if rows, _, err := alice.texts(sql); err == nil {
				t.Errorf("%s: %s: %.200q", setting, sql, rows)
			} else if strings.Contains(err.Error(), "secret-") || strings.Contains(err.Error(), "Patient ") {
				t.Errorf("%s: %s: %v", setting, sql, err)
			}
		}
		for _, path := range []string{"pg_catalog", twin, `"$user", pg_temp, public`, "dpproxy"} {
			rows, _, err := alice.texts(fmt.Sprintf("SET search_path = %s; SELECT name FROM public.patients WHERE id = -1 OR id = 1", path))
			if err == nil && (len(rows) != 1 || rows[0] != "Nobody 1") {
				t.Errorf("search_path %s: %q", path, rows)
			}
			if _, _, err := alice.texts("RESET search_path"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, database := range []string{twin, p.db + "_shadow"} {
		conn, err := pgx.Connect(context.Background(), strings.Replace(p.dsn("alice"), "/"+p.db+"?", "/"+database+"?", 1))
		if err == nil {
			t.Errorf("a client is let into %s", database)
			_ = conn.Close(context.Background())
		}
	}
}

// TestErrorsOfTwinAreItsOwn: an error that a value brings is that of a value of the twin, whatever main's rows are, and no
// row of main can decide whether a statement is the twin's.
func TestErrorsOfTwinAreItsOwn(t *testing.T) {
	p := twinned(t, twinRows)
	alice := p.twinClient(t, "alice")
	for _, sql := range []string{
		"SELECT name::int FROM patients", "SELECT 1 / (id + 1) FROM patients", // 0 by row -1 of the twin; main has none
		"SELECT (SELECT name FROM patients) FROM patients",
	} {
		for _, prefix := range []string{"", "SET dpproxy.source = synthetic; "} {
			_, _, err := alice.texts(prefix + sql)
			if err == nil || strings.Contains(err.Error(), "Patient") {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if _, _, err := alice.texts("RESET dpproxy.source"); err != nil {
			t.Fatal(err)
		}
	}
	// main has 0 among these, and the twin has not: no error
	alice.synthetic("SELECT 1 / (id - 1) FROM patients WHERE id = -1", "0")
	alice.synthetic("SELECT name FROM patients WHERE id = 77")
}
