package pgserver

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account says as whom the server runs.
type account struct {
	uid, gid int
	drop     bool // we are root and must become this user
}

// serverAccount returns ourselves, or under root the user postgres, else nobody: PostgreSQL refuses root.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			continue
		}
		return account{uid: uid, gid: gid, drop: true}, nil
	}
	return account{},
		fmt.Errorf(
			"PostgreSQL refuses to run as root, and this system has neither a user postgres nor nobody: run as another user")
}

func (a account) credential() *syscall.Credential {
	if !a.drop {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// maxFolder leaves room for "/socket/.s.PGSQL.65535" in the 104 bytes that the shortest sun_path has (macOS; Linux
// 108).
const maxFolder = 80

// folder makes the cluster's own folder below the first parent that the server's user can reach.
func (a account) folder(parent string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	for _, p := range []string{parent, "/tmp", "/var/tmp"} {
		abs, err := filepath.Abs(p)
		if err != nil || len(abs) > maxFolder-len("/dpproxy-pg-0123456789") || a.drop && !reachable(abs) {
			continue
		}
		dir, err := os.MkdirTemp(abs, "dpproxy-pg-")
		if err != nil {
			continue
		}
		if a.drop {
			if err := os.Chown(dir, a.uid, a.gid); err != nil {
				return "", fmt.Errorf("giving %s to the server's user: %w", dir, err)
			}
		}
		// Others may pass through to the socket; data stays at 0700.
		if err := os.Chmod(dir, 0o711); err != nil {
			return "", err
		}
		return dir, nil
	}
	return "",
		fmt.Errorf(
			"no temporary folder for PostgreSQL: %s, /tmp and /var/tmp cannot be written, or not be reached by an unprivileged user", parent)
}

// reachable reports whether anybody may pass through dir and every folder above it.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}
