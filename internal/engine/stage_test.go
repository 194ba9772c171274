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

const staged = "SELECT count(*) FROM patients WHERE age > (SELECT count(*) FROM patients)"

// TestStageHolds: that the shadow is asked can be seen, so it waits for a public moment; and what is drawn before,
// nobody sees.
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
