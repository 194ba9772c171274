package integration_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// oddities are values at the ends of their types. PostgreSQL says what they mean; refusing them is as well.
var oddities = []question{
	{name: "int2", sql: "SELECT count(*) FROM people WHERE age > $1", values: []value{{pgtype.Int2OID, "-32768"}}},
	{name: "int2 beside", sql: "SELECT count(*) FROM people WHERE age = $1", values: []value{{pgtype.Int2OID, "60"}}},
	{name: "int4", sql: "SELECT count(*) FROM people WHERE age < $1", values: []value{{pgtype.Int4OID, "2147483647"}}},
	{
		name: "int8", sql: "SELECT count(*) FROM people WHERE id < $1",
		values: []value{{pgtype.Int8OID, "9223372036854775807"}},
	},
	{
		name: "least int8", sql: "SELECT count(*) FROM people WHERE age + 1 > $1",
		values: []value{{pgtype.Int8OID, "-9223372036854775808"}},
	},
	{name: "oid", sql: "SELECT count(*) FROM people WHERE age > $1::oid::int8", values: []value{{pgtype.OIDOID, "50"}}},
	{name: "bool", sql: "SELECT count(*) FROM people WHERE (age > 50) = $1", values: []value{{pgtype.BoolOID, "t"}}},
	{name: "float8 NaN", sql: "SELECT count(*) FROM people WHERE weight < $1", values: []value{{pgtype.Float8OID, "NaN"}}},
	{
		name: "float8 infinity", sql: "SELECT count(*) FROM people WHERE weight > $1",
		values: []value{{pgtype.Float8OID, "-Infinity"}},
	},
	{
		name: "float8 minus zero", sql: "SELECT count(*) FROM people WHERE weight > $1",
		values: []value{{pgtype.Float8OID, "-0"}},
	},
	{
		name: "float8 least", sql: "SELECT count(*) FROM people WHERE weight > $1",
		values: []value{{pgtype.Float8OID, "5e-324"}},
	},
	{
		name: "float8 greatest", sql: "SELECT count(*) FROM people WHERE weight < $1",
		values: []value{{pgtype.Float8OID, "1.7976931348623157e308"}},
	},
	{
		name: "float8 digits", sql: "SELECT count(*) FROM people WHERE weight > $1",
		values: []value{{pgtype.Float8OID, "59.99999999999999"}},
	},
	{name: "float4 NaN", sql: "SELECT count(*) FROM people WHERE height < $1", values: []value{{pgtype.Float4OID, "NaN"}}},
	{
		name: "float4 digits", sql: "SELECT count(*) FROM people WHERE height > $1",
		values: []value{{pgtype.Float4OID, "0.99999994"}},
	},
	{
		name: "NaN as a key",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::float8 ELSE $2::float8 END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.Float8OID, "NaN"}, {pgtype.Float8OID, "-0"}},
	},
	{
		name: "infinity as a key",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::float8 ELSE $2::float8 END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.Float8OID, "Infinity"}, {pgtype.Float8OID, "1e308"}},
	},
	{
		name:   "NaN in a list",
		sql:    "SELECT count(*) FROM people p LEFT JOIN (VALUES ($1::float8), ('NaN'), (60)) x(k) ON x.k = p.weight",
		values: []value{{pgtype.Float8OID, "NaN"}},
	},
	{
		name: "numeric NaN", sql: "SELECT count(*) FROM people WHERE price < $1",
		values: []value{{pgtype.NumericOID, "NaN"}},
	},
	{
		name: "numeric infinity", sql: "SELECT count(*) FROM people WHERE price < $1",
		values: []value{{pgtype.NumericOID, "Infinity"}},
	},
	{
		name: "numeric minus infinity", sql: "SELECT count(*) FROM people WHERE price > $1",
		values: []value{{pgtype.NumericOID, "-Infinity"}},
	},
	{
		name: "numeric as a key",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::numeric WHEN age < 70 THEN $2::numeric ELSE 3 END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.NumericOID, "1.50"}, {pgtype.NumericOID, "1.5"}},
	},
	{
		name: "numeric NaN as a key",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::numeric ELSE 3 END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.NumericOID, "NaN"}},
	},
	{
		name: "long numeric", sql: "SELECT count(*) FROM people WHERE price > $1",
		values: []value{{pgtype.NumericOID, "60." + strings.Repeat("0", 900) + "1"}},
	},
	{
		name: "large numeric", sql: "SELECT count(*) FROM people WHERE price < $1",
		values: []value{{pgtype.NumericOID, "1" + strings.Repeat("0", 900)}},
	},
	{
		name: "infinity of dates", sql: "SELECT count(*) FROM people WHERE day < $1",
		values: []value{{pgtype.DateOID, "infinity"}},
	},
	{
		name: "minus infinity of dates", sql: "SELECT count(*) FROM people WHERE day > $1",
		values: []value{{pgtype.DateOID, "-infinity"}},
	},
	{
		name: "date before Christ", sql: "SELECT count(*) FROM people WHERE day > $1",
		values: []value{{pgtype.DateOID, "0044-03-15 BC"}},
	},
	{
		name: "infinite date as a key",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::date ELSE day END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.DateOID, "infinity"}},
	},
	{name: "days since infinity", sql: "SELECT sum(day - $1) FROM people", values: []value{{pgtype.DateOID, "infinity"}}},
	{name: "days since a day", sql: "SELECT sum(day - $1) FROM people", values: []value{{pgtype.DateOID, "2024-06-10"}}},
	{
		name: "infinity of timestamps", sql: "SELECT count(*) FROM people WHERE met < $1",
		values: []value{{pgtype.TimestampOID, "infinity"}},
	},
	{
		name: "infinity of instants", sql: "SELECT count(*) FROM people WHERE seen > $1",
		values: []value{{pgtype.TimestamptzOID, "-infinity"}},
	},
	{
		name: "infinite instants as keys",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::timestamptz ELSE $2::timestamptz END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.TimestamptzOID, "infinity"}, {pgtype.TimestamptzOID, "-infinity"}},
	},
	{
		name: "microseconds", sql: "SELECT count(*) FROM people WHERE seen < $1",
		values: []value{{pgtype.TimestamptzOID, "2024-06-12 12:00:00.000001+00"}},
	},
	{
		name: "end of the day", sql: "SELECT count(*) FROM people WHERE hour < $1",
		values: []value{{pgtype.TimeOID, "24:00:00"}},
	},
	{
		name: "long interval", sql: "SELECT count(*) FROM people WHERE stay < $1",
		values: []value{{pgtype.IntervalOID, "100000 years"}},
	},
	{
		name: "mixed interval", sql: "SELECT count(*) FROM people WHERE stay > $1",
		values: []value{{pgtype.IntervalOID, "-1 mons 29 days"}},
	},
	{
		name: "equal intervals as keys",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::interval WHEN age < 70 THEN $2::interval ELSE '5 days' END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.IntervalOID, "1 mons"}, {pgtype.IntervalOID, "30 days"}},
	},
	{name: "text", sql: "SELECT count(*) FROM people WHERE name = $1", values: []value{{pgtype.TextOID, "person 7"}}},
	{
		name: "quoted text", sql: "SELECT count(*) FROM people WHERE name <> $1",
		values: []value{{pgtype.TextOID, `a'b\c"d$1E'\x00'--`}},
	},
	{
		name: "text in CASE",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::text ELSE $2::text END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.TextOID, `{"a,b",NULL}`}, {pgtype.TextOID, ""}},
	},
	{
		name: "varchar", sql: "SELECT count(*) FROM people WHERE name = $1",
		values: []value{{pgtype.VarcharOID, "person 7"}},
	},
	{
		name: "padded text", sql: "SELECT count(*) FROM people WHERE name = $1",
		values: []value{{pgtype.BPCharOID, "person 7   "}},
	},
	{
		name: "name", sql: "SELECT count(*) FROM people WHERE name = $1::name::text",
		values: []value{{pgtype.NameOID, "person 7"}},
	},
	{name: "bytes", sql: "SELECT count(*) FROM people WHERE tag > $1", values: []value{{pgtype.ByteaOID, `\x`}}},
	{
		name: "uuid", sql: "SELECT count(*) FROM people WHERE name <> $1::text",
		values: []value{{pgtype.UUIDOID, "00000000-0000-0000-0000-000000000000"}},
	},
	{
		name: "inet", sql: "SELECT count(*) FROM people WHERE name <> $1::text",
		values: []value{{pgtype.InetOID, "127.0.0.1/32"}},
	},
	{
		name: "jsonb", sql: "SELECT count(*) FROM people WHERE name <> $1::text",
		values: []value{{pgtype.JSONBOID, `{"a": 1}`}},
	},
	{
		name: "array with NULL", sql: "SELECT count(*) FROM people WHERE age = ANY($1)",
		values: []value{{pgtype.Int4ArrayOID, "{NULL,30,30}"}},
	},
	{
		name: "empty array", sql: "SELECT count(*) FROM people WHERE age = ANY($1)",
		values: []value{{pgtype.Int4ArrayOID, "{}"}},
	},
	{
		name: "negated array", sql: "SELECT count(*) FROM people WHERE age <> ALL($1)",
		values: []value{{pgtype.Int4ArrayOID, "{NULL,30}"}},
	},
	{
		name: "array of arrays", sql: "SELECT count(*) FROM people WHERE age = ANY($1)",
		values: []value{{pgtype.Int4ArrayOID, "{{30,31},{32,33}}"}},
	},
	{
		name: "array of texts", sql: "SELECT count(*) FROM people WHERE name = ANY($1)",
		values: []value{{pgtype.TextArrayOID, `{"person 7","a\"b,c",NULL}`}},
	},
	{
		name: "array of NaN", sql: "SELECT count(*) FROM people WHERE weight = ANY($1)",
		values: []value{{pgtype.Float8ArrayOID, "{NaN,60,Infinity}"}},
	},
	{
		name:   "array as keys",
		sql:    "SELECT sum(n) FROM (SELECT ($1::int[])[1 + age % 2] AS k, count(*) AS n FROM people GROUP BY 1) s",
		values: []value{{pgtype.Int4ArrayOID, "{7,7}"}},
	},
	{
		name:   "bound of a bucket",
		sql:    "SELECT sum(n) FROM (SELECT width_bucket(weight, $1, $2, 4) AS k, count(*) AS n FROM people GROUP BY 1) s",
		values: []value{{pgtype.Float8OID, "40"}, {pgtype.Float8OID, "140"}},
	},
	{
		name:   "NaN of a bucket",
		sql:    "SELECT sum(n) FROM (SELECT width_bucket(weight, $1, $2, 4) AS k, count(*) AS n FROM people GROUP BY 1) s",
		values: []value{{pgtype.Float8OID, "NaN"}, {pgtype.Float8OID, "140"}},
	},
	{name: "divisor", sql: "SELECT count(*) FROM people WHERE age / $1 > 3", values: []value{{pgtype.Int4OID, "0"}}},
	{
		name: "shift", sql: "SELECT sum(n) FROM (SELECT (seen + $1)::date AS k, count(*) AS n FROM people GROUP BY 1) s",
		values: []value{{pgtype.IntervalOID, "178000 years"}},
	},
}

