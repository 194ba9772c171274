package expr

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

var literalTexts = map[uint32][]string{
	pgtype.Int4OID: {
		"0", "-0", "+7", " 12 ", "2147483647", "-2147483648", "2147483648", "1.0", "", "0x10", "1_000",
		"99999999999999999999999999",
	},
	pgtype.Int2OID: {"32767", "32768", "-32768"},
	pgtype.Int8OID: {"9223372036854775807", "9223372036854775808"},
	pgtype.NumericOID: {
		"1", "1.50", ".5", "5.", "1e3", "1.25e-2", "-1E+2", "NaN", "nan", "Infinity", "-inf", "1e",
		"e1", ".", "1.2.3", "+.5e1", "1e400",
	},
	pgtype.Float8OID: {
		"1", "0.1", "1e308", "1e309", "-1e-320", "1e-400", "NaN", "infinity", "-Infinity", "1e3",
		" 2 ",
	},
	pgtype.Float4OID: {"0.1", "1e39", "1e-46", "3.4e38", "16777217"},
	pgtype.BoolOID: {
		"t", "true", "TRUE", "f", "fal", "yes", "n", "on", "off", "of", "o", "1", "0", "", "2", "tr",
		"ye",
	},
	pgtype.DateOID: {
		"2020-02-29", "2021-02-29", "2020-13-01", "0001-01-01", "0000-01-01", "10000-01-01",
		"infinity", "-infinity", "2020-1-1", "99999-12-31", "2020-06-31",
	},
	pgtype.TimestampOID: {
		"2020-02-29", "2020-02-29 12:30", "2020-02-29T12:30:45", "2020-02-29 12:30:45.123456",
		"2020-02-29 25:00", "2020-02-29 12:60", "2020-02-29 12:30:45+02", "2020-02-29 12:30:45 UTC", "2020-02-29 12:30:45Z",
		"infinity", "2020-02-29 12", "2020-02-29 24:00:00",
	},
	pgtype.TimestamptzOID: {
		"2020-02-29 12:30:45+02", "2020-02-29 12:30:45-05:30", "2020-02-29 12:30:45+05:30:15",
		"2020-02-29Z", "2020-02-29 12:30:45.5Z", "2020-02-29 12:30+0530", "2020-02-29 12:30:00 UTC", "2020-02-29 12:00+16",
	},
	pgtype.TimeOID: {"12:30", "23:59:59.999999", "24:00", "12:60", "1:02:03", "-1:00", "12"},
	pgtype.IntervalOID: {
		"1 day", "2 days 03:04:05.6", "-1 day", "1 year 2 mons 3 days", "1 mon -3 days", "90 minutes", "1.5 hours",
		"1.5 days", "2 weeks", "01:30", "-01:30:00", "1 week 1 hour", "1 century", "3 decades",
		"100 ms", "5 us", "1 y 2 mon", "1 fortnight", "", "1", "1 day ago", "@ 1 day", "1 hour 30 min", "1 day 1 day",
		"1 week 1 day", "1 hour 00:30:00", "1 min 1 s", "1 ms 1 s", "1 year 1 decade", "1 mon 1 months", "0.5 week",
		"2 days 1 week 01:00", "-0.5 sec", "1.0000005 s", "P1D",
	},
	pgtype.UUIDOID: {
		"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99",
		"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
	},
}

// TestLiterals: what is read here, PostgreSQL reads as the same value. What is not read here, PostgreSQL may read.
func TestLiterals(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'Asia/Kathmandu'")
	read := 0
	for oid, texts := range literalTexts {
		for _, text := range texts {
			c, err := readLiteral(oid, nil, text)
			if err != nil {
				continue
			}
			read++
			e := constantExpr(oid, c, -1)
			got, err := s.text("SELECT " + canonicalSQL(e, sqltext.Literal(text)+"::"+e.typeName) + ", " +
				canonicalSQL(e, sqlOf(e)) + ", ((" + sqlOf(e) + ") = " + sqltext.Literal(text) + "::" + e.typeName + ")::text")
			if err != nil {
				t.Errorf("%s %q is read as %s; PostgreSQL says %s", pgresolve.Display(oid), text, sqlOf(e), full(err))
				continue
			}
			if show(got[0][0]) != show(got[0][1]) || show(got[0][2]) != "true" {
				t.Errorf("%s %q is read as %s: %s and %s", pgresolve.Display(oid), text, sqlOf(e), show(got[0][0]), show(got[0][1]))
			}
			v, ok := rational(e, show(got[0][0]))
			if ok && !c.bounds.Open() && !c.bounds.Contains(v) {
				t.Errorf("%s %q is read as %s; PostgreSQL says %s", pgresolve.Display(oid), text, c.bounds, show(got[0][0]))
			}
			if ok && c.bounds.Open() && pgresolve.IsNumber(oid) {
				t.Errorf("%s %q has no value", pgresolve.Display(oid), text)
			}
		}
	}
	if read < 80 {
		t.Fatalf("only %d literals are read", read)
	}
}

