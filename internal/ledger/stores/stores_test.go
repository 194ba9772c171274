package stores_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
)

// eachStore runs a test on a new ledger of each kind. The test opens it itself, as often as it likes one after the
// other; on PostgreSQL also at the same time.
func eachStore(t *testing.T, test func(t *testing.T, open func(ledger.Config) ledger.Store)) {
	t.Run("file", func(t *testing.T) {
		test(t, opener(t, "file:"+filepath.Join(t.TempDir(), "ledger")))
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, opener(t, postgresDSN(t)))
	})
}

func opener(t *testing.T, dsn string) func(ledger.Config) ledger.Store {
	return func(c ledger.Config) ledger.Store {
		t.Helper()
		s, err := stores.Open(context.Background(), dsn, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// postgresDSN makes a database for a ledger and returns the DSN of the role that may use it.
func postgresDSN(t testing.TB) string { return ledgertest.PostgresDSN(t, postgres.SetupSQL("proxy")) }
