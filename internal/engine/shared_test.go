package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// together bounds all analysts together.
var together = append(slices.Clone(noisy), "answers: {ttl: 1h}", "answers: {ttl: 1h}\nbudget: {epsilon: 200}")

// spentTogether is what all analysts together are charged, and alice, and bob.
func (w *world) spentTogether(t *testing.T) (all, alice, bob float64) {
	t.Helper()
	accounts, err := w.ledger.Show(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accounts {
		switch a.Analyst {
		case ledger.AllAnalysts:
			all = *a.EpsilonSpent
		case "alice":
			alice = *a.EpsilonSpent
		case "bob":
			bob = *a.EpsilonSpent
		}
	}
	return all, alice, bob
}

func (w *world) as(analyst string) { w.scope.Analyst, w.scope.User = analyst, analyst }

// TestSharedAnswers: an analyst who asks what another has asked is charged, and given the same answer; all together are
// charged once. Asked again it is free.
func TestSharedAnswers(t *testing.T) {
	w := newWorld(t, together...)
	first := w.answered(t, table)
	w.as("bob")
	w.take()
	p := w.answered(t, table)
	if w.count("measure") > 0 || w.count("spend") != 1 {
		t.Errorf("main was asked %d times, the ledger %d times", w.count("measure"), w.count("spend"))
	}
	for i, values := range first.answer[0].Values {
		one, other := first.Mechanisms[0].Releases[i], p.Mechanisms[0].Releases[i]
		if p.answer[0].Values[i][0] != values[0] || one.PlannedMargin() != other.PlannedMargin() {
			t.Errorf("release %d is another", i)
		}
	}
	if again := w.answered(t, table); again.spent.epsilon != 0 || w.count("spend") != 1 {
		t.Error("asked again it is charged")
	}
	if p := w.mustBind(t, slice); p.from == nil {
		t.Error("it determines nothing")
	}
	if all, alice, bob := w.spentTogether(t); all != 1 || alice != 1 || bob != 1 {
		t.Errorf("all are charged %g, alice %g, bob %g", all, alice, bob)
	}
	if _, err := w.ledger.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestNotShared: where nothing bounds all analysts together, at another price, under another setting, or once it is no
// longer kept, an answer is drawn anew, and all are charged.
func TestNotShared(t *testing.T) {
	short := append(slices.Clone(noisy), "answers: {ttl: 1h}", "answers: {ttl: 1s}\nbudget: {epsilon: 200}")
	for name, c := range map[string]struct {
		rules  []string
		change func(*world)
	}{
		"no budget of all":  {rules: noisy},
		"another epsilon":   {together, func(w *world) { w.scope.Settings = w.scope.Settings.With("dpproxy.epsilon", "2") }},
		"a time zone":       {together, func(w *world) { w.scope.Settings = w.scope.Settings.With("timezone", "Asia/Tokyo") }},
		"it is over":        {short, func(*world) { time.Sleep(1100 * time.Millisecond) }},
		"margins decide it": {together, func(w *world) { w.scope.Settings = w.scope.Settings.With("dpproxy.margin", "9") }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.rules...)
			w.answered(t, table)
			if w.as("bob"); c.change != nil {
				c.change(w)
			}
			w.take()
			w.answered(t, table)
			if w.count("measure") != 1 {
				t.Error("it is another's answer")
			}
		})
	}
}

// TestSharedAnswersArePaid: who cannot pay for another's answer is refused it.
func TestSharedAnswersArePaid(t *testing.T) {
	w := newWorld(t, together...)
	w.answered(t, "SELECT count(*) FROM patients")
	w.scope.Settings = w.scope.Settings.With("dpproxy.epsilon", "60")
	w.answered(t, table)
	w.as("bob")
	w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
	w.answered(t, "SELECT sum(age) FROM patients")
	p := w.mustBind(t, table)
	if err := w.engine.Charge(w.ctx, w.scope, p); codeOf(err) != "53400" || p.answer != nil {
		t.Errorf("bob has 5 of 125 left, and an answer for 60: %v", err)
	}
}

// TestLateSharedAnswers: an answer that was drawn while another's was kept stays its analyst's own.
func TestLateSharedAnswers(t *testing.T) {
	w := newWorld(t, together...)
	p := w.mustCharge(t, table)
	w.as("bob")
	first := w.answered(t, table)
	w.as("alice")
	if _, err := p.Execute(w.ctx); err != nil {
		t.Fatal(err)
	}
	if all, alice, bob := w.spentTogether(t); all != 2 || alice != 1 || bob != 1 {
		t.Errorf("all are charged %g, alice %g, bob %g", all, alice, bob)
	}
	if again := w.mustBind(t, table); again.answer == nil || again.answer[0].Values[0][0] != p.answer[0].Values[0][0] {
		t.Errorf("alice is given %v, then %v; bob %v", p.answer[0].Values, again.answer, first.answer[0].Values)
	}
}

// TestSharedSelections: a partition selection takes a part of δ that follows from the whole budget, too. One that was
// drawn for more than this analyst is charged is not theirs.
func TestSharedSelections(t *testing.T) {
	const budget = "budget: {epsilon: 125}}\n"
	for of, shares := range map[string]bool{"2": true, "3": false} {
		w := newWorld(t, append(slices.Clone(noisy), "answers: {ttl: 1h}",
			"answers: {ttl: 1h}\nbudget: {epsilon: 5, delta: 1e-6}", "{method: pure}", "{method: rdp, delta: 1e-6}",
			"ward: {values: [north, south]}", "ward: {}", budget+"tables",
			"budget: {epsilon: "+of+", delta: 1e-6}}\ntables", budget, "budget: {epsilon: 2, delta: 1e-6}}\n")...)
		north := rewrite.Canonical("north")
		w.fake.rows = []backend.MeasureRow{{Keys: []*rewrite.Canonical{&north}, Integers: []int64{1000, 1000}}}
		first := w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		w.as("bob")
		w.take()
		p := w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		if first.price.Guarantee != p.price.Guarantee || first.charge.SelectionDelta == 0 {
			t.Fatalf("bob pays %v, alice %v with δ %g", p.price, first.price, first.charge.SelectionDelta)
		}
		if shared := w.count("measure") == 0; shared != shares {
			t.Errorf("of epsilon %s: δ %g is paid, %g was drawn; shared is %t", of, p.charge.SelectionDelta,
				first.charge.SelectionDelta, shared)
		}
	}
}
