package redteam_test

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// unitVisits counts a unit's visits in each ward, as a query that could be right begins.
const unitVisits = "SELECT patient_id, ward, count(*) AS n FROM public.visits WHERE patient_id IS NOT NULL GROUP BY 1, 2"

// TestJudgeFindsFaults holds doctored records against the judge: each has a fault that a proxy must not have, and one
// has none.
func TestJudgeFindsFaults(t *testing.T) {
	count := func(sensitivity int64, groups int) []charge {
		return []charge{{
			Name: "count", Kind: "scalar", Sensitivity: sensitivity, Total: sensitivity * int64(groups),
			Groups: groups,
		}}
	}
	one := func(sql string, sensitivity int64) block {
		return block{Measure: sql, Measured: []int{0}, Keys: 1, Releases: count(sensitivity, 1)}
	}
	wards :=
		"SELECT o, sum(LEAST(n, 4)) FROM (SELECT patient_id, CASE ward WHEN 'icu' THEN 1 WHEN 'er' THEN 2 ELSE 3 END::int8 AS o, sum(n) AS n FROM (" +
			unitVisits + ") AS v GROUP BY 1, 2) AS u GROUP BY 1"
	conn := databasesOf(t, 1)[0]
	for _, fault := range []struct {
		name  string
		block block
		want  string // "": there is no fault
	}{
		{"nothing is wrong", one("SELECT 1::int8, sum(LEAST(n, 4)) FROM (SELECT patient_id, sum(n) AS n FROM ("+unitVisits+
			") AS v GROUP BY 1) AS u", 4), ""},
		{"no clamp", one("SELECT 1::int8, count(*) FROM public.visits WHERE patient_id IS NOT NULL", 4), "moves by"},
		{"half the sensitivity", one("SELECT 1::int8, sum(LEAST(n, 4)) FROM (SELECT patient_id, sum(n) AS n FROM ("+
			unitVisits+") AS v GROUP BY 1) AS u", 2), "moves by"},
		{
			"an ordinal twice", one("SELECT 1::int8, count(*) FROM public.patients, generate_series(1, 2) AS g GROUP BY g", 1),
			"comes twice",
		},
		{"too many groups", block{Measure: wards, Measured: []int{0}, Keys: 3, Releases: count(12, 1)}, "moves in"},
		{"no such group", block{Measure: wards, Measured: []int{0}, Keys: 2, Releases: count(12, 3)}, "is no row of a group"},
		{"each group bounded by itself", block{Measure: wards, Measured: []int{0}, Keys: 3, Releases: []charge{
			{Name: "count", Sensitivity: 4, Total: 4, Groups: 3},
		}}, "in all groups"},
		{"rows of two counts", block{
			Measure: "SELECT 1::int8, sum(LEAST(n, 4)), 0 FROM (SELECT patient_id, sum(n) AS n FROM (" + unitVisits +
				") AS v GROUP BY 1) AS u", Measured: []int{0, 1}, Keys: 1,
			Releases: []charge{
				{Name: "count", Sensitivity: 4, Total: 4, Groups: 1, Row: 1},
				{Name: "sum", Sensitivity: 10, Total: 10, Groups: 1, Row: 5},
			},
		}, "by 4 rows in all groups"},
		{"one layer for two", block{
			Measure: "SELECT 1::int8, sum(LEAST(n, 4)), sum(LEAST(n, 4)) FROM (SELECT patient_id, sum(n) AS n FROM (" +
				unitVisits + ") AS v GROUP BY 1) AS u", Measured: []int{0, 1}, Keys: 1,
			Releases: []charge{
				{Name: "a", Sensitivity: 4, Total: 4, Groups: 1, Layer: 1},
				{Name: "b", Sensitivity: 4, Total: 4, Groups: 1, Layer: 1},
			},
		}, "the releases of layer 1 move by"},
		{
			"an error that only some rows raise", one("SELECT 1::int8, 1 / count(*) FROM public.patients WHERE id = 1", 1),
			"division by zero",
		},
		{"an error without one unit", one("SELECT 1::int8, sum(1 / (id - 1)) FROM public.patients", 1), "division by zero"},
		{"the order on disk", one("SELECT 1::int8, (array_agg(minutes % 5))[1] FROM public.visits", 10), "other integers"},
		{
			"the plan", one("SELECT 1::int8, count(*) FROM public.patients WHERE current_setting('enable_hashjoin') = 'on'", 1),
			"other integers",
		},
		{
			"main's settings",
			one("SELECT 1::int8, count(*) FROM public.visits WHERE current_setting('TimeZone') <> 'Asia/Kolkata'", 1), "",
		},
		{"no integer", one("SELECT 1::int8, 0.5", 1), "no integer"},
		{
			"a selection by rows",
			block{
				Measure:   "SELECT ward, count(*) FROM public.visits WHERE patient_id IS NOT NULL GROUP BY 1",
				Selection: &charge{Sensitivity: 1, Total: 5, Groups: 5}, KeyColumns: 1,
			},
			" moves by",
		},
		{
			"selection of too many groups",
			block{Measure: "SELECT ward, count(DISTINCT patient_id) FROM public.visits GROUP BY 1", Selection: &charge{
				Sensitivity: 1, Total: 5, Groups: 1,
			}, KeyColumns: 1},
			" moves in",
		},
		{"two releases exchanged", block{
			Measure: "SELECT 1::int8, count(*), sum(LEAST(GREATEST(age, 0), 120)) FROM public.patients", Measured: []int{1, 0},
			Keys: 1,
			Releases: []charge{{Name: "count", Sensitivity: 1, Total: 1, Groups: 1}, {
				Name: "sum", Sensitivity: 120, Total: 120,
				Groups: 1,
			}},
		}, "count moves by"},
		{"a histogram of all rows", block{
			Keys: 1, Releases: []charge{{Name: "median", Kind: "quantile", Sensitivity: 4, Total: 4, Groups: 1}},
			Histograms: []histogram{
				{
					"SELECT 1::int8, LEAST(GREATEST(minutes, 0), 60), count(*) FROM public.visits WHERE patient_id IS NOT NULL GROUP BY 2", []int{0},
				},
			},
		}, "median moves by"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			r := &record{statement: statement{sql: fault.name}, blocks: []block{fault.block}}
			r.pins = relay.Query{
				SQL: "SELECT set_config('TimeZone', $1, true)", Values: [][]byte{[]byte("Asia/Kolkata")},
				Types: []uint32{25},
			}
			for _, sql := range fault.block.texts() {
				r.queries = append(r.queries, relay.Query{SQL: sql})
			}
			found := ""
			j := &judge{t: t, conn: conn, records: []*judged{{record: r}}, every: 1, violated: func(_ *record, err error) {
				found += err.Error()
			}}
			for seed := uint64(1); seed <= 10 && found == ""; seed++ {
				j.database(seed)
			}
			if fault.want == "" && found != "" || !strings.Contains(found, fault.want) {
				t.Errorf("found %q, want %q", found, fault.want)
			}
		})
	}
}

