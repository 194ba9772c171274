// Package integration_test drives the dpproxy binary with real clients over a real PostgreSQL.
package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// executable is dpproxy, built once for all tests.
var executable string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dpproxy-integration-")
	if err != nil {
		panic(err)
	}
	executable = filepath.Join(dir, "dpproxy")
	build := exec.Command("go", "build", "-o", executable, "../../cmd/dpproxy")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	pgservertest.Stop()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const password = "secret"

// verifier is that of password, made by the binary itself.
var verifier = sync.OnceValue(func() string {
	cmd := exec.Command(executable, "passwd")
	cmd.Stdin = strings.NewReader(password + "\n")
	out, err := cmd.Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

// proxy is a running `dpproxy serve` over a database of its own.
type proxy struct {
	t        testing.TB
	server   *pgserver.Server
	db       string
	dir      string
	policy   string // file
	addr     string
	cmd      *exec.Cmd
	log      *lockedBuffer
	finished chan error
}

// start makes a database from sql, runs setup, and serves. In the policy @DATABASES@ and @VERIFIER@ are filled in.
func start(t testing.TB, policy, sql string) *proxy {
	t.Helper()
	server, db := pgservertest.Database(t, sql)
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	p := &proxy{t: t, server: server, db: db, dir: t.TempDir()}
	p.policy = filepath.Join(p.dir, "policy.yaml")
	p.write(policy)
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	p.serve()
	return p
}

// write fills in a policy and stores it.
func (p *proxy) write(policy string) {
	p.t.Helper()
	dsn := func(db, role string) string { return p.server.DSN(db, role) }
	databases := fmt.Sprintf("databases: {main: %q, shadow: %q, public: %q, admin: %q}",
		dsn(p.db, "it_main"), dsn(p.db+"_shadow", "it_shadow"), dsn(p.db, "it_public"), dsn(p.db, pgserver.Superuser))
	policy = strings.NewReplacer("@DATABASES@", databases, "@VERIFIER@", verifier()).Replace(policy)
	if err := os.WriteFile(p.policy, []byte(policy), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// command is dpproxy with this policy.
func (p *proxy) command(verb string, args ...string) *exec.Cmd {
	return exec.Command(executable, append([]string{verb, "--policy", p.policy}, args...)...)
}

// serve starts the proxy and waits until it listens.
func (p *proxy) serve() {
	p.t.Helper()
	p.cmd, p.log, p.finished = p.command("serve"), &lockedBuffer{}, make(chan error, 1)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	listening := make(chan string, 1)
	cmd := p.cmd // stop forgets it
	go func() {
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if addr, ok := strings.CutPrefix(lines.Text(), "dpproxy: listening on "); ok {
				listening <- addr
			}
			fmt.Fprintln(p.log, lines.Text())
		}
		p.finished <- cmd.Wait()
		close(listening)
	}()
	addr, ok := <-listening
	if !ok {
		p.t.Fatalf("dpproxy serve ended before it listened:\n%s", p.log)
	}
	p.addr = addr
	p.t.Cleanup(p.stop)
}

// stop ends the proxy and waits for it. It may have ended before.
func (p *proxy) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.finished:
		if err != nil && !strings.Contains(err.Error(), "killed") {
			p.t.Errorf("dpproxy serve: %v\n%s", err, p.log)
		}
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		p.t.Errorf("dpproxy serve did not end after SIGTERM\n%s", p.log)
	}
	p.cmd = nil
}

// dsn is how an analyst connects.
func (p *proxy) dsn(user string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: p.addr, Path: "/" + p.db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// connect is a pgx connection as alice.
func (p *proxy) connect(options ...func(*pgx.ConnConfig)) *pgx.Conn {
	p.t.Helper()
	config, err := pgx.ParseConfig(p.dsn("alice"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, o := range options {
		o(config)
	}
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		p.t.Fatalf("connect: %v\n%s", err, p.log)
	}
	p.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// lockedBuffer collects a log while tests read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
