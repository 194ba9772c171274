package integration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// TestOutcomesWaitForTheirMoment: while an answer waits, nothing that the analyst's other connections see says that main has
// finished. The quantum is longer than the test.
func TestOutcomesWaitForTheirMoment(t *testing.T) {
	p := start(t, clinicPolicy("timing: {quantum: 1m}"), clinic)
	ctx := context.Background()
	other := p.connect()
	main, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer main.Close(ctx)
	active := func() (n int) {
		if err := main.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND usename = 'it_main' AND state <> 'idle'", p.db).Scan(&n); err != nil {
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
				if _, err := main.Exec(ctx, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND usename = 'it_main' AND state = 'active'", p.db); err != nil {
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
