package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestChargedInParts: a count that is there for an average alone is charged for what tells how many rows there are, then
// a sum for what tells how large the average is, then the count where the margin needs it better, and then the sum. Each
// part is on disk before it is drawn, and what fails leaves what was charged.
func TestChargedInParts(t *testing.T) {
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
	if w.count("spend") < 3 || w.count("spend") > 4 || w.count("row") != 1 {
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
		b := w.mustBind(t, sql)
		err := w.engine.Charge(w.ctx, w.scope, b)
		if err == nil {
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
