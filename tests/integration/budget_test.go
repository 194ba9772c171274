package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// ask runs a text as an analyst and returns its error's SQLSTATE, or "".
func (p *proxy) ask(user, sql string) (rows [][][]byte, code string) {
	p.t.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, p.dsn(user))
	if err != nil {
		p.t.Fatalf("connect: %v\n%s", err, p.log)
	}
	defer conn.Close(ctx)
	results, err := conn.Exec(ctx, sql).ReadAll()
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return nil, e.Code
	}
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return results[len(results)-1].Rows, ""
}

func (p *proxy) left(user string) string {
	p.t.Helper()
	rows, code := p.ask(user, "SELECT epsilon_left FROM dpproxy.budget")
	if code != "" {
		p.t.Fatalf("dpproxy.budget: %s", code)
	}
	return string(rows[0][0])
}

// TestBudgetEndsExactly spends ε = 1 in halves, through restarts, and nothing more.
func TestBudgetEndsExactly(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	if _, code := p.ask("bob", "SELECT count(*) FROM patients WHERE age = 1"); code != "" {
		t.Fatalf("first half: %s", code)
	}
	if left := p.left("bob"); left != "0.5" {
		t.Errorf("left after the first half: %s", left)
	}
	// kill -9: what was charged is on disk, and so is an answer once the next charge is.
	if _, code := p.ask("alice", "SELECT count(*) FROM patients WHERE age = 2"); code != "" {
		t.Errorf("another analyst: %s", code)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.finished
	p.cmd = nil
	p.serve()
	if left := p.left("bob"); left != "0.5" {
		t.Errorf("left after kill -9: %s", left)
	}
	// Statements of one message that share no table are charged one by one: the first has what is left, and ROLLBACK
	// gives nothing back.
	if _,
		code := p.ask(
		"bob", "BEGIN; SELECT count(*) FROM patients WHERE age = 4; ROLLBACK; SELECT count(*) FROM patients WHERE age > 3"); code != "53400" {
		t.Fatalf("two halves where one is left: %q, want 53400", code)
	}
	if left := p.left("bob"); left != "0" {
		t.Errorf("left after ROLLBACK: %s", left)
	}
	if _, code := p.ask("bob", "SELECT count(*) FROM patients WHERE age = 5"); code != "53400" {
		t.Errorf("over budget: %q, want 53400", code)
	}
	// What was answered before stays free, also after a restart.
	if _, code := p.ask("bob", "select COUNT(*) from patients where (age = 1)"); code != "" {
		t.Errorf("the first question again, written differently: %s", code)
	}
	if _, code := p.ask("bob", "EXPLAIN SELECT count(*) FROM patients WHERE age = 6"); code != "" {
		t.Errorf("EXPLAIN without budget: %s", code)
	}
}

// TestMainFailsWhileMeasuring: one constant error, the charge stays, the statement is refused until `budget clear`.
func TestMainFailsWhileMeasuring(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	admin := p.server.DSN(p.db, pgserver.Superuser)
	const sql = "SELECT count(*) FROM patients WHERE weight > 30"
	pgservertest.Exec(t, admin, breakFloats)
	conn, err := pgconn.Connect(context.Background(), p.dsn("bob"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), sql).ReadAll()
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "XX000" || e.Message != "the main database failed while measuring" ||
		e.Detail != "" || e.Where != "" || e.TableName != "" {
		t.Errorf("measuring without rights: %+v", err)
	}
	if left := p.left("bob"); left != "0.5" {
		t.Errorf("left after the failure: %s, want 0.5: what was charged stays charged", left)
	}
	if _, code := p.ask("bob", sql); code != "55000" {
		t.Errorf("the same statement again: %q, want 55000", code)
	}
	pgservertest.Exec(t, admin, mendFloats)
	out, err := p.command("budget", "clear", "bob").CombinedOutput()
	if err != nil {
		t.Fatalf("budget clear: %v\n%s", err, out)
	}
	if _, code := p.ask("bob", sql); code != "" {
		t.Errorf("after budget clear: %s", code)
	}
}

// TestTimeoutsKeepTheCharge: a statement that the client's time-out ends is charged, and the session goes on.
func TestTimeoutsKeepTheCharge(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	// The measure query waits for this lock.
	ctx := context.Background()
	unlock := p.lock("patients")
	conn, err := pgconn.Connect(ctx, p.dsn("bob"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	// one that ends before its charge, on a machine with much to do, has more time
	for timeout := 300; timeout < 30_000 && p.left("bob") == "1"; timeout *= 3 {
		_, err = conn.Exec(ctx, fmt.Sprintf(
			"SET statement_timeout = '%dms'; SELECT count(*) FROM patients WHERE age > 31", timeout)).ReadAll()
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "57014" || !strings.Contains(e.Message, "timeout") {
			t.Errorf("statement_timeout: %v", err)
		}
	}
	unlock()
	if left := p.left("bob"); left != "0.5" {
		t.Errorf("left after the time-out: %s, want 0.5", left)
	}
	if r, err := conn.Exec(ctx, "SELECT 1").ReadAll(); err != nil || string(r[0].Rows[0][0]) != "1" {
		t.Errorf("the session after the time-out: %v", err)
	}
}

// TestIndexGone: "one row per unit" is proven by an index. When it goes, the plan that rested on it fails once, closed,
// and the next one enforces in SQL what it no longer knows.
func TestIndexGone(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	const sql = "SELECT count(*) FROM patients WHERE age > 32"
	if _, code := p.ask("bob", sql); code != "" {
		t.Fatal(code)
	}
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser),
		"ALTER TABLE visits DROP CONSTRAINT visits_patient_id_fkey; ALTER TABLE patients DROP CONSTRAINT patients_pkey; INSERT INTO patients SELECT p.* FROM patients p, generate_series(1, 9)")
	rows, code := p.ask("alice", sql)
	if code != "" {
		t.Fatalf("a plan whose index has gone is made anew, before the charge: %s", code)
	}
	// Each of 1000 patients has ten equal rows now; the policy lets one of them count.
	if n := string(rows[0][0]); len(n) > 3 {
		t.Errorf("count is %s: rows of one patient were counted more than once", n)
	}
}

// TestOneQuestionFromManyConnections is charged once: the others wait for its answer.
func TestOneQuestionFromManyConnections(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	var sessions sync.WaitGroup
	texts := make([]string, 24)
	for i := range texts {
		sessions.Go(func() {
			if rows, code := p.ask("bob", "SELECT count(*) FROM patients WHERE age > 33"); code == "" {
				texts[i] = string(rows[0][0])
			}
		})
	}
	sessions.Wait()
	for _, text := range texts {
		if text != texts[0] || text == "" {
			t.Fatalf("answers differ: %q", texts)
		}
	}
	if left := p.left("bob"); left != "0.5" {
		t.Errorf("left after one question: %s, want 0.5", left)
	}
}
