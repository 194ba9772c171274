package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

const people = `
	CREATE TABLE people (id bigint PRIMARY KEY, age int NOT NULL);
	INSERT INTO people SELECT i, i % 90 FROM generate_series(1, 1000) i`

// site is a database, a policy and a proxy in front of it.
type site struct {
	t        *testing.T
	policy   string // file
	text     string // the policy, to change
	verifier string // of the password "secret"
	database string
	admin    string // DSN
	serve    *exec.Cmd
	lines    chan string // of its standard error; closed at the end
	log      []string
	addr     string
	monitor  string
}

// newSite makes everything but the running proxy.
func newSite(t *testing.T) *site {
	t.Helper()
	server, db := pgservertest.Database(t, people)
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	v, err := verifier.New("secret")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		t: t, policy: filepath.Join(t.TempDir(), "policy.yaml"), verifier: v, database: db,
		admin: server.DSN(db, pgserver.Superuser),
	}
	s.text = fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, admin: %q}
accounting: {method: pure}
metrics: {listen: 127.0.0.1:0, analysts: true}
log: {statements: true}
analysts:
  alice: {password: %q, budget: {epsilon: 10}}
tables:
  people:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, age: {bounds: [0, 120]}}
`, server.DSN(db, "cmd_main"), server.DSN(db+"_shadow", "cmd_shadow"), s.admin, v)
	s.write(s.text)
	s.run("setup")
	return s
}

func (s *site) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.policy, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command to its end and returns its standard output.
func (s *site) run(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("dpproxy", append(args, "--policy", s.policy)...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("dpproxy %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out)
}

// start runs the proxy until the test ends.
func (s *site) start() {
	s.t.Helper()
	s.serve = exec.Command("dpproxy", "serve", "--policy", s.policy)
	stderr, err := s.serve.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.serve.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.serve.Process.Kill() })
	s.lines = make(chan string, 10000)
	go func() {
		for in := bufio.NewScanner(stderr); in.Scan(); {
			s.lines <- in.Text()
		}
		close(s.lines)
	}()
	var metrics struct{ Address string }
	if err := json.Unmarshal([]byte(s.await(`"msg":"metrics"`)), &metrics); err != nil {
		s.t.Fatal(err)
	}
	s.monitor = metrics.Address
	s.addr = strings.TrimPrefix(s.await("dpproxy: listening on "), "dpproxy: listening on ")
}

// await returns the next line of the log with a text.
func (s *site) await(text string) string {
	s.t.Helper()
	for line := range s.lines {
		s.log = append(s.log, line)
		if strings.Contains(line, text) {
			return line
		}
	}
	s.t.Fatalf("dpproxy ended without saying %q:\n%s", text, strings.Join(s.log, "\n"))
	return ""
}

func (s *site) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.serve.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) connect(user string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(context.Background(), fmt.Sprintf("postgres://%s:secret@%s/%s", user, s.addr, s.database))
	if err == nil {
		s.t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func (s *site) count(conn *pgx.Conn) (n int, err error) {
	err = conn.QueryRow(context.Background(), "SELECT count(*) FROM people WHERE age < 54321").Scan(&n)
	return n, err
}

// get asks the metrics listener.
func (s *site) get(path string) string {
	s.t.Helper()
	response, err := http.Get("http://" + s.monitor + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

// TestServe leads one proxy through its life: answers, a bad reload, a good one, administration beside it, the end.
func TestServe(t *testing.T) {
	s := newSite(t)
	if out := s.run("check", "--live"); !strings.HasSuffix(out, "ok\n") {
		t.Errorf("check --live: %s", out)
	}
	if out := s.run("explain", "SELECT avg(age) FROM people"); !strings.Contains(out, "epsilon: 0.5") ||
		!strings.Contains(out, "sensitivity: ") {
		t.Errorf("explain: %s", out)
	}
	s.start()
	alice, err := s.connect("alice")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.count(alice); err != nil || n < 800 || n > 1200 {
		t.Fatalf("count %d, %v", n, err) // 200 is 100 scales of the noise away
	}

	s.write(strings.Replace(s.text, "bounds: [0, 120]", "bounds: [120, 0]", 1))
	s.signal(syscall.SIGHUP)
	if line := s.await("not reloaded"); !strings.Contains(line, "columns.age.bounds: lower 120 is above upper 0") {
		t.Errorf("the log does not say what is wrong: %s", line)
	}
	if _, err := s.count(alice); err != nil {
		t.Errorf("the old policy is gone: %v", err)
	}
	s.write(strings.Replace(s.text, "age: {bounds", "nonesuch: {bounds", 1))
	s.signal(syscall.SIGHUP)
	if line := s.await("not reloaded"); !strings.Contains(line, "nonesuch") {
		t.Errorf("the log does not say what is wrong: %s", line)
	}
	if _, err := s.connect("bob"); err == nil {
		t.Error("bob is in before he is in the policy")
	}
	s.write(strings.Replace(s.text, "  alice: ", "  bob: {password: "+s.verifier+", budget: {epsilon: 1}}\n  alice: ", 1))
	s.signal(syscall.SIGHUP)
	s.await("policy reloaded")
	bob, err := s.connect("bob")
	if err != nil {
		t.Fatalf("bob is not in after the reload: %v", err)
	}
	if _, err := s.count(bob); err != nil {
		t.Error(err)
	}

	var accounts []ledger.AccountSummary
	if err := json.Unmarshal([]byte(s.run("budget", "show", "--json")), &accounts); err != nil {
		t.Fatal(err)
	}
	spent := map[string]float64{}
	for _, a := range accounts {
		spent[a.Analyst] = *a.EpsilonSpent
	}
	if spent["alice"] != 0.5 || spent["bob"] != 0.5 { // alice asked the same thing twice
		t.Errorf("spent %v", spent)
	}
	if out := s.run("budget", "reset", "bob"); out != "bob: a new period, 100% left\n" {
		t.Error(out)
	}
	if out := s.run("budget", "verify"); !strings.HasPrefix(out, "ok: ") {
		t.Error(out)
	}
	export := s.run("budget", "export")
	if strings.Count(export, `"kind":"charge"`) != 2 {
		t.Errorf("export:\n%s", export)
	}
	if got := s.get("/readyz"); got != "200 ok\n" {
		t.Errorf("readyz: %s", got)
	}
	metrics := s.get("/metrics")
	if !strings.Contains(metrics, `dpproxy_budget_epsilon_left{analyst="alice"} `) ||
		!strings.Contains(metrics, `dpproxy_budget_share_left{analyst="alice"} `) {
		t.Error("metrics lack budgets")
	}
	for _, line := range []string{
		"dpproxy_epsilon_charged_total 1", `dpproxy_reloads_total{result="ok"} 1`,
		`dpproxy_reloads_total{result="failed"} 2`, "dpproxy_login_failures_total 1",
		`dpproxy_analyst_statements_total{analyst="alice",verdict="cached"} 1`,
		`dpproxy_pool_max_connections{database="main"} 8`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("metrics lack %s:\n%s", line, metrics)
		}
	}

	s.signal(syscall.SIGTERM)
	for line := range s.lines {
		s.log = append(s.log, line)
	}
	if err := s.serve.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	_, err = s.count(alice)
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code != "57P01" || err == nil {
		t.Errorf("an idle session after SIGTERM: %v", err)
	}
	if log := strings.Join(s.log, "\n"); strings.Contains(log, "54321") || strings.Contains(log, "secret") ||
		strings.Contains(log, "SCRAM-SHA") {
		t.Errorf("the log holds a statement or a password:\n%s", log)
	}
	s.checkStatements(export)
}

// checkStatements holds the lines of statements in the log against what the ledger has exported.
func (s *site) checkStatements(export string) {
	s.t.Helper()
	fingerprints := map[string]string{} // by analyst, who was charged once
	for line := range strings.Lines(export) {
		var record struct{ Analyst, Kind, Fingerprint string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			s.t.Fatal(err)
		}
		if record.Kind == "charge" {
			fingerprints[record.Analyst] = record.Fingerprint
		}
	}
	var got []string
	for _, line := range s.log {
		var e struct {
			Msg, Analyst, Verdict, SQLSTATE, Fingerprint string
			Epsilon                                      float64
			LE                                           float64 `json:"le_seconds"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.Msg != "statement" {
			continue
		}
		if e.Verdict != "refused" && e.LE < 0.001 {
			s.t.Errorf("no duration: %s", line)
		}
		got = append(got, fmt.Sprintf("%s %s %s %g %t", e.Analyst, e.Verdict, e.SQLSTATE, e.Epsilon, e.Fingerprint != "" &&
			e.Fingerprint == fingerprints[e.Analyst]))
	}
	want := []string{"alice private 00000 0.5 true", "alice cached 00000 0 true", "bob private 00000 0.5 true"}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("statements in the log (-want +got):\n%s\n%s", diff, export)
	}
}

// TestServeListensOnlyAfterEveryCheck: a shadow that is out of date is found before a client can connect.
func TestServeListensOnlyAfterEveryCheck(t *testing.T) {
	s := newSite(t)
	pgservertest.Exec(t, s.admin, "ALTER TABLE people ALTER age TYPE bigint")
	out, err := exec.Command("dpproxy", "serve", "--policy", s.policy).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(string(out), "listening on") ||
		!strings.Contains(string(out), "dpproxy setup") {
		t.Errorf("%v:\n%s", err, out)
	}
	s.run("setup")
	s.start()
	if _, err := s.connect("alice"); err != nil {
		t.Error(err)
	}
}
