package session

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// traced opens a session whose traces are collected as «operation verdict stages», while on says so.
func traced(t *testing.T, on *bool) (c *conversation, traces *[]string) {
	t.Helper()
	c, traces = open(t, nil), &[]string{}
	c.handler.Observe(func(e Event) {
		if e.Trace == nil {
			*traces = append(*traces, "none")
			return
		}
		line := e.Trace.Operation + " " + e.Verdict
		last := e.Trace.Began
		for _, stage := range e.Trace.Stages {
			line += " " + stage.Name
			if stage.Began.Before(last) || stage.Ended.Before(stage.Began) || e.Trace.Ended.Before(stage.Ended) {
				t.Errorf("times do not follow each other: %+v", e.Trace)
			}
			last = stage.Ended
		}
		*traces = append(*traces, line)
	})
	c.handler.Trace(func() bool { return *on })
	return c, traces
}

// TestTraces: which stages a statement's trace has, in a simple query.
func TestTraces(t *testing.T) {
	const all = "SELECT private parse analyse plan charge finish"
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT rows(1, 1)", []string{all}},
		{"SELECT rows(1, 1); SELECT rows(2, 1)", []string{all, "SELECT private analyse plan charge finish"}},
		{"SET application_name = 'x'", []string{"SET session parse"}},
		{"SELECT refused()", []string{"SELECT refused parse analyse"}},
		{"DELETE FROM t", []string{"DELETE refused parse"}},
		{"SELEC", []string{" refused parse"}},
		{"COPY (SELECT rows(1, 1)) TO STDOUT", []string{"COPY private parse analyse plan charge finish"}},
		{"DECLARE c CURSOR WITH HOLD FOR SELECT rows(2, 1); FETCH c", []string{
			"DECLARE session parse analyse plan",
			"FETCH private charge finish",
		}},
		{"PREPARE p AS SELECT $1; EXECUTE p('x')", []string{
			"PREPARE session parse analyse",
			"EXECUTE private plan charge finish",
		}},
		// The argument is a statement of its own, whose stages cannot be told from those of the other.
		{"PREPARE p AS SELECT $1; EXECUTE p(1 + 1)", []string{
			"PREPARE session parse analyse", "EXECUTE private",
			"EXECUTE private analyse plan charge finish plan charge finish",
		}},
	} {
		t.Run(c.sql, func(t *testing.T) {
			on := true
			s, traces := traced(t, &on)
			s.ask(t, c.sql)
			expect(t, "traces", *traces, c.want...)
		})
	}
}

// TestATraceOfSeveralMessages: a statement's trace begins with the message that prepared it, when it runs for the first
// time.
func TestATraceOfSeveralMessages(t *testing.T) {
	on := true
	s, traces := traced(t, &on)
	s.say(t, "P a | SELECT rows(3, 1)\nP b | SHOW TimeZone\nB p | a\nB q | b\nE q\nE p | 1\nE p\nB | a")
	on = false
	s.say(t, "E\nB | a")
	on = true
	s.say(t, "E")
	if s.skip {
		t.Errorf("%q", s.engine.log)
	}
	expect(t, "traces", *traces, "SHOW session parse", "SELECT private parse analyse plan charge finish", "none",
		"SELECT private charge finish")
}

// TestWhatATraceTells of the time while main works, and after it.
func TestWhatATraceTells(t *testing.T) {
	const ms = time.Millisecond
	began := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	at := func(tr *Trace, after time.Duration) string { return fmt.Sprint(tr.At(began.Add(after)).Sub(began)) }
	tr := &Trace{}
	var none *Trace
	got := []string{at(none, 7*ms), at(tr, 7*ms)}
	tr.Hold(began.Add(10 * ms))
	got = append(got, at(tr, 17*ms))
	tr.Hold(began.Add(20 * ms))
	got = append(got, at(tr, 25*ms))
	tr.Release(func(d time.Duration) time.Duration { return d.Truncate(4*ms) + 4*ms })
	got = append(got, at(tr, 19*ms), at(tr, 20*ms), at(tr, 25*ms))
	expect(t, "times", got, "7ms", "7ms", "10ms", "20ms", "24ms", "24ms", "28ms")
	none.Hold(began)
	none.Release(nil)
	none.Mark("draw")
	none.Stage("finish", began)
	if TraceOf(context.Background()) != nil || TraceOf(WithTrace(context.Background(), tr)) != tr {
		t.Error("a context has another trace")
	}
}
