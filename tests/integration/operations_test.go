package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s still not: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// lock holds tables of main until the returned function is called: what waits for it is in flight. It takes their
// indexes away, which PostgreSQL asks for when it plans a query and not when it parses one: main still parses measure
// queries, as it does before every charge.
func (p *proxy) lock(tables ...string) (unlock func()) {
	p.t.Helper()
	var statements []string
	for _, table := range tables {
		statements = append(statements, "REINDEX TABLE "+table)
	}
	return p.hold(statements...)
}

// hold executes statements in a transaction that lasts until the returned function is called.
func (p *proxy) hold(statements ...string) (release func()) {
	p.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, sql := range append([]string{"BEGIN"}, statements...) {
		if _, err := conn.Exec(ctx, sql); err != nil {
			p.t.Fatal(err)
		}
	}
	return func() { _ = conn.Close(ctx) }
}

// waiting counts statements that wait for a lock in main.
func (p *proxy) waiting() int {
	p.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		return 0 // the server is restarting
	}
	defer conn.Close(ctx)
	var n int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'",
		p.db).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// spent is what the analyst was charged so far.
func spent(t *testing.T, conn *pgx.Conn) float64 {
	t.Helper()
	var epsilon float64
	if err := conn.QueryRow(context.Background(), "SELECT epsilon_spent FROM dpproxy.budget").Scan(&epsilon); err != nil {
		t.Fatal(err)
	}
	return epsilon
}

const measured = "SELECT count(*) FROM patients WHERE age > 33"

// hangUp has the proxy read its policy again and waits until it says so.
func (p *proxy) hangUp(t *testing.T, want string) {
	t.Helper()
	before := strings.Count(p.log.String(), want)
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, want, func() bool { return strings.Count(p.log.String(), want) > before })
}

func TestReload(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	p.write(strings.Replace(clinicPolicy(), "bounds: [0, 120]", "bounds: [120, 0]", 1))
	p.hangUp(t, "not reloaded")
	if _, err := conn.Exec(ctx, measured); err != nil {
		t.Errorf("under the old policy: %v", err)
	}
	p.write(strings.Replace(clinicPolicy(), "analysts:\n", "analysts:\n  carol: {password: \""+verifier()+
		"\", budget: {epsilon: 1, delta: 1e-6}}\n", 1))
	p.hangUp(t, "policy reloaded")
	carol := p.connect(func(c *pgx.ConnConfig) { c.User = "carol" })
	if _, err := carol.Exec(ctx, measured); err != nil {
		t.Errorf("a new analyst: %v", err)
	}
	if _, err := conn.Exec(ctx, "SELECT avg(age) FROM patients"); err != nil {
		t.Errorf("an old session: %v", err)
	}
}

// TestStatementsDoNotOutliveTheirTypes: values that a client encoded for the types of Parse are not read as other
// types.
func TestStatementsDoNotOutliveTheirTypes(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn, ctx := p.connect(), context.Background()
	const query = "SELECT count(*) FROM patients WHERE age > $1"
	ask := func() error {
		return conn.PgConn().ExecPrepared(ctx, "older", [][]byte{{0, 0, 0, 33}}, []int16{1}, nil).Read().Err
	}
	if _, err := conn.Prepare(ctx, "older", query); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), "ALTER TABLE patients ALTER age TYPE bigint")
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	p.hangUp(t, "policy reloaded")
	if err := ask(); sqlState(err) != "0A000" {
		t.Errorf("a parameter of another type: %v", err)
	}
	if err := conn.Deallocate(ctx, "older"); err != nil {
		t.Fatal(err)
	}
	var n int64
	if err := conn.QueryRow(ctx, query, 33).Scan(&n); err != nil {
		t.Errorf("prepared again: %v", err)
	}
}

func TestShutdownEndsIdleSessionsAndExitsWell(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.finished; err != nil {
		t.Errorf("exit: %v\n%s", err, p.log)
	}
	p.cmd = nil
	if _, err := conn.Exec(context.Background(), "SELECT 1"); err == nil || sqlState(err) != "57P01" && !conn.IsClosed() {
		t.Errorf("an idle session: %v", err)
	}
}

func TestRestartOfPostgresInTheMiddleOfAMeasure(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	ctx := context.Background()
	conn := p.connect()
	before := spent(t, conn)
	unlock := p.lock("patients")
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, measured)
		failed <- err
	}()
	eventually(t, "the measure waits", func() bool { return p.waiting() == 1 })
	if err := p.server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	unlock()
	err := <-failed
	after := spent(t, conn)
	if after <= before {
		t.Errorf("the charge was given back: %v, then %v", before, after)
	}
	if err == nil {
		return // PostgreSQL was back in time for the second attempt
	}
	if sqlState(err) != "XX000" {
		t.Errorf("in flight: %v", err)
	}
	// It was not the statement's fault: it is not refused, and its charge is new.
	if _, err := conn.Exec(ctx, measured); err != nil {
		t.Errorf("again: %v", err)
	}
	if spent(t, conn) <= after {
		t.Error("the second run was free, though the first gave no answer")
	}
}

