package engine

import (
	"errors"
	"strconv"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
)

// TestMeasureFailed: (what went wrong, whether the client has cancelled since) → (what the client sees, whether it
// counts). A cancel counts only where it ended the measure: one that comes later must not leave a failure uncounted.
func TestMeasureFailed(t *testing.T) {
	const failed, canceled = "ERROR XX000 the main database failed while measuring",
		"ERROR 57014 canceling statement due to user request"
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
		{"main answered with other columns than planned", errors.New("a row of another shape"), false, failed, true},
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
		if _, err := p.askMain(w.ctx, nil); !errors.Is(err, gate.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongAnswersStream: an answer that is not long holds no connection when Execute returns, a longer one until it is
// read or closed. Either is whole, and ends with its tag and notices.
func TestLongAnswersStream(t *testing.T) {
	for _, c := range []struct {
		what   string
		rows   int
		bytes  int
		closed int // connections that are given back before a row is read
	}{{"short", 3, 10, 1}, {"nothing", 0, 0, 1}, {"long", 5, bufferBytes / 2, 0}, {"long at its end", 1, bufferBytes, 0}} {
		for _, read := range []int{0, 1, c.rows + 1} {
			w := newWorld(t)
			w.fake.result, w.fake.results = [][]byte{make([]byte, c.bytes)}, &c.rows
			p := w.mustCharge(t, question)
			w.take()
			rows, err := p.Execute(w.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if n := w.count("close"); n != c.closed {
				t.Errorf("%s: %d connections are given back", c.what, n)
			}
			n := 0
			for range read {
				row, err := rows.Next()
				if err != nil {
					break
				}
				if n++; len(row) != 1 || len(row[0]) != c.bytes {
					t.Fatalf("%s: row %d has another length", c.what, n)
				}
			}
			if n != min(read, c.rows) {
				t.Errorf("%s: %d rows of %d", c.what, n, c.rows)
			}
			if read > c.rows && (rows.Tag() != "SELECT "+strconv.Itoa(c.rows) || len(rows.Notices()) != 1) {
				t.Errorf("%s: %s and %d notices", c.what, rows.Tag(), len(rows.Notices()))
			}
			rows.Close()
			if n := w.count("close"); n != 1 {
				t.Errorf("%s: %d connections are given back in the end", c.what, n)
			}
		}
	}
}
