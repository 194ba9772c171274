package policy

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// literals by the type that PostgreSQL reads them as. TestLiteralsMeanWhatPostgreSQLReads compares every pair.
var literals = map[string][]string{
	"numeric":     {"0", "-0", "+5", "5.0", ".5", "-1.5", "1e3", "1E-3", "12e+2", "9007199254740993", "9007199254740992", "1e300", "-1e-300"},
	"date":        {"2015-01-01", "2026-12-31", "0001-01-01", "2024-02-29"},
	"timestamp":   {"2020-01-01 00:00:00", "2020-01-01T00:00:01", "2020-01-01 00:00", "2020-12-31 23:59:59.5", "2020-12-31 23:59:59.499999"},
	"timestamptz": {"2020-01-01 00:00:00Z", "2020-01-01 00:00:00+02", "2020-01-01 00:00:00-05:30", "2019-12-31T22:00:01Z", "2020-01-01 00:00+01:00"},
	"interval":    {"1 day", "24 hours", "30m", "90 min", "1h", "1 day 02:30", "-1 day", "2 mon", "59 days", "61 days", "1 year", "359 days", "50ms", "1w", "1.5 hours", "-00:00:01", "100:00:00"},
	"time":        {"08:00", "18:30:00", "23:59:59.5"},
}

func TestLiteralsMeanWhatPostgreSQLReads(t *testing.T) {
	server, name := pgservertest.Database(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(name, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for typ, texts := range literals {
		var parsed []literal
		for _, s := range texts {
			l, ok := parseLiteral(s)
			if !ok {
				t.Errorf("%s %q is refused", typ, s)
				continue
			}
			parsed = append(parsed, l)
		}
		for _, a := range parsed {
			for _, b := range parsed {
				var order int
				sql := "SELECT ($1::text::" + typ + " > $2::text::" + typ + ")::int - ($1::text::" + typ + " < $2::text::" + typ + ")::int"
				if err := conn.QueryRow(ctx, sql, a.text, b.text).Scan(&order); err != nil {
					t.Fatalf("%s %q, %q: %v", typ, a.text, b.text, err)
				}
				if got := a.at.Cmp(b.at); got != order {
					t.Errorf("%s: %q against %q is %d, PostgreSQL says %d", typ, a.text, b.text, got, order)
				}
			}
		}
	}
}

// TestWholeNumbersHaveNoExponent: PostgreSQL reads no exponent into an integer.
func TestWholeNumbersHaveNoExponent(t *testing.T) {
	for in, want := range map[string]string{"1e3": "1000", "1.5e1": "15", "1e-3": "0.001", "+7": "7", "-0": "0", "2.50": "2.50"} {
		if l, ok := parseLiteral(in); !ok || l.text != want {
			t.Errorf("%s: %q, want %q", in, l.text, want)
		}
	}
}

func TestNoLiterals(t *testing.T) {
	for _, s := range []string{"", " ", "abc", "nan", ".nan", "inf", "-Infinity", "0x10", "010", "1_000", "1e401", "1e99999", "--1", "1 2",
		"2015-13-01", "2015-02-29", "0000-01-01", "15-01-01", "2015-1-1", "2015-01-01 25:00:00", "2015-01-01 BC", "today", "now",
		"1 fortnight", "day", "1 day 1", "12:60", "12:00:60", "1:2", "P1D", "infinity", "1 day ago", "2015-01-01 00:00:00 Europe/Vienna"} {
		if l, ok := parseLiteral(s); ok {
			t.Errorf("%q is read as %s %s", s, l.kind, l.at)
		}
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[string]Name{
		"patients": {"public", "patients"}, "clinic.patients": {"clinic", "patients"}, "Clinic.Patients": {"Clinic", "Patients"},
		`"a.b"`: {"public", "a.b"}, `"a.b"."c""d"`: {"a.b", `c"d`}, `x."y z"`: {"x", "y z"}, "schöne.tabelle": {"schöne", "tabelle"},
	} {
		if n, message := relation(s); n != want || message != "" {
			t.Errorf("%s: %v, %s", s, n, message)
		}
	}
	long := "a234567890123456789012345678901234567890123456789012345678901234"
	for _, s := range []string{"", ".", "a.", ".a", "a..b", "a.b.c", `"`, `"a`, `"a"b`, `a"b`, "a b", long, "pg_catalog.pg_class", "pg_toast.x",
		"information_schema.tables", "dpproxy.budget"} {
		if n, message := relation(s); message == "" {
			t.Errorf("%q is read as %v", s, n)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"epsilon", "epsilon_max", "mechanism", "grid", "public", "columns"}
	for name, want := range map[string]string{"epsilom": "epsilon", "Columns": "columns", "colums": "columns", "gird": "grid", "epsilonmax": "epsilon_max",
		"colour": "", "x": "", "publik": "public", "": ""} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
