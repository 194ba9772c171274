// Package ledgertest holds what the tests of the ledger's packages share: plain budgets and charges, a clock that a
// test moves, and databases for ledgers in PostgreSQL.
package ledgertest

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// GaussianCurve is what noise with a divergence of αρ at every order α costs.
func GaussianCurve(rho float64) mechanism.Curve {
	c := mechanism.Curve{Pure: math.Inf(1)}
	for _, alpha := range mechanism.RenyiOrders {
		c.Renyi = append(c.Renyi, alpha*rho)
	}
	c.Renyi = append(c.Renyi, 2*rho)
	return c
}

// PureConfig has one analyst, alice, with a budget of ε under pure accounting.
func PureConfig(epsilon float64) ledger.Config {
	return ledger.Config{
		Method:   policy.Pure,
		Analysts: map[string]policy.Budget{"alice": {Epsilon: epsilon}},
		Failures: 5,
		Log:      slog.New(slog.DiscardHandler),
	}
}

// PureCharge costs ε under either method.
func PureCharge(epsilon float64) ledger.Charge {
	return ledger.Charge{
		Query: "SELECT count(*) FROM t", Fingerprint: "f", Policy: "v", Epsilon: epsilon,
		Curve: mechanism.Curve{Pure: epsilon},
	}
}

// WantCode checks an error's SQLSTATE; "" is no error.
func WantCode(t testing.TB, err error, code string) {
	t.Helper()
	var e *pgconn.PgError
	switch {
	case code == "" && err == nil:
	case !errors.As(err, &e) || e.Code != code:
		t.Errorf("error %v, want SQLSTATE %q", err, code)
	}
}

// Clock is a time of day that a test moves.
type Clock struct{ unixMicro atomic.Int64 }

func NewClock() *Clock {
	c := &Clock{}
	c.Set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return c
}

func (c *Clock) Now() time.Time        { return time.UnixMicro(c.unixMicro.Load()).UTC() }
func (c *Clock) Set(t time.Time)       { c.unixMicro.Store(t.UnixMicro()) }
func (c *Clock) Move(by time.Duration) { c.unixMicro.Add(by.Microseconds()) }

// PostgresDSN runs setup, the schema of a ledger for the role proxy, in a new database and returns that role's DSN.
func PostgresDSN(t testing.TB, setup string) string {
	t.Helper()
	s := pgservertest.Start(t)
	pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), `DO $$ BEGIN
		CREATE ROLE proxy LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	s, name := pgservertest.Database(t)
	pgservertest.Exec(t, s.DSN(name, pgserver.Superuser), setup)
	pgservertest.Exec(t, s.DSN(name, pgserver.Superuser), setup) // a second time changes nothing
	return s.DSN(name, "proxy")
}

// Superuser returns the DSN of a superuser for the database of dsn.
func Superuser(t testing.TB, dsn string) string {
	t.Helper()
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return pgservertest.Start(t).DSN(c.Database, pgserver.Superuser)
}

// Run runs the tests of a package, stops its PostgreSQL server, and fails if a goroutine is left.
func Run(m *testing.M) (code int) {
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
