package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// resultOf is a Bound whose result is given.
type resultOf struct{ rows Rows }

func (r resultOf) Execute(context.Context) (Rows, error) { return r.rows, nil }

// reused are rows whose values are valid until the next call only, as those of a connection are.
type reused struct {
	fakeRows
	buffer []byte
}

func (r *reused) Next() ([][]byte, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	r.left--
	r.buffer[0] = byte('a' + r.left)
	return [][]byte{r.buffer, nil, {}}, nil
}

// TestRowsAreCopiedOnce: those of a connection when they are stored, those that are stored already not at all.
func TestRowsAreCopiedOnce(t *testing.T) {
	stored := NewStored(nil)
	for range 2 {
		stored.Add([][]byte{[]byte("x"), nil, {}})
	}
	stored.Complete("SELECT 2", &pgconn.Notice{Severity: "NOTICE"})
	for name, c := range map[string]struct {
		rows   Rows
		values string
		same   bool
	}{
		"of a connection": {&reused{fakeRows: fakeRows{left: 2}, buffer: make([]byte, 1)}, "ba", false},
		"in memory":       {stored, "xx", true},
	} {
		q := &query{}
		if err := q.store(c.rows, 1000); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first, second := q.rows.row(0), q.rows.row(1)
		got := append(bytes.Clone(first[0]), second[0]...)
		if string(got) != c.values || first[1] != nil || first[2] == nil || len(q.notices) != 1 {
			t.Errorf("%s: %q, %v, %d notices", name, got, first, len(q.notices))
		}
		if same := &q.rows.values[0] == &stored.rows.values[0]; same != c.same {
			t.Errorf("%s: taken over: %v, want %v", name, same, c.same)
		}
		if want := 2 * (rowOverhead + 3*columnOverhead + 1); q.rows.bytes() != want {
			t.Errorf("%s: %d bytes, want %d", name, q.rows.bytes(), want)
		}
	}
}

// TestStoreIsBounded at exactly the room that there is.
func TestStoreIsBounded(t *testing.T) {
	const row = rowOverhead + columnOverhead + 10
	for _, c := range []struct {
		name string
		room int
		fits bool
	}{{"enough", 3 * row, true}, {"a byte short", 3*row - 1, false}} {
		kept := NewStored(nil)
		for range 3 {
			kept.Add([][]byte{make([]byte, 10)})
		}
		for name, rows := range map[string]Rows{"in memory": kept, "of a connection": &fakeRows{left: 3, size: 10}} {
			err := (&query{}).store(rows, c.room)
			if c.fits && err != nil || !c.fits && !errors.Is(err, errStored) {
				t.Errorf("%s, rows %s: %v", c.name, name, err)
			}
		}
	}
}

// TestStoreStopsReading at the first row that does not fit: what the analyst asks for may be endless.
func TestStoreStopsReading(t *testing.T) {
	rows := &fakeRows{left: 1000, size: 10}
	err := (&query{}).store(rows, 3*(rowOverhead+columnOverhead+10))
	if !errors.Is(err, errStored) || rows.left != 1000-4 {
		t.Errorf("%v after %d rows, want %v after 4", err, 1000-rows.left, errStored)
	}
}

// TestACursorOverARefusedResultStaysRefused, and holds nothing.
func TestACursorOverARefusedResultStaysRefused(t *testing.T) {
	s, e := mustOpen(t, nil)
	e.budget = 0
	huge := NewStored(nil)
	huge.Add([][]byte{make([]byte, MaxStored)})
	q := &query{bound: resultOf{huge}, charged: true}
	for range 2 {
		if err := s.load(context.Background(), q); !errors.Is(err, errStored) {
			t.Errorf("%v, want %v", err, errStored)
		}
	}
	if q.rows.len() != 0 {
		t.Errorf("%d rows and %d bytes are held", q.rows.len(), q.rows.bytes())
	}
}
