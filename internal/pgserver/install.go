package pgserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// manager is a package manager and the commands that install PostgreSQL's server and psql with it.
type manager struct {
	program  string
	needRoot bool
	commands [][]string
}

var managers = []manager{
	{"apt-get", true, [][]string{{"apt-get", "update"}, {
		"apt-get", "install", "-y", "--no-install-recommends",
		"postgresql", "postgresql-client",
	}}},
	{"dnf", true, [][]string{{"dnf", "install", "-y", "postgresql-server", "postgresql"}}},
	{"yum", true, [][]string{{"yum", "install", "-y", "postgresql-server", "postgresql"}}},
	{"zypper", true, [][]string{{"zypper", "--non-interactive", "install", "postgresql-server", "postgresql"}}},
	{"pacman", true, [][]string{{"pacman", "-Sy", "--noconfirm", "postgresql"}}},
	{"apk", true, [][]string{{"apk", "add", "postgresql", "postgresql-client"}}},
	{"brew", false, [][]string{{"brew", "install", "postgresql@17"}}},
}

// found returns the first package manager of this machine.
func found() (manager, bool) {
	for _, m := range managers {
		if _, err := exec.LookPath(m.program); err == nil {
			return m, true
		}
	}
	return manager{}, false
}

// advice says in one line what to install here.
func advice() string {
	m, ok := found()
	if !ok {
		return "install the PostgreSQL server (14 or later) and put its bin folder in PATH"
	}
	var lines []string
	for _, c := range m.commands {
		line := strings.Join(c, " ")
		if m.needRoot {
			line = "sudo " + line
		}
		lines = append(lines, line)
	}
	return "run: " + strings.Join(lines, " && ")
}

// Install installs PostgreSQL's server and psql with the system's package manager, and writes what that says to log.
// Where it cannot (no package manager, or no right to use it) the error says what to install by hand.
func Install(ctx context.Context, log io.Writer) error {
	m, ok := found()
	if !ok || m.needRoot && os.Geteuid() != 0 {
		return fmt.Errorf("%w: %s", ErrNoServer, advice())
	}
	for _, c := range m.commands {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("installing PostgreSQL: %s: %w", strings.Join(c, " "), err)
		}
	}
	return nil
}
