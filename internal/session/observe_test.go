package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// observed opens a session whose events are collected as «verdict SQLSTATE ε fingerprint».
func observed(t *testing.T, budget int) (c *conversation, events *[]string) {
	t.Helper()
	c, events = open(t, nil), &[]string{}
	c.engine.budget = budget
	c.handler.Observe(func(e Event) {
		if e.Analyst != "alice" || e.Took < 0 || e.Took > time.Minute {
			t.Errorf("%+v", e)
		}
		*events = append(*events, fmt.Sprintf("%s %s %g %s", e.Verdict, e.SQLSTATE, e.Epsilon, e.Fingerprint))
	})
	return c, events
}

// TestEveryStatementIsObserved once: those that ran, those of the session, those that were refused, and those inside
// other statements.
func TestEveryStatementIsObserved(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		budget    int
		want      []string
	}{
		{"a query", "SELECT rows(1, 1)", 9, []string{"private 00000 1 SELECT rows(1, 1)"}},
		{
			"several", "SET application_name = 'x'; SELECT rows(1, 1)", 9,
			[]string{"session 00000 0 ", "private 00000 1 SELECT rows(1, 1)"},
		},
		{"the first error ends the text", "SELECT refused(); SELECT rows(1, 1)", 9, []string{"refused 42501 0 "}},
		{"a command that is refused", "DELETE FROM t", 9, []string{"refused 42501 0 "}},
		{"a syntax error", "SELEC", 9, []string{"refused 42601 0 "}},
		{"nothing", " ", 9, nil},
		{"over budget", "SELECT rows(1, 1)", 0, []string{"refused 53400 0 SELECT rows(1, 1)"}},
		{"what is no client's error", "SELECT fails()", 9, []string{"private XX000 1 SELECT fails()"}},
		{"an error behind rows", "SELECT breaks(2)", 9, []string{"private 22012 1 SELECT breaks(2)"}},
		{
			"a time-out", "SET statement_timeout = 1; SELECT sleeps()", 9,
			[]string{"session 00000 0 ", "private 57014 1 SELECT sleeps()"},
		},
		{"a copy", "COPY (SELECT rows(1, 1)) TO STDOUT", 9, []string{"private 00000 1 SELECT rows(1, 1)"}},
		{
			"a cursor runs at its first FETCH", "DECLARE c CURSOR WITH HOLD FOR SELECT rows(2, 1); FETCH c; FETCH c", 9,
			[]string{"session 00000 0 ", "private 00000 1 SELECT rows(2, 1)", "session 00000 0 "},
		},
		{
			"an EXECUTE", "PREPARE p AS SELECT $1; EXECUTE p('x')", 9,
			[]string{"session 00000 0 ", "private 00000 1 SELECT $1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, events := observed(t, c.budget)
			s.ask(t, c.sql)
			expect(t, "events", *events, c.want...)
		})
	}
}

// TestAPreparedStatementIsObservedOnce: when it runs, or when it is refused.
func TestAPreparedStatementIsObservedOnce(t *testing.T) {
	s, events := observed(t, 9)
	for _, c := range []struct {
		messages string
		fails    bool
	}{
		{"P | SELECT rows(3, 1)\nB |\nE | 1\nE | 1\nE", false},
		{"P | SELECT refused()", true},
		{"B | none", true},
		{"P | SHOW TimeZone\nB |\nE | 1\nE | 1", false},
	} {
		if got := s.say(t, c.messages); s.skip != c.fails {
			t.Errorf("%q: %q", c.messages, got)
		}
		s.say(t, "S")
	}
	expect(t, "events", *events, "private 00000 1 SELECT rows(3, 1)", "refused 42501 0 ", "refused 26000 0 ",
		"session 00000 0 ")
}

// TestAClientThatGoesAwayIsObserved: what was charged for it is in the event, and no error that main may have caused.
func TestAClientThatGoesAwayIsObserved(t *testing.T) {
	s, events := observed(t, 9)
	s.gone = true
	_ = s.Query(context.Background(), "SELECT rows(1, 1)", s)
	for _, cause := range []error{context.Canceled, pgerr.New("57P01", "terminating connection", pgerr.Fatal())} {
		ctx, leave := context.WithCancelCause(context.Background())
		leave(cause)
		s.gone = false
		_ = s.Query(ctx, "SELECT sleeps()", s)
	}
	expect(t, "events", *events, "private XX000 1 SELECT rows(1, 1)", "private 08006 1 SELECT sleeps()",
		"private 57P01 1 SELECT sleeps()")
}
