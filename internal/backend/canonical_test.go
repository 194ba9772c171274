package backend

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// hostileSessions are settings under which text that PostgreSQL prints is not the text that it reads.
var hostileSessions = []Settings{
	{},
	{
		TimeZone: "Asia/Kolkata", DateStyle: "SQL, DMY", IntervalStyle: "sql_standard", ExtraFloatDigits: "-15",
		ByteaOutput: "escape",
	},
	{TimeZone: "EST5CST-20,M3.2.0,M11.1.0", DateStyle: "SQL, MDY", IntervalStyle: "iso_8601", ExtraFloatDigits: "0"},
	{TimeZone: "<+1345>-13:45", DateStyle: "German", IntervalStyle: "postgres_verbose", ExtraFloatDigits: "3"},
	{TimeZone: "Australia/Lord_Howe", DateStyle: "Postgres, DMY", IntervalStyle: "sql_standard"},
}

// crossing are values of every type that crosses, in a form that any session reads alike.
var crossing = map[uint32][]string{
	pgtype.BoolOID: {"t", "f"}, pgtype.Int8OID: {"-9223372036854775808", "0"}, pgtype.TextOID: {
		"", "NULL", "it's", "a\\b",
		"é\n",
	},
	pgtype.NumericOID:   {"1.00", "NaN", "-123456789012345678901234567890.123456789"},
	pgtype.Float8OID:    {"0.1", "0.30000000000000004", "-0", "5e-324", "1.7976931348623157e+308", "NaN", "-Infinity"},
	pgtype.Float4OID:    {"0.1", "1e-45", "3.4028235e+38"},
	pgtype.DateOID:      {"2019-11-03", "infinity", "4713-01-01 BC", "5874897-12-31"},
	pgtype.TimeOID:      {"24:00:00", "23:59:59.999999"},
	pgtype.TimestampOID: {"2019-11-03 01:30:00", "294276-12-31 23:59:59.999999", "0044-03-15 12:00:00 BC"},
	pgtype.TimestamptzOID: {
		"2019-11-03 05:00:00+00", "2019-11-03 06:00:00+00", "1883-11-18 17:00:00+00", "infinity",
		"-infinity", "294276-12-31 23:59:59.999999+00", "4713-01-01 00:00:00+00 BC",
	},
	pgtype.IntervalOID: {
		"-1 mons +2 days -00:00:03.5", "+1 mons -2 days +00:00:00", "-5 days", "178000000 years",
		"-00:00:00.000001",
	},
	pgtype.TimestamptzArrayOID: {`{"2019-11-03 05:00:00+00",NULL,infinity}`, "{}"}, pgtype.IntervalArrayOID: {
		`{"-1 mons +2 days",NULL}`,
	},
	pgtype.UUIDOID: {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
}

// TestCanonicalMeansOneValue: what one session's shadow reads and prints, every other session reads as the same value.
// Values are compared bit by bit, since equal ones may differ.
func TestCanonicalMeansOneValue(t *testing.T) {
	b, ctx := connected(t), context.Background()
	for _, from := range hostileSessions {
		for oid, texts := range crossing {
			for _, text := range texts {
				read, err := b.Constants(ctx, Parameters{}, rewrite.Constants{Literals: []rewrite.Literal{{Type: oid, Text: text}}},
					from)
				if err != nil {
					t.Fatalf("%q of type %d under %+v: %v", text, oid, from, err)
				}
				for _, to := range hostileSessions {
					for _, pins := range []*pinSet{b.pins(answering, to), b.pins(planning, to)} {
						typed := "pg_catalog.record_send(ROW(($1::text)::@))"
						same := strings.ReplaceAll("SELECT "+typed+" = "+strings.Replace(typed, "$1", "$2", 1), "@", typeOf(oid))
						rows, err := b.shadow.rows(ctx, Request{
							SQL: same, Parameters: [][]byte{[]byte(*read.Literals[0]), []byte(text)},
							Types: []uint32{textOID, textOID},
						}, pins)
						got := collect(t, rows, err)
						if got[0][0] != "t" {
							t.Errorf("type %d: %q became %q under %+v, which is another value under %+v", oid, text, *read.Literals[0], from,
								pins.list)
						}
					}
				}
			}
		}
	}
}

func typeOf(oid uint32) string {
	t, _ := pgtype.NewMap().TypeForOID(oid)
	return `"` + t.Name + `"`
}

// TestEvaluateIsCanonical: queries for a plan are computed in the session's zone, and print in none.
func TestEvaluateIsCanonical(t *testing.T) {
	b, ctx := connected(t), context.Background()
	for _, s := range hostileSessions {
		rows, err := b.Evaluate(ctx, rewrite.Query{
			SQL:   "SELECT timestamptz '2019-11-03 05:00:00+00', interval '-1 mon +2 days', 0.1::float8 + 0.2::float8, NULL::date, (timestamptz '2019-11-03 05:00:00+00')::date",
			Types: []uint32{pgtype.TimestamptzOID, pgtype.IntervalOID, pgtype.Float8OID, pgtype.DateOID, pgtype.DateOID},
		}, s)
		if err != nil {
			t.Fatal(err)
		}
		got := rows.Rows()[0]
		if *got[0] != "2019-11-03 05:00:00Z" || *got[1] != "-1 mons +2 days +00:00:00.000000" ||
			*got[2] != "0.30000000000000004" || got[3] != nil || !strings.HasPrefix(string(*got[4]), "2019-11-0") {
			t.Errorf("under %+v: %s %s %s %s", s, *got[0], *got[1], *got[2], strconv.Quote(string(*got[4])))
		}
	}
}

// TestValuesAreSpelledAtTheSameTime is for the race detector: statements of several sessions share what knows the
// types.
func TestValuesAreSpelledAtTheSameTime(t *testing.T) {
	var at pgtype.Timestamptz
	if err := at.Scan("2019-11-03 05:00:00+00"); err != nil {
		t.Fatal(err)
	}
	sent, err := pgtype.NewMap().Encode(pgtype.TimestamptzOID, pgtype.BinaryFormatCode, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if c, err := canonical(pgtype.TimestamptzOID, sent); err != nil || *c != "2019-11-03 05:00:00Z" {
				t.Errorf("%v, %v", c, err)
			}
		})
	}
	all.Wait()
}
