package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

//go:embed tpch/policy.yaml
var policyText string

// harness is a PostgreSQL, the dpproxy binary, and a folder for both.
type harness struct {
	dir    string
	binary string
	server *pgserver.Server
	proxy  *exec.Cmd
	addr   string // of the running proxy

	metrics string // its metrics listener

	relay *relay.Relay // between the proxy and main; nil: there is none
}

const password = "bench"

func start(ctx context.Context) (*harness, error) {
	dir, err := os.MkdirTemp("", "dpproxy-bench-")
	if err != nil {
		return nil, err
	}
	h := &harness{dir: dir, binary: filepath.Join(dir, "dpproxy")}
	build := exec.CommandContext(ctx, "go", "build", "-o", h.binary, "github.com/dpproxy/dpproxy/cmd/dpproxy")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	h.server, err = pgserver.Start(ctx, pgserver.Options{Settings: map[string]string{
		"shared_buffers": "2GB", "work_mem": "256MB", "random_page_cost": "1.1", "jit": "off",
		"max_parallel_workers_per_gather": "2",
	}})
	return h, err
}

func (h *harness) stop() {
	if h.proxy != nil {
		_ = h.proxy.Process.Signal(os.Interrupt)
		_ = h.proxy.Wait()
	}
	if h.relay != nil {
		h.relay.Close()
	}
	if h.server != nil {
		h.server.Stop()
	}
	_ = os.RemoveAll(h.dir)
}

// admin runs statements as superuser in a database.
func (h *harness) admin(ctx context.Context, db, sql string) error {
	conn, err := pgx.Connect(ctx, h.server.DSN(db, pgserver.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// serve runs setup and starts the proxy over the database "bench".
func (h *harness) serve(ctx context.Context) error {
	verifier := exec.CommandContext(ctx, h.binary, "passwd")
	verifier.Stdin = strings.NewReader(password + "\n")
	line, err := verifier.Output()
	if err != nil {
		return fmt.Errorf("dpproxy passwd: %w", err)
	}
	file := filepath.Join(h.dir, "policy.yaml")
	if h.metrics, err = freeAddress(); err != nil {
		return err
	}
	text := strings.NewReplacer("@VERIFIER@", strings.TrimSpace(string(line)), "@METRICS@", h.metrics).Replace(policyText)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	env := append(os.Environ(),
		"BENCH_MAIN="+h.mainDSN(), "BENCH_SHADOW="+h.server.DSN("bench_shadow", "bench_shadow"),
		"BENCH_PUBLIC="+h.server.DSN("bench", "bench_public"), "BENCH_ADMIN="+h.server.DSN("bench", pgserver.Superuser))
	setup := exec.CommandContext(ctx, h.binary, "setup", "--policy", file)
	setup.Env, setup.Stderr = env, os.Stderr
	if err := setup.Run(); err != nil {
		return fmt.Errorf("dpproxy setup: %w", err)
	}
	h.proxy = exec.Command(h.binary, "serve", "--policy", file)
	h.proxy.Env = env
	stderr, err := h.proxy.StderrPipe()
	if err != nil {
		return err
	}
	if err := h.proxy.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "dpproxy: listening on "); ok {
			h.addr = addr
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return nil
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	return fmt.Errorf("dpproxy serve ended before it listened")
}

// mainDSN leads to main, through the relay where there is one.
func (h *harness) mainDSN() string {
	dsn := h.server.DSN("bench", "bench_main")
	if h.relay == nil {
		return dsn
	}
	return strings.Replace(dsn, h.serverAddress(), h.relay.Addr(), 1)
}

func (h *harness) serverAddress() string {
	return net.JoinHostPort(h.server.Host, strconv.Itoa(h.server.Port))
}

// record puts a relay before main, which tells what the proxy asks there. It has to come before serve.
func (h *harness) record() (err error) {
	h.relay, err = relay.Start(h.serverAddress())
	return err
}

func (h *harness) proxyDSN() string {
	return "postgres://bench:" + password + "@" + h.addr + "/bench?sslmode=disable"
}

// freeAddress is a loopback address that nothing listens on at the moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
