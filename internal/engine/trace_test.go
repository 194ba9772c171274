package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// bubble moves the engine into a synctest bubble: with a ledger that is opened in it, and what newWorld has made
// outside, whose caches have goroutines that do not end.
func (w *world) bubble(t *testing.T) {
	t.Helper()
	s := w.engine.state.Load()
	e := newEngine(watchedLedger{openLedger(t, s.policy), w.journal}, w.metrics, slog.New(slog.DiscardHandler))
	e.state.Store(s)
	w.engine = e
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
}

// told opens a session whose traces are collected as «operation verdict SQLSTATE: stages (from-to, from the statement's
// beginning) end».
func (w *world) told(t *testing.T) (s wire.Session, traces *[]string) {
	t.Helper()
	w.bubble(t)
	traces = &[]string{}
	h := session.NewHandler(w.engine)
	h.Observe(func(e session.Event) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s:", e.Trace.Operation, e.Verdict, e.SQLSTATE)
		for _, stage := range e.Trace.Stages {
			fmt.Fprintf(&b, " %s %v-%v", stage.Name, stage.Began.Sub(e.Trace.Began), stage.Ended.Sub(e.Trace.Began))
		}
		fmt.Fprintf(&b, " end %v", e.Trace.Ended.Sub(e.Trace.Began))
		*traces = append(*traces, b.String())
	})
	h.Trace(func() bool { return true })
	return w.open(t, h), traces
}

// measures has main work for a time, or until a moment after its statement has ended.
func (w *world) measures(took, stops time.Duration, err error) {
	w.on("measure", func() error {
		select {
		case <-time.After(took):
		case <-w.ctx.Done():
			time.Sleep(stops)
			return context.Cause(w.ctx)
		}
		return err
	})
}

// TestTracesTellPublicMomentsAlone: main works for as long as the private rows make it work, and a trace is the same
// for all times that an analyst cannot tell apart: with an answer, where main fails, and where the statement ends
// before its measure does. The clock is synctest's.
func TestTracesTellPublicMomentsAlone(t *testing.T) {
	const before = "SELECT private %s: parse 0s-0s analyse 0s-0s plan 0s-0s charge 0s-0s measure 0s-%s"
	gone := errors.New("client went away")
	for _, c := range []struct {
		name   string
		fails  error
		ends   error // at 120 ms
		broken string
		want   string
	}{
		{"an answer", nil, nil, "", fmt.Sprintf(before, "00000", "128ms draw 128ms-128ms finish 129ms-132ms end 132ms")},
		{"main fails", faults["error"], nil, "", fmt.Sprintf(before, "XX000", "128ms end 129ms")},
		{"main fails, and the ledger", faults["error"], nil, "fail", fmt.Sprintf(before, "58030", "128ms end 129ms")},
		{"the ledger lets no answer pass", nil, nil, "releasable", fmt.Sprintf(before, "58030", "128ms end 129ms")},
		{"a cancel", nil, errCanceled, "", fmt.Sprintf(before, "57014", "1.12s end 1.12s")},
		{"a client that goes away", nil, gone, "", fmt.Sprintf(before, "08006", "1.12s end 1.12s")},
	} {
		for _, took := range []time.Duration{65 * ms, 100 * ms, 119 * ms, 121 * ms, 128 * ms} {
			for _, stops := range []time.Duration{0, 3 * ms} {
				t.Run(fmt.Sprintf("%s/%v/%v", c.name, took, stops), func(t *testing.T) {
					w := newWorld(t, "timing: {steps: 1.25}", "timing: {steps: 2}")
					synctest.Test(t, func(t *testing.T) {
						s, traces := w.told(t)
						w.measures(took, stops, c.fails)
						w.on("run", func() error { time.Sleep(3 * ms); return nil })
						if c.broken != "" {
							w.on(c.broken, func() error { return faults["disk"] })
						}
						if c.ends != nil {
							time.AfterFunc(120*ms, func() { w.cancel(c.ends) })
						}
						err := s.Query(w.ctx, question, client{w.journal})
						if (err != nil) != (c.fails != nil || c.ends != nil || c.broken != "") {
							t.Errorf("the statement ended with %v", err)
						}
						if got := strings.Join(*traces, "\n"); got != c.want {
							t.Errorf("\n%s, want\n%s", got, c.want)
						}
					})
				})
			}
		}
	}
}

// TestWhoLeavesFreesTheQuestionLater: an analyst asks a question over two connections, and leaves the one that is
// measured at a time of their choice. When the other goes on does not tell whether main had finished by then.
func TestWhoLeavesFreesTheQuestionLater(t *testing.T) {
	for _, took := range []time.Duration{65 * ms, 119 * ms, 121 * ms, time.Hour} {
		for _, stops := range []time.Duration{0, 3 * ms, 300 * ms} {
			w := newWorld(t, "timing: {steps: 1.25}", "timing: {steps: 2}")
			synctest.Test(t, func(t *testing.T) {
				s, _ := w.told(t)
				begun := time.Now()
				w.measures(took, stops, nil) // the first of them
				time.AfterFunc(120*ms, func() { w.cancel(errors.New("client went away")) })
				go func() { _ = s.Query(w.ctx, question, client{w.journal}) }()
				time.Sleep(10 * ms)
				w.askBeside(t, question)
				const want = 120*ms + leaveWait + ms
				if got := time.Since(begun); got != want {
					t.Errorf("a measure of %v, which stops after %v: the other connection is answered at %v, want %v", took, stops,
						got, want)
				}
			})
		}
	}
}

