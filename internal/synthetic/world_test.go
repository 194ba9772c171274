package synthetic

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgservertest.Stop()
	os.Exit(code)
}

var budget = policy.Budget{Epsilon: 3, Delta: 1e-6}

// world is a database with a policy, and the twin that setup made for it.
type world struct {
	policy     *policy.Policy
	main, twin *pgx.Conn
	sink       Database
	ledger     ask.Ledger
}

// newWorld fills a database by load.
func newWorld(t *testing.T, text string, load func(dsn string) error) *world {
	t.Helper()
	ctx := context.Background()
	server, db := pgservertest.Database(t, "")
	t.Cleanup(func() {
		for _, name := range []string{db + "_shadow", db + "_synthetic"} {
			pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		}
	})
	admins := server.DSN(db, pgserver.Superuser)
	if err := load(admins); err != nil {
		t.Fatal(err)
	}
	text = "synthetic: {epsilon: 3, delta: 1e-6}\n" + strings.NewReplacer("${DPPROXY_MAIN_DSN}", server.DSN(db, "sy_main"), "${DPPROXY_SHADOW_DSN}",
		server.DSN(db+"_shadow", "sy_shadow"),
		"${DPPROXY_PUBLIC_DSN}", server.DSN(db, "sy_public"), "${DPPROXY_ADMIN_DSN}", admins).Replace(text)
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Setup(ctx, p, io.Discard); err != nil {
		t.Fatal(err)
	}
	w := &world{
		policy: p, main: connected(t, admins), twin: connected(t, p.Databases.Synthesize), sink: Database{p.Databases.Synthesize},
	}
	w.ledger = w.account(t, budget)
	return w
}

// account is a new one that holds a budget.
func (w *world) account(t *testing.T, budget policy.Budget) ask.Ledger {
	t.Helper()
	paid := *w.policy
	paid.Synthetic = &budget
	l, err := admin.OpenAccount(context.Background(), "file:"+filepath.Join(t.TempDir(), "ledger"), policy.SyntheticAccount,
		ledger.ConfigOf(&paid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func connected(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// counts are the rows that a query gives for each key, which are all columns but the last.
func counts(t *testing.T, conn *pgx.Conn, sql string) map[string]float64 {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	out := map[string]float64{}
	for _, row := range results[0].Rows {
		key := ""
		for _, v := range row[:len(row)-1] {
			key += fmt.Sprintf("%q ", v)
		}
		out[key] = numberIn(row[len(row)-1])
	}
	return out
}

// apart is the total variation of what a query of keys and counts gives on main and on the twin.
func (w *world) apart(t *testing.T, sql string) float64 {
	a, b := counts(t, w.main, sql), counts(t, w.twin, sql)
	n, m, off := 0.0, 0.0, 0.0
	for _, x := range a {
		n += x
	}
	for key, x := range b {
		m += x
		if _, ok := a[key]; !ok {
			a[key] = 0
		}
	}
	for key, x := range a {
		off += abs(x/n - b[key]/m)
	}
	return off / 2
}

var quiet = slog.New(slog.DiscardHandler)
