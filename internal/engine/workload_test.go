package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/memory"
)

const otherSlice = "SELECT count(*) FROM patients WHERE ward = 'south'"

// together has statements be asked together with what comes.
func (w *world) together(t *testing.T, sql string) {
	t.Helper()
	list, err := w.engine.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	w.scope.Workload = list
}

// TestAskedAsTable: a slice that is asked as its table is charged what it is alone, and has the noise that it has alone.
// Its number is that of the table, from which the others follow.
func TestAskedAsTable(t *testing.T) {
	for _, method := range []string{"pure", "rdp"} {
		rules := append(noisy, "{method: pure}", "{method: "+method+"}")
		if method == "rdp" {
			rules = append(rules, "budget: {epsilon: 125}", "budget: {epsilon: 125, delta: 1e-6}")
		}
		alone := newWorld(t, rules...).answered(t, slice)
		w := newWorld(t, rules...)
		w.together(t, otherSlice+"; SELECT nothing FROM patients; SELECT 1; SELECT count(*) FROM patients WHERE age = $1")
		p := w.answered(t, slice)
		if p.table == nil || p.table.others != 1 {
			t.Fatalf("%s: it is asked as itself", method)
		}
		if p.spent != alone.spent || p.spent.share == 0 || p.account.Epsilon != alone.account.Epsilon {
			t.Errorf("%s: it is charged %v, alone %v", method, p.spent, alone.spent)
		}
		if p.account.Fingerprint != p.table.Plan.Fingerprint || p.account.Verdict != "private" {
			t.Errorf("%s: its account is %v", method, p.account)
		}
		got, want := p.Mechanisms[0].Releases[0].Chosen().RMSEAverage, alone.Mechanisms[0].Releases[0].Chosen().RMSEAverage
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: its error is %g, alone %g", method, got, want)
		}
		w.scope.Workload = nil
		of := w.answered(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		for i, sql := range []string{slice, otherSlice} {
			q := w.answered(t, sql)
			if q.spent.epsilon != 0 || q.answer[0].Values[0][0] != of.answer[0].Values[0][i] {
				t.Errorf("%s: %s is %d at epsilon %g, in its table %d", method, sql, q.answer[0].Values[0][0], q.spent.epsilon,
					of.answer[0].Values[0][i])
			}
		}
		if p.answer[0].Values[0][0] != of.answer[0].Values[0][0] {
			t.Errorf("%s: it is another number than in its table", method)
		}
		if text := strings.Join(p.told(), " "); !strings.Contains(text, "Asked as SELECT count(*), ward FROM patients GROUP BY ward") {
			t.Errorf("%s: the analyst is told: %s", method, text)
		}
	}
}

// TestAskedAsItself: a slice is asked as itself where nothing else follows from its table, and where what it costs, or
// what it is worth, could be another.
func TestAskedAsItself(t *testing.T) {
	limited := memory.New(100).Open("alice")
	for name, c := range map[string]struct {
		together string
		rules    []string
		change   func(*world)
	}{
		"nothing beside it":  {together: ""},
		"the same":           {together: slice + "; SELECT count(*) FROM patients WHERE 'north' = ward"},
		"other rows":         {together: otherSlice + " AND age > 1"},
		"another aggregate":  {together: "SELECT sum(age) FROM patients WHERE ward = 'south'"},
		"a sum of groups":    {together: "SELECT count(*) FROM patients WHERE ward IN ('north', 'south')"},
		"only explained":     {together: "EXPLAIN " + otherSlice},
		"answers not kept":   {together: otherSlice, rules: []string{"ttl: 1h", "ttl: 0s"}},
		"a first look":       {together: otherSlice, rules: []string{noisy[0], noisy[1] + ", margin: 10%"}},
		"little memory":      {together: otherSlice, change: func(w *world) { w.scope.Memory = limited }},
		"a key that differs": {together: "SELECT count(*) FROM patients WHERE age = 2"},
		"a margin": {together: otherSlice, change: func(w *world) {
			w.scope.Settings = w.scope.Settings.With("dpproxy.margin", "5")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(c.rules, noisy...)...)
			if c.change != nil {
				c.change(w)
			}
			w.together(t, c.together)
			if b, err := w.bind(slice); err == nil && b.(*private).table != nil {
				t.Error("it is asked as its table")
			} else if err != nil {
				t.Fatal(err)
			}
			if w.together(t, c.together+";"+otherSlice); c.rules == nil && c.change == nil && w.mustBind(t, slice).table == nil {
				t.Error("beside another slice it is asked as itself")
			}
		})
	}
}

