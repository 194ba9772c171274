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

// Stored is a result in memory, which an account counts until it is closed. It implements Rows. A session takes the
// rows of one over as they are; it copies those of every other result that it has to hold.
type Stored struct {
	columns []pgconn.FieldDescription
	rows    packedRows
	hold    memory.Hold
	next    int
	tag     string
	notices []*pgconn.Notice
}

// packedRows are rows one behind the other: each value behind its length, of which −1 says NULL. There may be a
// million, and they may be long: none is moved when others come.
type packedRows struct {
	chunks [][]byte
	starts []place // of each row
	width  int     // columns
	size   int     // bytes of all chunks
}

// place is where a row begins.
type place struct{ chunk, offset uint32 }

// mostChunk bounds a chunk of more than one row, bytes.
const mostChunk = 1 << 20

// add copies a row into room that is counted before it is taken.
func (p *packedRows) add(row [][]byte, hold *memory.Hold) error {
	n := 0
	for _, v := range row {
		n += columnOverhead + len(v)
	}
	if err := p.reserve(n, hold); err != nil {
		return err
	}
	last := len(p.chunks) - 1
	values := p.chunks[last]
	p.starts, p.width = append(p.starts, place{uint32(last), uint32(len(values))}), len(row)
	for _, v := range row {
		length := int32(len(v))
		if v == nil {
			length = -1
		}
		values = append(binary.BigEndian.AppendUint32(values, uint32(length)), v...)
	}
	p.chunks[last] = values
	return nil
}

// reserve makes room for a row of n bytes.
func (p *packedRows) reserve(n int, hold *memory.Hold) error {
	if last := len(p.chunks) - 1; last < 0 || cap(p.chunks[last])-len(p.chunks[last]) < n {
		size := max(n, min(p.size, mostChunk))
		if err := hold.Grow(size); err != nil {
			return err
		}
		p.chunks, p.size = append(p.chunks, make([]byte, 0, size)), p.size+size
	}
	if rows := len(p.starts); rows == cap(p.starts) {
		room := rows + max(16, rows/4)
		if err := hold.Grow(rowOverhead * room); err != nil {
			return err
		}
		p.starts = append(make([]place, 0, room), p.starts...)
		hold.Give(rowOverhead * rows)
	}
	return nil
}

func (p *packedRows) len() int { return len(p.starts) }

// row returns the values of a row, which must not be changed.
func (p *packedRows) row(i int) [][]byte {
	at := p.starts[i]
	row, rest := make([][]byte, p.width), p.chunks[at.chunk][at.offset:]
	for k := range row {
		length := int32(binary.BigEndian.Uint32(rest))
		if rest = rest[columnOverhead:]; length >= 0 {
			row[k], rest = rest[:length:length], rest[length:]
		}
	}
	return row
}

// bytes is how many bytes all rows take, and room for more.
func (p *packedRows) bytes() int { return p.size + rowOverhead*cap(p.starts) }

// NewStored returns an empty result of these columns.
func NewStored(columns []pgconn.FieldDescription, account *memory.Account) *Stored {
	return &Stored{columns: columns, hold: account.Hold()}
}

// Add copies a row.
func (s *Stored) Add(row [][]byte) error { return s.rows.add(row, &s.hold) }

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
