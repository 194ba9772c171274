package bolt

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRootGivesTheLedgerToItsFolder: a service can open what an administrator has made in its folder.
func TestRootGivesTheLedgerToItsFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	folder := t.TempDir()
	const user, group = 12345, 23456
	if err := os.Chown(folder, user, group); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "ledger")
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != user || owner.Gid != group || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %d's and %d's, with mode %04o", owner.Uid, owner.Gid, info.Mode().Perm())
	}
}
