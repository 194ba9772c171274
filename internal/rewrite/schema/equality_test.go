package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

func TestEqualitiesThatAreOne(t *testing.T) {
	of := func(oid uint32) schema.Equality { return schema.Equality{Type: oid, Deterministic: true} }
	text := func(collation string) schema.Equality {
		return schema.Equality{Type: pgtype.TextOID, Collation: collation, Deterministic: true}
	}
	folded := schema.Equality{Type: pgtype.TextOID, Collation: "public.ci"}
	for _, c := range []struct {
		name string
		a, b schema.Equality
		want bool
	}{
		{"integers", of(pgtype.Int2OID), of(pgtype.Int8OID), true},
		{"an integer and a numeric", of(pgtype.Int4OID), of(pgtype.NumericOID), false},
		{"numerics", of(pgtype.NumericOID), of(pgtype.NumericOID), true},
		{"floats", of(pgtype.Float8OID), of(pgtype.Float8OID), false},
		{"an integer and a float", of(pgtype.Int8OID), of(pgtype.Float8OID), false},
		{"timestamps with and without a zone", of(pgtype.TimestamptzOID), of(pgtype.TimestampOID), false},
		{"text and varchar", of(pgtype.TextOID), of(pgtype.VarcharOID), true},
		{"text and padded text", of(pgtype.TextOID), of(pgtype.BPCharOID), false},
		{"a collation and the database's", text(`pg_catalog."C"`), text(""), true},
		{"two collations", text(`pg_catalog."C"`), text(`pg_catalog."POSIX"`), false},
		{"a collation that folds", folded, folded, false},
		{"a collation that folds and the database's", folded, text(""), false},
	} {
		if c.a.Same(c.b) != c.want || c.b.Same(c.a) != c.want {
			t.Errorf("%s: one equality is %v, want %v", c.name, !c.want, c.want)
		}
	}
}
