package session

import (
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// A stored row takes rowOverhead bytes more than its values, and a value columnOverhead more than its bytes.
const (
	rowOverhead    = 8
	columnOverhead = 4
)

// Stored is a result in memory, which an account counts until it is closed. It implements Rows. A session takes the rows of one over as they are; it copies those of
// every other result that it has to hold.
type Stored struct {
	columns []pgconn.FieldDescription
	rows    packedRows
	hold    memory.Hold
	next    int
	tag     string
	notices []*pgconn.Notice
}

// packedRows are rows one behind the other: each value behind its length, of which −1 says NULL. There may be a million.
type packedRows struct {
	values []byte
	starts []int // of each row
	width  int   // columns
}

func (p *packedRows) add(row [][]byte) {
	p.starts, p.width = append(p.starts, len(p.values)), len(row)
	for _, v := range row {
		length := int32(len(v))
		if v == nil {
			length = -1
		}
		p.values = append(binary.BigEndian.AppendUint32(p.values, uint32(length)), v...)
	}
}

func (p *packedRows) len() int { return len(p.starts) }

// row gives the values of a row, which nobody may change.
func (p *packedRows) row(i int) [][]byte {
	row, rest := make([][]byte, p.width), p.values[p.starts[i]:]
	for k := range row {
		length := int32(binary.BigEndian.Uint32(rest))
		if rest = rest[columnOverhead:]; length >= 0 {
			row[k], rest = rest[:length:length], rest[length:]
		}
	}
	return row
}

// bytes is how many bytes all rows take, and room for more.
func (p *packedRows) bytes() int { return cap(p.values) + rowOverhead*cap(p.starts) }

// NewStored returns an empty result of these columns.
func NewStored(columns []pgconn.FieldDescription, account *memory.Account) *Stored {
	return &Stored{columns: columns, hold: account.Hold()}
}

// Add copies a row.
func (s *Stored) Add(row [][]byte) error {
	before := s.rows.bytes()
	s.rows.add(row)
	return s.hold.Grow(s.rows.bytes() - before)
}

// Bytes is how much memory the rows take.
func (s *Stored) Bytes() int { return s.rows.bytes() }

// Len is the number of rows.
func (s *Stored) Len() int { return s.rows.len() }

// Complete says what the client gets after the rows.
func (s *Stored) Complete(tag string, notices ...*pgconn.Notice) { s.tag, s.notices = tag, notices }

// Columns implements Rows.
func (s *Stored) Columns() []pgconn.FieldDescription { return s.columns }

// Tag implements Rows.
func (s *Stored) Tag() string { return s.tag }

// Notices implements Rows.
func (s *Stored) Notices() []*pgconn.Notice { return s.notices }

// Close implements Rows.
func (s *Stored) Close() { s.hold.Free() }

// Next implements Rows.
func (s *Stored) Next() ([][]byte, error) {
	if s.next == s.rows.len() {
		return nil, io.EOF
	}
	s.next++
	return s.rows.row(s.next - 1), nil
}
