package certify_test

import (
	"cmp"
	"flag"
	"regexp"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// parameterTypes are what the casts of parameters make of them; a seed has none.
var parameterTypes = regexp.MustCompile(`\$(\d+)(?:::(?:pg_catalog\.)?(\w+))?`)

// checked asks Check about parameters that are of the types that the text makes of them.
func checked(facts certify.Facts, sql string, parameters []certify.Value, claims []certify.Claim) (certify.Certified,
	error,
) {
	parameters = slices.Clone(parameters)
	for _, m := range parameterTypes.FindAllStringSubmatch(sql, -1) {
		if n := number(m[1]); n <= len(parameters) && parameters[n-1].Type == "" {
			parameters[n-1].Type = cmp.Or(m[2], "int8")
		}
	}
	return certify.Check(facts, sql, parameters, claims)
}

var write = flag.Bool("certified", false, "write the golden files anew")

// columns reads "name type [!] [of=…]": ! is NOT NULL.
func columns(lines string) map[string]certify.Column {
	all := map[string]certify.Column{}
	for _, l := range strings.Split(lines, ",,") {
		f := strings.Fields(l)
		c := certify.Column{Type: strings.ReplaceAll(f[1], "_", " "), Deterministic: true}
		for _, o := range f[2:] {
			if k, ok := strings.CutPrefix(o, "collation="); ok {
				c.Collation = k
			} else if of, ok := strings.CutPrefix(o, "of="); ok {
				c.OneUnit = of
			} else {
				c.NotNull = true
			}
		}
		all[f[0]] = c
	}
	return all
}

// clinic is what internal/rewrite/testdata/schema.sql and policy.yaml say.
var clinic = certify.Facts{
	Enums: map[string][]string{"public.mood": {"bad", "ok", "good"}},
	Bases: map[string]string{
		"public.rating": "integer", "public.place": "text", "public.motto": "text",
		"public.wage": "integer",
	},
	Tables: map[string]certify.Table{
		"public.patients": {
			Kind: "patient", Unit: "id", Unique: [][]string{{"id"}},
			Columns: columns(
				`id bigint !,,name text !,,age integer,,income numeric(10,2),,weight double_precision,,height real,,score smallint !,,diagnosis text !,,
				ward text,,admitted date !,,seen timestamptz,,stay interval,,smoker boolean,,mood public.mood,,stars public.rating,,note public.motto collation=C`),
		},
		"public.visits": {
			Kind: "patient", Unit: "patient_id", Unique: [][]string{{"visit_id"}},
			Columns: columns(
				`visit_id bigint !,,patient_id bigint,,ward text !,,visited date !,,cost numeric(10,2),,minutes integer !,,starts timestamp,,urgent boolean !`),
		},
		"public.lab_results": {
			Kind: "patient", Via: &certify.Via{Column: "visit_id", Table: "public.visits", Key: "visit_id"}, Unique: [][]string{
				{"lab_id"},
			},
			Columns: columns(`lab_id bigint !,,visit_id bigint !,,kind text !,,value double_precision`),
		},
		"public.profiles": {
			Kind: "patient", Unit: "patient_id", Unique: [][]string{{"patient_id"}},
			Columns: columns(`patient_id bigint !,,city public.place !,,height integer !`),
		},
		"public.calls": {
			Kind: "patient", Unit: "patient_id", Unique: [][]string{{"call_id"}},
			Columns: columns(
				`call_id bigint !,,session_id bigint ! of=public.calls.session_id,,patient_id bigint,,kind text !,,seconds integer !,,follows bigint of=public.calls.session_id`),
		},
		"public.ratings": {
			Kind: "patient", Via: &certify.Via{Column: "of_patient", Table: "public.patients", Key: "id"},
			Columns: columns(`session_id bigint ! of=public.calls.session_id,,of_patient bigint,,stars integer !`),
		},
		"public.bookings": {
			Kind: "patient", Unit: "patient_id", Unique: [][]string{{"booking_id"}},
			Columns: columns(
				`booking_id bigint !,,patient_id bigint,,ward text !,,stay daterange,,at tstzrange,,planned tsrange !,,rooms int4range !,,dose numrange,,serials int8range,,days datemultirange`),
		},
		"public.staff": {
			Kind: "employee", Unit: "staff_id", Unique: [][]string{{"staff_id"}},
			Columns: columns(`staff_id integer !,,ward text !,,wage public.wage`),
		},
		"public.wards": {
			Public: true, Unique: [][]string{{"ward"}},
			Columns: columns(`ward text !,,name text !,,floor integer !,,beds integer !`),
		},
		"public.floors": {Public: true, Unique: [][]string{{"floor"}}, Columns: columns(`floor integer !,,label text !`)},
		"public.shifts": {
			Public: true, Unique: [][]string{{"shift_id"}},
			Columns: columns(`shift_id integer !,,ward text,,part text !,,begins date,,ends date,,code numeric`),
		},
	},
}
