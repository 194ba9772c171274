package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// TestOutcomesWaitForTheirMoment: while an answer waits, nothing that the analyst's other connections see says that
// main has finished. The quantum is longer than the test.
func TestOutcomesWaitForTheirMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	p := start(t, clinicPolicy("timing: {quantum: 1m}"), clinic)
	ctx := context.Background()
	other := p.connect()
	main, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer main.Close(ctx)
	active := func() (n int) {
		if err := main.QueryRow(
			ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND usename = 'it_main' AND state <> 'idle'",
			p.db).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		name, sql string
		fail      bool
	}{
		{"an answer", measured, false},
		{"a failure", "SELECT count(*) FROM patients WHERE age > 77", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			asking, hangUp := context.WithCancel(ctx)
			defer hangUp() // pgx cancels the statement and closes the connection
			conn := p.connect()
			unlock := p.lock("patients")
			outcome := make(chan error, 1)
			go func() {
				_, err := conn.Exec(asking, c.sql)
				outcome <- err
			}()
			eventually(t, "the measure waits for the lock", func() bool { return p.waiting() == 1 })
			if c.fail {
				if _,
					err := main.Exec(
					ctx,
					"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND usename = 'it_main' AND state = 'active'", p.db); err != nil {
					t.Fatal(err)
				}
			}
			unlock()
			eventually(t, "main has finished", func() bool { return active() == 0 })
			for range 20 {
				var plan []string
				rows, err := other.Query(ctx, "EXPLAIN "+c.sql)
				if err != nil {
					t.Fatal(err)
				}
				if plan, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
					t.Fatalf("the failure shows: %v", err)
				}
				if text := strings.Join(plan, "\n"); strings.Contains(text, "the answer is known") {
					t.Fatalf("the answer is kept already:\n%s", text)
				}
			}
			select {
			case err := <-outcome:
				t.Errorf("the outcome has left: %v", err)
			default:
			}
		})
	}
}

// TestOthersDoNotWaitForOnesMeasures: one analyst's measures leave connections to main for another's, and free
// statements wait for none.
func TestOthersDoNotWaitForOnesMeasures(t *testing.T) {
	p := start(t, clinicPolicy("pool: {main: 2, wait: 1m}"), clinic)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second) // less than pool.wait
	defer cancel()
	unlock := p.lock("patients")
	outcomes := make(chan error, 3)
	ask := func(user, sql string) {
		conn := p.connect(func(c *pgx.ConnConfig) { c.User = user })
		go func() {
			_, err := conn.Exec(ctx, sql)
			outcomes <- err
		}()
	}
	ask("alice", "SELECT count(*) FROM patients WHERE age > 41")
	ask("alice", "SELECT count(*) FROM patients WHERE age > 42")
	eventually(t, "one measure waits for the lock", func() bool { return p.waiting() == 1 })
	bob := p.connect(func(c *pgx.ConnConfig) { c.User = "bob" })
	if _, err := bob.Exec(ctx, "SELECT count(*) FROM visits"); err != nil {
		t.Errorf("another analyst: %v", err)
	}
	ask("bob", "SELECT count(*) FROM patients WHERE age > 43")
	eventually(t, "the pool is used up", func() bool { return p.waiting() == 2 })
	for range 5 {
		if _, err := bob.Exec(ctx, "EXPLAIN "+measured); err != nil {
			t.Fatalf("EXPLAIN: %v", err)
		}
	}
	if len(outcomes) > 0 {
		t.Errorf("a measure has ended: %v", <-outcomes)
	}
	unlock()
	for range 3 {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
}
