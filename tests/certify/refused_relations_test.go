package certify_test

import (
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestRefusedRelations asks Check about relations in which one unit moves more than the claim, though parts of the text
// look as if not.
func TestRefusedRelations(t *testing.T) {
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	groups := []certify.Claim{{Kind: certify.Public}, {Kind: certify.Integer, Influence: certify.Influence{Groups: one}}}
	const count = `SELECT 1::pg_catalog.int8, count(*) FROM `
	const lateral = count + `ONLY public.patients AS p, LATERAL (SELECT `
	const tied = `) AS l WHERE p.id IS NOT NULL AND l.u = p.id`
	const numbered = `SELECT r.s, r.h, sum(LEAST(r.s, 2)::pg_catalog.int4) OVER (PARTITION BY r.u) AS a, sum(LEAST(r.s, 2)::pg_catalog.int4) OVER (PARTITION BY r.u ORDER BY r.w ROWS UNBOUNDED PRECEDING) AS c FROM (SELECT v.patient_id AS u, v.ward AS w, count(*) AS s, (v.patient_id & 7)::pg_catalog.numeric AS h` + fromVisits + ` GROUP BY v.patient_id, v.ward) AS r`
	const kept = `SELECT CASE WHEN g.a <= 1 THEN LEAST(g.s, 2)::pg_catalog.int4 ELSE (pg_catalog.div((g.c)::pg_catalog.numeric * 1 + pg_catalog.mod(g.h, (g.a)::pg_catalog.numeric), (g.a)::pg_catalog.numeric) - pg_catalog.div((g.c - LEAST(g.s, 2)::pg_catalog.int4)::pg_catalog.numeric * 1 + pg_catalog.mod(g.h, (g.a)::pg_catalog.numeric), (g.a)::pg_catalog.numeric))::pg_catalog.int8 END AS n FROM (` + numbered + `) AS g`
	for _, c := range []struct {
		name   string
		claims []certify.Claim
		sql    string
	}{
		{"a key equals a subquery over another table, whose key equals a column of this one", claims, count +
			`ONLY public.patients AS p, ONLY public.wards AS w, ONLY public.floors AS f WHERE p.id IS NOT NULL AND f.floor = w.floor AND w.ward = (SELECT f.label)`},
		{"a least value under FILTER is NULL in many groups", claims, count +
			`ONLY public.patients AS p, (SELECT w.floor AS f, min(w.ward) FILTER (WHERE w.beds > 9) AS m FROM ONLY public.wards AS w GROUP BY 1) AS q WHERE p.id IS NOT NULL AND (p.ward IS NULL) OPERATOR(pg_catalog.=) (q.m IS NULL) AND COALESCE(p.ward, 'x'::pg_catalog.text) OPERATOR(pg_catalog.=) COALESCE(q.m, 'x'::pg_catalog.text)`},
		{"ON does not see another table of FROM, but one around", nil, count +
			`ONLY public.profiles AS q, (SELECT (w.floor)::pg_catalog.int8 AS id FROM ONLY public.wards AS w) AS p WHERE q.patient_id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.patients AS p, ONLY public.visits AS v JOIN ONLY public.wards AS w ON v.patient_id = p.id WHERE p.id = q.patient_id)`},
		{"a bare name in ON", nil, count +
			`ONLY public.profiles AS q, (SELECT (w.floor)::pg_catalog.int8 AS id FROM ONLY public.wards AS w) AS p WHERE q.patient_id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.patients AS p2, ONLY public.visits AS v JOIN ONLY public.wards AS w ON v.patient_id = id WHERE p2.id = q.patient_id)`},
		{"numbered by the unit of the row around", nil, lateral +
			`v.patient_id AS u, row_number() OVER (PARTITION BY p.id ORDER BY v.visit_id) AS i` + fromVisits + tied +
			` AND l.i <= 1`},
		{"the first by the unit of the row around", nil, lateral + `DISTINCT ON (p.id) v.patient_id AS u` + fromVisits +
			` ORDER BY p.id, v.visit_id` + tied},
		{"groups by the unit of the row around", nil, lateral + `min(v.patient_id) AS u, count(*) AS n` + fromVisits +
			` GROUP BY p.id` + tied + ` AND l.n > 3`},
		{"rows without a unit in the name of the row around", nil, lateral +
			`COALESCE(v.patient_id, p.id) AS u FROM ONLY public.visits AS v WHERE p.id IS NOT NULL` + tied},
		{"the number of the row around", claims, count +
			`(SELECT v.patient_id AS u, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id) AS i` + fromVisits +
			`) AS p, LATERAL (SELECT p.i AS i, b.patient_id AS u FROM ONLY public.visits AS b WHERE b.patient_id = p.u) AS l WHERE p.i <= 1 AND l.i <= 1 AND l.u = p.u`},
		{"two rows around, of two units", nil, count +
			`ONLY public.patients AS q WHERE q.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS p, LATERAL (SELECT a.patient_id AS u FROM ONLY public.visits AS a, ONLY public.visits AS b WHERE a.patient_id = p.patient_id AND b.patient_id = q.id) AS l WHERE l.u = p.patient_id AND p.minutes = 7)`},
		{"rows without a unit, beside what is tied to them", nil, count +
			`ONLY public.visits AS v, LATERAL (SELECT l.lab_id AS i FROM ONLY public.lab_results AS l WHERE l.visit_id = v.visit_id) AS l WHERE l.i > 3`},
		{"a key to the unit that is not joined, beside what is tied to it", nil, count +
			`ONLY public.lab_results AS b, LATERAL (SELECT l.lab_id AS i FROM ONLY public.lab_results AS l WHERE l.visit_id = b.visit_id) AS l WHERE l.i > 3`},
		{"LEFT JOIN keeps rows that ON does not tie to the row around", nil, count +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS a LEFT JOIN ONLY public.visits AS b ON a.patient_id = b.patient_id AND b.patient_id = p.id WHERE a.patient_id IS NOT NULL)`},
		{"as FULL JOIN does", nil, count +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS a FULL JOIN ONLY public.visits AS b ON a.patient_id = b.patient_id AND b.patient_id = p.id WHERE a.patient_id IS NOT NULL)`},
		{"LEFT JOIN keeps rows whose unit its key does not lead to", nil, count +
			`ONLY public.lab_results AS l LEFT JOIN ONLY public.visits AS v ON l.visit_id = v.visit_id AND v.urgent WHERE v.patient_id IS NOT NULL`},
		{
			"which of equal keys a group shows", nil,
			`SELECT s.code, count(*) FROM ONLY public.patients AS p, ONLY public.shifts AS s WHERE p.id IS NOT NULL AND p.ward = s.ward GROUP BY 1`,
		},
		{"how many public rows, by a count of private ones", nil, count +
			`ONLY public.patients AS p, (VALUES (1), (2) LIMIT (SELECT count(*)` + fromVisits +
			`)) AS k (k) WHERE p.id IS NOT NULL AND p.score = k.k`},
		{"which public rows, by private ones", nil, count +
			`ONLY public.patients AS p, (VALUES (1), (2) ORDER BY (SELECT count(*)` + fromVisits +
			`)) AS k (k) WHERE p.id IS NOT NULL AND p.score = k.k`},
		{"integers of no key", nil, `SELECT 1::pg_catalog.int8, g.n FROM (SELECT p.diagnosis AS k, count(*) AS n` +
			fromPatients + ` GROUP BY 1) AS g`},
		{
			"two integers of one key", nil,
			`SELECT w.ward, count(*) FROM ONLY public.patients AS p, ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.ward = w.ward GROUP BY 1 UNION ALL SELECT w.ward, count(*) FROM ONLY public.patients AS p, ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.ward = w.ward GROUP BY 1`,
		},
		{
			"a share of fractions, rounded up", claims,
			`SELECT 1::pg_catalog.int8, COALESCE(sum((q.s)::pg_catalog.int8), 0) FROM (SELECT CASE WHEN u.k >= u.n THEN u.f ELSE (pg_catalog.sign((u.f)::pg_catalog.numeric) * pg_catalog.div(pg_catalog.abs((u.f)::pg_catalog.numeric) * u.k + pg_catalog.mod(pg_catalog.div(u.h, 1), u.n), u.n))::pg_catalog.int8 END AS s FROM (SELECT g.n, g.f, LEAST(g.n, 4) AS k, (g.u & 7)::pg_catalog.numeric AS h FROM (SELECT v.patient_id AS u, count(*) AS n, sum(LEAST(GREATEST(v.cost, '0'::pg_catalog.numeric), '0.3'::pg_catalog.numeric)) AS f` + fromVisits + ` AND v.cost IS NOT NULL GROUP BY 1) AS g) AS u) AS q`,
		},
		{"kept rows that a join repeats", groups, `SELECT w.ward, COALESCE(sum(q.n), 0) FROM (` + kept +
			`) AS q, ONLY public.wards AS w GROUP BY 1`},
		{"kept rows that a LEFT JOIN repeats", groups, `SELECT w.ward, COALESCE(sum(q.n), 0) FROM (` + kept +
			`) AS q LEFT JOIN ONLY public.wards AS w ON q.n > 0 GROUP BY 1`},
		{"groups of a unit by NULLIF", claims, count + `(SELECT v.patient_id AS u, NULLIF(1, v.minutes) AS k` + fromVisits +
			` GROUP BY 1, 2) AS g`},
		{"groups of a unit by a bound of buckets", claims, count +
			`(SELECT v.patient_id AS u, pg_catalog.width_bucket('1'::pg_catalog.numeric, CASE WHEN v.urgent THEN '0'::pg_catalog.numeric END, '10'::pg_catalog.numeric, 5) AS k` + fromVisits + ` GROUP BY 1, 2) AS g`},
		{"groups of a unit by a bound of what is zero", claims, count +
			`(SELECT v.patient_id AS u, CASE WHEN 1 OPERATOR(pg_catalog.>) (-1) AND 1 OPERATOR(pg_catalog.<) LEAST(GREATEST(v.minutes, 1), 2) THEN 0 ELSE 1 END AS k` + fromVisits + ` GROUP BY 1, 2) AS g`},
		{"a divisor that became zero", nil, count +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND 5 / CASE WHEN LEAST(GREATEST(p.age, 1), 5) OPERATOR(pg_catalog.>) (-1) AND LEAST(GREATEST(p.age, 1), 5) OPERATOR(pg_catalog.<) 2 THEN 0 ELSE LEAST(GREATEST(p.age, 1), 5) END > 1`},
		{"NaN divided", nil, count +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND (LEAST(GREATEST(p.income / '100'::pg_catalog.numeric, '0'::pg_catalog.numeric), '3000000000'::pg_catalog.numeric))::pg_catalog.int4 > 1`},
		{"an order by a user's operator", nil, count +
			`(SELECT row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id USING OPERATOR(public.<<<)) AS i` +
			fromVisits + `) AS u WHERE u.i <= 1`},
	} {
		if o, err := certify.Check(clinic, c.sql, nil, c.claims); err == nil {
			t.Errorf("%s passes: %s\n%v", c.name, c.sql, o.Outputs)
		} else {
			t.Logf("%s: %v", c.name, err)
		}
	}
}

