package engine

import (
	"reflect"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
)

const (
	reading      = "SELECT count(*) FROM patients WHERE age IN (SELECT count(*) FROM wards ORDER BY 1 LIMIT 3)"
	readingClock = "SELECT count(*) FROM patients WHERE age IN (SELECT count(*) FROM wards WHERE now() > '2030-01-01' ORDER BY 1 LIMIT 3)"
)

// TestLookupReadsOnce: a query over public tables is read at Bind, before anything is charged, and for all who ask the same of late; one that
// reads the clock is read each time (docs/privacy.md P4g).
func TestLookupReadsOnce(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"it is read at Bind, and its rows are part of the question", `
			> ask ` + reading + `
			describe
			describe
			stage on public with []
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask ` + reading + `
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left`},
		{"one that fails costs nothing", `
			> fault stage unreadable
			> ask ` + reading + `
			describe
			describe
			stage on public with []
			ERROR 22P02 invalid input syntax
			> left
			left 125`},
		{"one that reads the clock is read anew, and the same rows are the same question", `
			> ask ` + readingClock + `
			describe
			describe
			stage on public with []
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask ` + readingClock + `
			stage on public with []
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left`},
	} {
		t.Run(c.name, func(t *testing.T) { newWorld(t).run(t, c.transcript) })
	}
}

// TestPlansAreOfTheirSettings: what is read under any setting that a backend gets belongs to sessions that have the same (docs/privacy.md P4g).
func TestPlansAreOfTheirSettings(t *testing.T) {
	others := map[string]string{
		"timezone": "Asia/Tokyo", "datestyle": "SQL, DMY", "intervalstyle": "iso_8601", "extra_float_digits": "-15", "bytea_output": "escape",
	}
	if n := reflect.TypeFor[backend.Settings]().NumField(); n != len(others) {
		t.Errorf("%d settings reach a backend, and %d are tried: add the others", n, len(others))
	}
	w := newWorld(t)
	plain := w.scope
	plan := func() any {
		t.Helper()
		bound, err := w.bind(reading)
		if err != nil {
			t.Fatal(err)
		}
		return bound.(*private).Plan
	}
	first := plan()
	for name, value := range others {
		w.scope.Settings = plain.Settings.With(name, value)
		if backendSettings(w.scope) == backendSettings(plain) {
			t.Errorf("%s does not reach a backend", name)
		}
		read := w.count("stage")
		if plan() == first || w.count("stage") != read+1 {
			t.Errorf("with %s = %s a statement has the plan of a session without", name, value)
		}
		if plan(); w.count("stage") != read+1 {
			t.Errorf("with %s = %s a statement is planned each time", name, value)
		}
	}
	w.scope = plain
	if plan() != first {
		t.Error("the first plan is forgotten")
	}
}
