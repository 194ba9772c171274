package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// TestWhatAStatementWorksWith follows from public facts: declared keys count exactly; groups that partition selection
// chooses among, and steps of a histogram, as far as rows of the table and steps of the grid bound them.
func TestWhatAStatementWorksWith(t *testing.T) {
	const key = valueWork
	for _, c := range []struct {
		sql, ward, most string
		exact, open     int64
	}{
		{sql: "SELECT count(*) FROM patients", exact: groupWork + valueWork},
		{sql: "SELECT count(*) FROM patients WHERE age > 7 GROUP BY ward", exact: 2 * (groupWork + key + valueWork)},
		{sql: "SELECT ward, count(*) FROM patients GROUP BY ward", ward: "{}", open: 100000 * (groupWork + key + valueWork)},
		{sql: "SELECT ward, count(*) FROM patients GROUP BY ward", ward: "{}", most: "{}", open: 1 << 60},
		{
			sql: "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) FROM patients", exact: groupWork + valueWork,
			open: 121 * binWork,
		},
	} {
		replace := []string{}
		if c.ward != "" {
			replace = append(replace, "ward: {values: [north, south]}", "ward: "+c.ward)
		}
		if c.most != "" {
			replace = append(replace, "    max_rows: 100000\n", "")
		}
		bound := newWorld(t, append(replace, "accounting: {method: pure}",
			"accounting: {method: rdp, delta: 1e-6}")...).mustBind(t, c.sql)
		if exact, open := workingMemory(bound.Plan, nil); exact != c.exact || open != c.open {
			t.Errorf("%s: %d bytes and at most %d, want %d and %d", c.sql, exact, open, c.exact, c.open)
		}
	}
}

// TestMemoryOfRunningStatements is taken before the charge, whatever rows main has, and given back however a statement
// ends.
func TestMemoryOfRunningStatements(t *testing.T) {
	const limit = 1 << 20
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		fault string // what fails
		void  bool
		rows  []backend.MeasureRow
	}{
		"answered":         {},
		"of no row":        {rows: []backend.MeasureRow{}},
		"main fails":       {fault: "measure"},
		"no charge":        {fault: "spend"},
		"no finish":        {fault: "run"},
		"no row to send":   {fault: "row"},
		"not executed":     {void: true},
		"cancelled":        {fault: "cancel"},
		"the answer fails": {fault: "later"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fake.rows = c.rows
			account := memory.New(limit).Open("alice")
			w.scope.Memory = account
			taken := func() bool { // of alice's half
				release, err := account.Work(context.Background(), limit/2, 0, time.Nanosecond)
				if err == nil {
					release()
				}
				return err != nil
			}
			w.on("measure", func() error {
				if !taken() {
					t.Error("nothing is taken while it runs")
				}
				if c.fault == "cancel" {
					w.cancel(failure)
				}
				if c.fault == "measure" {
					return failure
				}
				return nil
			})
			if c.fault != "" && c.fault != "measure" {
				w.on(c.fault, func() error { return failure })
			}
			for range 2 { // the second time the answer may be known
				bound, err := w.bind("SELECT ward, count(*) FROM patients GROUP BY ward")
				if err != nil {
					continue // a failure is remembered
				}
				if taken() {
					t.Error("something is taken before the charge")
				}
				switch err := w.engine.Charge(w.ctx, w.scope, bound); {
				case err != nil:
				case c.void:
					bound.(*private).Void()
				default:
					if rows, err := bound.Execute(w.ctx); err == nil {
						rows.Close()
					}
				}
				if taken() {
					t.Error("something is still taken")
				}
			}
		})
	}
}

// TestTooManyGroupsCostNothing: what is declared may be too large for the memory that there is, which is said before
// the charge. What may be larger for private rows alone is answered.
func TestTooManyGroupsCostNothing(t *testing.T) {
	for _, c := range []struct {
		ward, most string
		refused    bool
	}{{"{values: [north, south]}", "", true}, {"{}", "", false}, {"{}", "{}", false}} {
		replace := []string{
			"ward: {values: [north, south]}", "ward: " + c.ward, "accounting: {method: pure}",
			"accounting: {method: rdp, delta: 1e-6}",
		}
		if c.most != "" {
			replace = append(replace, "    max_rows: 100000\n", "")
		}
		w := newWorld(t, replace...)
		w.scope.Memory = memory.New(2 * groupWork).Open("alice")
		bound := w.mustBind(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
		foreseen, err := w.bind("EXPLAIN SELECT ward, count(*) FROM patients GROUP BY ward")
		if err != nil {
			t.Fatal(err)
		}
		if lines := foreseen.(explained).lines; slices.Contains(
			lines, "it would be refused: out of memory for this statement") != c.refused {
			t.Errorf("ward: %s: EXPLAIN says %q", c.ward, lines)
		}
		if exact, open := workingMemory(bound.Plan, nil); (exact == 0) == (open == 0) {
			t.Fatalf("%d and %d bytes", exact, open)
		}
		before := w.left()
		err = w.engine.Charge(w.ctx, w.scope, bound)
		var e *pgconn.PgError
		if refused := errors.As(err, &e) && e.Code == pgerr.OutOfMemory && e.Hint != ""; refused != c.refused || !refused &&
			err != nil {
			t.Errorf("ward: %s: %v", c.ward, err)
		}
		if refused := w.left() == before; refused != c.refused {
			t.Errorf("ward: %s: %s is left of %s", c.ward, w.left(), before)
		}
	}
}

// TestPanicWhileCharging: a connection that ends so gives back what its statement was to work with.
func TestPanicWhileCharging(t *testing.T) {
	const limit = 1 << 20
	w := newWorld(t)
	w.scope.Memory = memory.New(limit).Open("alice")
	w.on("spend", func() error { panic("a fault") })
	bound := w.mustBind(t, "SELECT ward, count(*) FROM patients GROUP BY ward")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing has panicked")
			}
		}()
		_ = w.engine.Charge(w.ctx, w.scope, bound)
	}()
	if _, err := w.scope.Memory.Work(context.Background(), limit/2, 0, time.Nanosecond); err != nil {
		t.Error(err)
	}
}
