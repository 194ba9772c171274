package redteam_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

const (
	testdata = "../../internal/rewrite/testdata/"
	password = "secret"
)

// world is a proxy that reaches main through a relay, and databases of main's schema to judge in.
type world struct {
	t        *testing.T
	main     *pgserver.Server
	database string
	relay    *relay.Relay
	proxy    *server.Server
	judges   []*pgx.Conn // superuser, each in a database of its own
	binary   int         // parameters that were sent in binary form
	pinned   pinned
}

// newWorld starts everything. The databases to judge in are made before main's has a connection.
func newWorld(t *testing.T, judges int) *world {
	w := &world{t: t, pinned: pinned{}}
	w.main, w.database = pgservertest.Database(t, read(t, "schema.sql")+rewritetest.SamplesSchema)
	w.judges = copies(t, w.main, w.database, judges)
	t.Cleanup(func() {
		pgservertest.Exec(t, w.main.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+w.database+
			"_shadow WITH (FORCE)")
	})
	random := rand.New(rand.NewPCG(*seed, 1))
	pgservertest.Exec(t, w.main.DSN(w.database, pgserver.Superuser), rewritetest.Hostile(random, 0)+rewritetest.Samples(
		random))
	w.serve(context.Background())
	return w
}

// databasesOf are so many databases of main's schema.
func databasesOf(t *testing.T, n int) []*pgx.Conn {
	main, database := pgservertest.Database(t, read(t, "schema.sql")+rewritetest.SamplesSchema)
	return copies(t, main, database, n)
}

// copies makes databases like one that nobody is connected to: a type has one number in all of them, as parameters need
// it.
func copies(t *testing.T, main *pgserver.Server, database string, n int) []*pgx.Conn {
	ctx := context.Background()
	var conns []*pgx.Conn
	for i := range n {
		name := fmt.Sprintf("%s_judge_%d", database, i)
		admin := main.DSN("postgres", pgserver.Superuser)
		pgservertest.Exec(t, admin, "CREATE DATABASE "+name+" TEMPLATE "+database)
		t.Cleanup(func() { pgservertest.Exec(t, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
		conn, err := pgx.Connect(ctx, main.DSN(name, pgserver.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(ctx) })
		conns = append(conns, conn)
	}
	return conns
}

// serve runs setup with main at hand, and then the proxy with main behind the relay.
func (w *world) serve(ctx context.Context) {
	var err error
	if w.relay, err = relay.Start(net.JoinHostPort(w.main.Host, strconv.Itoa(w.main.Port))); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.relay.Close)
	direct := w.main.DSN(w.database, "dp_main")
	if err := provision.Setup(ctx, w.policy(direct), io.Discard); err != nil {
		w.t.Fatal(err)
	}
	relayed := strings.Replace(direct, net.JoinHostPort(w.main.Host, strconv.Itoa(w.main.Port)), w.relay.Addr(), 1)
	log := slog.New(slog.NewTextHandler(testLog{w.t}, &slog.HandlerOptions{Level: slog.LevelError}))
	if w.proxy, err = server.Start(ctx, w.policy(relayed), log); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.proxy.Close() })
}

// policy is that of rewrite's tests, with the tables of samples, an analyst for each session, and nothing kept or
// padded.
func (w *world) policy(main string) *policy.Policy {
	for suffix, dsn := range map[string]string{
		"MAIN": main, "SHADOW": w.main.DSN(w.database+"_shadow", "dp_shadow"),
		"PUBLIC": w.main.DSN(w.database, "dp_public"), "ADMIN": w.main.DSN(w.database, pgserver.Superuser),
	} {
		if err := os.Setenv("REWRITE_TEST_"+suffix, dsn); err != nil {
			w.t.Fatal(err)
		}
	}
	secret, err := verifier.New(password)
	if err != nil {
		w.t.Fatal(err)
	}
	text := read(w.t, "policy.yaml")
	analysts := "analysts:\n"
	for _, s := range sessions {
		analysts += fmt.Sprintf("  %s: {password: %q, budget: {epsilon: 1e6, delta: 0.5}}\n", s.analyst(), secret)
	}
	head, rest, _ := strings.Cut(text, "analysts:\n")
	_, tables, _ := strings.Cut(rest, "tables:\n")
	text = head + analysts + "answers: {ttl: 0}\ntables:\n" +
		strings.Replace(tables, "\nviews:", rewritetest.SamplesPolicy+"views:", 1)
	text = strings.Replace(text, "file:rewrite.ledger", "file:"+filepath.Join(w.t.TempDir(), "redteam.ledger"), 1)
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// connect is a session of an analyst.
func (w *world) connect(s session) *pgconn.PgConn {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", s.analyst(), password,
		w.proxy.Addr(), w.database))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, s.set+"SET dpproxy.notices = off").ReadAll(); err != nil {
		w.t.Fatalf("%s: %v", s.set, err)
	}
	return conn
}

func read(t testing.TB, name string) string {
	text, err := os.ReadFile(testdata + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testLog shows what the proxy logs as an error.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("proxy: %s", line)
	return len(line), nil
}
