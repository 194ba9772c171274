package admin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// showChild asks for the accounts as another user and prints the answer.
func showChild() {
	c, err := Dial(context.Background(), os.Getenv("LEDGER_TEST_SOCKET"))
	if err != nil {
		fmt.Println("dial:", err)
		return
	}
	defer c.Close()
	_, err = c.Show(context.Background())
	fmt.Println("show:", err)
}

// shown is a ledger that has no accounts.
type shown struct{ ledger.Admin }

func (shown) Show(context.Context) ([]ledger.AccountSummary, error) { return nil, nil }

// TestOtherUsersAreNotAnswered: the socket's mode keeps them out, and so does the kernel's word where the mode does
// not.
func TestOtherUsersAreNotAnswered(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root can become another user, and only Linux says who connects")
	}
	folder, err := os.MkdirTemp("", "ledger") // a path that an unprivileged user can walk
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	binary, self := filepath.Join(folder, "child"), os.Args[0]
	if b, err := os.ReadFile(self); err != nil || os.WriteFile(binary, b, 0o755) != nil || os.Chmod(folder, 0o755) != nil {
		t.Fatal(err)
	}
	path, own, end := serveIn(t, folder, shown{})
	defer end()
	if _, err := own.Show(context.Background()); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		mode os.FileMode
		want string
	}{{0o600, "permission denied"}, {0o666, "it answers only its own user and root"}} {
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(binary)
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		child.Dir = "/"
		child.Env = []string{"LEDGER_TEST_CHILD=show", "LEDGER_TEST_SOCKET=" + path}
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("mode %04o: %v, %s, want %q", tt.mode, err, out, tt.want)
		}
	}
}
