package certify_test

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// clocked is a table of one row per unit with a time of day.
var clocked = certify.Facts{Tables: map[string]certify.Table{
	"public.vals": {
		Kind: "unit", Unit: "id", Unique: [][]string{{"id"}},
		Columns: columns(`id bigint !,,o time_without_time_zone !,,r real !,,
		n numeric !,,m numeric(10,2) !,,i bigint !,,tz timestamp_with_time_zone !,,d date !,,iv interval !`),
	},
}}

// TestRefusedProfiles has conditions that fail for some row, and those that are as near to them as can be and do not.
func TestRefusedProfiles(t *testing.T) {
	seconds := func(x string) string {
		return `(pg_catalog.date_part('epoch'::pg_catalog.text, ` + x + `))::pg_catalog.int8 > 7`
	}
	for name, c := range map[string][2]string{
		"a time that is none": {`v.o > '25:00:00'::pg_catalog.time`, `v.o > '12:00:00'::pg_catalog.time`},
		"times of two types":  {`v.o > '12:00:00'::pg_catalog.interval`, `v.o <= '24:00:00'::pg_catalog.time`},
		"sums of times": {
			`v.o + v.o > v.o`,
			`pg_catalog.width_bucket(v.o, ARRAY['08:00:00', '12:00:00']::pg_catalog.time[]) > 0`,
		},
		"a list of another type": {
			`pg_catalog.width_bucket(v.o, ARRAY['2020-01-01']::pg_catalog.date[]) > 0`,
			`pg_catalog.width_bucket(v.d, ARRAY['2020-01-01']::pg_catalog.date[]) > 0`,
		},
		"a sum of float4":          {`v.r + '1'::pg_catalog.float4 > v.r`, `v.r + '0'::pg_catalog.float4 > v.r`},
		"float4 of numeric":        {`v.n::pg_catalog.float4 > v.r`, `v.m::pg_catalog.float4 > v.r`},
		"float4 of small numerics": {`(v.m / 1e40)::pg_catalog.float4 > v.r`, `v.i::pg_catalog.float4 > v.r`},
		"seconds of any time": {seconds(`v.tz`), seconds(
			`LEAST(GREATEST(v.tz, '0001-01-01 00:00:00+00'::pg_catalog.timestamptz), '9999-12-31 00:00:00+00'::pg_catalog.timestamptz)`)},
		"seconds of time without lo": {
			seconds(`LEAST(v.tz, '9999-12-31 00:00:00+00'::pg_catalog.timestamptz)`),
			`v.tz > '0001-01-01 00:00:00+00'::pg_catalog.timestamptz`,
		},
	} {
		for i, where := range c {
			sql := `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.vals AS v WHERE v.id IS NOT NULL AND ` + where
			if _, err := certify.Check(clocked, sql, nil, nil); (err == nil) != (i == 1) {
				t.Errorf("%s: %s: %v", name, where, err)
			}
		}
	}
}

// TestLongTexts: what nests is refused, and a list of constants of as many bytes is not.
func TestLongTexts(t *testing.T) {
	dates := strings.TrimSuffix(strings.Repeat(`'2020-01-01 00:00:00', `, 3000), ", ")
	for sql, want := range map[string]bool{
		// of any time
		`pg_catalog.width_bucket(v.tz::pg_catalog.timestamp, ARRAY[` + dates + `]::pg_catalog.timestamp[]) > 0`: false,
		`'` + strings.Repeat("a b ", 20_000) + `'::pg_catalog.text > 'a'::pg_catalog.text`:                      true,
		`true ` + strings.Repeat("ISNULL ", 32_000):                                                             false,
		strings.Repeat("NOT ", 33_000) + `true`:                                                                 false,
		`v.i ` + strings.Repeat("+ 1 ", 17_000) + `> 1`:                                                         false,
	} {
		sql := `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.vals AS v WHERE v.id IS NOT NULL AND ` + sql
		if _, err := certify.Check(clocked, sql, nil, nil); (err == nil) != want {
			t.Errorf("%.200s: %v", sql, err)
		}
	}
}