// askBeside asks over another connection of the analyst's.
func (w *world) askBeside(t *testing.T, sql string) {
	t.Helper()
	if err := w.open(t, session.NewHandler(w.engine)).Query(context.Background(), sql, client{&journal{}}); err != nil {
		t.Error(err)
	}
}

// TestSlotsTellPublicMomentsAlone: a statement of the analyst's that waits until one of theirs has ended on main sees
// its moment, and not when main was done; also where that one is cancelled at 120 ms, before its first stage or in it.
func TestSlotsTellPublicMomentsAlone(t *testing.T) {
	const end = 120*ms + leaveWait + ms
	for _, c := range []struct {
		name, sql string
		ends      error
		took      []time.Duration
		want      time.Duration
	}{
		{"an answer", question, nil, []time.Duration{66 * ms, 90 * ms, 120 * ms}, 128*ms + ms},
		{"a cancel", question, errCanceled, []time.Duration{66 * ms, 119 * ms, 121 * ms, time.Hour}, end},
		{"a cancel in a stage", staged, errCanceled, []time.Duration{66 * ms, 119 * ms, 121 * ms, time.Hour}, end},
	} {
		for _, took := range c.took {
			w := newWorld(t, "timing: {steps: 1.25}", "timing: {steps: 2}\npool: {main: 2}")
			synctest.Test(t, func(t *testing.T) {
				s, _ := w.told(t)
				begun := time.Now()
				w.measures(took, 3*ms, nil)
				if c.ends != nil {
					time.AfterFunc(120*ms, func() { w.cancel(c.ends) })
				}
				go func() { _ = s.Query(w.ctx, c.sql, client{w.journal}) }()
				time.Sleep(60 * ms)
				w.askBeside(t, question+" WHERE age > 1")
				// Its own moment is a power of 2 ms after it began to wait.
				want := 60*ms + Moment(policy.Timing{Steps: 2}, c.want-ms-60*ms)
				if got := time.Since(begun); got != want {
					t.Errorf("%s after %v on main: the other connection is answered at %v, want %v", c.name, took, got, want)
				}
			})
		}
	}
}

// TestTracesOfEveryKind: (a text) → (stages). Time stands still, but for what follows a measure.
func TestTracesOfEveryKind(t *testing.T) {
	const parse = "parse 0s-0s"
	for _, c := range []struct {
		name, sql string
		want      []string
	}{
		{"asked again", question, []string{"SELECT cached 00000: " + parse + " plan 0s-0s finish 0s-0s end 0s"}},
		{"refused", "SELECT id FROM patients", []string{"SELECT refused 42501: " + parse + " analyse 0s-0s end 0s"}},
		{"a syntax error", "SELEC 1", []string{" refused 42601: " + parse + " end 0s"}},
		{"public", "SELECT ward FROM wards", []string{"SELECT public 00000: " + parse + " analyse 0s-0s end 0s"}},
		{"explained", "EXPLAIN " + question, []string{"EXPLAIN explain 00000: " + parse +
			" analyse 0s-0s plan 0s-0s end 0s"}},
		{"the session's", "BEGIN; COMMIT", []string{
			"BEGIN session 00000: " + parse + " end 0s",
			"COMMIT session 00000: end 0s",
		}},
		{"over budget", question + " WHERE age > 1; " + question + " WHERE age > 2", []string{
			"SELECT private 00000: " + parse +
				" analyse 0s-0s plan 0s-0s plan 0s-0s charge 0s-0s measure 0s-1ms draw 1ms-1ms finish 2ms-2ms end 2ms",
			"SELECT refused 53400: analyse 0s-0s plan 0s-0s charge 0s-0s end 0s",
		}},
		{"a cursor", "DECLARE c CURSOR WITH HOLD FOR " + question + " WHERE age > 1; FETCH c", []string{
			"DECLARE session 00000: " + parse + " analyse 0s-0s plan 0s-0s end 0s",
			"FETCH private 00000: charge 0s-0s measure 0s-1ms draw 1ms-1ms finish 2ms-2ms end 2ms",
		}},
		{"an average with a margin", "SELECT dpproxy.within(avg(age), 40) FROM patients", []string{
			"SELECT private 00000: " + parse +
				" analyse 0s-0s plan 0s-0s charge 0s-0s charge 1ms-1ms measure 0s-1ms draw 1ms-1ms finish 2ms-2ms end 2ms",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) {
				s, traces := w.told(t)
				if err := s.Query(w.ctx, question, client{w.journal}); err != nil {
					t.Fatal(err)
				}
				*traces = nil
				_ = s.Query(w.ctx, c.sql, client{w.journal})
				if got, want := strings.Join(*traces, "\n"), strings.Join(c.want, "\n"); got != want {
					t.Errorf("\n%s, want\n%s", got, want)
				}
			})
		})
	}
}
