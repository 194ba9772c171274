package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// elsewhere stores another proxy's answer to a bound question: 40.
func (w *world) elsewhere(name string) error {
	p := w.bound[name].(*private)
	encoded, err := json.Marshal([]keptBlock{{Values: [][]int64{{40}}}})
	if err != nil {
		return err
	}
	_, err = w.ledger.PutAnswer(context.Background(), p.key, encoded, time.Hour)
	return err
}

// TestAnotherProxyIsAsking: its answer is waited for and taken, and costs nothing. Where there is none in the end, this one is charged.
func TestAnotherProxyIsAsking(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers bool // the other proxy, at the third look
		want    []string
	}{
		{"it answers", true, []string{"run on shadow", "close", "row {40}", "SELECT 1", "NOTICE dpproxy: nothing spent, 100% left"}},
		{"it gives up", false, []string{"spend 50", "measure", "keep", "run on shadow", "close", "row {41}", "SELECT 1", "NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.do(t, "bind first "+question)
			w.take()
			for look := range 3 {
				w.on("spend", func() error {
					if look == 2 && c.answers {
						if err := w.elsewhere("first"); err != nil {
							t.Error(err)
						}
					}
					return ledger.ErrAsked
				})
			}
			w.do(t, "charge first")
			rows, err := w.bound["first"].Execute(w.ctx)
			if diff := cmp.Diff(c.want, w.journalUntil(t, rows, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCancelWhileAnotherProxyAnswers: who gives up waiting is not charged.
func TestCancelWhileAnotherProxyAnswers(t *testing.T) {
	w := newWorld(t)
	w.do(t, "bind first "+question)
	w.take()
	w.on("spend", func() error {
		w.cancel(errCanceled)
		return ledger.ErrAsked
	})
	w.do(t, "charge first")
	if diff := cmp.Diff([]string{"ERROR 57014 canceling statement due to user request"}, w.take()); diff != "" {
		t.Error(diff)
	}
	if left := w.left(); left != "125" {
		t.Errorf("%s left, want 125", left)
	}
}

// TestLateAnswerIsNotGiven: another proxy has stored an answer while this one was drawing its own. Both were charged; one answer is given.
func TestLateAnswerIsNotGiven(t *testing.T) {
	w := newWorld(t)
	w.do(t, "bind first "+question)
	w.take()
	w.on("keep", func() error { return w.elsewhere("first") })
	w.do(t, "charge first")
	rows, err := w.bound["first"].Execute(w.ctx)
	if got := strings.Join(w.journalUntil(t, rows, err), "\n"); !strings.Contains(got, "spend 50") || !strings.Contains(got, "row {40}") ||
		strings.Contains(got, "row {41}") {
		t.Errorf("%s\nwant the charge of this proxy and the answer of the other", got)
	}
	w.do(t, "ask "+question)
	if got := strings.Join(w.take(), "\n"); !strings.Contains(got, "row {40}") || strings.Contains(got, "spend") {
		t.Errorf("again: %s", got)
	}
}
