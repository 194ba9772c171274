package pgresolve

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// IsInt reports whether a type is smallint, integer or bigint.
func IsInt(oid uint32) bool {
	return oid == pgtype.Int2OID || oid == pgtype.Int4OID || oid == pgtype.Int8OID
}

// IsFloat reports whether a type is real or double precision.
func IsFloat(oid uint32) bool { return oid == pgtype.Float4OID || oid == pgtype.Float8OID }

// IsNumber reports whether a type is an integer, a float or numeric.
func IsNumber(oid uint32) bool { return IsInt(oid) || IsFloat(oid) || oid == pgtype.NumericOID }

// IsText reports whether a type is text or varchar, whose blanks at the end count.
func IsText(oid uint32) bool { return oid == pgtype.TextOID || oid == pgtype.VarcharOID }

// IsString reports whether a type is text, varchar, char(n) or name.
func IsString(oid uint32) bool {
	return oid == pgtype.TextOID || oid == pgtype.VarcharOID || oid == pgtype.BPCharOID || oid == pgtype.NameOID
}

// IsTime reports whether a type is a date, a time, a timestamp or an interval.
func IsTime(oid uint32) bool {
	switch oid {
	case pgtype.DateOID, pgtype.TimeOID, pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.IntervalOID:
		return true
	}
	return false
}

// typeNames are the names under which format_type shows the built-in types that casts may name.
var typeNames = map[uint32]string{
	pgtype.BoolOID: "boolean", pgtype.Int2OID: "smallint", pgtype.Int4OID: "integer", pgtype.Int8OID: "bigint",
	pgtype.Float4OID: "real", pgtype.Float8OID: "double precision",
	pgtype.TimeOID: "time without time zone", pgtype.TimestampOID: "timestamp without time zone",
	pgtype.TimestamptzOID: "timestamp with time zone",
	pgtype.BPCharOID:      "character", pgtype.VarcharOID: "character varying",
}

// Display names a type in messages.
func Display(oid uint32) string {
	if s, ok := typeNames[oid]; ok {
		return s
	}
	if t := catalog.types[oid]; t != nil {
		return t.Name
	}
	return "that type"
}

// Qualified prints a built-in type for a cast, with its typmod.
func Qualified(oid uint32, typmod int32) string {
	t := catalog.types[oid]
	if t == nil {
		if e := catalog.arrays[oid]; e != nil {
			return "pg_catalog." + QuoteName(e.Name) + "[]"
		}
		return "pg_catalog.unknown"
	}
	return "pg_catalog." + QuoteName(t.Name) + typmodText(oid, typmod)
}

// typmodText prints a type modifier as format_type does.
func typmodText(oid uint32, typmod int32) string {
	if typmod < 0 {
		return ""
	}
	switch oid {
	case pgtype.NumericOID:
		precision, scale := NumericTypmod(typmod)
		return "(" + strconv.Itoa(precision) + "," + strconv.Itoa(scale) + ")"
	case pgtype.VarcharOID, pgtype.BPCharOID:
		return "(" + strconv.Itoa(int(typmod-4)) + ")"
	case pgtype.TimeOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return "(" + strconv.Itoa(int(typmod)) + ")"
	}
	return ""
}

// NumericTypmod unpacks numeric(precision, scale); scale has 11 signed bits since PostgreSQL 15 (numeric.c).
func NumericTypmod(typmod int32) (precision, scale int) {
	t := typmod - 4
	return int(t>>16) & 0xffff, int((t&0x7ff)^1024) - 1024
}

// QuoteName prints the name of a built-in function or type, quoted where the grammar would read it as something else.
func QuoteName(s string) string {
	plain := s != ""
	for i, r := range s {
		if !(r >= 'a' && r <= 'z' || r == '_' || i > 0 && r >= '0' && r <= '9') {
			plain = false
		}
	}
	if plain && s != "left" && s != "right" && s != "position" && s != "overlaps" && s != "like" && s != "substring" &&
		s != "char" && s != "bit" {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
