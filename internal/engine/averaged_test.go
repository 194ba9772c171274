package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// answeredAt has a statement answered with another ε.
func (w *world) answeredAt(t *testing.T, epsilon, sql string) *private {
	t.Helper()
	before := w.scope.Settings
	w.scope.Settings = before.With("dpproxy.epsilon", epsilon)
	defer func() { w.scope.Settings = before }()
	return w.answered(t, sql)
}

// TestAveragedAnswers: what several kept answers determine is their mean, by inverse variance, and as far off as that.
func TestAveragedAnswers(t *testing.T) {
	w := newWorld(t, noisy...)
	a, b := w.answeredAt(t, ".5", table), w.answeredAt(t, ".7", table)
	w.take()
	p := w.answered(t, slice)
	if n := w.count("measure") + w.count("spend"); n > 0 || p.from == nil || len(p.from[0].sources) != 2 {
		t.Fatalf("main or the ledger was asked %d times: %v", n, p.from)
	}
	deviation := func(p *private) float64 { return p.Mechanisms[0].Releases[0].StdDev(1<<40, 0) }
	va, vb := deviation(a)*deviation(a), deviation(b)*deviation(b)
	drawn := func(p *private) float64 { return float64(p.answer[0].Plain[0][0]) }
	want := (drawn(a)/va + drawn(b)/vb) / (1/va + 1/vb)
	if got := p.answer[0]; math.Abs(float64(got.Plain[0][0])-want) > .5+1e-9 || got.Values[0][0] != max(0, got.Plain[0][0]) {
		t.Errorf("%v of %g and %g, want %g", got.Plain[0], drawn(a), drawn(b), want)
	}
	if got, want := deviation(p), math.Sqrt(1/(1/va+1/vb)); got < want || got > want+.5 {
		t.Errorf("deviation %g, want %g", got, want)
	}
}

// TestSameAnswerAgain: what was made of some answers is made of these as long as they are kept, whatever is asked since,
// and in whatever words; then of what is kept.
func TestSameAnswerAgain(t *testing.T) {
	w := newWorld(t, noisy...)
	for _, epsilon := range []string{".5", ".7"} {
		w.answeredAt(t, epsilon, table)
	}
	p := w.answered(t, slice)
	last := w.answeredAt(t, "3", table)
	first := w.answeredAt(t, ".5", table) // which makes it the last that was asked
	for _, sql := range []string{slice, "SELECT count(*) AS n FROM patients WHERE 'north' = ward"} {
		again := w.answered(t, sql)
		if !slices.Equal(again.answer[0].Plain[0], p.answer[0].Plain[0]) || !slices.Equal(again.from[0].keys(), p.from[0].keys()) {
			t.Errorf("%s: another answer", sql)
		}
	}
	w.engine.kept.cache.Remove(keptKey{w.scope.Analyst, first.key})
	if after := w.answered(t, slice); !slices.Contains(after.from[0].keys(), last.key) {
		t.Error("it is not made of what is kept")
	}
}

// TestNotAveraged: answers that leave out another part, or are as often wrong as others, and numbers that are known as a
// range has bounded them alone, are in no mean.
func TestNotAveraged(t *testing.T) {
	w := newWorld(t, noisy...)
	a, b := w.answeredAt(t, ".5", table), w.answeredAt(t, ".7", table)
	p := w.mustBind(t, slice)
	whole, err := p.calibratedPlan(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	sources := func(change func(p *private)) []*source {
		var list []*source
		for _, of := range []*private{a, b} {
			q, c := *of, *of.calibrated
			plan := *c.Plan
			plan.Blocks = slices.Clone(plan.Blocks)
			plan.Blocks[0].Releases = slices.Clone(plan.Blocks[0].Releases)
			c.Plan, q.calibrated, q.answer = &plan, &c, slices.Clone(of.answer)
			if of == b {
				change(&q)
			}
			list = append(list, &source{Made: &rewrite.Made{Groups: [][]int{{0}}, Most: 1, Releases: []int{0}}, of: &q})
		}
		return list
	}
	share := .5
	for name, change := range map[string]func(p *private){
		"":                  func(*private) {},
		"rows":              func(p *private) { p.Plan.Blocks[0].Rows++ },
		"a share":           func(p *private) { p.Plan.Blocks[0].LeftOut = &share },
		"what is uncovered": func(p *private) { p.Plan.Blocks[0].Uncovered = !p.Plan.Blocks[0].Uncovered },
		"sensitivity":       func(p *private) { p.Plan.Blocks[0].Releases[0].Sensitivity++ },
		"groups":            func(p *private) { p.Plan.Blocks[0].Releases[0].Groups += 2 },
		"the part":          func(p *private) { p.Part += .1 },
		"rows in a group":   func(p *private) { p.Plan.Blocks[0].RowsInGroup++ },
		"bounded numbers":   func(p *private) { p.answer[0].Plain = nil },
	} {
		if d := whole.averaged(0, sources(change)); (d != nil) != (name == "") {
			t.Errorf("other %s: %v", name, d)
		}
	}
}
