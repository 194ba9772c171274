package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/session"
)

const question = "SELECT count(*) FROM patients"

// TestDuplicateInFlight asks one question from two connections. The second waits for the first, whatever becomes of that:
// (what the first meets) → (what the second gets, charges together).
func TestDuplicateInFlight(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string // done before the first runs
		want   []string
	}{
		{"the first succeeds: one charge for both", "", []string{
			"measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this",
			"then", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: nothing spent, 60% left",
		}},
		{"the first fails for good: the second is refused as well", "fault measure error", []string{
			"measure", "fail", "ERROR XX000 the main database failed while measuring",
			"then", "ERROR 55000 this statement failed on the database before and is refused until an administrator clears it",
		}},
		{"the first is lost: the second pays", "fault measure broken\nfault measure broken", []string{
			"measure", "measure", "ERROR XX000 the main database failed while measuring",
			"then", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this",
		}},
		{"the first is cancelled: the second pays", "cancel", []string{
			"ERROR 57014 canceling statement due to user request",
			"then", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this",
		}},
		{"the shadow fails for the first: the second is free", "fault run gone", []string{
			"measure", "keep", "run on shadow", "internal: connection reset by peer",
			"then", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: nothing spent, 60% left",
		}},
		{"the answer cannot be kept: the second pays", "fault keep disk", []string{
			"measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this",
			"then", "spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.do(t, "bind first "+question)
			w.do(t, "bind second "+question)
			w.do(t, "charge first")
			w.take()
			second := &world{journal: &journal{}, t: t, engine: w.engine, scope: w.scope, bound: w.bound}
			second.fresh()
			charged := make(chan struct{})
			go func() {
				defer close(charged)
				second.do(t, "charge second")
			}()
			select {
			case <-charged:
				t.Fatal("the second did not wait")
			case <-time.After(20 * time.Millisecond):
			}
			if c.before != "" {
				for _, line := range strings.Split(c.before, "\n") {
					w.do(t, line)
				}
			}
			rows, err := w.bound["first"].Execute(w.ctx)
			got := w.journalUntil(t, rows, err)
			<-charged
			got = append(append(append(got, "then"), w.take()...), second.take()...)
			if refused := got[len(got)-1]; !strings.HasPrefix(refused, "ERROR") {
				rows, err := w.bound["second"].Execute(second.ctx)
				got = append(got, w.journalUntil(t, rows, err)...)
			}
			if diff := cmp.Diff(c.want, sorted(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sorted moves the charge of the second, which may be written before the rows of the first are read, behind "then".
func sorted(lines []string) []string {
	var out, late []string
	for i, line := range lines {
		if line == "spend 50" && !contains(lines[:i], "then") {
			late = append(late, line)
			continue
		}
		if out = append(out, line); line == "then" {
			out = append(out, late...)
		}
	}
	return out
}

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}

// journalUntil reads rows, if there are any, and returns what has happened.
func (w *world) journalUntil(t *testing.T, rows session.Rows, err error) []string {
	t.Helper()
	if err != nil {
		w.add("%s", errorText(err))
	} else {
		w.read(rows)
	}
	return w.take()
}

// TestWhoDoesNotWait: another analyst, another question, and whoever keeps no answers.
func TestWhoDoesNotWait(t *testing.T) {
	for _, c := range []struct{ name, rules, transcript string }{
		{"another analyst", "", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> as bob
			> bind b SELECT count(*) FROM patients
			check
			> charge b
			spend 50`},
		{"another question", "", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> charge a
			spend 50
			> bind b SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			> charge b
			spend 50`},
		{"a policy that keeps no answers", "answers: {ttl: 0}", `
			> bind a SELECT count(*) FROM patients
			describe
			check
			> bind b SELECT count(*) FROM patients
			check
			> charge a
			spend 50
			> charge b
			spend 50
			> run a
			measure
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT count(*) FROM patients
			check
			ERROR 53400 this would take 40% of your budget, of which 20% is left`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.rules != "" {
				w = newWorld(t, "answers: {ttl: 1h}", c.rules)
			}
			w.run(t, c.transcript)
		})
	}
}

// TestCancelWhileWaiting: who gives up waiting for a duplicate is not charged.
func TestCancelWhileWaiting(t *testing.T) {
	w := newWorld(t)
	w.do(t, "bind first "+question)
	w.do(t, "bind second "+question)
	w.do(t, "charge first")
	second := &world{journal: &journal{}, t: t, engine: w.engine, scope: w.scope, bound: w.bound}
	second.fresh()
	time.AfterFunc(10*time.Millisecond, func() { second.cancel(errCanceled) })
	second.do(t, "charge second")
	if diff := cmp.Diff([]string{"ERROR 57014 canceling statement due to user request"}, second.take()); diff != "" {
		t.Error(diff)
	}
	if left := w.left(); left != "75" {
		t.Errorf("%s left, want 75: one charge", left)
	}
}
