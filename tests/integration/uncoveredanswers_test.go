package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// figure is an analyst's one answer, on a connection of its own.
func (p *proxy) figure(user, sql string) string {
	p.t.Helper()
	rows, code := p.ask(user, sql)
	if code != "" {
		p.t.Fatalf("%s: %s: %s", user, sql, code)
	}
	return string(rows[0][0])
}

// spentBy is what an analyst was charged so far.
func (p *proxy) spentBy(t *testing.T, user string) float64 {
	t.Helper()
	rows, code := p.ask(user, "SELECT epsilon_spent FROM dpproxy.budget")
	if code != "" {
		t.Fatal(code)
	}
	v, err := strconv.ParseFloat(string(rows[0][0]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// answersPolicy has two analysts of equal rights, whose answers are kept, with so much noise that two answers are
// seldom equal. No sum is near an end of its range, where clamping would make many answers one.
func answersPolicy() string {
	return strings.NewReplacer("defaults: {epsilon: 1000,", "defaults: {epsilon: 0.001,", "answers: {ttl: 0}\n", "",
		"analysts:\n", "analysts:\n  bob: {password: \"@VERIFIER@\", budget: {epsilon: 1000}}\n",
		"price:  {bounds: [0, 1000]}", "price:  {bounds: [-1000, 1000]}").Replace(townPolicy)
}

// startAbroad serves foreign tables: who locks one of far has measures wait that main has parsed, planned and begun.
func startAbroad(t *testing.T, policy string) *proxy {
	t.Helper()
	p := prepare(t, policy, town)
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), fmt.Sprintf(abroad, p.server.Host, p.server.Port, p.db))
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	p.serve()
	return p
}

// TestKeptAnswersBelongToOneAnalyst: what one analyst has paid for is free for him on every connection, and for nobody
// else.
func TestKeptAnswersBelongToOneAnalyst(t *testing.T) {
	const cost = 0.001
	p := start(t, answersPolicy(), town)
	const different = 12
	same := 0
	for i := range different {
		sql := fmt.Sprintf("SELECT sum(price) FROM people WHERE age > %d", i)
		first := p.figure("alice", sql)
		if again := p.figure("alice", "select SUM(price) from public.people where "+strconv.Itoa(i)+" < age"); again != first {
			t.Errorf("alice on another connection: %s, then %s", first, again)
		}
		before := p.spentBy(t, "bob")
		if p.figure("bob", sql) == first {
			same++
		}
		if c := p.spentBy(t, "bob") - before; math.Abs(c-cost) > 1e-12 {
			t.Errorf("bob paid %g for what alice had asked, want %g", c, cost)
		}
		if again := p.figure("alice", sql); again != first {
			t.Errorf("alice after bob: %s, then %s", first, again)
		}
	}
	// The noise has a scale of 10^8 steps: that two of the twelve pairs are equal by chance is less likely than 1e-12.
	if same > 1 {
		t.Errorf("bob got %d of alice's %d answers", same, different)
	}
	if s := p.spentBy(t, "alice"); math.Abs(s-different*cost) > 1e-9 {
		t.Errorf("alice paid %g, want %g", s, different*cost)
	}
	// Nor does a restart mix them.
	p.stop()
	p.serve()
	before := p.spentBy(t, "bob")
	a, b := p.figure("alice", "SELECT sum(price) FROM people WHERE age > 0"),
		p.figure("bob", "SELECT sum(price) FROM people WHERE age > 0")
	if p.spentBy(t, "bob") != before || p.spentBy(t, "alice") > different*cost+1e-9 {
		t.Errorf("after a restart what was paid for is charged again")
	}
	if a == b && same == 0 {
		t.Errorf("after a restart both get %s", a)
	}
	for _, user := range []string{"alice", "bob"} {
		rows, code := p.ask(user, "SELECT count(*) FROM dpproxy.history")
		if code != "" || string(rows[0][0]) != strconv.Itoa(different) {
			t.Errorf("history of %s: %q %s, want %d", user, rows, code, different)
		}
	}
}

// TestOneQuestionInFlightOfTwoAnalysts: an analyst who asks what another is asking at this moment waits for their own
// answer alone.
func TestOneQuestionInFlightOfTwoAnalysts(t *testing.T) {
	p := startAbroad(t, answersPolicy())
	unlock := p.hold("LOCK TABLE far.people IN ACCESS EXCLUSIVE MODE")
	var sessions sync.WaitGroup
	figures := map[string][]string{"alice": make([]string, 6), "bob": make([]string, 6)}
	for user, answers := range figures {
		for i := range answers {
			sessions.Go(func() {
				if rows, code := p.ask(user, "SELECT sum(price) FROM people WHERE age > 40"); code == "" {
					answers[i] = string(rows[0][0])
				}
			})
		}
	}
	eventually(t, "one measure of each waits", func() bool { return p.waiting() == 2 })
	unlock()
	sessions.Wait()
	for user, answers := range figures {
		for _, a := range answers {
			if a == "" || a != answers[0] {
				t.Fatalf("answers of %s: %q", user, answers)
			}
		}
		if s := p.spentBy(t, user); math.Abs(s-0.001) > 1e-12 {
			t.Errorf("%s paid %g, want 0.001", user, s)
		}
	}
	if figures["alice"][0] == figures["bob"][0] { // once in some 10^8 runs by chance
		t.Errorf("both got %s", figures["alice"][0])
	}
}

// TestKilledUnderAttack kills the proxy, many times, while many sessions ask: what was charged is never less than what
// was answered, what was lost is charged, and nobody gets a second answer to one question for one charge.
func TestKilledUnderAttack(t *testing.T) {
	const epsilon = 0.001
	const rounds, askers = 6, 12
	p := startAbroad(t, answersPolicy())
	type reply struct{ sql, figure string }
	var answered []reply
	lost := 0 // seen to wait for main when the proxy was killed
	for round := range rounds {
		var mu sync.Mutex
		var sessions sync.WaitGroup
		connected := make(chan struct{}, askers)
		begin := make(chan struct{})
		for asker := range askers {
			sessions.Go(func() {
				conn, err := pgconn.Connect(context.Background(), p.dsn("alice"))
				connected <- struct{}{}
				if err != nil {
					t.Errorf("connect: %v", err)
					return
				}
				defer conn.Close(context.Background())
				<-begin
				for i := 0; ; i++ {
					sql := fmt.Sprintf("SELECT sum(price) FROM people WHERE age > %d AND weight > %d.%d", asker, round, i)
					r, err := conn.Exec(context.Background(), sql).ReadAll()
					var refused *pgconn.PgError
					if errors.As(err, &refused) && refused.Severity != "FATAL" {
						t.Errorf("%s: %v", sql, err)
					}
					if err != nil {
						return
					}
					mu.Lock()
					answered = append(answered, reply{sql, string(r[0].Rows[0][0])})
					mu.Unlock()
				}
			})
		}
		for range askers {
			<-connected
		}
		held := round%2 == 0 // in every other round all that can are in the middle of a measure
		unlock := func() {}
		if held {
			unlock = p.hold("LOCK TABLE far.people IN ACCESS EXCLUSIVE MODE")
		}
		close(begin)
		if held {
			eventually(t, "measures wait", func() bool { return p.waiting() == 6 }) // alice's share of pool.main
			lost += 6
		} else {
			eventually(t, "answers come", func() bool { mu.Lock(); defer mu.Unlock(); return len(answered) > 40*round })
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.finished
		p.cmd = nil
		unlock()
		sessions.Wait()
		p.serve()
		if s, least := p.spentBy(t, "alice"), float64(len(answered)+lost)*epsilon; s < least-1e-9 {
			t.Errorf("round %d: spent %g; %d answers and %d lost measures are %g", round, s, len(answered), lost, least)
		}
	}
	before := p.spentBy(t, "alice")
	different := 0
	for i, r := range answered {
		if i%5 == 0 {
			if got := p.figure("alice", r.sql); got != r.figure {
				different++
			}
		}
	}
	// An answer that was given in the last moments before a kill may be forgotten. Then the next one is another one, and
	// paid for.
	if cost := p.spentBy(t, "alice") - before; math.Abs(cost-float64(different)*epsilon) > 1e-9 {
		t.Errorf("%d answers are others now, and together they cost %g", different, cost)
	}
	if out, err := p.command("budget", "verify").CombinedOutput(); err != nil {
		t.Errorf("budget verify: %v\n%s", err, out)
	}
	if lost == 0 || len(answered) == 0 {
		t.Errorf("%d lost, %d answered: this tries nothing", lost, len(answered))
	}
}
