// Package pgservertest gives tests a PostgreSQL server: one per test binary, with a fresh database for whoever asks.
package pgservertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

var (
	mu     sync.Mutex
	shared *pgserver.Server
	serial atomic.Int64
)

// Start returns the server that all tests of this binary share, and starts it for the first. It ends with the binary,
// or with Stop. A machine without PostgreSQL fails the test: a test that needs a database never passes without one.
func Start(t testing.TB) *pgserver.Server {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if shared == nil {
		s, err := pgserver.Start(context.Background(), pgserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared = s
	}
	return shared
}

// Stop ends the shared server, if there is one: for a TestMain that looks for leaked goroutines.
func Stop() {
	mu.Lock()
	defer mu.Unlock()
	if shared != nil {
		shared.Stop()
		shared = nil
	}
}

// Database creates a database of its own for a test, runs sql in it as superuser, and drops it afterwards.
// It returns the server and the database's name.
func Database(t testing.TB, sql ...string) (*pgserver.Server, string) {
	t.Helper()
	s := Start(t)
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), serial.Add(1))
	Exec(t, s.DSN("postgres", pgserver.Superuser), "CREATE DATABASE "+name)
	t.Cleanup(func() {
		Exec(t, s.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	if len(sql) > 0 {
		Exec(t, s.DSN(name, pgserver.Superuser), strings.Join(sql, ";\n"))
	}
	return s, name
}

// Exec runs SQL text, any number of statements, on a connection of its own.
func Exec(t testing.TB, dsn, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatalf("%v\nin: %.500s", err, sql)
	}
}
