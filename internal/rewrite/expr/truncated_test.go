package expr

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// TestLocalLimits: what conditions on local days, months and times say of a column holds for every row, beside changes
// of an offset and in zones that nobody lives in; and where offsets change at quarters of an hour, rows with the least
// and the greatest value that is left fulfil the condition.
func TestLocalLimits(t *testing.T) {
	s := startServer(t)
	for _, zone := range []struct {
		name  string
		day   string // a local day near which an offset changes
		exact bool
	}{
		{"UTC", "2020-03-01", true},
		{"Asia/Kolkata", "2020-03-01", true},
		{"Asia/Beirut", "2020-03-29", true},      // midnight is left out
		{"Asia/Beirut", "2020-10-25", true},      // comes twice
		{"America/Havana", "2020-11-01", true},   // one o'clock comes twice, on the first of a month
		{"America/St_Johns", "2006-10-29", true}, // one minute past midnight comes twice
		{"Pacific/Apia", "2011-12-30", true},     // a day is left out
		{"Australia/Lord_Howe", "2020-04-05", true},
		{"America/Sao_Paulo", "2018-11-04", true},
		{"Africa/Monrovia", "1972-01-07", false},
		{"EST5CST-20,M3.2.0,M11.1.0", "2020-03-08", false},
		{"EST5CST-20,M3.2.0,M11.1.0", "2020-11-01", false},
		{"AAA167BBB-167,J60/0,J80/0", "2020-03-01", false},
		{"AAA167BBB-167,J60/0,J80/0", "2020-03-20", false},
		{"<+1345>-13:45", "2020-03-01", true},
	} {
		s.exec(t, "SET TimeZone = '"+zone.name+"'")
		values := []string{
			"tz::date", "date(tz)", "date_trunc('day', tz)", "date_trunc('week', tz)", "date_trunc('month', tz)",
			"tz::timestamp", "date_trunc('month', tz::timestamp)", "date_trunc('hour', tz::timestamp)",
			"ts::date", "date_trunc('quarter', ts)", "date_trunc('minute', ts)", "date_trunc('month', d)",
			"date_trunc('year', d)", "date_trunc('week', d::timestamp)",
		}
		if zoneName(zone.name) {
			values = append(values, "tz AT TIME ZONE '"+zone.name+"'", "(tz AT TIME ZONE '"+zone.name+"')::date",
				"date_trunc('month', tz AT TIME ZONE '"+zone.name+"')")
		}
		s.exec(
			t,
			fmt.Sprintf(
				`DROP TABLE IF EXISTS moments; CREATE TABLE moments AS SELECT tz, tz AT TIME ZONE 'UTC' AS ts, (tz AT TIME ZONE 'UTC')::date AS d
			FROM (SELECT timestamptz '%[1]s 00:00Z' + i * interval '6 hours' FROM generate_series(-150, 150) AS g(i)
				UNION ALL SELECT day + i * interval '15 minutes' FROM generate_series(-60, 60) AS g(i), (VALUES (timestamptz '%[1]s 00:00Z'), (date_trunc('month', timestamptz '%[1]s 00:00Z')), (date_trunc('month', timestamptz '%[1]s 00:00Z' + interval '1 month'))) AS v(day)) AS g(at),
				LATERAL (VALUES (at), (at - interval '1 microsecond'), (at + interval '1 microsecond'), (at + interval '59.999999 s'), (at + interval '1 minute')) AS v(tz)`, zone.day))
		for _, value := range values {
			for _, operator := range []string{">=", ">", "<", "<=", "="} {
				for _, constant := range []string{zone.day, zone.day[:8] + "01"} {
					// else the limit is a microsecond behind what may be left out
					cut := strings.Contains(value, "date") || operator == ">=" || operator == "<"
					s.limits(t, value+" "+operator+" '"+constant+"'", zone.exact && cut)
				}
			}
		}
	}
}

// limits holds what a condition says of its column against the rows of moments.
func (s *server) limits(t *testing.T, where string, exact bool) {
	t.Helper()
	for _, c := range s.scope.columns {
		c.Bounds = bounds.Interval{}
		if c.Name == "tz" || c.Name == "ts" {
			c.Bounds = bounds.New(yearBegins(1900), yearBegins(2100))
		}
		if c.Name == "d" {
			c.Bounds = bounds.New(yearBegins(1900), yearBegins(2100)).Scale(quo(bounds.One, microsPerDay))
		}
	}
	e, err := BuildBoolean(parseExpr(t, where), s.scope)
	if err != nil && !exact {
		return // no instant has such an offset
	}
	if err != nil {
		t.Fatal(where, err)
	}
	col := e.Columns()[0]
	unit := "extract(epoch FROM @) * 1000000"
	if col.Name == "d" {
		unit = "@ - '1970-01-01'"
	}
	value := func(of, filter string) string { return strings.ReplaceAll(unit, "@", of+"("+col.Name+")"+filter) }
	there := " FILTER (WHERE " + where + ")"
	rows, err := s.text("SELECT " + value("min", there) + ", " + value("max", there) + " FROM moments")
	if err != nil {
		t.Fatal(where, err)
	}
	if rows[0][0] == nil {
		return
	}
	n, ok := Narrow(e)[col]
	if !ok && exact {
		t.Errorf("%s says nothing", where)
	}
	at := make([]*big.Rat, 2)
	for i, v := range rows[0] {
		at[i], _ = new(big.Rat).SetString(*v)
	}
	for _, end := range []struct {
		at      *big.Rat
		outside bool
	}{{n.Bounds.Lo, n.Bounds.Lo != nil && at[0].Cmp(n.Bounds.Lo) < 0}, {n.Bounds.Hi, n.Bounds.Hi != nil &&
		at[1].Cmp(n.Bounds.Hi) > 0}} {
		if end.outside {
			t.Errorf("%s: a row lies outside %s", where, n.Bounds)
		}
		if end.at == nil || !exact {
			continue
		}
		holds, err := s.text("SELECT " + where + " FROM (SELECT " + valueLiteral(col.Type, end.at, false) + ") AS r(" +
			col.Name + ")")
		if err != nil || holds[0][0] == nil || *holds[0][0] != "t" {
			t.Errorf("%s: does not hold at the end of %s", where, n.Bounds)
		}
	}
}
