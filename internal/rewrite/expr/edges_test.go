package expr

import (
	"math/rand/v2"
	"testing"
)

// edgeGenerator writes expressions of constants at the edges of what types hold, which a row chooses among.
type edgeGenerator struct{ *rand.Rand }

func (g edgeGenerator) pick(c ...string) string { return c[g.IntN(len(c))] }

func (g edgeGenerator) choose(f func() string) string {
	return "(CASE WHEN nb THEN " + f() + " WHEN b THEN " + f() + " ELSE " + f() + " END)"
}

func (g edgeGenerator) num(d int) string {
	if d <= 0 {
		switch g.IntN(4) {
		case 0:
			return g.choose(func() string {
				return g.pick("0", "1", "-1", "7", "2147483647", "-2147483647", "12", "31",
					"100000")
			})
		case 1:
			return g.choose(func() string {
				return g.pick("0.0", "1e-10", "1.5", "-2.5", "1e30", "1.000000000000000000001", "0.99999999999999999999",
					"123456789.123456789123456789", "1e-30", "4503599627370496.5", "0.1", "-1e-20", "700.0", "-699.5", "1e100",
					"1e-100", "99.995")
			})
		case 2:
			return g.choose(func() string {
				return g.pick("0.0::float8", "1e-10::float8", "1.0000000000000002::float8", "0.9999999999999999::float8",
					"-2.5::float8", "1e30::float8", "0.1::float8", "1e-100::float8", "9007199254740993::float8", "700::float8",
					"123456.789::float8", "4.35::float8", "1e15::float8", "0.30000000000000004::float8")
			})
		}
		return g.choose(func() string {
			return g.pick("0.0::float4", "1e-10::float4", "1.1::float4", "16777217::float4", "3.4e37::float4", "0.1::float4",
				"123456.789::float4", "9999995::float4")
		})
	}
	a, b := g.num(d-1), g.num(d-1)
	switch g.IntN(14) {
	case 0, 1, 2:
		return "(" + a + " " + g.pick("+", "-", "*", "/", "%") + " " + b + ")"
	case 3:
		return g.pick("sqrt", "ln", "log", "exp", "radians", "sin", "cos", "asin", "acos", "tanh", "floor", "ceil", "round",
			"trunc", "abs", "sign", "- ") + "(" + a + ")"
	case 4:
		return g.pick("power", "mod", "div", "log", "atan2", "gcd", "lcm") + "(" + a + ", " + b + ")"
	case 5:
		return "power(" + a + ", " + g.pick("2", "3", "0.5", "16", "7", "-1", "1e5", "0.001", "1e9") + ")"
	case 6:
		return "(" + a + ")::" + g.pick("int4", "int8", "int2", "numeric", "float8", "float4", "numeric(30,5)",
			"numeric(40,0)")
	case 7:
		return g.pick("round", "trunc") + "((" + a + ")::numeric, " + g.pick("0", "2", "-1", "-3", "10") + ")"
	case 8:
		return g.pick("GREATEST", "LEAST", "COALESCE", "NULLIF") + "(" + a + "," + b + ")"
	case 9, 10:
		return "date_part(" + g.pick("'epoch'", "'year'", "'day'", "'month'", "'hour'", "'second'", "'julian'", "'isoyear'",
			"'decade'", "'century'", "'week'", "'dow'", "'doy'", "'minute'", "'milliseconds'", "'timezone'", "'timezone_hour'",
			"'timezone_minute'", "'quarter'") + ", " + g.tm(d-1) + ")"
	case 11:
		return "LEAST(GREATEST(" + a + ", " + g.pick("0", "-5", "0.01") + "), " + g.pick("10", "1000", "700") + ")"
	case 12:
		return "width_bucket(" + a + ", " + g.pick("0, 10, 5", "10, 0, 5", "-1e10, 1e10, 1000") + ")"
	}
	return "length((" + a + ")::text)"
}

