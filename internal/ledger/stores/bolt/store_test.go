package bolt

import (
	"path/filepath"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

// openTest opens a ledger for the time of a test.
func openTest(t *testing.T, path string, c ledger.Config) *Store {
	t.Helper()
	s, err := Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDurableCommits(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "ledger"), ledgertest.PureConfig(1))
	if s.db.NoSync || s.db.NoGrowSync || s.db.NoFreelistSync {
		t.Error("bbolt does not sync")
	}
}
