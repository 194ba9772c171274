package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

// locked collects a log while statements write it.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// since empties the log and returns what was in it.
func (l *locked) since() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// watched is a proxy over a small clinic, started in this process.
func watched(t *testing.T) (s *Server, main string, conn *pgx.Conn, log *locked) {
	t.Helper()
	ctx := context.Background()
	pg, db := pgservertest.Database(
		t, `CREATE TABLE wards (ward text PRIMARY KEY, beds int); INSERT INTO wards VALUES ('A', 1);
		CREATE TABLE patients (id bigint PRIMARY KEY, age int, ward text); INSERT INTO patients SELECT i, i % 90, 'A' FROM generate_series(1, 1000) i`)
	t.Cleanup(func() { // before the database goes
		pgservertest.Exec(t, pg.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	v, err := verifier.New("secret")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, public: %q, admin: %q}
accounting: {method: rdp, delta: 1e-6}
analysts: {alice: {password: %q, budget: {epsilon: 100}}}
tables:
  patients:
    privacy_unit: {name: patient, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, age: {bounds: [0, 120]}}
  wards: {public: true}
`, pg.DSN(db, "watch_main"), pg.DSN(db+"_shadow", "watch_shadow"), pg.DSN(db, "watch_public"),
		pg.DSN(db, pgserver.Superuser), v)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Setup(ctx, p, io.Discard); err != nil {
		t.Fatal(err)
	}
	log = &locked{}
	if s, err = Start(ctx, p, slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	conn, err = pgx.Connect(ctx, fmt.Sprintf("postgres://alice:secret@%s/%s?sslmode=disable", s.Addr(), db))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return s, pg.DSN(db, pgserver.Superuser), conn, log
}

// TestDriftOfOthers: what has changed of a column is nothing to a statement that does not rely on it, and is refused
// where one does.
func TestDriftOfOthers(t *testing.T) {
	ctx := context.Background()
	_, main, conn, _ := watched(t)
	const others, reads = "SELECT count(*) FROM (SELECT * FROM patients WHERE id > %d) p",
		"SELECT avg(age) FROM patients WHERE id > %d"
	asked := 0
	ask := func(sql string) error {
		asked++ // another question each time: answers are kept
		_, err := conn.Exec(ctx, fmt.Sprintf(sql, asked))
		return err
	}
	for _, sql := range []string{others, reads} {
		if err := ask(sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []string{
		"ALTER TABLE patients ALTER age TYPE bigint",
		"REVOKE SELECT (age) ON patients FROM watch_main", "ALTER TABLE patients DROP age",
	} {
		pgservertest.Exec(t, main, change)
		if err := ask(others); err != nil {
			t.Errorf("%s: a statement that reads another column: %v", change, err)
		}
	}
	var refused *pgconn.PgError
	if err := ask(reads); !asPg(err, &refused) || refused.Code != "0A000" {
		t.Errorf("a statement that reads the column: %v", err)
	}
}

// TestDrift changes main under a running proxy. A statement over what has changed is refused and costs nothing, and is
// answered when it is mended; the administrator is told what has changed, once.
func TestDrift(t *testing.T) {
	ctx := context.Background()
	s, main, conn, log := watched(t)
	asked := 0
	ask := func() error {
		asked++ // another question each time: answers are kept
		var n float64
		return conn.QueryRow(ctx, fmt.Sprintf("SELECT avg(age) FROM patients WHERE age < %d", 100+asked)).Scan(&n)
	}
	spent := func() (epsilon float64) {
		if err := conn.QueryRow(ctx, "SELECT epsilon_spent FROM dpproxy.budget").Scan(&epsilon); err != nil {
			t.Fatal(err)
		}
		return epsilon
	}
	stale := func() bool {
		r := httptest.NewRecorder()
		s.metrics.Handler(s.Ready, slog.New(slog.DiscardHandler)).ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Contains(r.Body.String(), "\ndpproxy_shadow_stale 1\n")
	}
	for _, c := range []struct{ name, broken, mend, want string }{
		{
			"a renamed column", "ALTER TABLE patients RENAME age TO years", "ALTER TABLE patients RENAME years TO age",
			"tables.patients.columns.age: main has no such column",
		},
		{
			"a renamed table", "ALTER TABLE patients RENAME TO people", "ALTER TABLE people RENAME TO patients",
			"tables.patients: main has no such table",
		},
		{
			"another type", "ALTER TABLE patients ALTER age TYPE bigint", "ALTER TABLE patients ALTER age TYPE int",
			"public.patients.age is bigint in main and integer in the shadow",
		},
		{
			"a column that main may not read", "REVOKE SELECT (age) ON patients FROM watch_main",
			"GRANT SELECT (age) ON patients TO watch_main", `its role may not read "public"."patients" ("age")`,
		},
		{
			"a schema that main may not use", "REVOKE USAGE ON SCHEMA public FROM watch_main, PUBLIC",
			"GRANT USAGE ON SCHEMA public TO watch_main, PUBLIC", `its role may not read "public"."patients" ("id", "age")`,
		},
		{
			"row-level security", "ALTER TABLE patients ENABLE ROW LEVEL SECURITY",
			"ALTER TABLE patients DISABLE ROW LEVEL SECURITY", "row-level security",
		},
		{
			"a dropped column", "ALTER TABLE patients DROP age",
			"ALTER TABLE patients ADD age int; UPDATE patients SET age = id % 90; GRANT SELECT (age) ON patients TO watch_main",
			"tables.patients.columns.age: main has no such column",
		},
	} {
		if err := ask(); err != nil {
			t.Fatalf("before %s: %v", c.name, err)
		}
		pgservertest.Exec(t, main, c.broken)
		before := spent()
		var refused *pgconn.PgError
		if err := ask(); !asPg(err, &refused) || refused.Code != "0A000" ||
			strings.Contains(refused.Error()+refused.Detail+refused.Hint, "age") {
			t.Errorf("%s: the statement ended in %v", c.name, err)
		}
		if now := spent(); now != before {
			t.Errorf("%s: epsilon %v spent, %v before", c.name, now, before)
		}
		if said := log.since(); !strings.Contains(said, escaped(c.want)) {
			t.Errorf("%s: a refused statement says in the log\n%s", c.name, said)
		}
		s.Look()
		if said := log.since(); !strings.Contains(said, escaped(c.want)) || !stale() || s.Ready(ctx) == nil {
			t.Errorf("%s: stale %v, ready %v, the log\n%s", c.name, stale(), s.Ready(ctx), said)
		}
		s.Look()
		if said := log.since(); strings.Contains(said, "have changed") {
			t.Errorf("%s: said twice:\n%s", c.name, said)
		}
		pgservertest.Exec(t, main, c.mend)
		s.Look()
		if said := log.since(); !strings.Contains(said, "what the policy says again") || stale() || s.Ready(ctx) != nil {
			t.Errorf("%s, mended: stale %v, ready %v, the log\n%s", c.name, stale(), s.Ready(ctx), said)
		}
		if err := ask(); err != nil {
			t.Errorf("%s, mended: %v", c.name, err)
		}
	}
	pgservertest.Exec(t, main, "ALTER TABLE patients ADD note text")
	s.Look()
	if err := ask(); err != nil {
		t.Errorf("after a column that the policy does not list: %v", err)
	}
	const rows, joined, read = "SELECT ward FROM wards",
		"SELECT w.ward, p.n FROM wards w, (SELECT count(*) AS n FROM patients) p",
		"SELECT count(*) FROM patients p JOIN wards w ON w.beds = p.age"
	for _, c := range []struct{ name, broken, mend, want string }{
		{
			"a public table that leads to people", "ALTER TABLE wards ADD chief bigint REFERENCES patients",
			"ALTER TABLE wards DROP chief", "its foreign key wards_chief_fkey (chief) leads to public.patients",
		},
		{
			"private rows that public can read", "GRANT SELECT ON patients TO watch_public",
			"REVOKE SELECT ON patients FROM watch_public", "role watch_public can read private rows of public.patients",
		},
	} {
		pgservertest.Exec(t, main, c.broken)
		s.Look()
		if said := log.since(); !strings.Contains(said, c.want) || !stale() {
			t.Errorf("%s: stale %v\n%s", c.name, stale(), said)
		}
		before := spent()
		for _, sql := range []string{rows, joined, read} {
			var refused *pgconn.PgError
			if _, err := conn.Exec(ctx, sql); !asPg(err, &refused) || refused.Code != "0A000" ||
				!strings.Contains(refused.Message, "withheld") {
				t.Errorf("%s: %s: %v", c.name, sql, err)
			}
		}
		if now := spent(); now != before {
			t.Errorf("%s: epsilon %v spent, %v before", c.name, now, before)
		}
		if err := ask(); err != nil {
			t.Errorf("%s, over a private table alone: %v", c.name, err)
		}
		pgservertest.Exec(t, main, c.mend)
		s.Look()
		for _, sql := range []string{rows, joined, read} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Errorf("%s, mended: %s: %v", c.name, sql, err)
			}
		}
	}
	pgservertest.Exec(t, main, "REVOKE SELECT ON wards FROM watch_public")
	s.Look()
	if _, err := conn.Exec(ctx, rows); err == nil || strings.Contains(err.Error(), "withheld") || !stale() {
		t.Errorf("a public table that public may not read: stale %v, %v", stale(), err)
	}
}

func asPg(err error, into **pgconn.PgError) bool {
	e, ok := err.(*pgconn.PgError)
	*into = e
	return ok
}

// escaped is a text as the log quotes it.
func escaped(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
