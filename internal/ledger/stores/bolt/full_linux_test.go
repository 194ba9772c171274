package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

// fullChild charges until the disk is full, then makes room, and prints the results. The disk is a small tmpfs that
// only the child sees; where mounting is not allowed, a limit on the file's size takes its place.
func fullChild() int {
	path, ctx := os.Getenv("LEDGER_TEST_PATH"), context.Background()
	fill, makeRoom := fileLimit, func() error { return setFileLimit(1 << 30) }
	if os.Getenv("LEDGER_TEST_TMPFS") != "" {
		folder := filepath.Dir(path)
		err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") // else the parent sees it too
		if err == nil {
			err = syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m")
		}
		if err != nil {
			fmt.Println(err)
			return 2
		}
		ballast := filepath.Join(folder, "ballast")
		fill = func() error { return fillDisk(ballast) }
		makeRoom = func() error { return os.Remove(ballast) }
	}
	s, err := Open(path, ledgertest.PureConfig(1e9))
	if err != nil {
		fmt.Println(err)
		return 2
	}
	spend := func(times int) (ok int, last error) {
		for range times {
			c := ledgertest.PureCharge(1)
			c.Query = strings.Repeat("x", 4096)
			if _, last = s.Spend(ctx, "alice", []ledger.Charge{c}); last != nil {
				return ok, last
			}
			ok++
		}
		return ok, nil
	}
	before, err := spend(3)
	fmt.Printf("with space: %d %v\n", before, err)
	fmt.Printf("filled: %v\n", fill())
	admitted, err := spend(3000)
	admitted += before
	fmt.Printf("full after a while: %v\n", admitted < 3000)
	fmt.Printf("then: %v\n", err)
	more, again := spend(3000) // what was given up may have left room for a few
	admitted += more
	fmt.Printf("again: %v\n", again)
	b, err := s.Balance(ctx, "alice")
	fmt.Printf("balance follows what was admitted: %v %v\n", b.EpsilonSpent == float64(admitted), err)
	fmt.Printf("room made: %v\n", makeRoom())
	more, err = spend(5)
	fmt.Printf("with space again: %d %v\n", more, err)
	fmt.Printf("closed: %v\n", s.Close())
	if s, err = Open(path, ledgertest.PureConfig(1e9)); err != nil {
		fmt.Println(err)
		return 2
	}
	defer s.Close()
	b, err = s.Balance(ctx, "alice")
	fmt.Printf("on disk: %v %v\n", b.EpsilonSpent == float64(admitted+more), err)
	return 0
}

func fileLimit() error {
	signal.Ignore(syscall.SIGXFSZ)
	return setFileLimit(3 << 20)
}

func setFileLimit(bytes uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: 1 << 40})
}

// fillDisk writes until nothing fits any more.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestFullDisk(t *testing.T) {
	own := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS} // a mount of the child's own, gone with it
	if os.Getuid() != 0 {
		own.Cloneflags |= syscall.CLONE_NEWUSER
		own.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		own.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	for _, tt := range []struct {
		name, env string
		attr      *syscall.SysProcAttr
	}{{"limit", "", nil}, {"tmpfs", "LEDGER_TEST_TMPFS=1", own}} {
		t.Run(tt.name, func(t *testing.T) {
			c := exec.Command(os.Args[0])
			c.SysProcAttr = tt.attr
			c.Env = append(os.Environ(), "LEDGER_TEST_CHILD=full", tt.env, "LEDGER_TEST_PATH="+
				filepath.Join(t.TempDir(), "ledger"))
			raw, err := c.CombinedOutput()
			out := string(raw)
			if tt.attr != nil && (errors.Is(err, syscall.EPERM) || strings.Contains(out, syscall.EPERM.Error())) {
				t.Log("this machine does not let a test mount a disk: the limit alone was tested")
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, want := range []string{
				"with space: 3 <nil>", "filled: <nil>", "full after a while: true",
				"then: ERROR: the budget ledger is unavailable (SQLSTATE 58030)",
				"again: ERROR: the budget ledger is unavailable (SQLSTATE 58030)",
				"balance follows what was admitted: true <nil>", "room made: <nil>",
				"with space again: 5 <nil>", "closed: <nil>", "on disk: true <nil>",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("missing %q in:\n%s", want, out)
				}
			}
		})
	}
}

// readOnlyChild tries to open a ledger that it may not write.
func readOnlyChild() int {
	_, err := Open(os.Getenv("LEDGER_TEST_PATH"), ledgertest.PureConfig(1))
	fmt.Println(err)
	return 0
}

func TestReadOnlyDisk(t *testing.T) {
	folder, err := os.MkdirTemp("", "ledger") // a path that an unprivileged user can walk
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "child")
	if b, err := os.ReadFile(os.Args[0]); err != nil || os.WriteFile(binary, b, 0o755) != nil {
		t.Fatal(err)
	}
	nobody := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // root writes wherever it likes
		nobody.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	closed := filepath.Join(folder, "closed")
	if err := os.Mkdir(closed, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(closed, "ledger")
	if err := openTest(t, path, ledgertest.PureConfig(1)).Close(); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(closed, "mine")
	if b, err := os.ReadFile(path); err != nil || os.WriteFile(mine, b, 0o400) != nil {
		t.Fatal(err)
	}
	if nobody.Credential != nil {
		if err := os.Chown(mine, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(closed, 0o555), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o755)
	for _, tt := range []struct{ path, want string }{
		{mine, "permission denied"},
		{filepath.Join(closed, "new"), "cannot be created"},
	} {
		child := exec.Command(binary)
		child.SysProcAttr = nobody
		child.Dir = "/"
		child.Env = []string{"LEDGER_TEST_CHILD=readonly", "LEDGER_TEST_PATH=" + tt.path}
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) ||
			!strings.Contains(string(out), tt.path) {
			t.Errorf("%s: %v, %s, want %q", tt.path, err, out, tt.want)
		}
	}
}

// TestAfterAFailedWriteNothingIsServed closes the file under the store: a failure of which nobody knows the outcome.
func TestAfterAFailedWriteNothingIsServed(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "ledger"), context.Background()
	s := openTest(t, path, ledgertest.PureConfig(10))
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
		t.Fatal(err)
	}
	db := s.db
	if err := db.Close(); err != nil { // every later transaction fails
		t.Fatal(err)
	}
	for range 2 {
		_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
		ledgertest.WantCode(t, err, "58030")
	}
	_, err := s.Balance(ctx, "alice")
	ledgertest.WantCode(t, err, "58030")
	_, err = s.Failed(ctx, "alice", "f")
	ledgertest.WantCode(t, err, "58030")
	_, _, err = s.Answer(ctx, "key")
	ledgertest.WantCode(t, err, "58030")
	if _, err := s.PutAnswer(ctx, "key", []byte("1"), time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := s.Show(ctx); err == nil || !strings.Contains(err.Error(), bbolterrors.ErrDatabaseNotOpen.Error()) {
		t.Errorf("show: %v", err)
	}
}
