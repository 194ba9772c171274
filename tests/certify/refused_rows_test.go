package certify_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestRefusedOfOtherRows has texts in which a value is of another row than the one that it stands beside, or of which
// of equal values it is is forgotten on the way.
func TestRefusedOfOtherRows(t *testing.T) {
	for name, text := range map[string]string{
		"the unit of a row two queries out": `SELECT pg_catalog.count(*) FROM ONLY public.patients AS a, LATERAL (SELECT q.score AS m, (SELECT pg_catalog.max(x.id)
			FROM ONLY public.patients AS x WHERE x.id OPERATOR(pg_catalog.=) a.id) AS k FROM ONLY public.patients AS q) AS b WHERE a.id OPERATOR(pg_catalog.=) b.k`,
		"a spelling beside integers": `SELECT pg_catalog.count(*) FROM (SELECT p.id AS u, (p.score)::pg_catalog.int8 AS n FROM ONLY public.patients AS p WHERE p.id IS NOT NULL
			UNION ALL SELECT v.id AS u, pg_catalog.max(v.income * v.income) AS n FROM ONLY public.patients AS v WHERE v.id IS NOT NULL GROUP BY v.id) AS s
			WHERE (s.n)::pg_catalog.text OPERATOR(pg_catalog.=) '1.0'::pg_catalog.text`,
		"a spelling in a share": `SELECT pg_catalog.count(*) FROM (SELECT z.u AS u, CASE WHEN LEAST(z.n, 5) >= z.n THEN z.f ELSE
			(pg_catalog.sign((z.f)::pg_catalog.numeric) * pg_catalog.div(pg_catalog.abs((z.f)::pg_catalog.numeric) * LEAST(z.n, 5) + pg_catalog.mod(pg_catalog.div(7, 1), z.n), z.n))::pg_catalog.int8 END AS g
			FROM (SELECT y.u AS u, pg_catalog.count(*) AS n, pg_catalog.sum(y.m) AS f FROM (SELECT v.patient_id AS u, v.ward AS w,
			pg_catalog.max(LEAST(GREATEST(COALESCE(v.cost, 0), 0), 100) * 1.5) AS m FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL AND v.cost IS NOT NULL
			GROUP BY v.patient_id, v.ward) AS y GROUP BY y.u) AS z) AS s WHERE (s.g)::pg_catalog.text OPERATOR(pg_catalog.=) '1.0'::pg_catalog.text`,
		"a modifier that is no integer": `SELECT pg_catalog.count(*) FROM ONLY public.patients AS p WHERE p.id IS NOT NULL AND 'a'::pg_catalog.bpchar('5') = 'a'::pg_catalog.bpchar('7')`,
		"what follows a zero byte":      "SELECT pg_catalog.count(*) FROM ONLY public.patients AS p WHERE p.id IS NOT NULL \x00 garbage (((",
	} {
		if _, err := certify.Check(clinic, text, nil, nil); err == nil {
			t.Errorf("%s: it passes", name)
		}
	}
}
