package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// observed opens a session whose events are collected as «verdict SQLSTATE ε fingerprint».
func observed(t *testing.T, budget int) (s *Session, events *[]string) {
	t.Helper()
	s, e := mustOpen(t, nil)
	e.budget = budget
	events = &[]string{}
	s.handler.Observe(func(e Event) {
		if e.Analyst != "alice" || e.Took < 0 || e.Took > time.Minute {
			t.Errorf("%+v", e)
		}
		*events = append(*events, fmt.Sprintf("%s %s %g %s", e.Verdict, e.SQLSTATE, e.Epsilon, e.Fingerprint))
	})
	return s, events
}

// TestEveryStatementIsObserved once: those that ran, those of the session, those that were refused, and those inside other statements.
func TestEveryStatementIsObserved(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		budget    int
		want      []string
	}{
		{"a query", "SELECT rows(1, 1)", 9, []string{"private 00000 1 SELECT rows(1, 1)"}},
		{"several", "SET application_name = 'x'; SELECT rows(1, 1)", 9, []string{"session 00000 0 ", "private 00000 1 SELECT rows(1, 1)"}},
		{"the first error ends the text", "SELECT refused(); SELECT rows(1, 1)", 9, []string{"refused 42501 0 "}},
		{"a command that is refused", "DELETE FROM t", 9, []string{"refused 42501 0 "}},
		{"a syntax error", "SELEC", 9, []string{"refused 42601 0 "}},
		{"nothing", " ", 9, nil},
		{"over budget", "SELECT rows(1, 1)", 0, []string{"refused 53400 0 SELECT rows(1, 1)"}},
		{"what is no client's error", "SELECT fails()", 9, []string{"private XX000 1 SELECT fails()"}},
		{"an error behind rows", "SELECT breaks(2)", 9, []string{"private 22012 1 SELECT breaks(2)"}},
		{"a time-out", "SET statement_timeout = 1; SELECT sleeps()", 9, []string{"session 00000 0 ", "private 57014 1 SELECT sleeps()"}},
		{"a copy", "COPY (SELECT rows(1, 1)) TO STDOUT", 9, []string{"private 00000 1 SELECT rows(1, 1)"}},
		{"a cursor runs at its first FETCH", "DECLARE c CURSOR WITH HOLD FOR SELECT rows(2, 1); FETCH c; FETCH c", 9, []string{"session 00000 0 ", "private 00000 1 SELECT rows(2, 1)", "session 00000 0 "}},
		{"an EXECUTE", "PREPARE p AS SELECT $1; EXECUTE p('x')", 9, []string{"session 00000 0 ", "private 00000 1 SELECT $1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, events := observed(t, c.budget)
			ask(s, c.sql)
			expect(t, "events", *events, c.want...)
		})
	}
}

// TestAPreparedStatementIsObservedOnce: when it runs, or when it is refused.
func TestAPreparedStatementIsObservedOnce(t *testing.T) {
	s, events := observed(t, 9)
	ctx := context.Background()
	steps := []func() error{
		func() error { return s.Parse(ctx, "", "SELECT rows(3, 1)", nil) },
		func() error { return s.Bind(ctx, wire.Bind{}) },
		func() error { return s.Execute(ctx, "", 1, &recorder{}) },
		func() error { return s.Execute(ctx, "", 1, &recorder{}) },
		func() error { return s.Execute(ctx, "", 0, &recorder{}) },
		func() error { return s.Parse(ctx, "", "SELECT refused()", nil) },
		func() error { return s.Bind(ctx, wire.Bind{Statement: "none"}) },
		func() error { return s.Parse(ctx, "", "SHOW TimeZone", nil) },
		func() error { return s.Bind(ctx, wire.Bind{}) },
		func() error { return s.Execute(ctx, "", 1, &recorder{}) },
		func() error { return s.Execute(ctx, "", 1, &recorder{}) },
	}
	for i, step := range steps {
		if err := step(); (err != nil) != (i == 5 || i == 6) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	expect(t, "events", *events, "private 00000 1 SELECT rows(3, 1)", "refused 42501 0 ", "refused 26000 0 ", "session 00000 0 ")
}

// TestAClientThatGoesAwayIsObserved: what was charged for it is in the event, and no error that main may have caused.
func TestAClientThatGoesAwayIsObserved(t *testing.T) {
	s, events := observed(t, 9)
	_ = s.Query(context.Background(), "SELECT rows(1, 1)", goneClient{&recorder{}})
	ctx, leave := context.WithCancelCause(context.Background())
	leave(context.Canceled)
	_ = s.Query(ctx, "SELECT sleeps()", &recorder{})
	ctx, stop := context.WithCancelCause(context.Background())
	stop(pgerr.New("57P01", "terminating connection", pgerr.Fatal()))
	_ = s.Query(ctx, "SELECT sleeps()", &recorder{})
	expect(t, "events", *events, "private XX000 1 SELECT rows(1, 1)", "private 08006 1 SELECT sleeps()", "private 57P01 1 SELECT sleeps()")
}
