package relation_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// TestCanonicalText: equal values of a type are written alike, or the type is refused.
func TestCanonicalText(t *testing.T) {
	column, clamp := query.Named("t").Column("x"), query.Clamp{X: query.Name("x"), Hi: query.Integer(5)}
	numeric := int32(10<<16|2) + 4 // numeric(10,2)
	for _, c := range []struct {
		name string
		sql  query.Scalar
		x    expr.Column
		want string // empty: refused
	}{
		{"an integer", column, expr.Column{Type: pgtype.Int8OID, Typmod: -1}, "t.x"},
		{"a text", column, expr.Column{Type: pgtype.TextOID, Typmod: -1, DeterministicCollation: true}, "t.x"},
		{"a text under a collation that folds", column, expr.Column{Type: pgtype.TextOID, Typmod: -1}, ""},
		{"character(3)", column, expr.Column{Type: pgtype.BPCharOID, Typmod: 7, DeterministicCollation: true}, "t.x"},
		{
			"character of any length", column,
			expr.Column{Type: pgtype.BPCharOID, Typmod: -1, DeterministicCollation: true},
			"",
		},
		{"numeric", column, expr.Column{Type: pgtype.NumericOID, Typmod: -1}, "pg_catalog.trim_scale(t.x)"},
		{"numeric(10,2)", column, expr.Column{Type: pgtype.NumericOID, Typmod: numeric}, "t.x"},
		{
			"numeric(10,2), clamped", clamp,
			expr.Column{Type: pgtype.NumericOID, Typmod: numeric},
			"pg_catalog.round(LEAST(x, 5), 2)",
		},
		{
			"numeric(3,-2), clamped", clamp,
			expr.Column{Type: pgtype.NumericOID, Typmod: int32(3<<16|(-2&0x7ff)) + 4},
			"pg_catalog.round(LEAST(x, 5), -2)",
		},
		{"a domain of numeric", column, expr.Column{Type: 99999, Base: pgtype.NumericOID, BaseTypmod: -1}, ""},
		{
			"float8", column,
			expr.Column{Type: pgtype.Float8OID, Typmod: -1},
			"(t.x OPERATOR(pg_catalog.+) '0'::pg_catalog.float8)",
		},
		{
			"float4", column,
			expr.Column{Type: pgtype.Float4OID, Typmod: -1},
			"(t.x OPERATOR(pg_catalog.+) '0'::pg_catalog.float4)",
		},
		{"an interval", column, expr.Column{Type: pgtype.IntervalOID, Typmod: -1}, ""},
		{"an enum", column, expr.Column{Type: 99999, Typmod: -1, EnumLabels: []string{"a"}}, "t.x"},
		{"a type of which nothing is known", column, expr.Column{Type: 99999, Typmod: -1}, ""},
	} {
		got, err := relation.CanonicalText(c.sql, &c.x)
		if (err != nil) != (c.want == "") || err == nil && query.Text(got) != c.want {
			t.Errorf("%s: %v, %v; want %q", c.name, got, err, c.want)
		}
	}
}
