package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestAddedTable: check --live names what has been made since and leads to people, init --add writes it into the policy
// beside its comments, and after setup check has nothing more to say of it.
func TestAddedTable(t *testing.T) {
	s := newSite(t)
	s.write(s.text + "      # score: {}  # whose it is\n\n# the end\n")
	if out := s.run("check", "--live"); strings.Contains(out, "not listed") {
		t.Errorf("before: %s", out)
	}
	pgservertest.Exec(t, s.admin, `
		CREATE TABLE visits (id bigint PRIMARY KEY, person_id bigint NOT NULL REFERENCES people, cost int CHECK (cost >= 0 AND cost <= 500));
		CREATE TABLE notes (visit_id bigint REFERENCES visits, rank int);
		CREATE TABLE beds (id int PRIMARY KEY)`)
	out := s.run("check", "--live")
	if want := "tables: not listed, so that nobody can ask them, though their rows are people's: " +
		"public.notes (visit_id leads to public.people), public.visits (person_id leads to public.people); " +
		"dpproxy init --add TABLE writes one into the policy\n"; !strings.HasSuffix(out, want+"ok\n") {
		t.Errorf("check --live: %s", out)
	}
	for table, want := range map[string]string{
		"beds":   "no foreign key leads from it to a table that the policy protects",
		"people": "the policy lists people", "nowhere": "there is no table nowhere",
	} {
		if _, said, err := s.outcome("init", "--add", table); err == nil || !strings.Contains(said, want) {
			t.Errorf("init --add %s: %v\n%s", table, err, said)
		}
	}
	visits := `  visits:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 100                        # a person acts as at most so many rows in a whole answer
    # left_out: 0.01                              # at most this share of the rows is beyond that, if you know
    # max_rows: 1000000                           # a public upper bound makes counts two-sided
    columns:
      id: {}                         # bigint
      person_id: {}                  # bigint: the person's key; never returned
      cost: {bounds: [0, 500]}       # integer, from a CHECK constraint
`
	if diff := cmp.Diff(visits, s.run("init", "--add", "visits")); diff != "" {
		t.Errorf("init --add (-want +got):\n%s", diff)
	}
	if notes := s.run("init", "--add", "public.notes"); !strings.Contains(notes, "via: {column: visit_id, references: visits.id}") {
		t.Errorf("init --add: %s", notes)
	}
	text, err := os.ReadFile(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	if want := s.text + "      # score: {}  # whose it is\n\n" + visits + "\n  notes:\n"; !strings.HasPrefix(string(text), want) ||
		!strings.HasSuffix(string(text), "\n\n# the end\n") {
		t.Errorf("the policy is\n%s", text)
	}
	s.run("setup")
	if out := s.run("check", "--live"); strings.Contains(out, "not listed") {
		t.Errorf("after: %s", out)
	}
}
