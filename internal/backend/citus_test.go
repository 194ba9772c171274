package backend

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestStatementsOnWorkers: a client's statement has its settings on the workers of a Citus cluster as well, where a
// distributed table is read; it writes nothing there; and the next one finds nothing of it.
func TestStatementsOnWorkers(t *testing.T) {
	cluster := pgservertest.StartCitus(t, "spread")
	dsn := cluster.Coordinator.DSN("spread", pgserver.Superuser)
	pgservertest.Exec(t, cluster.Coordinator.DSN("postgres", pgserver.Superuser), "CREATE DATABASE spread")
	for _, sql := range append(cluster.Join(), "CREATE TABLE p (id int PRIMARY KEY, at timestamptz, stay interval)",
		"SELECT create_distributed_table('p', 'id')",
		"INSERT INTO p SELECT n, timestamptz '2026-01-01 00:00+00', interval '36 hours' FROM generate_series(1, 40) n",
		"CREATE FUNCTION leave(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('TimeZone', 'America/New_York', false); RETURN current_setting('TimeZone'); END $$",
		"CREATE FUNCTION put(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN CREATE TEMPORARY TABLE put AS SELECT n; RETURN n; END $$",
		"SELECT create_distributed_function('leave(int)')", "SELECT create_distributed_function('put(int)')") {
		pgservertest.Exec(t, dsn, sql)
	}
	b := connectedTo(t, dsn)
	const hours = `SELECT max(extract(hour FROM at))::text || ' ' || max(at::text) || ' ' || max(stay::text), count(*)
		FROM p GROUP BY extract(hour FROM at) * 0`
	tokyo := Settings{TimeZone: "Asia/Tokyo", DateStyle: "German", IntervalStyle: "iso_8601"}
	for range 3 { // on the connections to the workers that the statements before used
		for _, c := range []struct {
			sql      string
			settings Settings
			want     string
		}{
			{hours, tokyo, "9 01.01.2026 09:00:00 JST PT36H 40"},
			{hours, Settings{}, "0 2026-01-01 00:00:00+00 36:00:00 40"},
			{"SELECT leave(id), count(*) FROM p GROUP BY 1", tokyo, "America/New_York 40"},
		} {
			if got := ask(b.Public, Request{SQL: c.sql, Settings: c.settings}); got != c.want {
				t.Errorf("%s under %+v: %q, want %q", c.sql, c.settings, got, c.want)
			}
		}
	}
	if got := ask(b.Public, Request{SQL: "SELECT put(id) FROM p"}); !strings.HasSuffix(got, "25006") {
		t.Errorf("a write on a worker: %s", got)
	}
}
