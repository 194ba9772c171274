package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// breakFloats makes every measure that compares floats fail, in public: main's role loses its right to. Parse analysis
// does not look at rights on functions, so this is found when a measure starts.
const (
	breakFloats = "REVOKE EXECUTE ON FUNCTION pg_catalog.float8gt(float8, float8) FROM PUBLIC"
	mendFloats  = "GRANT EXECUTE ON FUNCTION pg_catalog.float8gt(float8, float8) TO PUBLIC"
)

// failing is one of any number of questions that differ in a constant.
func failing(i int) string {
	return fmt.Sprintf("SELECT count(*) FROM patients WHERE weight > %d", 40+i)
}

// failuresUsed is what `budget show --json` says of an analyst.
func (p *proxy) failuresUsed(analyst string) (used, allowed int) {
	p.t.Helper()
	out, err := p.command("budget", "show", "--json").Output()
	if err != nil {
		p.t.Fatalf("budget show: %v", err)
	}
	var accounts []struct {
		Analyst string
		Used    int `json:"failures_used"`
		Allowed int `json:"failures_allowed"`
	}
	if err := json.Unmarshal(out, &accounts); err != nil {
		p.t.Fatal(err)
	}
	for _, a := range accounts {
		if a.Analyst == analyst {
			return a.Used, a.Allowed
		}
	}
	p.t.Fatalf("budget show does not list %s:\n%s", analyst, out)
	return 0, 0
}

func TestFailuresAreUsedUp(t *testing.T) {
	p := start(t, purePolicy(), clinic)
	admin := p.server.DSN(p.db, pgserver.Superuser)
	const kept = "SELECT count(*) FROM visits WHERE minutes > 10"
	if _, code := p.ask("alice", kept); code != "" {
		t.Fatal(code)
	}
	pgservertest.Exec(t, admin, breakFloats)
	for i := range 5 {
		if _, code := p.ask("alice", failing(i)); code != "XX000" {
			t.Fatalf("failure %d: %q, want XX000", i+1, code)
		}
	}
	before := p.left("alice")
	for _, sql := range []string{failing(5), failing(0), "SELECT count(*) FROM visits WHERE minutes > 11"} {
		if _, code := p.ask("alice", sql); code != "55000" {
			t.Errorf("%s after five failures: %q, want 55000", sql, code)
		}
	}
	if after := p.left("alice"); after != before {
		t.Errorf("refused statements were charged: %s left, then %s", before, after)
	}
	_, err := p.connect().Exec(context.Background(), failing(6))
	if err == nil || !strings.Contains(err.Error(), "5 of your statements failed") {
		t.Errorf("the refusal says %v", err)
	}
	if _, code := p.ask("alice", kept); code != "" {
		t.Errorf("an answer that was given before: %s", code)
	}
	rows, code := p.ask("alice", "EXPLAIN "+failing(7))
	if text := fmt.Sprintf("%s", rows); code != "" || !strings.Contains(text, "5 of your statements failed") {
		t.Errorf("EXPLAIN: %s %s", code, text)
	}
	if _, code := p.ask("bob", "SELECT count(*) FROM visits WHERE minutes > 11"); code != "" {
		t.Errorf("another analyst: %s", code)
	}

	pgservertest.Exec(t, admin, mendFloats)
	p.stop()
	p.serve() // the count is on disk
	if _, code := p.ask("alice", failing(8)); code != "55000" {
		t.Errorf("after a restart: %q, want 55000", code)
	}
	if used, allowed := p.failuresUsed("alice"); used != 5 || allowed != 5 {
		t.Errorf("budget show: %d of %d failures, want 5 of 5", used, allowed)
	}
	if out, err := p.command("budget", "show").Output(); err != nil || !strings.Contains(string(out), "5/5") {
		t.Errorf("budget show: %v\n%s", err, out)
	}
	if out, err := p.command("budget", "clear", "alice").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "5 statements") {
		t.Errorf("budget clear: %v\n%s", err, out)
	}
	if used, _ := p.failuresUsed("alice"); used != 0 {
		t.Errorf("after budget clear: %d failures", used)
	}
	for _, i := range []int{0, 5} {
		if _, code := p.ask("alice", failing(i)); code != "" {
			t.Errorf("%s after budget clear: %s", failing(i), code)
		}
	}
	if out, err := p.command("budget", "verify").CombinedOutput(); err != nil {
		t.Errorf("budget verify: %v\n%s", err, out)
	}
}

// TestParallelSessionsDoNotPassTheLimit: many statements that are charged and in flight together, half of which would
// fail and half of which would not. Only as many as the policy allows show that they failed.
func TestParallelSessionsDoNotPassTheLimit(t *testing.T) {
	p := start(t, purePolicy("failures: {per_period: 2}", "pool: {main: 12}"), clinic) // of which an analyst may take 9
	admin := p.server.DSN(p.db, pgserver.Superuser)
	const sessions = 8
	unlock := p.lock("patients", "visits")
	codes := make([]string, sessions)
	var all sync.WaitGroup
	for i := range sessions {
		sql := failing(i)
		if i%2 == 0 {
			sql = fmt.Sprintf("SELECT count(*) FROM visits WHERE minutes > %d", i)
		}
		all.Go(func() { _, codes[i] = p.ask("alice", sql) })
	}
	eventually(t, "all measures wait", func() bool { return p.waiting() == sessions })
	done := make(chan struct{})
	go func() { // waits for the lock like the others, or comes first: either way some statements fail
		defer close(done)
		pgservertest.Exec(t, admin, breakFloats)
	}()
	unlock()
	all.Wait()
	<-done
	for i := range sessions {
		codes = append(codes, "")
		_, codes[sessions+i] = p.ask("alice", failing(sessions+i))
	}
	count := map[string]int{}
	for _, code := range codes {
		count[code]++
	}
	if count["XX000"] != 2 || count[""]+count["XX000"]+count["55000"] != 2*sessions {
		t.Errorf("outcomes %v, want XX000 twice, and else answers and 55000", count)
	}
	if used, _ := p.failuresUsed("alice"); used != 2 {
		t.Errorf("budget show: %d failures, want 2", used)
	}
}

