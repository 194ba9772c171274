package engine

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// noisy has answers whose noise can be told apart, of two keys of which one has every value.
var noisy = []string{
	"epsilon: 50, epsilon_max: 60", "epsilon: 1, epsilon_max: 60", "age: {bounds: [0, 120]}", "age: {bounds: [0, 3]}",
}

const (
	table = "SELECT ward, count(*), sum(age) FROM patients GROUP BY ward"
	slice = "SELECT count(*) FROM patients WHERE ward = 'north'"
)

// answered has a private statement answered, and gives it.
func (w *world) answered(t *testing.T, sql string) *private {
	t.Helper()
	p := w.mustCharge(t, sql)
	rows, err := p.Execute(w.ctx)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	rows.Close()
	return p
}

// TestDeterminedOfReleased: what is free has the numbers that were released before, and their noise; main is not asked.
func TestDeterminedOfReleased(t *testing.T) {
	w := newWorld(t, noisy...)
	of := w.answered(t, table)
	w.take()
	p := w.answered(t, slice)
	if n := w.count("measure") + w.count("spend"); n > 0 {
		t.Errorf("main or the ledger was asked %d times", n)
	}
	if p.from == nil || p.spent.epsilon != 0 {
		t.Fatalf("it took epsilon %g", p.spent.epsilon)
	}
	if got, want := p.answer[0].Values[0][0], of.answer[0].Values[0][0]; got != want {
		t.Errorf("%d of %d", got, want)
	}
	if got, want := p.Mechanisms[0].Releases[0], of.Mechanisms[0].Releases[0]; got != want {
		t.Error("its noise is said to be another")
	}
	again := w.answered(t, slice)
	if again.answer[0].Values[0][0] != p.answer[0].Values[0][0] {
		t.Error("asked again it is another answer")
	}
}

// TestSumsOfReleased: a sum of groups is that of what was drawn of them, and as far off as so many draws.
func TestSumsOfReleased(t *testing.T) {
	w := newWorld(t, noisy...)
	of := w.answered(t, table)
	sum := *of.calibrated.Plan
	groups := len(of.answer[0].Values[0])
	b := sum.Blocks[0]
	b.Keys, b.KeyTypes = rewrite.KeyRows{{}}, nil
	s := &source{Made: &rewrite.Made{Groups: [][]int{{0, 1}}, Most: 2, Releases: []int{0, 1}}, of: of}
	r := s.released(&b)
	for j := range b.Releases {
		want := int64(0)
		for g := range groups {
			want += of.answer[0].Plain[j][g]
		}
		if r.Plain[j][0] != want || r.Values[j][0] != max(b.Releases[j].Range[0].Lo, want) {
			t.Errorf("release %d is %d and %d, want %d", j, r.Plain[j][0], r.Values[j][0], want)
		}
		one, both := of.Mechanisms[0].Releases[j], s.mechanism(j)
		if got, want := both.SumMargin(1, .05), math.Sqrt2*one.SumMargin(1, .05); math.Abs(got-want) > 1e-9*want {
			t.Errorf("release %d: margin %g, want %g", j, got, want)
		}
	}
}

// TestNotDetermined: what is asked under other circumstances than the kept answer, or by others, is charged.
func TestNotDetermined(t *testing.T) {
	set := func(name, value string) func(*world) {
		return func(w *world) { w.scope.Settings = w.scope.Settings.With(name, value) }
	}
	for name, change := range map[string]func(*world){
		"a larger epsilon": set("dpproxy.epsilon", "4"),
		"a margin":         set("dpproxy.margin", "1"),
		"other row bounds": set("dpproxy.max_rows", "1"),
		"a time zone":      set("timezone", "Europe/Paris"),
		"another analyst":  func(w *world) { w.scope.Analyst, w.scope.User = "bob", "bob" },
		"another policy":   func(w *world) { w.reload(append(noisy, "max_rows: 100000", "max_rows: 99999")...) },
		"other values":     func(w *world) { w.reload(append(noisy, "[north, south]", "[north, south, east]")...) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, noisy...)
			w.answered(t, table)
			if p := w.mustBind(t, slice); p.from == nil {
				t.Fatal("it is charged anyway")
			}
			change(w)
			if p := w.mustBind(t, slice); p.from != nil {
				t.Error("it is free")
			}
		})
	}
}

