package integration_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// startSeveral serves foreign tables from several proxies, which share a ledger in PostgreSQL.
func startSeveral(t *testing.T, n int) []*proxy {
	t.Helper()
	p := prepare(t, answersPolicy(), town)
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), fmt.Sprintf(abroad, p.server.Host, p.server.Port, p.db))
	p.write(strings.Replace(answersPolicy(), "ledger: file:test.ledger", "ledger: "+p.server.DSN(p.db, "it_ledger"), 1))
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	proxies := []*proxy{p}
	for len(proxies) < n {
		proxies = append(proxies, &proxy{t: t, server: p.server, db: p.db, dir: p.dir, policy: p.policy})
	}
	for _, p := range proxies {
		p.serve()
	}
	return proxies
}

// asks asks in the background. The answer, or a SQLSTATE, comes through the channel; empty where the proxy was killed.
func (p *proxy) asks(sql string) <-chan string {
	out := make(chan string, 1)
	conn := p.connect()
	go func() {
		var figure string
		if err := conn.QueryRow(p.t.Context(), sql).Scan(&figure); err != nil {
			figure = ""
		}
		out <- figure
	}()
	return out
}

// endClaims lets the time of every claim run out.
func (p *proxy) endClaims() {
	pgservertest.Exec(p.t, p.server.DSN(p.db, pgserver.Superuser),
		"UPDATE dpproxy_ledger.answer SET expires = now() WHERE octet_length(sealed) = 16")
}

// TestOneQuestionOverSeveralProxies: it is charged and measured once, by whichever proxy is first.
func TestOneQuestionOverSeveralProxies(t *testing.T) {
	proxies := startSeveral(t, 3)
	p := proxies[0]
	const sql = "SELECT sum(price)::text FROM people WHERE age > 40"
	unlock := p.hold("LOCK TABLE far.people IN ACCESS EXCLUSIVE MODE")
	var answers []<-chan string
	for i := range 9 {
		answers = append(answers, proxies[i%3].asks(sql))
	}
	eventually(t, "one measure waits", func() bool { return p.waiting() == 1 })
	time.Sleep(300 * time.Millisecond) // the other two proxies could begin theirs
	if n := p.waiting(); n != 1 {
		t.Errorf("%d measures of one question", n)
	}
	unlock()
	first := <-answers[0]
	for i, a := range answers[1:] {
		if figure := <-a; figure != first || figure == "" {
			t.Errorf("answer %d is %q, the first %q", i+1, figure, first)
		}
	}
	for _, p := range proxies {
		if s := p.spentBy(t, "alice"); math.Abs(s-0.001) > 1e-12 {
			t.Errorf("%g spent, want 0.001", s)
		}
	}
}

// TestStoppedBetweenChargeAndAnswer: others wait for a proxy that was stopped until its claim is over. Then one of them
// is charged, and what it answers is what the stopped one answers too. One that is killed is not waited for longer,
// either.
func TestStoppedBetweenChargeAndAnswer(t *testing.T) {
	proxies := startSeveral(t, 3)
	a, b, c := proxies[0], proxies[1], proxies[2]
	const sql = "SELECT sum(price)::text FROM people WHERE age > 41"
	unlock := a.hold("LOCK TABLE far.people IN ACCESS EXCLUSIVE MODE")
	ofA := a.asks(sql)
	eventually(t, "the first measures", func() bool { return a.waiting() == 1 })
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	var ofB, ofC string
	others.Go(func() { ofB = <-b.asks(sql) })
	others.Go(func() { ofC = <-c.asks(sql) })
	a.endClaims()
	eventually(t, "another measures", func() bool { return a.waiting() == 2 })
	unlock()
	others.Wait()
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if late := <-ofA; late != ofB || ofB != ofC || late == "" {
		t.Errorf("answers %q, %q, %q", late, ofB, ofC)
	}
	if s := b.spentBy(t, "alice"); math.Abs(s-0.002) > 1e-12 {
		t.Errorf("%g spent, want 0.002: two were charged", s)
	}

	const another = "SELECT sum(price)::text FROM people WHERE age > 42"
	unlock = b.hold("LOCK TABLE far.people IN ACCESS EXCLUSIVE MODE")
	ofA = a.asks(another)
	eventually(t, "the first measures", func() bool { return b.waiting() == 1 })
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if answer := <-ofA; answer != "" {
		t.Errorf("a killed proxy answers %q", answer)
	}
	<-a.finished
	a.cmd = nil
	unlock()
	b.endClaims()
	if figure := <-b.asks(another); figure == "" {
		t.Error("no answer after a kill")
	}
	if s := c.spentBy(t, "alice"); math.Abs(s-0.004) > 1e-12 {
		t.Errorf("%g spent, want 0.004", s)
	}
	if out, err := b.command("budget", "verify").CombinedOutput(); err != nil {
		t.Errorf("budget verify: %v\n%s", err, out)
	}
}
