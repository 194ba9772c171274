package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestDurableCommitsOfTheTables has a trigger note the setting under which each charge is committed, on a server whose
// default is not to wait for the disk.
func TestDurableCommitsOfTheTables(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `
		CREATE TABLE seen (how text);
		GRANT INSERT ON seen TO proxy;
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
		CREATE TRIGGER note AFTER INSERT ON dpproxy_ledger.record EXECUTE FUNCTION note()`)
	for _, tt := range []struct{ standard, want string }{
		{"off", "on"},
		{"local", "on"},
		{"remote_apply", "remote_apply"},
	} {
		pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `TRUNCATE seen; ALTER ROLE proxy SET synchronous_commit = `+
			tt.standard)
		s := open(t, dsn, ledgertest.PureConfig(10))
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(ctx, ledgertest.Superuser(t, dsn))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		var how string
		if err := conn.QueryRow(ctx, `SELECT string_agg(DISTINCT how, ',') FROM seen`).Scan(&how); err != nil ||
			how != tt.want {
			t.Errorf("by default %s: committed with synchronous_commit = %s, %v, want %s", tt.standard, how, err, tt.want)
		}
	}
	pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `ALTER ROLE proxy RESET synchronous_commit`)
}
