package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

const (
	analyst  = "analyst"
	password = "truth"
)

// world is a database behind a proxy, with the policy that the commands have written.
type world struct {
	name     string
	folder   string // of the policy, its secrets and the ledger
	program  string
	admin    string // the superuser's DSN
	address  string // where the proxy listens
	serving  *exec.Cmd
	direct   *session
	profiled string // what was asked of profile, and what came of it
}

// build compiles the program: what is measured is what its commands do.
func build(ctx context.Context, folder string) (string, error) {
	program := filepath.Join(folder, "dpproxy")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/dpproxy/dpproxy/cmd/dpproxy")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, nil
}

// start makes a database with rows, follows docs/tutorial.md, and serves.
func start(ctx context.Context, postgres *pgserver.Server, program, name string, made *rows) (_ *world, err error) {
	folder, admin := filepath.Join(filepath.Dir(program), name), postgres.DSN(name, pgserver.Superuser)
	w := &world{name: name, folder: folder, program: program, admin: admin}
	defer func() {
		if err != nil {
			w.stop(ctx)
		}
	}()
	if err := os.Mkdir(w.folder, 0o700); err != nil {
		return nil, err
	}
	if err := w.load(ctx, postgres, made); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	if err := w.writePolicy(ctx); err != nil {
		return nil, err
	}
	return w, w.serve()
}

func (w *world) load(ctx context.Context, postgres *pgserver.Server, made *rows) error {
	admin, err := pgx.Connect(ctx, postgres.DSN("postgres", pgserver.Superuser))
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+w.name); err != nil {
		return err
	}
	schema, err := files.ReadFile(path.Join(w.name, "schema.sql"))
	if err != nil {
		return err
	}
	if w.direct, err = connect(ctx, w.admin); err != nil {
		return err
	}
	if _, err := w.direct.conn.PgConn().Exec(ctx, string(schema)).ReadAll(); err != nil {
		return err
	}
	return made.load(ctx, w.direct.conn)
}

// run runs a command of dpproxy and returns what it prints, and on standard error.
func (w *world) run(ctx context.Context, input string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, w.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.folder, append(os.Environ(), "DPPROXY_ADMIN_DSN="+w.admin), strings.NewReader(input)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("dpproxy %s: %w\n%s", args[0], err, &problems)
	}
	return out.String(), problems.String(), err
}

var offered = regexp.MustCompile(`dpproxy init … --public (\S+)`)

// writePolicy follows the tutorial: init, once more with the line that it prints, setup, profile, setup.
func (w *world) writePolicy(ctx context.Context) error {
	args := []string{"init", "--main", w.admin, "--analyst", analyst, "--secrets", "secrets"}
	text, _, err := w.run(ctx, password+"\n", args...)
	if err != nil {
		return err
	}
	if tables := offered.FindStringSubmatch(text); tables != nil {
		if text, _, err = w.run(ctx, password+"\n", append(args, "--public", strings.Trim(tables[1], "'"))...); err != nil {
			return err
		}
	}
	// A free port, and every answer is drawn anew: nothing else is written by hand.
	text = strings.Replace(text, "listen: 127.0.0.1:6432\n", "listen: 127.0.0.1:0\nanswers: {ttl: 0}\n", 1)
	if err := os.WriteFile(filepath.Join(w.folder, "policy.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	if _, _, err := w.run(ctx, "", "setup", "--policy", "policy.yaml"); err != nil {
		return err
	}
	w.profile(ctx)
	_, _, err = w.run(ctx, "", "setup", "--policy", "policy.yaml")
	return err
}

// quantiles are what profile is asked for, one after another, as long as it finds nothing, or advises a lower one for a
// table of which it has found a part.
var quantiles = [][]string{nil, {"--quantile", "0.95"}, {"--quantile", "0.9"}}

var advised = regexp.MustCompile(`(?m)^note: public\.(\w+).*a lower --quantile$`)

// profile writes bounds into the policy, with the command of the tutorial.
func (w *world) profile(ctx context.Context) {
	for _, q := range quantiles {
		args := append([]string{"profile", "--policy", "policy.yaml", "--epsilon", "5", "--write"}, q...)
		found, said, err := w.run(ctx, "", args...)
		w.profiled += "dpproxy " + strings.Join(args, " ") + "\n" + said + found
		again := err != nil && strings.Contains(said, "--quantile")
		for _, m := range advised.FindAllStringSubmatch(said, -1) {
			again = again || strings.Contains(found, "\n  "+m[1]+":\n")
		}
		if !again {
			return
		}
	}
}

// serve starts the proxy.
func (w *world) serve() error {
	cmd := exec.Command(w.program, "serve", "--policy", "policy.yaml")
	cmd.Dir, cmd.Env = w.folder, append(os.Environ(), "DPPROXY_ADMIN_DSN="+w.admin)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.serving = cmd
	lines := bufio.NewScanner(stderr)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if _, address, ok := strings.Cut(lines.Text(), "listening on "); ok && strings.HasPrefix(lines.Text(), "dpproxy: ") {
			w.address = address
			go func() {
				for lines.Scan() { // its log: nobody reads it, but it has to go on
				}
			}()
			return nil
		}
	}
	return fmt.Errorf("dpproxy serve: it does not listen:\n%s", strings.Join(said, "\n"))
}

// connect opens a session of the analyst.
func (w *world) connect(ctx context.Context) (*session, error) {
	return connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", analyst, password, w.address, w.name))
}

// reset begins a new month.
func (w *world) reset(ctx context.Context) error {
	for _, who := range []string{analyst, "*"} {
		if _, _, err := w.run(ctx, "", "budget", "--policy", "policy.yaml", "reset", who); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) stop(ctx context.Context) {
	if w.direct != nil {
		_ = w.direct.conn.Close(ctx)
	}
	if w.serving != nil {
		_ = w.serving.Process.Signal(os.Interrupt)
		_ = w.serving.Wait()
	}
}
