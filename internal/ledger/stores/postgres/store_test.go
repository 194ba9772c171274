package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// newLedger makes a database for a ledger and returns the DSN of the role that may use it.
func newLedger(t *testing.T) string { return ledgertest.PostgresDSN(t, postgres.SetupSQL("proxy")) }

// open opens a ledger for the time of a test.
func open(t *testing.T, dsn string, c ledger.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRestartedServerIsNoticedByNobody(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	s := open(t, dsn, ledgertest.PureConfig(10))
	for range 3 {
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Balance(ctx, "alice"); err != nil {
			t.Fatal(err)
		}
		pgservertest.Exec(t, ledgertest.Superuser(t, dsn),
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'proxy'`)
	}
	if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 3 {
		t.Errorf("balance %+v, %v, want 3 spent", b, err)
	}
}

func TestStoreDownAnswersNothing(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	s := open(t, dsn, ledgertest.PureConfig(10))
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `ALTER ROLE proxy NOLOGIN;
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'proxy'`)
	_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
	ledgertest.WantCode(t, err, "58030")
	var e *pgconn.PgError
	if errors.As(err, &e) && strings.Contains(e.Message+e.Detail+e.Hint, "proxy\"") {
		t.Errorf("the client learns why: %+v", e)
	}
	_, err = s.Balance(ctx, "alice")
	ledgertest.WantCode(t, err, "58030")
	_, err = s.Failed(ctx, "alice", "f")
	ledgertest.WantCode(t, err, "58030")
	_, err = s.History(ctx, "alice", 1)
	ledgertest.WantCode(t, err, "58030")
	_, _, err = s.Answer(ctx, "key")
	ledgertest.WantCode(t, err, "58030")
	_, err = s.PutAnswer(ctx, "key", nil, 1)
	ledgertest.WantCode(t, err, "58030")
	ledgertest.WantCode(t, s.Fail(ctx, "alice", "f"), "58030")
	pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `ALTER ROLE proxy LOGIN`)
	if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 1 {
		t.Errorf("when it is back: %+v, %v, want 1 spent", b, err)
	}
}

func TestHeldAccountIsGivenUpAfterAWhile(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	s := open(t, dsn, ledgertest.PureConfig(10))
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, ledgertest.Superuser(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `SELECT FROM dpproxy_ledger.account WHERE name = 'alice' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	_, err = s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
	ledgertest.WantCode(t, err, "58030")
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil || b.EpsilonSpent != 2 {
		t.Errorf("afterwards: %+v, %v, want 2 spent", b, err)
	}
}

func TestLedgersRoleCanOnlyAdd(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	s := open(t, dsn, ledgertest.PureConfig(10))
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dsn, code string }{{dsn, "42501"}, {ledgertest.Superuser(t, dsn), "P0001"}} {
		conn, err := pgx.Connect(ctx, tt.dsn)
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			"DELETE FROM dpproxy_ledger.record", "UPDATE dpproxy_ledger.record SET n = n", "TRUNCATE dpproxy_ledger.record",
			"DELETE FROM dpproxy_ledger.curve", "UPDATE dpproxy_ledger.curve SET id = id", "TRUNCATE dpproxy_ledger.curve",
		} {
			_, err := conn.Exec(ctx, sql)
			ledgertest.WantCode(t, err, tt.code)
		}
		conn.Close(ctx)
	}
}

func TestVerifyFindsForgedTables(t *testing.T) {
	for _, tt := range []struct{ forge, want string }{
		{`DELETE FROM dpproxy_ledger.record WHERE n = 4`, `account "alice", record 4`},
		{`DELETE FROM dpproxy_ledger.record WHERE n = 6`, `account "alice": its totals say records 6, its records say 5`},
		{
			`UPDATE dpproxy_ledger.record SET payload = set_byte(payload, 60, 1) WHERE kind = 5 AND n = 3`,
			`account "alice", record 3: checksum`,
		},
		{`DELETE FROM dpproxy_ledger.record WHERE kind = 5 AND n = 3`, `account "alice", record 3: `},
		{`DELETE FROM dpproxy_ledger.curve`, `account "alice", record 2: curve`},
		{`UPDATE dpproxy_ledger.curve SET divergences = set_byte(divergences, 9, 1)`, `its bytes do not match`},
		{
			`UPDATE dpproxy_ledger.record SET payload = set_byte(payload, 20, 1) WHERE n = 2`,
			`account "alice", record 2: checksum`,
		},
		{
			`UPDATE dpproxy_ledger.account SET state = set_byte(state, 12, 1) WHERE name = 'alice'`,
			`account "alice": checksum`,
		},
		{`DELETE FROM dpproxy_ledger.account`, `account "alice": its totals are missing`},
		{`UPDATE dpproxy_ledger.account SET name = 'bob'`, `account "bob": holds the account "alice"`},
	} {
		dsn, ctx := newLedger(t), context.Background()
		c, charge := ledgertest.PureConfig(10), ledgertest.PureCharge(1)
		c.Checkpoint, charge.Curve = 2, mechanism.PureCurve(1)
		s := open(t, dsn, c)
		for range 3 { // period, charge, checkpoint, charge, …
			if _, err := s.Spend(ctx, "alice", []ledger.Charge{charge}); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := s.Verify(ctx); err != nil || r.Records != 6 || r.Accounts != 1 || r.Checkpoints != 2 {
			t.Fatalf("before: %+v, %v", r, err)
		}
		pgservertest.Exec(t, ledgertest.Superuser(t, dsn), `ALTER TABLE dpproxy_ledger.record DISABLE TRIGGER append_only;
			ALTER TABLE dpproxy_ledger.curve DISABLE TRIGGER append_only; `+tt.forge)
		if _, err := s.Verify(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.forge, err, tt.want)
		}
	}
}

func TestLedgerThatIsNotSetUp(t *testing.T) {
	s, name := pgservertest.Database(t)
	_, err := postgres.Open(context.Background(), s.DSN(name, pgserver.Superuser), ledgertest.PureConfig(1))
	if err == nil || !strings.Contains(err.Error(), "dpproxy setup") {
		t.Errorf("%v, want a hint at dpproxy setup", err)
	}
	if _, err := postgres.Open(context.Background(), "postgres://nobody@127.0.0.1:1/none", ledgertest.PureConfig(1)); err == nil {
		t.Error("a server that is not there was opened")
	}
}

// TestTwoProxiesWithDifferentPolicies: one of them bounds all analysts together, and counts what the other charges too.
func TestTwoProxiesWithDifferentPolicies(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	c := ledgertest.PureConfig(10)
	c.Analysts["bob"] = policy.Budget{Epsilon: 10}
	without := open(t, dsn, c)
	if _, err := without.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(2)}); err != nil {
		t.Fatal(err)
	}
	c.Group = &policy.Budget{Epsilon: 4}
	with := open(t, dsn, c)
	if _, err := without.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	_, err := with.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(2)})
	ledgertest.WantCode(t, err, "53400")
	if _, err := with.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := with.Verify(ctx); err != nil {
		t.Error(err)
	}
}
