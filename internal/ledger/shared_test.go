package ledger

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// pureConfig has one analyst, alice, with a budget of ε under pure accounting.
func pureConfig(epsilon float64) Config {
	return Config{
		Method:   policy.Pure,
		Analysts: map[string]policy.Budget{"alice": {Epsilon: epsilon}},
		Failures: 5,
		Log:      slog.New(slog.DiscardHandler),
	}
}

// pureCharge costs ε under either method.
func pureCharge(epsilon float64) Charge {
	return Charge{Query: "SELECT count(*) FROM t", Fingerprint: "f", Policy: "v", Epsilon: epsilon, Curve: mechanism.Curve{Pure: epsilon}}
}

// wantCode checks an error's SQLSTATE; "" is no error.
func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	var e *pgconn.PgError
	switch {
	case code == "" && err == nil:
	case !errors.As(err, &e) || e.Code != code:
		t.Errorf("error %v, want SQLSTATE %q", err, code)
	}
}

// testClock is a time of day that a test moves.
type testClock struct{ unixMicro atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return c
}

func (c *testClock) now() time.Time        { return time.UnixMicro(c.unixMicro.Load()).UTC() }
func (c *testClock) set(t time.Time)       { c.unixMicro.Store(t.UnixMicro()) }
func (c *testClock) move(by time.Duration) { c.unixMicro.Add(by.Microseconds()) }

// tableDSN runs setup, the schema of a ledger for the role proxy, in a new database and returns that role's DSN.
func tableDSN(t testing.TB, setup string) string {
	t.Helper()
	s := pgservertest.Start(t)
	pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), `DO $$ BEGIN
		CREATE ROLE proxy LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	s, name := pgservertest.Database(t)
	pgservertest.Exec(t, s.DSN(name, pgserver.Superuser), setup)
	pgservertest.Exec(t, s.DSN(name, pgserver.Superuser), setup) // a second time changes nothing
	return s.DSN(name, "proxy")
}

// superuser returns the DSN of a superuser for the database of dsn.
func superuser(t testing.TB, dsn string) string {
	t.Helper()
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return pgservertest.Start(t).DSN(c.Database, pgserver.Superuser)
}

// runTests runs the tests of a package, stops its PostgreSQL server, and fails if a goroutine is left.
func runTests(m *testing.M) (code int) {
	code = m.Run()
	pgservertest.Stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	return code
}
