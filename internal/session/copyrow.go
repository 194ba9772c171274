package session

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/command"
)

// What surrounds the rows of a binary COPY: a signature with neither flags nor extensions, and the number of columns
// -1.
var (
	binaryHead = []byte("PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00")
	binaryEnd  = []byte{0xff, 0xff}
)

// row spells one row in the format of the COPY.
func (c *copying) row(values [][]byte) ([]byte, error) {
	if c.options.Format == command.CopyBinary {
		return c.tuple(values)
	}
	return c.line(values, c.force)
}

// tuple is a row of a binary COPY.
func (c *copying) tuple(values [][]byte) ([]byte, error) {
	out := binary.BigEndian.AppendUint16(slices.Clip(c.head), uint16(len(values)))
	c.head = nil
	for i, v := range values {
		if v == nil {
			out = append(out, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		v, err := converted(c.encode.Encode, c.query.columns[i].DataTypeOID, pgtype.BinaryFormatCode, v)
		if err != nil {
			return nil, err
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(v))), v...)
	}
	return out, nil
}

// line is a row of a COPY in text or CSV. What has to be escaped is ASCII, so the whole line can be converted at its
// end.
func (c *copying) line(values [][]byte, force []bool) ([]byte, error) {
	var out []byte
	for i, v := range values {
		if i > 0 {
			out = append(out, c.options.Delimiter)
		}
		switch {
		case v == nil:
			out = append(out, c.options.Null...)
		case c.options.Format == command.CopyCSV:
			out = c.quoted(out, v, force != nil && force[i], len(values) == 1)
		default:
			out = c.escaped(out, v)
		}
	}
	return c.encode.Encode(append(out, '\n'))
}

// escapes are the letters that text COPY writes for control characters.
var escapes = map[byte]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v'}

// escaped appends a value as PostgreSQL's CopyAttributeOutText does.
func (c *copying) escaped(out, v []byte) []byte {
	for _, b := range v {
		if letter, control := escapes[b]; control {
			out = append(out, '\\', letter)
			continue
		}
		if b == '\\' || b == c.options.Delimiter {
			out = append(out, '\\')
		}
		out = append(out, b)
	}
	return out
}

// quoted appends a value as PostgreSQL's CopyAttributeOutCSV does: in quotes where it could be read as something else,
// as the end of the data among them.
func (c *copying) quoted(out, v []byte, force, alone bool) []byte {
	o := c.options
	special := string([]byte{o.Delimiter, o.Quote, '\r', '\n'})
	if !force && string(v) != o.Null && !bytes.ContainsAny(v, special) && !(alone && string(v) == `\.`) {
		return append(out, v...)
	}
	out = append(out, o.Quote)
	for _, b := range v {
		if b == o.Quote || b == o.Escape {
			out = append(out, o.Escape)
		}
		out = append(out, b)
	}
	return append(out, o.Quote)
}
