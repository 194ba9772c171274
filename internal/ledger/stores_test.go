package ledger

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// eachStore runs a test on a new ledger of each kind. The test opens it itself, as often as it likes one after the
// other; on PostgreSQL also at the same time.
func eachStore(t *testing.T, test func(t *testing.T, open func(Config) Store)) {
	t.Run("file", func(t *testing.T) {
		test(t, opener(t, "file:"+filepath.Join(t.TempDir(), "ledger")))
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, opener(t, tableDSN(t)))
	})
}

// tableDSN sets up a ledger in a database of its own and returns the DSN of an ordinary role.
func tableDSN(t testing.TB) string {
	t.Helper()
	s := pgservertest.Start(t)
	pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), `DO $$ BEGIN
		CREATE ROLE proxy LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	s, name := pgservertest.Database(t)
	setUp(t, s.DSN(name, pgserver.Superuser))
	setUp(t, s.DSN(name, pgserver.Superuser)) // a second time changes nothing
	return s.DSN(name, "proxy")
}

// setUp makes the schema, for a role that exists.
func setUp(t testing.TB, dsn string) {
	t.Helper()
	pgservertest.Exec(t, dsn, SetupSQL("proxy"))
}

func opener(t *testing.T, dsn string) func(Config) Store {
	return func(c Config) Store {
		t.Helper()
		s, err := Open(context.Background(), dsn, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}
