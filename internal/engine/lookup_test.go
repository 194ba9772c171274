package engine

import "testing"

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
			NOTICE dpproxy: epsilon 50 spent, 75 left
			> ask ` + reading + `
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: epsilon 0 spent, 75 left`},
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
			NOTICE dpproxy: epsilon 50 spent, 75 left
			> ask ` + readingClock + `
			stage on public with []
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: epsilon 0 spent, 75 left`},
	} {
		t.Run(c.name, func(t *testing.T) { newWorld(t).run(t, c.transcript) })
	}
}
