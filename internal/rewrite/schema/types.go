package schema

import "github.com/jackc/pgx/v5/pgtype"

// IsNumber says that a type holds numbers.
func IsNumber(oid uint32) bool { return IsInteger(oid) || IsFloat(oid) || oid == pgtype.NumericOID }

// IsInteger says that a type holds whole numbers.
func IsInteger(oid uint32) bool {
	return oid == pgtype.Int2OID || oid == pgtype.Int4OID || oid == pgtype.Int8OID
}

// IsFloat says that a type holds binary floating-point numbers.
func IsFloat(oid uint32) bool { return oid == pgtype.Float4OID || oid == pgtype.Float8OID }

// IsTime says that a type holds instants, times of day or intervals; dates are not among them.
func IsTime(oid uint32) bool {
	return oid == pgtype.TimestampOID || oid == pgtype.TimestamptzOID || oid == pgtype.IntervalOID || oid == pgtype.TimeOID
}

// IsText says that a type holds texts whose blanks count.
func IsText(oid uint32) bool { return oid == pgtype.TextOID || oid == pgtype.VarcharOID }
