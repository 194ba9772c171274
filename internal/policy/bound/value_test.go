package bound

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// texts by the type that PostgreSQL reads them as, and how it shows a value in canonical units.
var texts = []struct {
	name, canonical string
	oid             uint32
	texts           []string
}{
	{"int4", "$1::text::int4::text", 23, []string{"0", "-0", "+5", "120", "-2147483648"}},
	{"numeric", "$1::text::numeric::text", 1700, []string{
		"0", "-0", "+5", "5.0", ".5", "-1.5", "1e3", "1E-3", "12e+2",
		"9007199254740993", "1e300", "-1e-300",
	}},
	{"date", "($1::text::date - date '1970-01-01')::text", 1082, []string{
		"2015-01-01", "2026-12-31", "0001-01-01",
		"2024-02-29", "9999-12-31",
	}},
	{
		"timestamp", "(extract(epoch FROM $1::text::timestamp) * 1000000)::text", 1114,
		[]string{
			"2020-01-01 00:00:00", "2020-01-01T00:00:01", "2020-01-01 00:00", "2020-12-31 23:59:59.5",
			"2020-12-31 23:59:59.499999", "2020-01-01",
		},
	},
	{"timestamptz", "(extract(epoch FROM $1::text::timestamptz) * 1000000)::text", 1184, []string{
		"2020-01-01 00:00:00Z", "2020-01-01 00:00:00+02", "2020-01-01 00:00:00-05:30", "2019-12-31T22:00:01Z",
		"2020-01-01 00:00+01:00", "2020-06-01", "2020-06-01 12:00",
	}},
	{"time", "(extract(epoch FROM $1::text::time) * 1000000)::text", 1083, []string{
		"08:00", "18:30:00", "23:59:59.5",
		"00:00", "24:00",
	}},
	{"interval", "(extract(epoch FROM $1::text::interval) * 1000000)::text", 1186, []string{
		"0 days", "1.5 days", "1 day", "24 hours", "30m", "90 min", "1h", "1 day 02:30", "-1 day", "-1 day -02:30",
		"-1 day +02:30", "1 day -02:30", "2 mon", "59 days", "61 days", "1 year", "359 days", "50ms", "50 us", "1usec", "1w",
		"0.5 weeks", "1.5 weeks", "1.5 hours", "0.000001 s", "-00:00:01", "100:00:00", "12:30",
		"1.5 mons", "0.1 months", "-1.5 mons", "1 year 6 mons", "11 mons 35 days", "1.5 years", "0.5 years",
		"1 year -13 months", "25 months", "-25 months", "1 yr +0.5 mon", "1 year -0.5 mon", "1.25 d 1.5 h",
		"10000 years",
	}},
}

