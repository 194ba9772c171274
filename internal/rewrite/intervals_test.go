package rewrite_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestIntervalEnds: PostgreSQL computes the ends of an interval from how far its first release may be off, in the
// aggregate's own type and bounds; NULL where there is none. The second row of each answer has no interval.
func TestIntervalEnds(t *testing.T) {
	for _, c := range []struct {
		aggregate, from string
		released        []int64 // r1, r2…
		low, high       int64
		want            string // value, low, high
	}{
		{"count(*)", "patients", []int64{100}, 6, 9, "100|94|109"},
		{"count(DISTINCT patient_id)", "visits", []int64{100}, 6, 9, "100|94|109"},
		// the ward itself is a row
		{"count(*)", "wards w LEFT JOIN patients p ON p.ward = w.ward GROUP BY w.ward", []int64{3}, 3, 9, "3|1|12"},
		{"sum(income)", "patients", []int64{1000}, 6, 9, "1000|994|1009"},
		{"sum(score)", "patients", []int64{40}, 40, 9, "40|0|49"},
		{"sum(height)", "patients", []int64{1 << 20}, 1 << 19, 1 << 21, "2|1|6"},
		{"sum(stay)", "patients", []int64{2}, 1, 2, "00:00:02|00:00:01|00:00:04"},
		// Of 10 rows Σ(2x − 120) is 100: Σx is 650, and half a step more is a step more.
		{
			"sum(age) FILTER (WHERE true)", "patients HAVING count(age) FILTER (WHERE true) > 0",
			[]int64{10, 100},
			6, 9,
			"650|647|655",
		},
		{"avg(age)", "patients", []int64{10, 100}, 7, 9, "65.0000000000000000|64.6500000000000000|65.4500000000000000"},
		{"avg(age)", "patients", []int64{10, 1195}, 2500, 2500, "119.7500000000000000|0|120"},
		{"avg(weight)", "patients", []int64{10, 0}, 0, 1 << 60, "125|125|250"},
		{"avg(stay)", "patients", []int64{1, 0}, 2, 2, "360:00:00|359:59:59|360:00:01"},
		{"min(admitted)", "patients", []int64{18300}, 5, 8, "2020-02-08|2020-02-03|2020-02-16"},
		{
			"max(seen)", "patients",
			[]int64{1600000000},
			60, 1,
			"2020-09-13 12:26:40+00|2020-09-13 12:25:40+00|2020-09-13 12:26:41+00",
		},
		{"max(starts)", "visits", []int64{1600000000}, 60, 1, "2020-09-13 12:26:40|2020-09-13 12:25:40|2020-09-13 12:26:41"},
		{"max(stay)", "patients", []int64{90}, 60, 1, "00:01:30|00:00:30|00:01:31"},
		{"percentile_disc(0.5) WITHIN GROUP (ORDER BY age)", "patients", []int64{40, 30, 50}, 10, 15, "40|30|55"},
	} {
		sql := "SELECT " + c.aggregate + ", dpproxy.interval_low(" + c.aggregate + "), dpproxy.interval_high(" + c.aggregate +
			") FROM " + c.from
		w := theWorld.then()
		q, err := w.ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var values [][]byte
		var types []uint32
		for _, a := range q.plan.Finish.Args {
			var list string
			switch {
			case a.Key >= 0:
				list = "icu,er"
			case a.Derived == "":
				list = strings.Repeat(strconv.FormatInt(c.released[a.Release], 10)+",", 2)
			case a.Derived == rewrite.DerivedThreshold:
				list = "0,0"
			case a.Derived == rewrite.DerivedLow:
				list = strconv.FormatInt(c.low, 10) + ",NULL"
			case a.Derived == rewrite.DerivedHigh:
				list = strconv.FormatInt(c.high, 10) + ",NULL"
			}
			values, types = append(values, []byte("{"+strings.TrimSuffix(list, ",")+"}")), append(types, a.Type)
		}
		w.client()
		result := read(w.main.PgConn().ExecParams(context.Background(), q.plan.Finish.SQL, values, types, nil, nil))
		if result.Err != nil {
			t.Errorf("%s: %v", q.plan.Finish.SQL, result.Err)
			continue
		}
		var rows []string
		for _, row := range texts(result) {
			var parts []string
			for _, v := range row {
				if v == nil {
					parts = append(parts, "NULL")
				} else {
					parts = append(parts, *v)
				}
			}
			rows = append(rows, strings.Join(parts, "|"))
		}
		value, _, _ := strings.Cut(c.want, "|")
		if want := []string{c.want, value + "|NULL|NULL"}; !slices.Equal(rows, want) {
			t.Errorf("%s: %q, want %q", sql, rows, want)
		}
	}
}

// TestCentersOfColumns: what two releases make is Step·(z + DoubledCenter·n), over n for an average: ages in [0, 120]
// are released as Σ(2x − 120). An average's interval needs it to know which sign its values have.
func TestCentersOfColumns(t *testing.T) {
	for _, aggregate := range []string{"avg(age)", "sum(age) FILTER (WHERE true), count(age) FILTER (WHERE true)"} {
		q, err := theWorld.then().ask("SELECT "+aggregate+" FROM patients", nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", aggregate, err)
			continue
		}
		for _, c := range q.plan.Blocks[0].Columns {
			if r := q.plan.Blocks[0].Releases[c.Releases[0]]; len(c.Releases) == 2 &&
				(c.DoubledCenter != 120 || r.PerRow.Lo != -120 || r.PerRow.Hi != 120) {
				t.Errorf("%s: values in %v around %d", c.Name, r.PerRow, c.DoubledCenter)
			}
		}
	}
}

// TestEndsOfQuantiles: the ends of the interval of a quantile are those that are asked for, further out by the rows
// that are left out; none where it is unknown how many these are.
func TestEndsOfQuantiles(t *testing.T) {
	share := func(s float64) *float64 { return &s }
	type end struct {
		side     int
		fraction float64
	}
	for _, c := range []struct {
		leftOut *float64
		ask     string
		q       string
		want    []end
	}{
		{nil, "low", "0.5", nil},
		{share(0), "low", "0.5", []end{{-1, .5}}},
		{share(0), "high", "0.5", []end{{1, .5}}},
		{share(.1), "low", "0.5", []end{{-1, .5 - .5/9}}},
		{share(.1), "high", "0.5", []end{{1, .5 + .5/9}}},
		{share(.1), "low", "0.05", []end{{-1, 0}}},
		{share(.1), "high", "0.95", []end{{1, 1}}},
		{share(0), "low", "1", nil},
	} {
		w := theWorld.then()
		of, p := *w.schema, *w.schema.Policy
		p.Tables = nil
		for _, table := range of.Policy.Tables {
			if table.Name.Relation == "visits" {
				visits := *table
				visits.LeftOut, table = c.leftOut, &visits
			}
			p.Tables = append(p.Tables, table)
		}
		of.Policy = &p
		w.schema = &of
		q, err := w.ask("SELECT dpproxy.interval_"+c.ask+"(percentile_cont("+c.q+
			") WITHIN GROUP (ORDER BY minutes)) FROM visits", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []end
		for _, r := range q.plan.Blocks[0].Releases {
			if r.End != 0 {
				got = append(got, end{r.End, r.Fraction})
			}
		}
		same := func(a, b end) bool { return a.side == b.side && math.Abs(a.fraction-b.fraction) < 1e-9 }
		if !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%s end of %s: %v, want %v", c.ask, c.q, got, c.want)
		}
	}
}