// TestDeterminedAsLongAsKept: an answer that is kept no more determines nothing.
func TestDeterminedAsLongAsKept(t *testing.T) {
	w := newWorld(t, append(noisy, "ttl: 1h", "ttl: 1s")...)
	synctest.Test(t, func(t *testing.T) {
		w.bubble(t)
		w.answered(t, table)
		if p := w.mustBind(t, slice); p.from == nil {
			t.Fatal("it is charged while the answer is kept")
		}
		time.Sleep(1100 * time.Millisecond)
		if p := w.mustBind(t, slice); p.from != nil {
			t.Error("it is free when the answer is kept no more")
		}
	})
}

// TestDeterminedAsWide: an answer that is free is at most so much wider than its own, and no wider where the analyst has
// said what it has to be worth. Of several the sharpest is taken.
func TestDeterminedAsWide(t *testing.T) {
	for _, c := range []struct {
		kept, asked string // epsilon
		free        bool
	}{{".6", "", true}, {".4", "", false}, {".6", "1", false}, {"2", "1", true}, {"2", "2", true}} {
		w := newWorld(t, noisy...)
		plain := w.scope.Settings
		w.scope.Settings = plain.With("dpproxy.epsilon", c.kept)
		w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		if w.scope.Settings = plain; c.asked != "" {
			w.scope.Settings = plain.With("dpproxy.epsilon", c.asked)
		}
		if p := w.mustBind(t, slice); (p.from != nil) != c.free {
			t.Errorf("kept at %s, asked at %q: free is %t", c.kept, c.asked, p.from != nil)
		}
		w.scope.Settings = plain.With("dpproxy.epsilon", "3")
		w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		w.scope.Settings = plain
		if p := w.mustBind(t, slice); p.from == nil || fmt.Sprintf("%.3f", p.from[0].wider) > "0.5" {
			t.Errorf("kept at %s and at 3: %v", c.kept, p.from)
		}
	}
}

// TestKeptStatementsAreBounded: of a statement neither keys nor a long value are held, of an analyst no more than are
// tried, and of all analysts together no more than so many bytes.
func TestKeptStatementsAreBounded(t *testing.T) {
	w := newWorld(t, noisy...)
	p := w.answered(t, table)
	add := func(analyst, key string, value int) {
		c := *p.call
		c.scope.Analyst, c.values = analyst, [][]byte{make([]byte, value)}
		w.engine.kept.add(&private{call: &c, calibrated: p.calibrated, key: key})
	}
	for n := range 2 * mostStatements {
		add("carol", fmt.Sprint(n), 1)
	}
	if n := len(w.engine.kept.of("carol")); n != mostStatements {
		t.Errorf("%d statements are tried", n)
	}
	if add("dave", "long", mostStatementBytes); len(w.engine.kept.of("dave")) > 0 {
		t.Error("a statement with a long value is kept")
	}
	for n := range 2 * allStatementBytes / mostStatementBytes {
		add(fmt.Sprint("analyst ", n), "one", mostStatementBytes/2)
	}
	held, keys := 0, 0
	for _, s := range w.engine.kept.cache.Values() {
		held += len(s.values[0])
		for _, b := range s.blocks {
			if b.Keys != nil {
				keys++
			}
		}
	}
	if held > allStatementBytes || held < allStatementBytes/4 || keys > 0 {
		t.Errorf("%d bytes of values are held, and the keys of %d blocks", held, keys)
	}
}