// TestParametersOfEveryType: a value means the same in both formats, whatever it is.
func TestParametersOfEveryType(t *testing.T) {
	p := start(t, townPolicy, town)
	for i := range oddities {
		if name := oddities[i].name; name == "divisor" || name == "shift" || name == "bound of a bucket" ||
			name == "NaN of a bucket" {
			oddities[i].inexact = true // PostgreSQL raises an error
		}
	}
	betray(t, p, ada, adaLeaves, oddities)
}

// TestParametersThatAreNotValid: bytes that are no value of their type are refused in words, cost nothing, and leave
// the session usable.
func TestParametersThatAreNotValid(t *testing.T) {
	p := start(t, townPolicy, town)
	conn := p.connect(quiet)
	ctx := context.Background()
	array := func(dimensions, flags, oid uint32, rest ...byte) []byte {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, dimensions),
			flags), oid)
		return append(b, rest...)
	}
	before := spent(t, conn)
	for _, c := range []struct {
		name, sql string
		oid       uint32
		format    int16
		bytes     []byte
	}{
		{"short int4", "SELECT count(*) FROM people WHERE age > $1", pgtype.Int4OID, 1, []byte{0, 0, 1}},
		{"long int4", "SELECT count(*) FROM people WHERE age > $1", pgtype.Int4OID, 1, []byte{0, 0, 0, 1, 0}},
		{"empty int8", "SELECT count(*) FROM people WHERE id > $1", pgtype.Int8OID, 1, []byte{}},
		{
			"text for int4", "SELECT count(*) FROM people WHERE age > $1", pgtype.Int4OID, 0,
			[]byte("1; SELECT name FROM people"),
		},
		{"wide int4", "SELECT count(*) FROM people WHERE age > $1", pgtype.Int4OID, 0, []byte("99999999999")},
		{"bool of two bytes", "SELECT count(*) FROM people WHERE (age > 5) = $1", pgtype.BoolOID, 1, []byte{1, 1}},
		{"short float8", "SELECT count(*) FROM people WHERE weight > $1", pgtype.Float8OID, 1, []byte{1, 2, 3}},
		{
			"numeric without digits", "SELECT count(*) FROM people WHERE price > $1", pgtype.NumericOID, 1,
			[]byte{0, 9, 0, 0, 0, 0, 0, 0},
		},
		{
			"numeric of a wrong sign", "SELECT count(*) FROM people WHERE price > $1", pgtype.NumericOID, 1,
			[]byte{0, 0, 0, 0, 0x12, 0x34, 0, 0},
		},
		{
			"numeric of a wrong digit", "SELECT count(*) FROM people WHERE price > $1", pgtype.NumericOID, 1,
			[]byte{0, 1, 0, 0, 0, 0, 0, 0, 0x7f, 0xff},
		},
		{
			"date out of range", "SELECT count(*) FROM people WHERE day > $1", pgtype.DateOID, 1,
			[]byte{0x7f, 0xff, 0xff, 0xfe},
		},
		{
			"instant out of range", "SELECT count(*) FROM people WHERE seen > $1", pgtype.TimestamptzOID, 1,
			[]byte{0x80, 0, 0, 0, 0, 0, 0, 1},
		},
		{
			"time after the day", "SELECT count(*) FROM people WHERE hour > $1", pgtype.TimeOID, 1,
			[]byte{0x7f, 0, 0, 0, 0, 0, 0, 1},
		},
		{
			"short interval", "SELECT count(*) FROM people WHERE stay > $1", pgtype.IntervalOID, 1,
			[]byte{0, 0, 0, 0, 0, 0, 0, 1},
		},
		{"text that is no UTF-8", "SELECT count(*) FROM people WHERE name > $1", pgtype.TextOID, 1, []byte{0xff, 0xfe}},
		{"text with NUL", "SELECT count(*) FROM people WHERE name > $1", pgtype.TextOID, 1, []byte{'a', 0, 'b'}},
		{"text with NUL as text", "SELECT count(*) FROM people WHERE name > $1", pgtype.TextOID, 0, []byte{'a', 0, 'b'}},
		{"surrogate", "SELECT count(*) FROM people WHERE name > $1", pgtype.TextOID, 1, []byte{0xed, 0xa0, 0x80}},
		{"short uuid", "SELECT count(*) FROM people WHERE name <> $1::text", pgtype.UUIDOID, 1, []byte{1, 2, 3}},
		{
			"array of seven dimensions", "SELECT count(*) FROM people WHERE age = ANY($1)", pgtype.Int4ArrayOID, 1,
			array(7, 0, pgtype.Int4OID),
		},
		{
			"array of another type", "SELECT count(*) FROM people WHERE age = ANY($1)", pgtype.Int4ArrayOID, 1,
			array(1, 0, pgtype.TextOID, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'a'),
		},
		{
			"array that ends early", "SELECT count(*) FROM people WHERE age = ANY($1)", pgtype.Int4ArrayOID, 1,
			array(1, 0, pgtype.Int4OID, 0, 0, 0, 9, 0, 0, 0, 1),
		},
		{
			"array of billions", "SELECT count(*) FROM people WHERE age = ANY($1)", pgtype.Int4ArrayOID, 1,
			array(1, 0, pgtype.Int4OID, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1),
		},
		{"array without braces", "SELECT count(*) FROM people WHERE age = ANY($1)", pgtype.Int4ArrayOID, 0, []byte("{1,2")},
		{"json", "SELECT count(*) FROM people WHERE name <> $1::text", pgtype.JSONBOID, 1, []byte{9, '{', '}'}},
		{"word for a date", "SELECT count(*) FROM people WHERE day > $1", pgtype.DateOID, 0, []byte("yesterdayish")},
		{"format two", "SELECT count(*) FROM people WHERE age > $1", pgtype.Int4OID, 2, []byte{0, 0, 0, 1}},
	} {
		result := conn.PgConn().ExecParams(ctx, c.sql, [][]byte{c.bytes}, []uint32{c.oid}, []int16{c.format}, nil).Read()
		var refused *pgconn.PgError
		if !errors.As(result.Err, &refused) {
			t.Errorf("%s: %v, %d rows, want a refusal", c.name, result.Err, len(result.Rows))
			if conn.IsClosed() {
				conn = p.connect(quiet)
			}
			continue
		}
		if refused.Code == "XX000" || refused.Code == "55000" || strings.Contains(refused.Message, "main") ||
			strings.Contains(refused.Where, "people") {
			t.Errorf("%s: %+v", c.name, *refused)
		}
		if refused.Severity == "FATAL" || conn.IsClosed() {
			t.Errorf("%s ended the session: %+v", c.name, *refused)
			conn = p.connect(quiet)
		}
	}
	if after := spent(t, conn); after != before {
		t.Errorf("spent %g, then %g", before, after)
	}
	if _, err := conn.Exec(ctx, "SELECT count(*) FROM people", pgx.QueryExecModeExec); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
