package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestPlansAreBounded: a stream of statements of many aggregates keeps as much as the bounds of the caches say, and
// takes no more memory than is counted. What belongs to no statement has a bound of its own: marginals of joint noise
// (48 MB), and mechanisms.
func TestPlansAreBounded(t *testing.T) {
	const bound, others = 4 << 20, 80 << 20
	w := newWorld(t)
	s := w.engine.state.Load()
	s.lookups.plans, s.lookups.choices = newLists[planKey](lookupCacheSize, 0, bound, s.lookups.plans.length),
		newLists[choiceKey](lookupCacheSize, 0, bound, s.lookups.choices.length)
	before := heapBytes()
	for i := range 12 {
		sums := make([]string, 60)
		for k := range sums {
			sums[k] = fmt.Sprintf("sum(age + %d)", 1000*i+k)
		}
		w.mustBind(t, "SELECT "+strings.Join(sums, ", ")+" FROM patients")
		if plans, choices := s.lookups.plans.held.Load(), s.lookups.choices.held.Load(); plans > bound || choices > bound {
			t.Fatalf("plans of %d bytes, and %d with mechanisms, are kept", plans, choices)
		}
	}
	if n := s.lookups.choices.cache.Len(); n < 2 || n == 12 {
		t.Errorf("%d of 12 statements are kept", n)
	}
	if more := heapBytes() - before; more > 2*bound+others {
		t.Errorf("%d MB are taken", more>>20)
	}
	runtime.KeepAlive(w)
}

// heapBytes is what is in use.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRepeatedStatementsAskOnce: constants are asked for once for each list of values, and each time where they may
// read the clock.
func TestRepeatedStatementsAskOnce(t *testing.T) {
	const plain, clock = "SELECT count(*) FROM patients WHERE age > $1",
		"SELECT count(*) FROM patients WHERE age > $1 AND now() > '2020-01-01 00:00:00+00'"
	for _, c := range []struct {
		name, sql string
		values    [][]string
		want      int32
	}{
		{"the same value", plain, [][]string{{"7"}, {"7"}, {"7"}}, 1},
		{"another value", plain, [][]string{{"7"}, {"8"}, {"7"}}, 2},
		{"the clock", clock, [][]string{{"7"}, {"7"}}, 2},
		{"no value", "SELECT count(*) FROM patients WHERE age > 7", [][]string{nil, nil}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			plans := map[any]bool{}
			for _, values := range c.values {
				plans[w.mustBind(t, c.sql, values...).calibrated] = true
			}
			if got := w.fake.asked.Load(); got != c.want {
				t.Errorf("asked %d times, want %d", got, c.want)
			}
			if c.want == 1 && len(plans) != 1 {
				t.Errorf("%d plans, want 1", len(plans))
			}
		})
	}
}

// TestAnswersOfTheirDay: an answer that follows from the clock is kept for its own time: asked again on that day it is
// free, and another day's is never given as today's, whatever of the statement reads the clock.
func TestAnswersOfTheirDay(t *testing.T) {
	for _, c := range []struct{ name, sql string }{
		{"a day", "SELECT count(*) FROM patients WHERE admitted < current_date"},
		{"a moment", "SELECT count(*) FROM patients WHERE admitted < now()"},
		{"a word", "SELECT count(*) FROM patients WHERE admitted < 'today'"},
		{"a key", "SELECT admitted < current_date, count(*) FROM patients GROUP BY 1"},
		{"an average", "SELECT avg(current_date - admitted) FROM patients"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "age: {bounds: [0, 120]}",
				"age: {bounds: [0, 120]}\n      admitted: {bounds: [2020-01-01, 2030-12-31]}")
			for _, at := range []struct{ day, left string }{
				{"2026-01-01", "75"},
				{"2026-01-01", "75"},
				{"2026-01-02", "25"},
				{"2026-01-01", "25"},
			} {
				w.fake.clock = map[string]string{"now": at.day + " 00:00:00+00", "today": at.day}
				rows, err := w.mustCharge(t, c.sql).Execute(w.ctx)
				if err != nil {
					t.Fatal(err)
				}
				rows.Close()
				if left := w.left(); left != at.left {
					t.Errorf("on %s epsilon %s is left, want %s", at.day, left, at.left)
				}
			}
		})
	}
}

// TestValuesThatReadTheClock: what a type's input function may read the clock for is asked for each time.
func TestValuesThatReadTheClock(t *testing.T) {
	for _, c := range []struct {
		oid   uint32
		value string
		want  bool
	}{
		{23, "7", false},
		{25, "today", false},
		{1082, "2026-01-01", false},
		{1082, "today", true},
		{1184, "NOW", true},
		{1182, "{2026-01-01,Tomorrow}", true},
		{3912, "[yesterday,2026-01-01)", true},
		{99999, "(now)", true},
		{1186, "1 day", false},
	} {
		if got := readsClock(c.oid, c.value); got != c.want {
			t.Errorf("readsClock(%d, %q) = %v", c.oid, c.value, got)
		}
	}
}

// TestSettingsChooseOtherMechanisms: a statement that repeats under another ε, margin or analyst is calibrated for it.
func TestSettingsChooseOtherMechanisms(t *testing.T) {
	w := newWorld(t)
	settings := w.scope.Settings
	for range 2 {
		for _, c := range []struct {
			setting, value string
			from, to       float64
		}{{"timezone", "UTC", 50, 50}, {"dpproxy.epsilon", "2", 2, 2}, {"dpproxy.margin", "30", 0, 1.999}} {
			w.scope.Settings = settings.With(c.setting, c.value)
			if got := w.mustBind(t, question).charge.Epsilon; got < c.from || got > c.to {
				t.Errorf("%s = %q: ε = %g, want %g to %g", c.setting, c.value, got, c.from, c.to)
			}
		}
	}
}