// TestMatchFindsWhatWasNotCharged: queries of private rows must be those that EXPLAIN gave, in one snapshot.
func TestMatchFindsWhatWasNotCharged(t *testing.T) {
	const measure, other = `SELECT 1, count(*) FROM ONLY "public"."patients" AS t1 WHERE t1.a < 'x'`,
		`SELECT 1, count(*) FROM ONLY "public"."visits" AS t1`
	begin, pins, commit := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		"SELECT pg_catalog.set_config('TimeZone', $1, true)", "COMMIT"
	kept, ended := pinned{}, pinned{}
	kept.note([]relay.Query{{Conn: 1, SQL: strings.Replace(pins, "true", "false", 1)}})
	ended.note([]relay.Query{{Conn: 1, SQL: pins}, {Conn: 2, SQL: strings.Replace(pins, "true", "false", 1)}})
	for _, c := range []struct {
		name     string
		executed []string
		want     string
		known    pinned
	}{
		{"as kept", []string{begin, measure, commit}, "", kept},
		{"settings of another transaction or connection", []string{begin, measure, commit}, "measured after", ended},
		{"as charged", []string{begin, pins, "SELECT FROM pg_catalog.pg_class", measure, commit}, "", nil},
		{"another constant", []string{begin, pins, strings.Replace(measure, "'x'", "'y'", 1), commit}, "", nil},
		{"nothing", []string{begin, pins, commit}, "0 queries of private rows where 1", nil},
		{"more", []string{begin, pins, measure, other, commit}, "2 queries of private rows where 1", nil},
		{"another query", []string{begin, pins, other, commit}, "is not the one that was charged", nil},
		{"no snapshot", []string{"BEGIN READ ONLY", pins, measure, commit}, "measured after", nil},
		{"no settings", []string{begin, measure, commit}, "measured after", nil},
	} {
		r := &record{blocks: []block{{Measure: measure}}}
		var executed []relay.Query
		for _, sql := range c.executed {
			executed = append(executed, relay.Query{Conn: 1, SQL: sql})
		}
		err := r.match(executed, c.known)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
