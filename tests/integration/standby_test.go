package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

const standbyPolicy = `
version: 1
listen: 127.0.0.1:0
@DATABASES@
ledger: file:ledger
accounting: {delta: 1e-6}
defaults: {epsilon: 1, epsilon_max: 1}
failures: {per_period: 1}
analysts:
  alice: {password: "@VERIFIER@", budget: {epsilon: 2}}
tables:
  people: {privacy_unit: {name: person, column: id}, max_rows_per_unit: 1, columns: {id: {}, age: {bounds: [0, 120]}}}
  notes: {privacy_unit: {name: person, column: person}, max_rows_per_unit: 5, columns: {person: {}, words: {bounds: [0, 100]}}}
`

// slowly makes a join of people and notes take seconds, whatever their rows: each is compared with each.
const slowly = `
CREATE TABLE people (id int PRIMARY KEY, age int);
CREATE TABLE notes (person int NOT NULL, words int);
INSERT INTO people SELECT i, i % 100 FROM generate_series(1, 5000) i;
INSERT INTO notes SELECT 1 + i % 5000, i % 50 FROM generate_series(1, 10000) i;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_hashjoin = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET enable_mergejoin = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET enable_indexscan = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET enable_indexonlyscan = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET enable_bitmapscan = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET enable_memoize = off', current_database());
  EXECUTE format('ALTER DATABASE %I SET max_parallel_workers_per_gather = 0', current_database()); END $$`

// TestConflictWithRecovery: where main is a hot standby that cancels a measure for what it replays, the measure is
// repeated under the same charge. Nothing is blocked.
func TestConflictWithRecovery(t *testing.T) {
	ctx := context.Background()
	primary, err := pgserver.Start(ctx, pgserver.Options{Settings: pgserver.ReplicationSettings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	const db = "replicated"
	admin := primary.DSN(db, pgserver.Superuser)
	pgservertest.Exec(t, primary.DSN("postgres", pgserver.Superuser), "CREATE DATABASE "+db)
	pgservertest.Exec(t, admin, slowly)
	p := &proxy{t: t, server: primary, db: db, dir: t.TempDir()}
	p.policy = filepath.Join(p.dir, "policy.yaml")
	p.write(standbyPolicy)
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	standby, err := primary.Standby(ctx, map[string]string{"max_standby_streaming_delay": "0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	p.useAsMain(standby)
	p.serve()

	watch, err := pgx.Connect(ctx, standby.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close(ctx)
	conn := p.connect()
	answered := make(chan error, 1)
	go func() {
		var n int64
		answered <- conn.QueryRow(ctx, "SELECT count(*) FROM people p JOIN notes n ON n.person = p.id WHERE p.age > 30").Scan(
			&n)
	}()
	eventually(t, "main measures", func() bool {
		var measures bool
		err := watch.QueryRow(
			ctx,
			`SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.usename = 'it_main' AND a.state = 'active'
			AND l.relation = 'notes'::regclass AND a.query LIKE '%"notes"%' AND clock_timestamp() - a.query_start > interval '50 ms')`).Scan(&measures)
		return err == nil && measures
	})
	pgservertest.Exec(t, admin, "BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE; COMMIT")
	if err := <-answered; err != nil {
		t.Fatalf("%v\n%s", err, p.log)
	}
	if log := p.log.String(); !strings.Contains(log, "the statement is measured again") ||
		!strings.Contains(log, "40001") {
		t.Errorf("no conflict:\n%s", log)
	}
	var charges int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM dpproxy.history").Scan(&charges); err != nil || charges != 1 {
		t.Errorf("%d charges, %v", charges, err)
	}
	p.conflictBefore(t, conn, watch, admin)
}

// conflictBefore lets the standby cancel what comes before a charge: it is asked again as well.
func (p *proxy) conflictBefore(t *testing.T, conn, watch *pgx.Conn, admin string) {
	ctx := context.Background()
	held, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close(ctx)
	waits := func() bool {
		var n int
		err := watch.QueryRow(
			ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'it_main' AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n == 1
	}
	if _, err := held.Exec(ctx, "BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	pgservertest.Exec(t, admin, "CREATE TABLE later ()") // a lock alone is not sent
	eventually(t, "the standby has the lock", func() bool {
		var has bool
		err := watch.QueryRow(ctx, "SELECT pg_catalog.to_regclass('later') IS NOT NULL").Scan(&has)
		return err == nil && has
	})
	answered := make(chan error, 1)
	go func() {
		var n int64
		answered <- conn.QueryRow(ctx, "SELECT count(*) FROM people p JOIN notes n ON n.person = p.id WHERE p.age = 60").Scan(
			&n)
	}()
	eventually(t, "the check waits for the lock", waits)
	pgservertest.Exec(t, admin, "BEGIN; LOCK TABLE people IN ACCESS EXCLUSIVE MODE; COMMIT")
	eventually(t, "the check is cancelled", func() bool {
		var n int
		err := watch.QueryRow(
			ctx, "SELECT confl_lock FROM pg_stat_database_conflicts WHERE datname = current_database()").Scan(&n)
		return err == nil && n > 1
	})
	eventually(t, "the check waits again", waits)
	if _, err := held.Exec(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("%v\n%s", err, p.log)
	}
}

// useAsMain lets the policy's main be another server.
func (p *proxy) useAsMain(s *pgserver.Server) {
	p.t.Helper()
	text, err := os.ReadFile(p.policy)
	if err != nil {
		p.t.Fatal(err)
	}
	from, to := p.server.DSN(p.db, "it_main"), s.DSN(p.db, "it_main")
	if !strings.Contains(string(text), fmt.Sprintf("main: %q", from)) {
		p.t.Fatalf("no main in\n%s", text)
	}
	if err := os.WriteFile(p.policy, []byte(strings.Replace(string(text), fmt.Sprintf("main: %q", from),
		fmt.Sprintf("main: %q", to), 1)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
