package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
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
	stored := NewStored(nil, nil)
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
		if err := q.store(c.rows, account(1000)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		first, second := q.rows.row(0), q.rows.row(1)
		got := append(bytes.Clone(first[0]), second[0]...)
		if string(got) != c.values || first[1] != nil || first[2] == nil || len(q.notices) != 1 {
			t.Errorf("%s: %q, %v, %d notices", name, got, first, len(q.notices))
		}
		if same := &q.rows.chunks[0] == &stored.rows.chunks[0]; same != c.same {
			t.Errorf("%s: taken over: %v, want %v", name, same, c.same)
		}
		if want := 2 * (rowOverhead + 3*columnOverhead + 1); q.rows.bytes() < want {
			t.Errorf("%s: %d bytes, want %d at least", name, q.rows.bytes(), want)
		}
	}
}

// account has room for so many bytes.
func account(bytes int64) *memory.Account { return memory.New(4 * bytes).Open("alice") }

// TestStoreIsBounded by what there is room for, and by nothing where nobody counts.
func TestStoreIsBounded(t *testing.T) {
	for _, c := range []struct {
		room int64
		fits bool
	}{{10000, true}, {2000, false}} {
		a := account(c.room)
		kept := NewStored(nil, a)
		var err error
		for range 100 {
			err = errors.Join(err, kept.Add([][]byte{make([]byte, 30)}))
		}
		if (err == nil) != c.fits {
			t.Errorf("rows in memory, %d bytes: %v", c.room, err)
		}
		kept.Close()
		if err := (&query{}).store(&fakeRows{left: 100, size: 30}, a); (err == nil) != c.fits {
			t.Errorf("rows of a connection, %d bytes: %v", c.room, err)
		}
	}
}

// TestARowIsCountedBeforeItIsCopied: what does not fit is not there, and what fits is counted to its last byte while
// more comes.
func TestARowIsCountedBeforeItIsCopied(t *testing.T) {
	budget := memory.New(4 * 100_000)
	kept := NewStored(nil, budget.Open("alice"))
	rows := 0
	for kept.Add([][]byte{make([]byte, 700), nil}) == nil {
		rows++
		if used := int(budget.Used()); used != kept.Bytes() {
			t.Fatalf("%d bytes are counted, %d taken", used, kept.Bytes())
		}
	}
	if kept.Len() != rows || kept.Bytes() > 100_000 || rows < 60 {
		t.Errorf("%d of %d rows, %d bytes", kept.Len(), rows, kept.Bytes())
	}
	large := NewStored(nil, account(100_000))
	if err := large.Add([][]byte{make([]byte, 200_000)}); err == nil || large.Bytes() != 0 {
		t.Errorf("%v, and %d bytes are taken", err, large.Bytes())
	}
}

// TestStoreStopsReading at the first row that does not fit: what the analyst asks for may be endless. Then it holds
// nothing.
func TestStoreStopsReading(t *testing.T) {
	rows, budget := &fakeRows{left: 1000, size: 1000}, memory.New(40000)
	err := (&query{}).store(rows, budget.Open("alice"))
	if err == nil || rows.left < 985 || budget.Used() != 0 {
		t.Errorf("%v after %d rows, %d bytes are held", err, 1000-rows.left, budget.Used())
	}
}

// TestACursorOverARefusedResultStaysRefused.
func TestACursorOverARefusedResultStaysRefused(t *testing.T) {
	s := open(t, nil)
	s.engine.budget = 0
	limited(s, 10000)
	q := &query{bound: resultOf{&fakeRows{left: 20, size: 1000}}, charged: true}
	for range 2 {
		var refused *pgconn.PgError
		if err := s.load(context.Background(), q); !errors.As(err, &refused) || refused.Code != pgerr.OutOfMemory {
			t.Errorf("%v, want 53200", err)
		}
	}
	if q.rows.len() != 0 {
		t.Errorf("%d rows and %d bytes are held", q.rows.len(), q.rows.bytes())
	}
}
