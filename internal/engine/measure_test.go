package engine

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/session"
)

func (w *world) mustBind(t *testing.T, sql string) *private {
	t.Helper()
	b, err := w.bind(sql)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*private)
}

// TestMeasureFailed: (what went wrong, whether the client has cancelled since) → (what the client sees, whether it counts). A
// cancel counts only where it ended the measure: one that comes later must not leave a failure uncounted.
func TestMeasureFailed(t *testing.T) {
	const failed, canceled = "ERROR XX000 the main database failed while measuring", "ERROR 57014 canceling statement due to user request"
	for _, c := range []struct {
		name   string
		err    error
		cancel bool
		sees   string
		counts bool
	}{
		{"main failed", mainFailed{}, false, failed, true},
		{"main failed, and a cancel came after", mainFailed{}, true, failed, true},
		{"main was lost", mainFailed{lost: true}, false, failed, false},
		{"main was lost, and a cancel came after", mainFailed{lost: true}, true, failed, false},
		{"a cancel ended the measure", errCanceled, true, canceled, false},
		{"main has changed", faults["unproven"], false, failed, false},
		{"main was busy", faults["busy"], false, "ERROR 53300 no connection became free", false},
		{"main answered with other columns than planned", errMeasureShape, false, failed, true},
		{"an error without a name", errors.New("a private value"), false, failed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.mustBind(t, question)
			if c.cancel {
				w.cancel(errCanceled)
			}
			if got := errorText(p.measureFailed(w.ctx, c.err)); got != c.sees {
				t.Errorf("the client sees %q, want %q", got, c.sees)
			}
			if counted := w.count("fail") == 1; counted != c.counts {
				t.Errorf("counted: %v, want %v", counted, c.counts)
			}
		})
	}
}

// TestMeasureShape: rows of another shape than planned end the measure and never reach a client.
func TestMeasureShape(t *testing.T) {
	for name, row := range map[string]backend.MeasureRow{
		"no such group":       {Integers: []int64{2, 41}},
		"group 0":             {Integers: []int64{0, 41}},
		"an integer is short": {Integers: []int64{1}},
		"an integer too many": {Integers: []int64{1, 41, 41}},
	} {
		w := newWorld(t)
		p := w.mustBind(t, question)
		w.fake.rows = []backend.MeasureRow{row}
		if _, err := p.askMain(w.ctx, nil); !errors.Is(err, errMeasureShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFinishIsBounded: released values may be joined with generate_series. The answer is charged and kept.
func TestFinishIsBounded(t *testing.T) {
	w := newWorld(t)
	w.fake.result = make([][]byte, 65)
	for i := range w.fake.result {
		w.fake.result[i] = make([]byte, session.MaxStored/64)
	}
	p := w.mustBind(t, question)
	if err := w.engine.Charge(w.ctx, w.scope, p); err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	if _, err := p.Execute(w.ctx); !errors.As(err, &refused) || refused.Code != "54001" {
		t.Errorf("%v, want 54001", err)
	}
	if w.count("keep") != 1 || w.count("close") != 1 {
		t.Errorf("answer kept and connection given back? %v", w.take())
	}
}
