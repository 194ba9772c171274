package session

import (
	"io"

	"github.com/jackc/pgx/v5/pgconn"
)

// MaxStored bounds the rows that cursors and suspended portals of one session hold, in bytes; and one result that an engine
// holds in memory.
const MaxStored = 64 << 20

// A stored row takes rowOverhead bytes more than its values, and a value columnOverhead more than its bytes.
const (
	rowOverhead    = 48
	columnOverhead = 24
)

// Stored is a result in memory. It implements Rows. A session takes the rows of one over as they are; it copies those of
// every other result that it has to hold.
type Stored struct {
	columns []pgconn.FieldDescription
	rows    [][][]byte
	bytes   int
	next    int
	tag     string
	notices []*pgconn.Notice
}

// NewStored returns an empty result of these columns.
func NewStored(columns []pgconn.FieldDescription) *Stored { return &Stored{columns: columns} }

// Add copies a row, and returns how many bytes all rows take.
func (s *Stored) Add(row [][]byte) int {
	kept := make([][]byte, len(row))
	s.bytes += rowOverhead
	for i, v := range row {
		s.bytes += columnOverhead + len(v)
		if v != nil {
			kept[i] = append(make([]byte, 0, len(v)), v...)
		}
	}
	s.rows = append(s.rows, kept)
	return s.bytes
}

// Len is the number of rows.
func (s *Stored) Len() int { return len(s.rows) }

// Complete says what the client gets after the rows.
func (s *Stored) Complete(tag string, notices ...*pgconn.Notice) { s.tag, s.notices = tag, notices }

// Columns implements Rows.
func (s *Stored) Columns() []pgconn.FieldDescription { return s.columns }

// Tag implements Rows.
func (s *Stored) Tag() string { return s.tag }

// Notices implements Rows.
func (s *Stored) Notices() []*pgconn.Notice { return s.notices }

// Close implements Rows. There is nothing to give back.
func (s *Stored) Close() {}

// Next implements Rows.
func (s *Stored) Next() ([][]byte, error) {
	if s.next == len(s.rows) {
		return nil, io.EOF
	}
	s.next++
	return s.rows[s.next-1], nil
}
