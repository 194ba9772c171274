package session

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// nested makes rows in rows, which hold one text.
func nested(levels int) []byte {
	value, oid := []byte("ä"), uint32(pgtype.TextOID)
	for range levels {
		row := binary.BigEndian.AppendUint32(nil, 1)
		row = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(row, oid), uint32(len(value)))
		value, oid = append(row, value...), pgtype.RecordOID
	}
	return value
}

// TestNestedValues: a message may hold as many rows in rows as it has bytes for.
func TestNestedValues(t *testing.T) {
	same := func(text []byte) ([]byte, error) { return text, nil }
	if v, err := converted(same, pgtype.RecordOID, pgtype.BinaryFormatCode, nested(20)); err != nil ||
		!slices.Equal(v, nested(20)) {
		t.Errorf("20 rows in each other: %v", err)
	}
	if _, err := converted(same, pgtype.RecordOID, pgtype.BinaryFormatCode, nested(2000)); !errors.Is(err, errBinary) {
		t.Errorf("2000 rows in each other: %v", err)
	}
}
