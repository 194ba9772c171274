package session

import (
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
)

// MaxStored bounds what cursors and portals of one session hold, in bytes: their plans, their rows; and one result that an engine holds in
// memory.
const MaxStored = 64 << 20

// A stored row takes rowOverhead bytes more than its values, and a value columnOverhead more than its bytes.
const (
	rowOverhead    = 8
	columnOverhead = 4
)

// Stored is a result in memory. It implements Rows. A session takes the rows of one over as they are; it copies those of
// every other result that it has to hold.
type Stored struct {
	columns []pgconn.FieldDescription
	rows    packedRows
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

// bytes is how many bytes all rows take.
func (p *packedRows) bytes() int { return len(p.values) + rowOverhead*len(p.starts) }

// NewStored returns an empty result of these columns.
func NewStored(columns []pgconn.FieldDescription) *Stored { return &Stored{columns: columns} }

// Add copies a row, and returns how many bytes all rows take.
func (s *Stored) Add(row [][]byte) int {
	s.rows.add(row)
	return s.rows.bytes()
}

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

// Close implements Rows. There is nothing to give back.
func (s *Stored) Close() {}

// Next implements Rows.
func (s *Stored) Next() ([][]byte, error) {
	if s.next == s.rows.len() {
		return nil, io.EOF
	}
	s.next++
	return s.rows.row(s.next - 1), nil
}
