package initpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckedConstraints(t *testing.T) {
	for def, want := range map[string]map[string]facts{
		"CHECK (((age >= 0) AND (age <= 120)))": {
			"age": {lo: "0", hi: "120"},
		},
		`CHECK ((("Odd Name" > (-1)::numeric) AND ("Odd Name" < 2.5)))`: {
			"Odd Name": {lo: "-1", hi: "2.5"},
		},
		"CHECK (((d >= '2015-01-01'::date) AND (d <= '2026-12-31'::date)))": {
			"d": {lo: "2015-01-01", hi: "2026-12-31"},
		},
		"CHECK ((kind = ANY (ARRAY['a'::text, 'it''s'::text])))": {
			"kind": {values: []string{"a", "it's"}},
		},
		"CHECK (((kind)::text = ANY ((ARRAY['x'::character varying, 'y'::character varying])::text[])))": {
			"kind": {values: []string{"x", "y"}},
		},
		"CHECK ((char_length(name) > 5))":      {},
		"CHECK (((a + age) < 5))":              {},
		"CHECK (((age > 5) OR (age IS NULL)))": {},
		"CHECK ((NOT (age > 5)))":              {},
	} {
		got := checked(&table{Checks: []string{def}})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(facts{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", def, diff)
		}
	}
}