// TestUnitsOfTwoSpellings: a unit of a type whose equal values differ is one unit, however it is collated. A name with
// a dot is of two tables.
func TestUnitsOfTwoSpellings(t *testing.T) {
	facts := certify.Facts{Tables: map[string]certify.Table{
		"public.people": {Kind: "person", Unit: "name", Columns: map[string]certify.Column{
			"name": {Type: "text", NotNull: true, Collation: "public.ci"},
		}},
		"public.floats": {Kind: "person", Unit: "f", Columns: map[string]certify.Column{
			"f": {Type: "double precision", NotNull: true},
		}},
		"public.a.b": {Public: true, Columns: map[string]certify.Column{"x": {Type: "integer", NotNull: true}}},
	}}
	for _, schema := range []string{`"public.a"."b"`, `"public"."a.b"`} {
		if _, err := certify.Check(facts, `SELECT t.x FROM ONLY `+schema+` AS t`, nil, nil); err == nil {
			t.Errorf("%s may be another table", schema)
		}
	}
	one := big.NewRat(1, 1)
	for _, q := range []string{
		`SELECT 1::pg_catalog.int8, count(*) FROM (SELECT p.name COLLATE pg_catalog."C" AS u FROM ONLY public.people AS p WHERE p.name IS NOT NULL GROUP BY 1) AS g`,
		`SELECT 1::pg_catalog.int8, count(*) FROM (SELECT DISTINCT p.name COLLATE pg_catalog."C" AS u FROM ONLY public.people AS p WHERE p.name IS NOT NULL) AS g`,
		`SELECT (p.f)::pg_catalog.text, count(*) FROM ONLY public.floats AS p WHERE p.f IS NOT NULL GROUP BY 1`,
	} {
		c, err := certify.Check(facts, q, nil, nil)
		if err == nil && c.Outputs[1].Groups != nil && c.Outputs[1].Groups.Cmp(one) <= 0 && c.Outputs[1].Delta != nil {
			t.Errorf("%s\n%v", q, c.Outputs)
		}
	}
}