// TestBoundsMeanWhatPostgreSQLReads: a bound is the value that PostgreSQL would have read, had it been asked.
func TestBoundsMeanWhatPostgreSQLReads(t *testing.T) {
	server, name := pgservertest.Database(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(name, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	for _, typ := range texts {
		for _, s := range typ.texts {
			r, err := ForColumn(typ.oid, s, s)
			if err != nil {
				t.Errorf("%s: %v", typ.name, err)
				continue
			}
			v, err := Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{s, v.Text} { // what is shown means the same
				var shown string
				if err := conn.QueryRow(ctx, "SELECT "+typ.canonical, text).Scan(&shown); err != nil {
					t.Fatalf("%s %q: %v", typ.name, text, err)
				}
				if want, ok := new(big.Rat).SetString(shown); !ok || r.Lo.Cmp(want) != 0 {
					t.Errorf("%s %q is %s, PostgreSQL reads %s", typ.name, text, r.Lo.RatString(), shown)
				}
			}
		}
	}
}

// TestWholeNumbersHaveNoExponent: a bound is shown beside its column's type, which may be an integer.
func TestWholeNumbersHaveNoExponent(t *testing.T) {
	for in, want := range map[string]string{
		"1e3": "1000", "1.5e1": "15", "1e-3": "0.001", "+7": "7", "-0": "0",
		"2.50": "2.50",
	} {
		if v, err := Parse(in); err != nil || v.Text != want {
			t.Errorf("%s: %q, want %q", in, v.Text, want)
		}
	}
}

func TestNoBounds(t *testing.T) {
	for _, s := range []string{
		"", " ", "abc", "nan", ".nan", "inf", "-Infinity", "0x10", "010", "1_000", "1e401", "1e99999", "--1", "1 2",
		"2015-13-01", "2015-02-29", "0000-01-01", "15-01-01", "2015-1-1", "2015-01-01 25:00:00", "2015-01-01 BC", "today",
		"now",
		"1 fortnight", "day", "1 day 1", "12:60", "12:00:60", "1:2", "P1D", "infinity", "1 day ago",
		"2015-01-01 00:00:00 Europe/Vienna", "1 decade",
		strings.Repeat("1 day ", 100),
	} {
		if v, err := Parse(s); err != errForm {
			t.Errorf("%q is read as %s %v, %v", s, v.Kind, v.At, err)
		}
	}
	for s, want := range map[string]string{
		"1 day 2 days":                        "two parts in days",
		"1 hour 02:30":                        "two parts in hours",
		"-1 day 02:30":                        "give every part its sign",
		"1.3 years":                           "no whole number of months",
		"1.5 us":                              "finer than a microsecond",
		"00:00:00.1234567":                    "finer than a microsecond",
		"2020-01-01 00:00:00.1234567":         "finer than a microsecond",
		"10001 years":                         "longer than 10000 years",
		"999999999999 years 999999999999 hrs": "longer than 10000 years",
	} {
		if _, err := Parse(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

func TestBoundsFitTheirColumns(t *testing.T) {
	for _, c := range []struct {
		oid    uint32
		lo, hi string
		want   string // empty: accepted
	}{
		{21, "-32768", "32767", ""},
		{21, "0", "32768", "32768 is out of range"},
		{23, "0", "0.5", "0.5 is no whole number"},
		{23, "0", "1e3", ""},
		{20, "0", "9223372036854775808", "out of range"},
		{700, "0", "1e39", "out of range"},
		{700, "1e-60", "1", "out of range"},
		{701, "0", "0.1", ""},
		{701, "0", "1e309", "out of range"},
		{1700, "-1e400", "1e400", ""},
		{1700, "0 days", "1 day", "0 days is an interval, but the column's type takes a number"},
		{1082, "2015-01-01", "2015-01-02 00:00:00", "takes a date"},
		{1082, "20150101", "20160101", "takes a date"},
		{1114, "2015-01-01", "2015-01-02 00:00:00", ""},
		{1114, "2015-01-01", "2015-01-02 00:00:00Z", "without a zone"},
		{1184, "2015-01-01", "2015-01-01 01:00:00+02", "lower 2015-01-01 is above upper 2015-01-01 01:00:00+02"},
		{1083, "00:00", "24:00", ""},
		{1083, "-01:00", "12:00", "time of day"},
		{1083, "00:00", "24:00:01", "time of day"},
		{1083, "8 hours", "18 hours", "time of day"},
		{1186, "0", "5", "takes an interval"},
		{1186, "1 year", "361 days", "lower 1 year is above upper 361 days"},
		{1186, "361 days", "1 year", ""},
		{1186, "08:00", "1 day", ""},
		{25, "0", "1", "none of these"},
		{16, "0", "1", "none of these"},
		{790, "0", "1", "none of these"},
		{3904, "0", "50", ""},
		{3904, "0", "0.5", "0.5 is no whole number"},
		{3906, "0", "0.5", ""},
		{3908, "2020-01-01", "2021-01-01 12:00", ""},
		{3910, "2020-01-01", "2021-01-01 12:00Z", ""},
		{3912, "2020-01-01", "2021-12-31", ""},
		{3912, "0", "1", "takes a date"},
		{3926, "0", "1e18", ""},
		{4535, "2020-01-01", "2021-12-31", "none of these"},
		{23, "x", "1", `"x" is not a finite number`},
	} {
		_, err := ForColumn(c.oid, c.lo, c.hi)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("type %d [%s, %s]: %v, want %q", c.oid, c.lo, c.hi, err, c.want)
		}
	}
}

// TestBoundsOfSums: a sum leaves its column's type.
func TestBoundsOfSums(t *testing.T) {
	for _, c := range []struct {
		oid    uint32
		lo, hi string
		fits   bool
	}{
		{21, "0", "1e6", true},
		{23, "0.5", "1.5", true},
		{1186, "0 days", "30.5 days", true},
		{1083, "0 h", "1 day", true},
		{1186, "0", "1", false},
	} {
		if _, err := ForSum(c.oid, c.lo, c.hi); (err == nil) != c.fits {
			t.Errorf("type %d [%s, %s]: %v", c.oid, c.lo, c.hi, err)
		}
	}
}

// FuzzParse: no text makes the reader panic, and what it accepts means the same when it is read again.
func FuzzParse(f *testing.F) {
	for _, typ := range texts {
		for _, s := range typ.texts {
			f.Add(s)
		}
	}
	f.Add("1e400")
	f.Add("-" + strings.Repeat("9", 395) + "e400")
	f.Add("." + strings.Repeat("3", 394) + "e-400")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(v.Text)
		if err != nil || again.Kind != v.Kind || again.At.Cmp(v.At) != 0 {
			t.Errorf("%q is %v %v, and %q is %v %v: %v", s, v.Kind, v.At, v.Text, again.Kind, again.At, err)
		}
	})
}
