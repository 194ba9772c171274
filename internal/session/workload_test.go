package session

import (
	"strings"
	"testing"
)

// TestWorkload: a statement of a simple query is planned together with those behind it; a cursor, or what an EXECUTE or
// the extended protocol runs, with none.
func TestWorkload(t *testing.T) {
	s := open(t, nil)
	s.ask(t, "PREPARE p AS SELECT counts(1); SELECT rows(1, 1); EXECUTE p; SHOW timezone; SELECT rows(2, 1)")
	s.ask(t, "BEGIN; DECLARE c CURSOR FOR SELECT rows(3, 1); FETCH c; SELECT rows(4, 1); COMMIT")
	s.say(t, "P q | SELECT rows(5, 1)\nB | q\nE\nS")
	var got []string
	for _, scope := range s.engine.scopes {
		var behind []string
		for _, st := range scope.Workload {
			behind = append(behind, st.SQL)
		}
		got = append(got, strings.Join(behind, "; "))
	}
	expect(t, "behind each", got, "EXECUTE p; SHOW timezone; SELECT rows(2, 1)", "", "", "", "COMMIT", "")
}

// TestWorkloadSetting: dpproxy.workload takes statements whose syntax is right, and not too many.
func TestWorkloadSetting(t *testing.T) {
	s := open(t, nil)
	shown := func() string {
		t.Helper()
		return strings.Join(s.ask(t, "SHOW dpproxy.workload"), "\n")
	}
	const list = "SELECT rows(1, 1); SELECT ''a;''"
	s.ask(t, "BEGIN; SET LOCAL dpproxy.workload = '"+list+"'")
	if got := shown(); !strings.Contains(got, "SELECT rows(1, 1); SELECT 'a;'") {
		t.Errorf("inside the transaction: %s", got)
	}
	s.ask(t, "COMMIT")
	if got := shown(); strings.Contains(got, "SELECT rows") {
		t.Errorf("behind the transaction: %s", got)
	}
	for name, c := range map[string]struct{ value, want string }{
		"wrong syntax": {"SELECT 1; SELEC", "22023"},
		"too many":     {strings.Repeat("SELECT 1; ", MostTogether+1), "22023"},
		"as many":      {strings.Repeat("SELECT 1; ", MostTogether), "SET"},
		"too long":     {"SELECT " + strings.Repeat("1", maxWorkloadBytes), "22023"},
		"none":         {"", "SET"},
	} {
		if got := strings.Join(s.ask(t, "SET dpproxy.workload = '"+c.value+"'"), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, asked := range s.engine.log {
		if strings.HasPrefix(asked, "charge") {
			t.Error(asked)
		}
	}
}
