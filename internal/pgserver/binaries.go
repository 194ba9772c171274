package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// ErrNoServer is what Find returns, wrapped with advice, on a machine without PostgreSQL's server programs.
var ErrNoServer = errors.New("PostgreSQL's server programs (initdb, postgres) were not found")

// Find returns the folder that holds both initdb and postgres. It looks at PATH, then asks pg_config, then looks where
// Debian, Red Hat and Homebrew put them, newest version first.
func Find() (string, error) {
	for _, dir := range candidates() {
		if runnable(filepath.Join(dir, "initdb")) && runnable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNoServer, advice())
}

func candidates() []string {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(initdb))
		// Distributions link single programs into PATH; the others are next to the link's target.
		if target, err := filepath.EvalSymlinks(initdb); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/lib/postgresql*/bin",
		"/usr/pgsql-*/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/usr/local/pgsql/bin",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue // the patterns are constants; Glob fails on a malformed one only
		}
		sort.Slice(found, func(i, j int) bool { return version(found[i]) > version(found[j]) })
		dirs = append(dirs, found...)
	}
	return dirs
}

// version returns the last number in a path: /usr/lib/postgresql/15/bin is 15.
func version(path string) int {
	n := 0
	for _, field := range strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
		if v, err := strconv.Atoi(field); err == nil {
			n = v
		}
	}
	return n
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
