package integration_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestBehindPgBouncer puts a PgBouncer in transaction mode between dpproxy and PostgreSQL: every transaction may come
// to another connection, so nothing may be left on one or expected of it.
func TestBehindPgBouncer(t *testing.T) {
	p := start(t, everyKey(clinicPolicy()), clinic)
	p.stop()
	address := p.bouncer(t)
	policy, err := os.ReadFile(p.policy)
	if err != nil {
		t.Fatal(err)
	}
	direct := fmt.Sprintf("127.0.0.1:%d", p.server.Port)
	// setup is done: all that stays direct is the administrator, whom serve does not ask.
	if err := os.WriteFile(p.policy, []byte(strings.ReplaceAll(string(policy), direct, address)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.serve()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} {
		conn := p.connect(func(c *pgx.ConnConfig) { c.DefaultQueryExecMode = mode })
		pgxSession(t, conn)
		var zone string
		if _, err := conn.Exec(context.Background(), "SET TimeZone = 'Asia/Tokyo'"); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(context.Background(), "SELECT timestamptz '2026-01-01 00:00+00'::text").Scan(&zone); err != nil || zone != "2026-01-01 09:00:00+09" {
			t.Errorf("in Tokyo: %s, %v", zone, err)
		}
		if err := p.connect().QueryRow(context.Background(), "SELECT timestamptz '2026-01-01 00:00+00'::text").Scan(&zone); err != nil || strings.Contains(zone, "+09") {
			t.Errorf("another session: %s, %v", zone, err)
		}
	}
}

// bouncer starts a PgBouncer in front of the test's server and returns its address.
func (p *proxy) bouncer(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's place, which is not in everybody's PATH
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "dpproxy-bouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ini := fmt.Sprintf(
		"[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = trust\nauth_file = %s/users\npool_mode = transaction\n", p.server.Port, port, dir)
	files := map[string]string{"pgbouncer.ini": ini, "users": "\"it_main\" \"\"\n\"it_shadow\" \"\"\n\"it_public\" \"\"\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{filepath.Join(dir, "pgbouncer.ini")}
	if os.Geteuid() == 0 { // like PostgreSQL, it refuses root
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--user=nobody")
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr, cmd.SysProcAttr = p.log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "PgBouncer listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return address
}
