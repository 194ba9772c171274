package ledger

import (
	"path/filepath"
	"testing"
)

// openTest opens a ledger for the time of a test.
func openTest(t *testing.T, path string, c Config) *fileStore {
	t.Helper()
	s, err := openFile(path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDurableCommits(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "ledger"), pureConfig(1))
	if s.db.NoSync || s.db.NoGrowSync || s.db.NoFreelistSync {
		t.Error("bbolt does not sync")
	}
}
