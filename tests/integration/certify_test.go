package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCertifyCommand: an auditor has a statement's queries for main from EXPLAIN (FORMAT JSON), and what follows from
// them from `dpproxy certify`, which does not believe them: a wider clamp beside the same claim is no longer certified.
func TestCertifyCommand(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	const statement = "SELECT count(*), sum(least(age, 90)) FROM patients"
	text, err := p.command("certify", statement).CombinedOutput()
	for _, part := range []string{"\n  certified: yes\n", "\n  output 2: integer, moves by "} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%v: no %q in\n%s", err, part, text)
		}
	}
	var plan string
	if err := p.connect().QueryRow(context.Background(), "EXPLAIN (FORMAT JSON) "+statement).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "queries.json")
	measure := func(queries string) (bool, string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(queries), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := p.command("certify", "--json", "--measure", file).Output()
		var readings []struct {
			Certified  bool
			Missing    string
			Derivation []any
		}
		if problem := json.Unmarshal(out, &readings); problem != nil || len(readings) != 1 ||
			len(readings[0].Derivation) == 0 {
			t.Fatalf("%v, %v: %s", err, problem, out)
		}
		if r := readings[0]; r.Certified != (err == nil) {
			t.Errorf("certified %t, and the command ends with %v", r.Certified, err)
		}
		return readings[0].Certified, readings[0].Missing
	}
	if certified, missing := measure(plan); !certified {
		t.Errorf("what EXPLAIN gives: %s", missing)
	}
	wider := strings.ReplaceAll(plan, ", 90)", ", 900)")
	if certified, missing := measure(wider); wider == plan || certified || !strings.Contains(missing, "moves by") {
		t.Errorf("a wider clamp: %q: %s", missing, wider)
	}
}
