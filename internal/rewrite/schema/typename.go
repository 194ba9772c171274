package schema

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// TypeName prints a result type of an aggregate.
func TypeName(oid uint32) string {
	names := map[uint32]string{
		pgtype.Int2OID: "int2", pgtype.Int4OID: "int4", pgtype.Int8OID: "int8", pgtype.NumericOID: "numeric",
		pgtype.Float4OID: "float4", pgtype.Float8OID: "float8",
		pgtype.IntervalOID: "interval", pgtype.DateOID: "date", pgtype.TimestampOID: "timestamp",
		pgtype.TimestamptzOID: "timestamptz", pgtype.BoolOID: "bool", pgtype.TextOID: "text", pgtype.TimeOID: "time",
		pgtype.VarcharOID: "varchar", pgtype.BPCharOID: "bpchar", pgtype.NameOID: "name", pgtype.UUIDOID: "uuid",
	}
	return "pg_catalog." + names[oid]
}

// ArrayOf is the type of arrays of a type that TypeName prints.
func ArrayOf(oid uint32) uint32 {
	t, _ := pgtype.NewMap().TypeForName(strings.Replace(TypeName(oid), "pg_catalog.", "_", 1))
	return t.OID
}
