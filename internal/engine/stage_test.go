package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/gate/gatetest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

const (
	staged  = "SELECT count(*) FROM patients WHERE age > (SELECT count(*) FROM patients)"
	clocked = "SELECT count(*) FROM patients WHERE age > (SELECT CASE WHEN now() > '2030-01-01' THEN count(*) ELSE 0 END FROM patients)"
)

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
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask ` + staged + `
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: nothing spent, 60% left
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
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this`},
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
		{"a stage that reads the clock is asked anew", `
			> ask ` + clocked + `
			describe
			describe
			check
			spend 50
			measure
			stage
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 60% left, enough for 1 like this
			> ask ` + clocked + `
			check
			spend 50
			measure
			stage
			run on shadow
			close
			row {41}
			SELECT 1
			NOTICE dpproxy: 40% of your budget spent, 20% left, enough for 0 like this`},
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

// TestStageHolds: that the shadow is asked can be seen, so it waits for a public moment; and what is drawn before, nobody sees.
func TestStageHolds(t *testing.T) {
	w := newWorld(t)
	held := errors.New("the statement was cancelled while it held")
	m := &measuring{private: w.mustBind(t, staged), hold: func() error { return held }}
	m.exact, m.receipt = gate.NewMeasured(m.Plan), gatetest.Receipt(m.Plan, m.items(m.first))
	if _, err := m.stageRows(w.ctx, 0); !errors.Is(err, held) || w.count("stage") != 0 || len(m.answer) != 1 {
		t.Errorf("%v; the shadow was asked %d times, and %d blocks are drawn", err, w.count("stage"), len(m.answer))
	}
}

// TestStagesAreBounded: main does no more with a value than its work was counted for (docs/privacy.md P22a).
func TestStagesAreBounded(t *testing.T) {
	stage := rewrite.Stage{Rows: 9000, List: rewrite.Query{Types: []uint32{pgtype.TextOID, pgtype.NumericOID}}}
	rows := func(n int, text, number rewrite.Canonical) [][]*rewrite.Canonical {
		var all [][]*rewrite.Canonical
		for range n {
			all = append(all, []*rewrite.Canonical{&text, &number})
		}
		return append(all, []*rewrite.Canonical{nil, nil})
	}
	digits := rewrite.Canonical(strings.Repeat("7", 40))
	long := rewrite.Canonical(strings.Repeat("ä", 1024))
	for name, c := range map[string]struct {
		rows    [][]*rewrite.Canonical
		refused bool
	}{
		"no rows":         {nil, false},
		"the most rows":   {rows(8999, "x", "1"), false},
		"a row too many":  {rows(9000, "x", "1"), true},
		"a long text":     {rows(1, long, "1"), false},
		"a longer text":   {rows(1, long+"x", "1"), true},
		"a long number":   {rows(1, "x", "-0."+digits), false},
		"a longer number": {rows(1, "x", "-0."+digits+"7"), true},
		"much text":       {rows(8999, long, "1"), true},
	} {
		if err := checkStage(stage, c.rows); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
