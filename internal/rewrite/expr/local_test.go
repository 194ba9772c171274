package expr

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// TestLocalTimes: lists of local days and years have every minute's within bounds that end beside changes of an offset:
// where midnight is left out, where it comes twice, where a day is left out, and in zones that nobody lives in. They
// have one more at most.
func TestLocalTimes(t *testing.T) {
	s := startServer(t)
	for _, zone := range []struct {
		name  string
		turns string // an instant at which an offset changes
		exact bool
	}{
		{"Asia/Beirut", "2020-10-24 21:00+00", true},
		{"Asia/Beirut", "2020-03-28 22:00+00", true},
		{"America/Havana", "2020-03-08 05:00+00", true},
		{"America/St_Johns", "2006-10-29 02:31+00", true},
		{"Pacific/Apia", "2011-12-30 10:00+00", true},
		{"Australia/Lord_Howe", "2020-12-31 13:00+00", true},
		{"EST5CST-20,M3.2.0,M11.1.0", "2020-03-08 07:00+00", false},
		{"EST5CST-20,M3.2.0,M11.1.0", "2020-10-31 06:00+00", false},
		{"<+1345>-13:45", "2020-12-31 10:15+00", true},
	} {
		s.exec(t, "SET TimeZone = '"+zone.name+"'")
		texts := []string{
			"tz::date", "extract(year FROM tz)", "to_char(tz::timestamp, 'YYYY-MM-DD')",
			"date_trunc('day', tz::timestamp)",
		}
		if zoneName(zone.name) {
			texts = append(texts, "(tz AT TIME ZONE '"+zone.name+"')::date", "date_part('year', tz AT TIME ZONE '"+zone.name+
				"')")
		}
		for _, ends := range [][2]string{
			{"-1 second", "3 days"},
			{"-20 minutes", "2 hours"},
			{"0", "40 minutes"},
			{"1 second", "1 minute"},
			{"-3 days", "-1 second"},
			{"-3 days", "20 minutes"},
			{"-10 days", "10 days"},
		} {
			at,
				err := s.text(
				fmt.Sprintf(
					"SELECT (timestamptz '%[1]s' + '%[2]s') AT TIME ZONE 'UTC', (timestamptz '%[1]s' + '%[3]s') AT TIME ZONE 'UTC'",
					zone.turns, ends[0], ends[1]))
			if err != nil {
				t.Fatal(err)
			}
			lo, hi := *at[0][0]+"+00", *at[0][1]+"+00"
			r, err := bound.ForColumn(pgtype.TimestamptzOID, lo, hi)
			if err != nil {
				t.Fatal(err)
			}
			s.scope.columns["tz"].Bounds = bounds.New(r.Lo, r.Hi)
			for _, text := range texts {
				s.listsAll(
					t, text,
					fmt.Sprintf("(SELECT generate_series(timestamptz '%s', '%[2]s', '1 minute') UNION ALL SELECT '%[2]s') AS r(tz)",
						lo, hi), zone.exact)
			}
		}
	}
}

// listsAll holds the list of a key against its values in rows.
func (s *server) listsAll(t *testing.T, text, from string, exact bool) {
	e, err := Build(parseExpr(t, text), s.scope)
	if err != nil {
		t.Fatal(text, err)
	}
	k, err := Keys(e, Limits{20000, 20000})
	if err != nil {
		t.Fatal(text, full(err))
	}
	values := func(sql string) (list []string) {
		rows, err := s.text(sql)
		if err != nil {
			t.Fatalf("%s\n%s", full(err), sql)
		}
		for _, r := range rows {
			if r[0] != nil {
				list = append(list, *r[0])
			}
		}
		return list
	}
	listed, there := values(k.SQL), values("SELECT DISTINCT ("+sqlOf(e)+")::text FROM "+from)
	for _, v := range there {
		if !slices.Contains(listed, v) {
			t.Errorf("%s over %s: %s is not among %v", text, from, v, listed)
		}
	}
	if exact && len(listed) > len(there)+1 || int64(len(listed)) > k.Size {
		t.Errorf("%s over %s: %d values are %v, declared %d", text, from, len(there), listed, k.Size)
	}
}