func (g edgeGenerator) span(d int) string {
	if d <= 0 || g.IntN(3) == 0 {
		return g.choose(func() string {
			return "interval " + g.pick("'1 day'", "'1 month'", "'-1 month'", "'11 mons 29 days'", "'-30 days 720:00'",
				"'100 years'", "'1 year -365 days'", "'36:00'", "'0'", "'-11 mons'", "'1 microsecond'",
				"'5 years -61 mons 31 days'", "'50 years -18262 days'")
		})
	}
	switch g.IntN(8) {
	case 0:
		return "(" + g.span(d-1) + g.pick(" + ", " - ") + g.span(d-1) + ")"
	case 1:
		return "(" + g.span(d-1) + " * (" + g.num(d-2) + ")::float8)"
	case 2:
		return "(" + g.span(d-1) + " / (" + g.num(d-2) + ")::float8)"
	case 3:
		return g.pick("justify_days", "justify_hours", "justify_interval", "- ") + "(" + g.span(d-1) + ")"
	case 4:
		return "age(" + g.stamp(d-1) + ", " + g.stamp(d-1) + ")"
	case 5:
		return "(" + g.stamp(d-1) + " - " + g.stamp(d-1) + ")"
	case 6:
		return "make_interval(" + g.choose(func() string { return g.pick("0", "1", "-3", "11") }) + ", " +
			g.choose(func() string { return g.pick("0", "1", "-3", "11") }) + ", 0, " +
			g.choose(func() string { return g.pick("0", "1", "-31", "400") }) + ")"
	}
	return g.pick("GREATEST", "LEAST") + "(" + g.span(d-1) + "," + g.span(d-1) + ")"
}

func (g edgeGenerator) stamp(d int) string {
	typ := g.pick("timestamptz", "timestamptz", "timestamp", "date")
	if d <= 0 || g.IntN(3) == 0 {
		return g.choose(func() string {
			s := g.pick("2020-03-08 01:00", "2020-03-01 00:00", "2020-02-29 23:59:59", "2006-10-29 02:30:30", "2020-03-13 23:00",
				"2020-12-31 23:59:59.999999", "2021-01-01", "2000-01-01", "1970-01-01", "1900-03-01 12:00", "0001-01-01 12:00",
				"9999-12-31", "2020-11-01 05:30", "2019-11-03 05:00")
			if typ == "date" {
				return "date '" + s[:10] + "'"
			}
			if typ == "timestamptz" {
				if len(s) == 10 {
					s += " 00:00"
				}
				s += "+00"
			}
			return typ + " '" + s + "'"
		})
	}
	switch g.IntN(7) {
	case 0, 1:
		return "date_trunc('" + g.pick("day", "hour", "week", "month", "quarter", "year", "decade", "second") + "', " +
			g.stamp(d-1) + ")"
	case 2:
		return "(" + g.stamp(d-1) + g.pick(" + ", " - ") + g.span(d-1) + ")"
	case 3:
		return "(" + g.stamp(d-1) + " AT TIME ZONE '" + g.pick("America/St_Johns", "UTC", "Asia/Kathmandu", "Pacific/Apia") +
			"')"
	case 4:
		return "(" + g.stamp(d-1) + ")::" + g.pick("timestamp", "timestamptz", "date")
	case 5:
		return "date_bin(interval '" + g.pick("1 day", "15 minutes", "7 days") + "', " + g.stamp(d-1) +
			", timestamp '2000-01-01')"
	}
	return "date_trunc('" + g.pick("day", "month") + "', " + g.stamp(d-1) + ", 'America/St_Johns')"
}

func (g edgeGenerator) tm(d int) string {
	if g.IntN(2) == 0 {
		return g.span(d)
	}
	return g.stamp(d)
}

// TestRandomEdges holds what is accepted of random expressions over extreme constants to its bounds, in zones of large
// jumps.
func TestRandomEdges(t *testing.T) {
	s := startServer(t)
	g := edgeGenerator{rand.New(rand.NewPCG(*randomSeed, 99))}
	zones := []string{"UTC", "America/St_Johns", "AAA167BBB-167,J60/0,J80/0", "Pacific/Apia"}
	accepted := 0
	for range *randomExpressions {
		text := g.num(1 + g.IntN(3))
		if g.IntN(3) == 0 {
			text = g.tm(1 + g.IntN(2))
		}
		s.exec(t, "SET TimeZone = 'UTC'")
		e, err := Build(parseExpr(t, text), s.scope)
		if err != nil {
			continue
		}
		accepted++
		sql := sqlOf(e.Read())
		for _, zone := range zones[:zonesFor(e, len(zones))] {
			s.exec(t, "SET TimeZone = '"+zone+"'")
			got, err := s.text("SELECT DISTINCT " + canonicalSQL(e, sql) + ", pg_typeof(" + sql + ")::oid::text, length((" +
				sql + ")::text)::text FROM (VALUES (true, true), (false, true), (false, false)) AS r (nb, b)")
			if err != nil {
				t.Errorf("raises in %s: %s\n%v", zone, text, full(err))
				break
			}
			for _, row := range got {
				if err := checkValue(e, row[0], row[1], row[2]); err != nil {
					t.Errorf("in %s: %s\n%v", zone, text, err)
				}
			}
		}
	}
	if accepted < *randomExpressions/20 {
		t.Fatalf("only %d of %d expressions were accepted: the test shows little", accepted, *randomExpressions)
	}
}
