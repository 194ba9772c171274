package integration_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// unlisted is a policy without a table.
func unlisted(policy, table string) string {
	before, rest, _ := strings.Cut(policy, "  "+table+":\n")
	lines := strings.SplitAfter(rest, "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "    ") {
		lines = lines[1:]
	}
	return before + strings.Join(lines, "")
}

// later is a statement that a client made known to the proxy, to be run some time later.
type later struct {
	name  string
	begin func(t *testing.T, conn *pgconn.PgConn, sql string)
	run   func(t *testing.T, conn *pgconn.PgConn) (rows [][][]byte, err error)
}

// receive reads messages until the one that is awaited.
func receive(t *testing.T, conn *pgconn.PgConn, until func(pgproto3.BackendMessage) bool) (rows [][][]byte,
	refused error,
) {
	t.Helper()
	for {
		m, err := conn.Frontend().Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			refused = pgconn.ErrorResponseToPgError(m)
			if m.Severity == "FATAL" {
				return rows, refused
			}
		case *pgproto3.DataRow:
			var row [][]byte
			for _, v := range m.Values {
				row = append(row, append([]byte(nil), v...))
			}
			rows = append(rows, row)
		}
		if until(m) {
			return rows, refused
		}
	}
}

func isReady(m pgproto3.BackendMessage) bool { _, ok := m.(*pgproto3.ReadyForQuery); return ok }

func execute(t *testing.T, conn *pgconn.PgConn, sql string) (rows [][][]byte, err error) {
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err == nil && len(results) > 0 {
		rows = results[len(results)-1].Rows
	}
	return rows, err
}

var laters = []later{
	{"prepared", func(t *testing.T, conn *pgconn.PgConn, sql string) {
		if _, err := conn.Prepare(t.Context(), "older", sql, nil); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, conn *pgconn.PgConn) ([][][]byte, error) {
		r := conn.ExecPrepared(t.Context(), "older", nil, nil, nil).Read()
		return r.Rows, r.Err
	}},
	{"bound", func(t *testing.T, conn *pgconn.PgConn, sql string) {
		front := conn.Frontend()
		front.SendParse(&pgproto3.Parse{Query: sql})
		front.SendBind(&pgproto3.Bind{})
		front.Send(&pgproto3.Flush{})
		if err := front.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := receive(t, conn, func(m pgproto3.BackendMessage) bool {
			_, ok := m.(*pgproto3.BindComplete)
			return ok
		}); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, conn *pgconn.PgConn) ([][][]byte, error) {
		front := conn.Frontend()
		front.SendExecute(&pgproto3.Execute{})
		front.SendSync(&pgproto3.Sync{})
		if err := front.Flush(); err != nil {
			t.Fatal(err)
		}
		return receive(t, conn, isReady)
	}},
	{"declared", func(t *testing.T, conn *pgconn.PgConn, sql string) {
		if _, err := execute(t, conn, "BEGIN; DECLARE c CURSOR FOR "+sql); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, conn *pgconn.PgConn) ([][][]byte, error) {
		return execute(t, conn, "FETCH ALL FROM c")
	}},
	{"charged by a message that failed", func(t *testing.T, conn *pgconn.PgConn, sql string) {
		if _, err := execute(t, conn, "DECLARE c CURSOR WITH HOLD FOR "+sql); err != nil {
			t.Fatal(err)
		}
		if _, err := execute(t, conn, "SELECT 1/(SELECT 0); FETCH ALL FROM c"); sqlState(err) != "22012" {
			t.Fatal(err)
		}
	}, func(t *testing.T, conn *pgconn.PgConn) ([][][]byte, error) {
		return execute(t, conn, "FETCH ALL FROM c")
	}},
	{"prepared in SQL", func(t *testing.T, conn *pgconn.PgConn, sql string) {
		if _, err := execute(t, conn, "PREPARE older AS "+sql); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, conn *pgconn.PgConn) ([][][]byte, error) { return execute(t, conn, "EXECUTE older") }},
}