// TestValueLiterals: bounds print as literals of their exact value, in every era.
func TestValueLiterals(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'America/New_York'")
	for oid, values := range map[uint32][]string{
		pgtype.Int4OID: {"-5", "0", "2147483647"}, pgtype.Int8OID: {"-9223372036854775808"}, pgtype.NumericOID: {
			"1/8", "-1234.5678", "1e30",
		}, pgtype.Float8OID: {"0.1", "1e300", "-5e-300"}, pgtype.Float4OID: {"0.5", "1e30"},
		pgtype.DateOID: {"0", "-2400000", "18262", "3000000", "-719528", "-719529", "-719163"}, pgtype.TimestampOID: {
			"0", "-1", "1582934400123456", "-62167219200000000", "-62167219200000001", "-100000000000000000",
			"400000000000000000",
		},
		pgtype.TimestamptzOID: {"0", "1582934400123456", "-62167219200000001", "253402300800000000"},
		pgtype.TimeOID:        {"0", "1", "86400000000", "45000000001"}, pgtype.IntervalOID: {"0", "-1", "86400000000"},
	} {
		for _, text := range values {
			r, _ := new(big.Rat).SetString(text)
			if pgresolve.IsFloat(oid) {
				r, _ = roundFloat(r, oid)
			}
			e := newExpr(oid, -1)
			got, err := s.text("SELECT " + canonicalSQL(e, valueLiteral(oid, r, false)))
			if err != nil {
				t.Errorf("%s of %s: %s", valueLiteral(oid, r, false), text, full(err))
				continue
			}
			if v, ok := rational(e, show(got[0][0])); !ok || v.Cmp(r) != 0 {
				t.Errorf("%s of %s is %s", valueLiteral(oid, r, false), text, show(got[0][0]))
			}
		}
	}
}

// FuzzLiteral: no text makes a reader panic, and arrays come apart as they are put together.
func FuzzLiteral(f *testing.F) {
	for oid, texts := range literalTexts {
		for _, text := range texts {
			f.Add(oid, text)
		}
	}
	f.Add(uint32(pgtype.TextOID), `{a,"b \" c",NULL}`)
	f.Fuzz(func(t *testing.T, oid uint32, text string) {
		if c, err := readLiteral(oid, nil, text); err == nil && c.text == nil {
			t.Errorf("%d %q is read as NULL", oid, text)
		}
		splitArray(text)
		readFormat(text)
		plainEscapes(text)
		quoted := `{"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"}`
		if items, ok := splitArray(quoted); !ok || len(items) != 1 || *items[0] != text {
			t.Errorf("%q comes apart as %v", quoted, items)
		}
	})
}

// TestInstantsAsText: PostgreSQL reads what is written of an instant as that instant, at the ends of calendars, too.
func TestInstantsAsText(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'Asia/Kathmandu'")
	ask := func(literal, sql string) {
		got, err := s.text("SELECT (" + sql + ")::text")
		if err != nil || show(got[0][0]) != "true" {
			t.Errorf("%s is written as %s: %v, %v", sql, literal, got, err)
		}
	}
	const leapDay = -719469 // of 1 BC
	for _, day := range []int64{
		0, -1, 59, 11016, -719162, -719163, leapDay, leapDay + 1, leapDay - 1461, -2440587,
		2932896, 2932897, 106751990, 2145042905,
	} {
		literal := valueLiteral(pgtype.DateOID, big.NewRat(day, 1), false)
		ask(literal, fmt.Sprintf("%s - '1970-01-01'::date = %d", literal, day))
		if day > 106751990 {
			continue // later than timestamps are
		}
		for _, second := range []int64{0, 1, 86399} {
			micros := big.NewRat((day*86400+second)*1_000_000, 1)
			literal := valueLiteral(pgtype.TimestampOID, micros, false)
			ask(literal, fmt.Sprintf("%s = '1970-01-01'::timestamp + interval '%d days %d seconds'", literal, day, second))
			literal = valueLiteral(pgtype.TimestamptzOID, micros, false)
			ask(literal, fmt.Sprintf("%s = '1970-01-01'::timestamp AT TIME ZONE 'UTC' + interval '%d hours %d seconds'", literal,
				day*24, second))
		}
	}
}

func TestIntervalsAsText(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0:00:00.000000", 1: "0:00:00.000001", -1: "-0:00:00.000001", 59_999_999: "0:00:59.999999",
		3_600_000_000: "1:00:00.000000", -5_025_000_000: "-1:23:45.000000",
		86_400_000_000: "24:00:00.000000", 1 << 53: "2501999:47:34.740992",
	} {
		if got := intervalText(big.NewInt(micros)); got != want {
			t.Errorf("%d microseconds are written %s, want %s", micros, got, want)
		}
	}
}
