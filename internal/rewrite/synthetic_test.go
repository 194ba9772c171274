package rewrite_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestSynthetic: what returns private rows, or values of them, is the twin's where the session has that, and so is all
// that names private tables where it wants nothing else; views are expanded.
func TestSynthetic(t *testing.T) {
	schema := *theWorld.schema
	p := *schema.Policy
	schema.Policy, schema.Relations = &p, map[policy.Name]*rewrite.Relation{}
	for name, r := range theWorld.schema.Relations {
		schema.Relations[name] = r
	}
	for view, definition := range map[string]string{
		"adults": " SELECT patients.id,\n    patients.age\n   FROM public.patients\n  WHERE (patients.age > 17);",
		"cruel":  "SELECT pg_read_file('x') AS t FROM public.patients",
	} {
		name := policy.Name{Schema: "public", Relation: view}
		p.Views = append(slices.Clone(p.Views), name)
		schema.Relations[name] = &rewrite.Relation{Name: name, Kind: 'v', Definition: definition}
	}
	rows, all := rewrite.Settings{SyntheticRows: true}, rewrite.Settings{Synthetic: true}
	for _, c := range []struct {
		sql      string
		settings rewrite.Settings
		want     string // of the text that runs on the twin; empty: it does not; !: the refusal
	}{
		{"SELECT * FROM patients", rewrite.Settings{}, "!rows of a private table are never returned"},
		{"SELECT age FROM patients LIMIT 1", rows, "FROM public.patients LIMIT 1"},
		{"SELECT array_agg(age) FROM patients", rows, "array_agg(age)"},
		{"SELECT DISTINCT ON (id) id, age FROM patients", rows, "DISTINCT ON"},
		{"SELECT DISTINCT ON (ward) * FROM patients ORDER BY ward, age DESC", rows, "DISTINCT ON (ward)"},
		{"SELECT q.age FROM (SELECT DISTINCT ON (ward) * FROM patients ORDER BY ward, age) q LIMIT 3", rows, "DISTINCT ON (ward)"},
		{"SELECT count(*) FROM (SELECT DISTINCT ON (ward) * FROM patients) q", rows, "!must appear in the GROUP BY clause"},
		{"SELECT DISTINCT ON (ward) ward FROM patients", rows, ""},
		{"SELECT DISTINCT ON (ward) ward, age, count(*) FROM patients GROUP BY ward", rows, "!must appear in the GROUP BY clause"},
		{"SELECT json_agg(p) FROM (SELECT id, age FROM patients ORDER BY age LIMIT 20) p", rows, "LIMIT 20"},
		{"SELECT count(*) FROM (SELECT id FROM patients LIMIT 20) p", rows, "!LIMIT and OFFSET choose among rows"},
		{"SELECT coalesce(json_agg(w), '[]') FROM (SELECT ward, count(*) FROM patients GROUP BY ward LIMIT 3) w", rows, ""},
		{"SELECT id, count(*) FROM patients GROUP BY id", rows, "GROUP BY id"},
		{"SELECT public.patients.age FROM public.patients", rows, "SELECT public.patients.age FROM public.patients"},
		{"SELECT p FROM patients p", rows, "SELECT p FROM public.patients p"},
		{"SELECT ward, (SELECT min(age) FROM patients) FROM wards", rows, ""},
		{"SELECT count(*) FROM patients", rows, ""},
		{"SELECT id FROM patients ORDER BY random() LIMIT 3", rows, "ORDER BY pg_catalog.random()"},
		{"SELECT count(*) FROM patients WHERE age > random()", rows, "!random"},
		{"SELECT count(*) FROM patients GROUP BY ward ORDER BY random()", rows, "!random"},
		{"SELECT count(*) FROM patients", all, "pg_catalog.count(*)"},
		{"SELECT ward FROM wards", all, ""},
		{"SELECT 1", all, ""},
		{"WITH patients AS (SELECT 1 AS one) SELECT one FROM patients", all, ""},
		{"SELECT relname FROM pg_class", all, ""},
		{"SELECT a.id FROM adults a", all, "FROM (SELECT patients.id, patients.age FROM public.patients"},
		{"SELECT public.adults.id FROM public.adults", all, "SELECT adults.id FROM (SELECT "},
		{"SELECT * FROM cruel", all, "!permission denied for function pg_read_file"},
		{"SELECT age FROM ONLY patients", rows, "FROM ONLY public.patients"},
		{"SELECT age, count(*) FROM patients GROUP BY id", rows, "GROUP BY id"},
		{"SELECT age, xmin FROM patients", rows, "!permission denied for system column xmin"},
		{"SELECT age, tableoid FROM patients", rows, "!permission denied for system columns"},
		{"SELECT age, pg_sleep(1) FROM patients", rows, "!permission denied for function pg_sleep"},
		{"SELECT age FROM patients, pg_class", rows, "!relation pg_catalog.pg_class cannot be used together with public tables"},
		{"SELECT id FROM unlisted", all, `!relation "unlisted" does not exist`},
	} {
		statements, err := rewrite.Parse(c.sql, 32768)
		if err != nil {
			t.Fatal(err)
		}
		a, err := rewrite.Analyze(context.Background(), &schema, statements[0], rewrite.Description{}, c.settings)
		refusal, refused := strings.CutPrefix(c.want, "!")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), refusal)), !refused && err != nil:
			t.Errorf("%s: %v, want %q", c.sql, err, c.want)
		case err == nil && (a.Route == rewrite.RouteSynthetic) != (c.want != ""), err == nil && !strings.Contains(a.SQL, c.want):
			t.Errorf("%s: route %d: %s, want %q", c.sql, a.Route, a.SQL, c.want)
		}
	}
}
