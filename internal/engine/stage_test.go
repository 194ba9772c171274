package engine

import "testing"

const staged = "SELECT count(*) FROM patients WHERE age > (SELECT count(*) FROM patients)"

// TestStages: what is released first is charged with the whole, and drawn once.
func TestStages(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"a stage is answered while main waits, and the statement is charged once", `
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			stage
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: epsilon 50 spent, 75 left
			> ask ` + staged + `
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: epsilon 0 spent, 75 left
			> left
			left 75`},
		{"a stage that fails is PostgreSQL's own error over released values: the charge stays, and no failure of main is counted", `
			> fault stage unreadable
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			stage
			ERROR 22P02 invalid input syntax
			> left
			left 75`},
		{"an error over released values passes only where an answer would", `
			> fault stage unreadable
			> fault releasable used up
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			stage
			ERROR 55000 failures are used up
			> left
			left 75`},
		{"main is lost behind a stage: what was drawn is not drawn again", `
			> fault later lost
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			stage
			ERROR XX000 the main database failed while measuring
			> left
			left 75`},
		{"main is lost before a stage: it is asked again", `
			> fault measure lost
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			measure
			stage
			keep
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: epsilon 50 spent, 75 left`},
		{"main fails behind a stage: a failure", `
			> fault later error
			> ask ` + staged + `
			describe
			describe
			check
			spend 50
			measure
			stage
			fail
			ERROR XX000 the main database failed while measuring`},
		{"a stage of another type than main would read costs nothing", `
			> shift
			> ask ` + staged + `
			describe
			describe
			ERROR 0A000 this form of the query cannot be finished over released values
			> left
			left 125`},
	} {
		t.Run(c.name, func(t *testing.T) { newWorld(t).run(t, c.transcript) })
	}
}
