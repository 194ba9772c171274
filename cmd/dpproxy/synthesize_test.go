package main

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestSynthesize: what the command refuses before anything is charged, what it would ask, and what it says of a twin.
func TestSynthesize(t *testing.T) {
	s := newSite(t)
	t.Cleanup(func() {
		pgservertest.Exec(t, pgservertest.Start(t).DSN("postgres", pgserver.Superuser),
			"DROP DATABASE IF EXISTS "+s.database+"_synthetic WITH (FORCE)")
	})
	fails := func(want string, args ...string) {
		t.Helper()
		if out, said, err := s.outcome(append([]string{"synthesize"}, args...)...); err == nil || !strings.Contains(said, want) {
			t.Errorf("synthesize %v: %v\n%s%s, want %q", args, err, out, said, want)
		}
	}
	fails("the policy has no twin: add `synthetic: {epsilon: 3", "--epsilon", "3")
	s.text = strings.Replace(s.text, "\nanalysts:", "\nrows: synthetic\nsynthetic: {epsilon: 3, every: 30d}\nanalysts:", 1)
	s.write(s.text)
	fails("run dpproxy setup", "--epsilon", "3")
	s.run("setup")
	fails("--epsilon must be above 0", "--epsilon", "0")
	fails("is not a private table of the policy", "--epsilon", "3", "--table", "nobody")
	fails("more than the whole", "--epsilon", "4")
	fails("nothing was charged: a twin at epsilon 4", "--epsilon", "4")

	out, said, err := s.outcome("synthesize", "--dry-run") // all of it: 3
	if err != nil || !strings.Contains(out, "rows of public.people, at epsilon 0.15") || !strings.Contains(out, "public.people by age") {
		t.Errorf("dry run: %v\n%s%s", err, out, said)
	}
	out, said, err = s.outcome("synthesize", "--epsilon", "2", "--due")
	if err != nil || !strings.Contains(said, " of its budget is spent, ") || !strings.HasPrefix(out, "public.people: ") {
		t.Errorf("%v\n%s%s", err, out, said)
	}
	if _, said, err := s.outcome("synthesize", "--epsilon", "1", "--due"); err != nil || !strings.Contains(said, "not due until 2") {
		t.Errorf("%v\n%s", err, said)
	}
	fails("synthetic.every is the period of its budget", "--epsilon", "2")
	if drawn, _, err := s.outcome("synthesize", "--epsilon", "1"); err != nil {
		t.Errorf("what is left: %v\n%s", err, drawn)
	}
}