// TestKnownBeforeItsTable: where a slice's own answer is known once it is to be charged, no table is.
func TestKnownBeforeItsTable(t *testing.T) {
	w := newWorld(t, noisy...)
	w.together(t, otherSlice)
	p := w.mustBind(t, slice)
	w.scope.Workload = nil
	first := w.answered(t, slice)
	if err := w.engine.Charge(w.ctx, w.scope, p); err != nil {
		t.Fatal(err)
	}
	rows, err := p.Execute(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if p.spent.epsilon != 0 || p.answer[0].Values[0][0] != first.answer[0].Values[0][0] {
		t.Errorf("it is charged epsilon %g", p.spent.epsilon)
	}
}

// TestWorkloadPrice: what EXPLAIN says that a workload takes is what it is charged.
func TestWorkloadPrice(t *testing.T) {
	w := newWorld(t, append(noisy, "epsilon: 50", "epsilon: 1")...)
	list := []string{
		slice, otherSlice, "SELECT ward, count(*) FROM patients GROUP BY ward", "SELECT count(*) FROM patients",
		"SELECT avg(age) FROM patients WHERE ward = 'north'", slice, "SELECT count(*) FROM wards", "SELECT id FROM patients",
	}
	w.together(t, strings.Join(list[1:], "; "))
	x, err := w.bind("EXPLAIN " + slice)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(x.(explained).lines, "\n")
	charged, share := 0, 0.0
	for i, sql := range list[:6] {
		w.together(t, strings.Join(list[i+1:], "; "))
		p := w.answered(t, sql)
		if share += p.spent.share; p.spent.share > 0 {
			charged++
		}
	}
	want := fmt.Sprintf("workload: %s of your budget for all; charged are %d of 5 different statements", ledger.Percent(share), charged)
	if charged != 3 || !strings.Contains(told, want) {
		t.Errorf("%s, want %s", told, want)
	}
}

// TestWorkloadOfExplained: statements that are explained in one message are planned as if they were asked.
func TestWorkloadOfExplained(t *testing.T) {
	w := newWorld(t)
	w.together(t, "EXPLAIN "+otherSlice+"; EXPLAIN (FORMAT JSON) "+slice)
	x, err := w.bind("EXPLAIN " + slice)
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(x.(explained).lines, "\n"); !strings.Contains(told, "charged are 1 of 2 different statements. Asked as") {
		t.Error(told)
	}
}

// TestTableOfBefore: a table whose answer is kept, though it is not remembered, is free.
func TestTableOfBefore(t *testing.T) {
	w := newWorld(t, noisy...)
	w.together(t, otherSlice)
	first := w.answered(t, slice)
	w.engine.kept = newKeptStatements()
	again := w.answered(t, slice)
	if again.table == nil || again.spent.epsilon != 0 || again.answer[0].Values[0][0] != first.answer[0].Values[0][0] {
		t.Errorf("it is charged epsilon %g", again.spent.epsilon)
	}
}

// TestWorkloadOverBudget: EXPLAIN says that all together are more than is left.
func TestWorkloadOverBudget(t *testing.T) {
	w := newWorld(t)
	w.together(t, "SELECT count(*) FROM patients WHERE age = 1; SELECT sum(age) FROM patients; SELECT count(*) FROM patients")
	x, err := w.bind("EXPLAIN " + slice)
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(x.(explained).lines, "\n"); !strings.Contains(told, "workload: all together would be refused") {
		t.Error(told)
	}
}
