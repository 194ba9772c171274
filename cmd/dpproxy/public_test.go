package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestPublicByMistake captures what `check`, `check --live` and `serve` say of tables that are declared public though
// they lead to people: what is certain stops all that see the database, what is likely is one line of each, and check,
// which sees only the file, says nothing.
func TestPublicByMistake(t *testing.T) {
	s := newSite(t)
	s.text = strings.Replace(s.text, "databases: {", fmt.Sprintf("databases: {public: %q, ", pgservertest.Start(t).DSN(
		s.database, "cmd_public")), 1)
	pgservertest.Exec(t, s.admin, `
		CREATE TABLE trips (id int PRIMARY KEY, person_id text);
		CREATE TABLE beds (id int PRIMARY KEY, occupant bigint REFERENCES people);
		CREATE TABLE lockers (id int PRIMARY KEY, person_id bigint)`)
	const (
		suspect = `tables.trips.public: it is public, but person_id says person: say refers_to_people: false beside public: true if its rows are nobody's`
		beds    = `tables.beds.public: its foreign key beds_occupant_fkey (occupant) leads to public.people, whose rows are a person's: ` +
			`write privacy_unit: {name: person, column: occupant} in its place; or, if the rows here are facts about the institution and not about that person, ` +
			`write refers_to_people: [occupant] beside public: true`
		lockers = `tables.lockers.public: person_id has the name and type of a person's key: if the rows are theirs, give the table a privacy_unit ` +
			`or take it out of the policy; if not, write refers_to_people: [person_id], or false for the whole table, beside public: true`
	)
	declare := func(tables string) {
		t.Helper()
		s.write(s.text + tables)
		if out, said, err := s.outcome("check"); err != nil || out != "ok\n" || strings.Contains(said, ".public: ") {
			t.Errorf("check: %v\n%s%s", err, out, said)
		}
	}

	declare("  trips: {public: true}\n")
	s.run("setup")
	out, said, err := s.outcome("check", "--live")
	if err != nil || strings.Contains(said, "trips") {
		t.Errorf("check --live: %v\n%s", err, said)
	}
	if diff := cmp.Diff([]string{"advice: " + s.policy + ":14:11: " + suspect}, linesWith(out, ".public: ")); diff != "" {
		t.Errorf("check --live (-want +got):\n%s", diff)
	}
	s.start()
	var warnings []string
	for _, line := range s.log {
		var e struct{ Level, Msg, Suspect string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Level == "WARN" {
			warnings = append(warnings, e.Msg+": "+e.Suspect)
		}
	}
	if diff := cmp.Diff([]string{"a public table looks like people's: " + s.policy + ":14:11: " + suspect}, warnings); diff != "" {
		t.Errorf("serve (-want +got):\n%s", diff)
	}

	declare("  trips: {public: true}\n  beds: {public: true}\n  lockers: {public: true}\n")
	for _, command := range [][]string{{"check", "--live"}, {"serve"}} {
		out, said, err := s.outcome(command...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(out+said, "listening on") {
			t.Errorf("%v: %v\n%s%s", command, err, out, said)
		}
		for _, problem := range []string{beds, lockers} {
			if got := linesWith(said, problem); len(got) != 1 {
				t.Errorf("%v says %d times %q:\n%s", command, len(got), problem, said)
			}
		}
	}

	declare(
		"  trips: {public: true, refers_to_people: false}\n  beds: {public: true, refers_to_people: [occupant]}\n  lockers: {public: true, refers_to_people: [person_id]}\n")
	s.run("setup")
	if out, said, err := s.outcome("check", "--live"); err != nil || len(linesWith(out+said, ".public: ")) > 0 {
		t.Errorf("check --live, of tables that refer to nobody: %v\n%s%s", err, out, said)
	}
}

// outcome runs a command to its end, whatever that is.
func (s *site) outcome(args ...string) (out, said string, err error) {
	cmd := exec.Command("dpproxy", append(args, "--policy", s.policy)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

func linesWith(text, part string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
