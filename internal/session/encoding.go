package session

import (
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Encoding is the client_encoding that is in force.
func (s *Session) Encoding() *clientencoding.Encoding {
	return clientencoding.For(s.state.layers.current.Get("client_encoding"))
}

// row sends one row in the client's encoding.
func (s *Session) row(w wire.ResultWriter, columns []pgconn.FieldDescription, values [][]byte) error {
	encoding := s.Encoding()
	if encoding == nil {
		return w.DataRow(values)
	}
	encoded := slices.Clone(values)
	for i, v := range encoded {
		if v == nil || i >= len(columns) {
			continue
		}
		var err error
		if encoded[i], err = converted(encoding.Encode, columns[i].DataTypeOID, columns[i].Format, v); err != nil {
			return err
		}
	}
	return w.DataRow(encoded)
}

// parameters reads the values of a Bind in the client's encoding.
func (s *Session) parameters(types []uint32, b wire.Bind) ([][]byte, error) {
	encoding := s.Encoding()
	if encoding == nil {
		return b.Parameters, nil
	}
	decoded := slices.Clone(b.Parameters)
	for i, v := range decoded {
		if v == nil {
			continue
		}
		var err error
		if decoded[i], err = converted(encoding.Decode, types[i], formatOf(b.ParameterFormats, i), v); err != nil {
			return nil, err
		}
	}
	return decoded, nil
}

// converted converts the text in a value: all of it in text form; in binary form that of texts, and of arrays and rows
// of them. Binary forms of other types hold none.
func converted(convert func([]byte) ([]byte, error), oid uint32, format int16, v []byte) ([]byte, error) {
	return convertedWithin(convert, oid, format, v, 0)
}

// convertedWithin converts a value so many levels deep in arrays and rows.
func convertedWithin(convert func([]byte) ([]byte, error), oid uint32, format int16, v []byte, level int) (
	[]byte, error,
) {
	if level > maxNested { // each level copies what is in it
		return nil, errBinary
	}
	if format == pgtype.TextFormatCode {
		return convert(v)
	}
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.JSONOID, pgtype.XMLOID,
		pgtype.UnknownOID:
		return convert(v)
	case pgtype.JSONBOID: // a version, then the text
		if len(v) == 0 {
			return nil, errBinary
		}
		text, err := convert(v[1:])
		return append([]byte{v[0]}, text...), err
	case pgtype.RecordOID:
		return convertedRow(convert, v, level)
	}
	if t, known := typeNames.TypeForOID(oid); known {
		if _, array := t.Codec.(*pgtype.ArrayCodec); array {
			return convertedArray(convert, v, level)
		}
	}
	return v, nil
}

// maxNested bounds arrays and rows in arrays and rows.
const maxNested = 20

var errBinary error = pgerr.New("22P03", "incorrect binary data format")

// convertedArray walks over array_send's format: dimensions, flags, the elements' type, two numbers for each dimension,
// elements.
func convertedArray(convert func([]byte) ([]byte, error), v []byte, level int) ([]byte, error) {
	const head, dimension = 12, 8
	if len(v) < head {
		return nil, errBinary
	}
	start := uint64(head) + dimension*uint64(binary.BigEndian.Uint32(v))
	if start > uint64(len(v)) {
		return nil, errBinary
	}
	out := slices.Clone(v[:start])
	oid := binary.BigEndian.Uint32(v[8:])
	for rest := v[start:]; len(rest) > 0; {
		var err error
		if out, rest, err = convertedField(convert, oid, out, rest, level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// convertedRow walks over record_send's format: the number of columns, then the type and the value of each.
func convertedRow(convert func([]byte) ([]byte, error), v []byte, level int) ([]byte, error) {
	const head, typ = 4, 4
	if len(v) < head {
		return nil, errBinary
	}
	out := slices.Clone(v[:head])
	for rest := v[head:]; len(rest) > 0; {
		if len(rest) < typ {
			return nil, errBinary
		}
		var err error
		oid := binary.BigEndian.Uint32(rest)
		if out, rest, err = convertedField(convert, oid, append(out, rest[:typ]...), rest[typ:], level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// convertedField appends a length and a value to out; -1 is NULL.
func convertedField(convert func([]byte) ([]byte, error), oid uint32, out, in []byte, level int) (to, rest []byte,
	err error,
) {
	const length = 4
	if len(in) < length {
		return nil, nil, errBinary
	}
	n := int32(binary.BigEndian.Uint32(in))
	if n == -1 {
		return append(out, in[:length]...), in[length:], nil
	}
	if n < 0 || int(n) > len(in)-length {
		return nil, nil, errBinary
	}
	value, err := convertedWithin(convert, oid, pgtype.BinaryFormatCode, in[length:length+int(n)], level+1)
	if err != nil {
		return nil, nil, err
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(value)))
	return append(out, value...), in[length+int(n):], nil
}
