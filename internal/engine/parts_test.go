package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestChargedTwice plays statements whose averages keep a margin: each charge is on disk before what it is for is drawn, and an error in
// between leaves what was charged.
func TestChargedTwice(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"the counts are charged, then the sum, and the answer is kept", `
			> set dpproxy.margin 2
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			spend 2.374
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 21.9% of your budget spent, 78% left, enough for 3 like this
			> ask SELECT avg(age), count(age) FROM patients
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: nothing spent, 78% left
			> left
			left 97.626
			> metrics
			cached 1
			private 1
			charged 27.37
			> set dpproxy.margin 3
			> ask SELECT avg(age), count(age) FROM patients
			check
			spend 25
			measure
			spend 1.515
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 21.2% of your budget spent, 56% left, enough for 2 like this`},
		{"EXPLAIN says what may be charged, and charges nothing", `
			> set dpproxy.margin 2
			> explain SELECT avg(age), count(age) FROM patients
			describe
			check
			row Private answer  (cost=0.00..0.00 rows=1 width=0)
			row share: at most 48% of your budget; 100% is left, enough for at least 2 such
			row margin: count(age): ±0 (95%)
			row margin: avg(age): ±2 (95%) of the average, where its count is large enough
			row epsilon: 25
			> left
			left 125`},
		{"the second charge does not fit: the first stays", `
			> ask SELECT count(*) FROM patients
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask SELECT count(*) FROM patients WHERE age > 30
			describe
			check
			spend 50
			measure
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this
			> set dpproxy.margin 2
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			ERROR 53400 this would take 1.9% of your budget, of which 0% is left
			> left
			left 0
			> ask SELECT avg(age), count(age) FROM patients
			check
			ERROR 53400 this would take 20% of your budget, of which 0% is left`},
		{"the ledger does not take the second charge: nothing more is drawn", `
			> set dpproxy.margin 2
			> fault spend not
			> fault spend disk
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			ERROR 58030 the budget ledger is unavailable
			> left
			left 100
			> ask SELECT avg(age), count(age) FROM patients
			check
			spend 25
			measure
			spend 2.374
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 21.9% of your budget spent, 58% left, enough for 2 like this`},
		{"the failures are used up by then", `
			> set dpproxy.margin 2
			> fault spend not
			> fault spend used up
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			ERROR 55000 failures are used up
			> left
			left 100`},
		{"cancelled while main measures: there is no second charge", `
			> set dpproxy.margin 2
			> bind a SELECT avg(age), count(age) FROM patients
			describe
			check
			> charge a
			spend 25
			> cancel at measure
			> run a
			measure
			ERROR 57014 canceling statement due to user request
			> left
			left 100`},
		{"cancelled at the second charge: nothing more is drawn", `
			> set dpproxy.margin 2
			> bind a SELECT avg(age), count(age) FROM patients
			describe
			check
			> charge a
			spend 25
			> cancel at spend
			> run a
			measure
			ERROR 57014 canceling statement due to user request
			> left
			left 100`},
		{"main fails: there is no second charge", `
			> set dpproxy.margin 2
			> fault measure error
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			fail
			ERROR XX000 the main database failed while measuring
			> left
			left 100`},
		{"main is lost and measures again: each is charged once", `
			> set dpproxy.margin 2
			> fault measure lost
			> ask SELECT avg(age), count(age) FROM patients
			describe
			check
			spend 25
			measure
			measure
			spend 2.374
			keep
			run on shadow
			close
			row 20 | 41
			SELECT 1
			NOTICE dpproxy: 21.9% of your budget spent, 78% left, enough for 3 like this
			> left
			left 97.626`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.fake.result = [][]byte{[]byte("20"), []byte("41")}
			w.run(t, c.transcript)
		})
	}
}

// TestChargedInThreeParts: a count that is there for an average alone is charged for what tells how many rows there are, then for what the
// margin needs, and then the sum. Each part is on disk before it is drawn, and what fails leaves what was charged.
func TestChargedInThreeParts(t *testing.T) {
	const sql = "SELECT avg(age), 7 FROM patients"
	asking := func(failing int) *world {
		w := newWorld(t)
		w.fake.result = [][]byte{[]byte("20"), []byte("7")}
		w.do(t, "set dpproxy.margin 2")
		for i := 1; i <= failing; i++ {
			w.do(t, map[bool]string{true: "fault spend disk", false: "fault spend not"}[i == failing])
		}
		return w
	}
	w := asking(0)
	w.do(t, "ask "+sql)
	if w.count("spend") != 3 || w.count("row") != 1 {
		t.Errorf("asked: %q", w.take())
	}
	before, first := w.left(), w.take()
	w.do(t, "ask "+sql)
	free := func(line string) bool { return strings.HasPrefix(line, "NOTICE dpproxy: nothing spent") }
	if lines := w.take(); w.left() != before || !slices.ContainsFunc(lines, free) {
		t.Errorf("asked again after %q: %q, %s left", first, lines, w.left())
	}
	for failing := 1; failing <= 3; failing++ {
		w := asking(failing)
		b, err := w.bind(sql)
		if err != nil {
			t.Fatal(err)
		}
		if err = w.engine.Charge(w.ctx, w.scope, b); err == nil {
			_, err = b.Execute(w.ctx)
		}
		var told *pgconn.PgError
		if !errors.As(err, &told) || told.Code != "58030" || strings.HasSuffix(told.Hint, "stays charged.") != (failing > 1) {
			t.Errorf("part %d fails: %v", failing, err)
		}
		if w.count("spend") != failing-1 || w.count("keep") > 0 || (w.left() == "125") != (failing == 1) {
			t.Errorf("part %d fails: %s is left after %q", failing, w.left(), w.take())
		}
	}
}