// TestStatementsInFlightEndAlike: once the last failure is counted, a statement that main has answered ends as one that
// main has failed on does, and leaves no answer behind.
func TestStatementsInFlightEndAlike(t *testing.T) {
	p := start(t, purePolicy("failures: {per_period: 1}"), clinic)
	const succeeds, fails = "SELECT count(*) FROM visits WHERE minutes > 10",
		"SELECT count(*) FROM lab_results WHERE value > 1"
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), breakFloats)
	unlock := p.lock("visits", "lab_results")
	var all sync.WaitGroup
	var codes [2]string
	for i, sql := range []string{succeeds, fails} {
		all.Go(func() { _, codes[i] = p.ask("alice", sql) })
	}
	eventually(t, "both measures wait", func() bool { return p.waiting() == 2 })
	if _, code := p.ask("alice", failing(0)); code != "XX000" {
		t.Errorf("the failure that counts: %q, want XX000", code)
	}
	unlock()
	all.Wait()
	if codes != [2]string{"55000", "55000"} {
		t.Errorf("in flight: %q, want 55000 twice", codes)
	}
	if out, err := p.command("budget", "clear", "alice").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "1 statements") {
		t.Errorf("budget clear: %v\n%s: only the failure that was told counts", err, out)
	}
	before := p.left("alice")
	if _, code := p.ask("alice", succeeds); code != "" || p.left("alice") == before {
		t.Errorf("asked again: %q, %s left: the answer that was held back had been kept", code, before)
	}
}

// terminate ends main's connection of the one measure that waits for a lock, and returns when another waits or none
// does.
func (p *proxy) terminate(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	const waits = "FROM pg_stat_activity WHERE usename = 'it_main' AND wait_event_type = 'Lock' AND datname = current_database()"
	var pid int
	if err := conn.QueryRow(context.Background(), "SELECT pid, pg_terminate_backend(pid)::text "+waits).Scan(&pid, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection has ended", func() bool {
		var still int
		if err := conn.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid).Scan(
			&still); err != nil {
			t.Fatal(err)
		}
		return still == 0
	})
}

func TestLostMeasureIsRepeatedUnderTheSameCharge(t *testing.T) {
	p := start(t, purePolicy("failures: {per_period: 1}"), clinic)
	conn, other := p.connect(), p.connect()
	ask := func(sql string) (answer chan error) {
		answer = make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), sql)
			answer <- err
		}()
		eventually(t, "the measure waits", func() bool { return p.waiting() == 1 })
		return answer
	}
	unlock := p.lock("patients")
	answer := ask(failing(0))
	p.terminate(t)
	eventually(t, "it is measured again", func() bool { return p.waiting() == 1 })
	unlock()
	if err := <-answer; err != nil {
		t.Errorf("lost once: %v", err)
	}
	if got := spent(t, other); got != 0.5 {
		t.Errorf("spent %v, want 0.5: one charge for both attempts", got)
	}

	unlock = p.lock("patients")
	answer = ask(failing(1))
	p.terminate(t)
	eventually(t, "it is measured again", func() bool { return p.waiting() == 1 })
	p.terminate(t)
	if err := <-answer; sqlState(err) != "XX000" {
		t.Errorf("lost twice: %v, want XX000", err)
	}
	unlock()
	if got := spent(t, other); got != 1 {
		t.Errorf("spent %v, want 1: the charge stays", got)
	}
	if used, _ := p.failuresUsed("alice"); used != 0 {
		t.Errorf("%d failures, want none: the analyst has caused none", used)
	}
	if _, err := conn.Exec(context.Background(), failing(1)); err != nil {
		t.Errorf("the statement that was lost twice: %v", err)
	}
}

// TestLostInTheMiddleOfTheAnswer: rows of the first attempt, of another snapshot, are not in the answer.
func TestLostInTheMiddleOfTheAnswer(t *testing.T) {
	p := start(t, loudPolicy(), clinic)
	p.stop()
	relay := newCutter(t, p.server.Host, p.server.Port)
	p.policyThrough(relay)
	p.serve()
	conn := p.connect()
	// 700 rows of some 25 bytes; the first 256 reach the collectors.
	const sql = "SELECT count(*) FROM patients GROUP BY admitted"
	relay.cut(12000, func() {
		pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), "UPDATE patients SET admitted = '2026-12-31'")
	})
	rows, _ := conn.Query(context.Background(), sql)
	counts, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log)
	}
	n := 0
	for _, c := range counts {
		n += c
	}
	if !relay.done() {
		t.Error("the answer was not cut")
	}
	if n < 990 || n > 1010 {
		t.Errorf("%d patients, want 1000: rows of the first attempt were counted", n)
	}
	if got := spent(t, conn); got != loud {
		t.Errorf("spent %v, want %v", got, loud)
	}
}