func TestCancelOfAMeasureIsPromptAndKeepsItsCharge(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn, other := p.connect(), p.connect()
	before := spent(t, other)
	unlock := p.lock("patients")
	defer unlock()
	failed := make(chan error, 1)
	go func() {
		_, err := conn.PgConn().Exec(context.Background(), measured).ReadAll()
		failed <- err
	}()
	eventually(t, "the measure waits", func() bool { return p.waiting() == 1 })
	if err := conn.PgConn().CancelRequest(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; sqlState(err) != "57014" {
		t.Errorf("cancelled: %v", err)
	}
	eventually(t, "main's query is stopped too", func() bool { return p.waiting() == 0 })
	if spent(t, other) <= before {
		t.Error("the charge was given back")
	}
	var one int
	if err := conn.QueryRow(context.Background(), "SELECT 1").Scan(&one); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
}

func TestKilledProxyForgetsNoCharge(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	unlock := p.lock("patients")
	go func() { _, _ = conn.Exec(context.Background(), measured) }() // dies with the proxy
	eventually(t, "charged and measuring", func() bool { return p.waiting() == 1 })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.finished
	p.cmd = nil
	unlock()
	p.serve()
	if got := spent(t, p.connect()); got < 0.5 {
		t.Errorf("spent %v after a charge of 0.5 and kill -9", got)
	}
}

func TestBusyPoolAnswers53300(t *testing.T) {
	p := start(t, clinicPolicy("pool: {main: 1, shadow: 4, public: 1, wait: 300ms}"), clinic)
	unlock := p.lock("patients")
	defer unlock()
	first, second := p.connect(), p.connect()
	go func() { _, _ = first.Exec(context.Background(), measured) }() // holds main's one connection
	eventually(t, "the measure waits", func() bool { return p.waiting() == 1 })
	_, err := second.Exec(context.Background(), "SELECT count(*) FROM patients WHERE age > 44")
	if sqlState(err) != "53300" {
		t.Errorf("no connection free: %v", err)
	}
	if _, err := second.Exec(context.Background(), "SELECT ward FROM wards"); err != nil {
		t.Errorf("another pool: %v", err)
	}
}

func TestMetricsHealthAndReadiness(t *testing.T) {
	p := start(t, clinicPolicy("metrics: {listen: 127.0.0.1:0}"), clinic)
	address := ""
	for _, line := range strings.Split(p.log.String(), "\n") {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "metrics" {
			address = entry.Address
		}
	}
	if address == "" {
		t.Fatalf("no address of the metrics in the log:\n%s", p.log)
	}
	if _, err := p.connect().Exec(context.Background(), measured); err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	_, text := get("/metrics")
	for _, want := range []string{
		`dpproxy_pool_max_connections{database="main"} 8`,
		`dpproxy_statements_total{verdict="private"} 1`, "dpproxy_epsilon_charged_total 0.5",
		`dpproxy_ledger_records_total{operation="spend"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	for _, secret := range []string{"alice", "patients", "SELECT"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the metrics", secret)
		}
	}
}

func TestServeRefusesToStart(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	p.stop()
	superuser := p.server.DSN(p.db, pgserver.Superuser)
	for _, c := range []struct{ name, broken, mend, want string }{
		{
			"public reads a private table", "GRANT SELECT ON patients TO it_public", "REVOKE SELECT ON patients FROM it_public",
			"can read private rows of public.patients",
		},
		{
			"the shadow is out of date", "ALTER TABLE patients ALTER age TYPE bigint", "ALTER TABLE patients ALTER age TYPE int",
			"run dpproxy setup",
		},
		{
			"a column is gone", "ALTER TABLE visits RENAME minutes TO length", "ALTER TABLE visits RENAME length TO minutes",
			": tables.visits.columns.minutes: main has no such column",
		},
	} {
		pgservertest.Exec(t, superuser, c.broken)
		out, err := p.command("serve").CombinedOutput()
		pgservertest.Exec(t, superuser, c.mend)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), c.want) ||
			strings.Contains(string(out), "listening") {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
	p.serve() // all is mended
}

func TestSetupPrintRunsInPsql(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	p.stop()
	pgservertest.Exec(t, p.server.DSN("postgres", pgserver.Superuser), "DROP DATABASE "+p.db+"_shadow")
	script, err := p.command("setup", "--print").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("psql", "-X", "-q", "-d", p.server.DSN("postgres", pgserver.Superuser))
	cmd.Stdin, cmd.Env = strings.NewReader(string(script)), os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	p.serve()
	if _, err := p.connect().Exec(context.Background(), measured); err != nil {
		t.Error(err)
	}
}