// TestReloadBetweenBindAndExecute: a statement that was prepared, bound or declared under one policy and runs under
// another one does what that one allows: it is refused, and free, where its table or its analyst is gone, and is
// charged anew with the new bounds.
func TestReloadBetweenBindAndExecute(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	policy := purePolicy("answers: {ttl: 0}")
	const sql = "SELECT sum(minutes) FROM visits"
	for _, change := range []struct {
		name, policy string
		most         float64 // the sum cannot be more, with noise, under the new policy; 0: there is no answer
	}{
		{"table gone", unlisted(unlisted(policy, "lab_results"), "visits"), 0},
		{"column gone", strings.Replace(policy, "      minutes:    {bounds: [0, 600]}\n", "", 1), 0},
		{"analyst gone", strings.Replace(policy, "  alice:", "  carol:", 1), 0},
		{"answers kept", strings.Replace(policy, "ttl: 0", "ttl: 1h", 1), math.Inf(1)},
		{
			"narrower bounds", strings.Replace(policy, "minutes:    {bounds: [0, 600]}", "minutes:    {bounds: [0, 1]}", 1),
			4000 + 40*10/0.5,
		},
	} {
		for _, l := range laters {
			t.Run(change.name+", "+l.name, func(t *testing.T) {
				p := start(t, policy, clinic)
				conn, err := pgconn.Connect(t.Context(), p.dsn("alice"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				l.begin(t, conn, sql)
				p.write(change.policy)
				if change.name == "column gone" { // the shadow has it still
					if out, err := p.command("setup").CombinedOutput(); err != nil {
						t.Fatalf("dpproxy setup: %v\n%s", err, out)
					}
				}
				if refused, logged := p.reload(t); refused {
					t.Fatalf("not reloaded:\n%s", logged)
				}
				before := p.totalSpent(t)
				rows, err := l.run(t, conn)
				after := p.totalSpent(t)
				var refused *pgconn.PgError
				if err != nil && !errors.As(err, &refused) {
					t.Fatal(err)
				}
				switch {
				case err != nil && after != before:
					t.Errorf("refused (%v), and charged: %g, then %g", err, before, after)
				case err != nil && (refused.Code == "XX000" || refused.Code == "55000"):
					t.Errorf("no plain refusal: %v", err)
				case err == nil && change.most == 0:
					t.Errorf("answered: %q; spent %g, then %g", rows, before, after)
				case err == nil:
					if v, _ := strconv.ParseFloat(string(rows[0][0]), 64); math.Abs(v) > change.most || after <= before {
						t.Errorf("answer %g, at most %g under the new policy; spent %g, then %g", v, change.most, before, after)
					}
					// Only an answer of the new policy's is kept, where that one keeps answers.
					again := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
					if free := p.totalSpent(t) == after; again.Err != nil || free != (change.name == "answers kept") {
						t.Errorf("asked again: %v, free %t", again.Err, free)
					}
				}
			})
		}
	}
}

// TestReloadInTheMiddleOfAMessage: a statement that begins after the reload is of the new policy, whatever message it
// came with.
func TestReloadInTheMiddleOfAMessage(t *testing.T) {
	policy := purePolicy("answers: {ttl: 0}")
	p := start(t, policy, clinic)
	conn, err := pgconn.Connect(t.Context(), p.dsn("alice"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	unlock := p.lock("patients")
	type outcome struct {
		results []*pgconn.Result
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		results,
			err := conn.Exec(context.Background(), "SELECT count(*) FROM patients; SELECT sum(minutes) FROM visits").ReadAll()
		done <- outcome{results, err}
	}()
	eventually(t, "the first measure waits", func() bool { return p.waiting() == 1 })
	p.write(strings.Replace(policy, "minutes:    {bounds: [0, 600]}", "minutes:    {bounds: [0, 1]}", 1))
	if refused, logged := p.reload(t); refused {
		t.Fatalf("not reloaded:\n%s", logged)
	}
	unlock()
	o := <-done
	if o.err != nil || len(o.results) != 2 || len(o.results[0].Rows) != 1 || len(o.results[1].Rows) != 1 {
		t.Errorf("%d results, %v; want both, the second under the new policy", len(o.results), o.err)
	}
}

// totalSpent is what the command line says that all analysts have spent.
func (p *proxy) totalSpent(t *testing.T) (sum float64) {
	t.Helper()
	out, err := p.command("budget", "show", "--json").Output()
	if err != nil {
		t.Fatalf("budget show: %v", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if _, figure, found := strings.Cut(line, `"epsilon_spent": `); found {
			v, err := strconv.ParseFloat(strings.TrimRight(figure, ", "), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

// TestReloadOfBudgets: what was spent stays spent whatever the policy says of budgets and periods later, and is all
// that counts.
func TestReloadOfBudgets(t *testing.T) {
	policy := purePolicy("answers: {ttl: 0}")
	p := start(t, policy, clinic)
	serial := 0
	ask := func() string {
		serial++
		_, code := p.ask("bob", "SELECT count(*) FROM patients WHERE age > "+strconv.Itoa(serial))
		return code
	}
	if code := ask(); code != "" {
		t.Fatal(code)
	}
	for _, c := range []struct {
		name, budget string
		left         float64 // before bob asks
		answered     bool
	}{
		{"lower", "{epsilon: 0.75, delta: 1e-6}", 0.25, false},
		{"below what is spent", "{epsilon: 0.25, delta: 1e-6}", 0, false},
		{"with a period", "{epsilon: 0.75, delta: 1e-6, every: 30d}", 0.25, false},
		{"with a shorter period", "{epsilon: 0.75, delta: 1e-6, every: 1d}", 0.25, false},
		{"without a period", "{epsilon: 0.75, delta: 1e-6}", 0.25, false},
		{"higher, with a period", "{epsilon: 1.5, delta: 1e-6, every: 7d}", 1, true},
		{"as it was", "{epsilon: 1, delta: 1e-6}", 0, false},
		{"higher", "{epsilon: 1.5, delta: 1e-6}", 0.5, true},
		{"all spent", "{epsilon: 1.5, delta: 1e-6, every: 30d}", 0, false},
	} {
		p.write(strings.Replace(policy, "budget: {epsilon: 1, delta: 1e-6}", "budget: "+c.budget, 1))
		if refused, logged := p.reload(t); refused {
			t.Fatalf("%s: not reloaded:\n%s", c.name, logged)
		}
		if left, _ := strconv.ParseFloat(p.left("bob"), 64); math.Abs(left-c.left) > 1e-9 {
			t.Errorf("%s: %g left, want %g", c.name, left, c.left)
		}
		if code := ask(); code != "" && code != "53400" || (code == "") != c.answered {
			t.Errorf("%s: %q, want an answer: %v", c.name, code, c.answered)
		}
	}
	// The same after a restart.
	p.stop()
	p.serve()
	if left := p.left("bob"); left != "0" {
		t.Errorf("%s left after a restart", left)
	}
}

// TestReloadOfTheCommonBudget: a budget of all analysts that comes with a reload counts what was spent before.
func TestReloadOfTheCommonBudget(t *testing.T) {
	policy := purePolicy("answers: {ttl: 0}")
	p := start(t, policy, clinic)
	if _, code := p.ask("bob", measured); code != "" {
		t.Fatal(code)
	}
	p.write(policy + "budget: {epsilon: 0.75, delta: 1e-6}\n")
	if refused, logged := p.reload(t); refused {
		t.Fatalf("not reloaded:\n%s", logged)
	}
	if _, code := p.ask("alice", measured); code != "53400" {
		t.Errorf("a second half where all together have three quarters: %q, want 53400", code)
	}
}

// TestReloadAndKeptAnswers: an answer that was kept is given again under the same tables, and not under others.
func TestReloadAndKeptAnswers(t *testing.T) {
	policy := purePolicy()
	p := start(t, policy, clinic)
	cost := func(conn *pgx.Conn) float64 {
		before := spent(t, conn)
		if _, err := conn.Exec(t.Context(), "SELECT sum(minutes) FROM visits"); err != nil {
			t.Fatal(err)
		}
		return spent(t, conn) - before
	}
	conn := p.connect(quiet)
	if c := cost(conn); c != 0.5 {
		t.Fatalf("the first costs %g", c)
	}
	for _, c := range []struct {
		name, policy string
		want         float64
	}{
		{"nothing changed", policy, 0},
		{"another budget", strings.Replace(policy, "epsilon: 100000", "epsilon: 200000", 1), 0},
		{
			"another bound", strings.Replace(policy, "minutes:    {bounds: [0, 600]}", "minutes:    {bounds: [0, 500]}", 1),
			0.5,
		},
		{"the old bound", policy, 0},
		{"fewer rows of a unit", strings.Replace(policy, "max_rows_per_unit: 10\n", "max_rows_per_unit: 5\n", 1), 0.5},
	} {
		p.write(c.policy)
		if refused, logged := p.reload(t); refused {
			t.Fatalf("%s: not reloaded:\n%s", c.name, logged)
		}
		if got := cost(conn); got != c.want {
			t.Errorf("%s: costs %g, want %g", c.name, got, c.want)
		}
	}
}

// TestReloadDuringAMeasure: a statement that main is working on when the policy changes is answered or refused, and
// charged once.
func TestReloadDuringAMeasure(t *testing.T) {
	policy := townPolicy
	p := startAbroad(t, policy)
	unlock := p.hold("LOCK TABLE far.events IN ACCESS EXCLUSIVE MODE")
	done := make(chan string, 1)
	go func() {
		_, code := p.ask("alice", "SELECT count(*) FROM events")
		done <- code
	}()
	eventually(t, "the measure waits", func() bool { return p.waiting() == 1 })
	before := p.totalSpent(t)
	p.write(unlisted(policy, "events"))
	if refused, logged := p.reload(t); refused {
		t.Fatalf("not reloaded:\n%s", logged)
	}
	unlock()
	code := <-done
	if after := p.totalSpent(t); after != before || before != 1000 {
		t.Errorf("spent %g while it was measured, %g after it (%q)", before, after, code)
	}
	if _, code := p.ask("alice", "SELECT count(*) FROM events"); code != "42P01" {
		t.Errorf("the next: %q, want 42P01", code)
	}
}
