package certify_test

import (
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// patients is «FROM … WHERE the unit is not NULL», of one row per unit, and visits of many.
const (
	fromPatients = ` FROM ONLY public.patients AS p WHERE p.id IS NOT NULL`
	fromVisits   = ` FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL`
	countOf      = `SELECT 1::pg_catalog.int8, count(*) FROM `
)

// TestRefused asks Check about texts that move more than the claim, give rows out, or fail for some rows: one unit
// moves the claimed integer by 1, in one group, and no row fails.
func TestRefused(t *testing.T) {
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	s := func(s string) *string { return &s }
	parameters := []certify.Value{
		{Elements: []*string{s("7")}},
		{Array: true, Elements: []*string{s("a"), s("b"), s("a")}},
		{Array: true, Elements: []*string{s("1"), s("x")}},
	}
	good := []string{
		`SELECT 1::pg_catalog.int8, count(*)` + fromPatients,
		`SELECT 1::pg_catalog.int8, count(*) FILTER (WHERE p.age > 3)` + fromPatients,
		countOf + `(SELECT v.patient_id AS u, count(*) AS n` + fromVisits + ` GROUP BY 1) AS u`,
		countOf + `(SELECT p.id AS u` + fromPatients +
			` AND EXISTS (SELECT 1 FROM ONLY public.visits AS v WHERE v.patient_id = p.id)) AS u`,
		countOf + `(SELECT DISTINCT v.patient_id AS u` + fromVisits + `) AS u`,
		`SELECT 1::pg_catalog.int8, count(DISTINCT p.ward)` + fromPatients,
		`SELECT 1::pg_catalog.int8, COALESCE(sum(LEAST(u.n, 1)), 0) FROM (SELECT v.patient_id AS u, count(*) AS n` +
			fromVisits + ` GROUP BY 1) AS u`,
		`SELECT p.ward, count(*) FROM ONLY public.patients AS p, ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.ward = w.ward GROUP BY 1`,
		countOf + `(SELECT v.patient_id AS u, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id) AS i` +
			fromVisits + `) AS u WHERE u.i <= 1`,
	}
	for _, q := range good {
		if _, err := checked(clinic, q, parameters, claims); err != nil {
			t.Errorf("%s\n%v", q, err)
		}
	}
	bad := map[string]string{
		"many rows":   `SELECT 1::pg_catalog.int8, count(*)` + fromVisits,
		"rows out":    `SELECT p.id, p.age` + fromPatients,
		"a row's key": `SELECT p.name, count(*)` + fromPatients + ` GROUP BY 1`,
		"unit may be NULL": countOf +
			`(SELECT v.patient_id AS u, count(*) AS n FROM ONLY public.visits AS v GROUP BY 1) AS u`,
		"without ONLY":              countOf + `public.patients AS p WHERE p.id IS NOT NULL`,
		"another schema":            countOf + `ONLY pg_temp.patients AS p WHERE p.id IS NOT NULL`,
		"no schema":                 countOf + `ONLY patients AS p WHERE p.id IS NOT NULL`,
		"unknown table":             countOf + `ONLY pg_catalog.pg_class AS p`,
		"join of units":             `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.profiles AS q WHERE p.id IS NOT NULL AND q.patient_id IS NOT NULL`,
		"join of units by a column": `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.profiles AS q WHERE p.id IS NOT NULL AND q.patient_id IS NOT NULL AND p.name = q.city::pg_catalog.text`,
		"join of units by <=":       `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.profiles AS q WHERE p.id IS NOT NULL AND q.patient_id IS NOT NULL AND p.id <= q.patient_id`,
		"join of units under OR":    `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.profiles AS q WHERE p.id IS NOT NULL AND (p.id = q.patient_id OR p.age = 3)`,
		"two kinds of units":        `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.staff AS q WHERE p.id IS NOT NULL AND p.id = q.staff_id`,
		"kinds in EXISTS": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND EXISTS (SELECT 1 FROM ONLY public.staff AS q WHERE q.staff_id = p.id)`,
		"key not joined": countOf + `(SELECT l.visit_id AS u FROM ONLY public.lab_results AS l GROUP BY 1) AS u`,
		"EXISTS of all": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND EXISTS (SELECT 1 FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL AND v.ward = p.ward)`,
		"EXISTS without correlation": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND EXISTS (SELECT 1` +
			fromVisits + `)`,
		"IN of units": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.id IN (SELECT v.patient_id` + fromVisits + `)`,
		"scalar count": `SELECT 1::pg_catalog.int8, (SELECT count(*)` + fromVisits + `)` + fromPatients +
			` GROUP BY 1`,
		"condition on a count": countOf +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND p.age > (SELECT count(*)` + fromVisits + `)`,
		"count beside rows": `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, (SELECT count(*) AS n` +
			fromVisits + `) AS c WHERE p.id IS NOT NULL AND p.age < c.n`,
		"HAVING": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` HAVING count(*) > 5`,
		"WHERE over a count": `SELECT 1::pg_catalog.int8, g.n FROM (SELECT count(*) AS n` + fromPatients +
			`) AS g WHERE g.n > 5`,
		"twice a count": `SELECT 1::pg_catalog.int8, g.n + g.n FROM (SELECT count(*) AS n` + fromPatients +
			`) AS g`,
		"times a count": `SELECT 1::pg_catalog.int8, 2 * g.n FROM (SELECT count(*) AS n` + fromPatients +
			`) AS g`,
		"clamp of a NULL sum":        `SELECT 1::pg_catalog.int8, LEAST(GREATEST(g.n, (-1000)), 1000) FROM (SELECT sum(LEAST(GREATEST(p.age, 0), 1)) AS n` + fromPatients + `) AS g`,
		"clamp without zero":         `SELECT p.ward, GREATEST(count(*), 10) FROM ONLY public.patients AS p, ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.ward = w.ward GROUP BY 1`,
		"COALESCE to 10":             `SELECT 1::pg_catalog.int8, COALESCE(g.n, 10) FROM (SELECT sum(LEAST(GREATEST(p.age, 0), 1)) AS n` + fromPatients + `) AS g`,
		"a public key as an integer": `SELECT 1::pg_catalog.int8, g.k FROM (SELECT w.floor AS k, count(*) AS n FROM ONLY public.patients AS p, ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.ward = w.ward GROUP BY 1) AS g`,
		"a sum of fractions":         `SELECT 1::pg_catalog.int8, COALESCE(sum(LEAST(GREATEST(p.income, '0'::pg_catalog.numeric), '1'::pg_catalog.numeric)), 0)` + fromPatients,
		"an unclamped sum":           `SELECT 1::pg_catalog.int8, COALESCE(sum(p.age), 0)` + fromPatients,
		"a sum of units":             `SELECT 1::pg_catalog.int8, COALESCE(sum(p.id), 0)` + fromPatients,
		"a sum of floats":            `SELECT 1::pg_catalog.int8, COALESCE(sum(LEAST(GREATEST(p.weight, '0'::pg_catalog.float8), '1'::pg_catalog.float8)), '0'::pg_catalog.float8)` + fromPatients,
		"an average":                 `SELECT 1::pg_catalog.int8, avg(p.age)` + fromPatients,
		"a maximum":                  `SELECT 1::pg_catalog.int8, max(LEAST(GREATEST(p.age, 0), 1))` + fromPatients,
		"clamp for bigger":           `SELECT 1::pg_catalog.int8, COALESCE(sum(LEAST(u.n, 2)), 0) FROM (SELECT v.patient_id AS u, count(*) AS n` + fromVisits + ` GROUP BY 1) AS u`,
		"LEAST alone of a negative":  `SELECT 1::pg_catalog.int8, COALESCE(sum(LEAST(u.n, 1)), 0) FROM (SELECT v.patient_id AS u, COALESCE(sum(v.minutes), 0) AS n` + fromVisits + ` GROUP BY 1) AS u`,
		"units by another column":    countOf + `(SELECT v.visit_id AS u, count(*) AS n` + fromVisits + ` GROUP BY 1) AS u`,
		"numbered by another column": countOf + `(SELECT row_number() OVER (PARTITION BY v.ward ORDER BY v.visit_id) AS i` +
			fromVisits + `) AS u WHERE u.i <= 1`,
		"numbered with ties": countOf +
			`(SELECT v.ward, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visited) AS i` + fromVisits +
			`) AS u WHERE u.i <= 1`,
		"ranks for numbers": countOf + `(SELECT rank() OVER (PARTITION BY v.patient_id ORDER BY v.visited) AS i` +
			fromVisits + `) AS u WHERE u.i <= 1`,
		"numbers after a join": countOf +
			`(SELECT v.ward, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id) AS i` + fromVisits +
			`) AS u, ONLY public.wards AS w WHERE u.i <= 1`,
		"first of all": countOf + `(SELECT DISTINCT ON (v.ward) v.ward` + fromVisits +
			` ORDER BY v.ward, v.visit_id) AS u`,
		"limit":  countOf + `(SELECT p.id` + fromPatients + ` LIMIT 5) AS u`,
		"offset": countOf + `(SELECT p.id` + fromPatients + ` OFFSET 1) AS u`,
		"union": countOf + `(SELECT p.id AS u` + fromPatients + ` UNION ALL SELECT p.id AS u` +
			fromPatients + `) AS u`,
		"union of other columns": countOf + `(SELECT p.id AS u` + fromPatients + ` EXCEPT SELECT v.visit_id AS u` +
			fromVisits + `) AS u`,
		"except by a column": countOf + `(SELECT p.ward AS w` + fromPatients + ` EXCEPT SELECT v.ward AS w` +
			fromVisits + `) AS u`,
		"left join that keeps public": countOf +
			`ONLY public.wards AS w LEFT JOIN ONLY public.patients AS p ON p.ward = w.ward AND p.id IS NOT NULL`,
		"grouped by the padded side": countOf +
			`(SELECT v.patient_id AS u FROM ONLY public.patients AS p LEFT JOIN ONLY public.visits AS v ON p.id = v.patient_id WHERE p.id IS NOT NULL GROUP BY 1) AS u`,
		"a domain with doubles": `SELECT d.o, count(*) FROM ONLY public.patients AS p, (SELECT v.k, v.o FROM pg_catalog.unnest($2::pg_catalog.text[]) WITH ORDINALITY AS v (k, o)) AS d WHERE p.id IS NOT NULL AND p.ward = d.k GROUP BY 1`,
		"groups of many rows": `SELECT v.ward, count(*) FROM (SELECT v.patient_id AS u, v.ward` + fromVisits +
			` GROUP BY 1, 2) AS v, ONLY public.wards AS w WHERE v.ward = w.ward GROUP BY 1`,
		"division": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND 5 / p.age > 1`,
		"division behind a condition": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.age > 0 AND 5 / p.age > 1`,
		"overflow": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND p.age + p.age > 1`,
		"overflow of a cast": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND (p.income)::pg_catalog.int4 > 1`,
		"NaN to an integer": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND (p.income)::pg_catalog.int8 > 1`,
		"float overflow": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.weight * '2'::pg_catalog.float8 > '1'::pg_catalog.float8`,
		"float underflow": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND LEAST(GREATEST(p.weight, '0'::pg_catalog.float8), '1'::pg_catalog.float8) * '0.5'::pg_catalog.float8 > '0'::pg_catalog.float8`,
		"infinite dates": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.admitted - '2020-01-01'::pg_catalog.date > 1`,
		"a field that is none": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND pg_catalog.extract('hour'::pg_catalog.text, p.admitted) > 1`,
		"text to a number": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND (p.name)::pg_catalog.int4 > 1`,
		"two rows of a scalar": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.score > (SELECT w.floor FROM ONLY public.wards AS w)`,
		"an element that is none": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.age IN (SELECT a.x FROM pg_catalog.unnest(($3::pg_catalog.text[])::pg_catalog.int4[]) AS a (x))`,
		"a pattern": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND p.name LIKE 'a'`,
		"sleep": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND pg_catalog.pg_sleep(1) IS NULL`,
		"random": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND pg_catalog.random() < '0.5'::pg_catalog.float8`,
		"a function of the user's": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND public.abs(p.age) > 1`,
		"an operator of the user's": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients +
			` AND p.age OPERATOR(public.>) 1`,
		"a cursor's lock": `SELECT 1::pg_catalog.int8, p.age` + fromPatients + ` FOR UPDATE`,
		"with": `WITH x AS (SELECT p.id` + fromPatients +
			`) SELECT 1::pg_catalog.int8, count(*) FROM x`,
		"two statements":       `SELECT 1; SELECT 2`,
		"grouping sets":        `SELECT p.ward, count(*)` + fromPatients + ` GROUP BY ROLLUP (1)`,
		"an aggregate of rows": `SELECT 1::pg_catalog.int8, array_agg(p.name)` + fromPatients,
		"whole row":            `SELECT 1::pg_catalog.int8, count(p)` + fromPatients,
		"star":                 `SELECT *` + fromPatients,
		"an outer aggregate":   countOf + `(SELECT (SELECT sum(p.age)) AS s` + fromPatients + `) AS u WHERE u.s > 5`,
		"an outer aggregate's filter": countOf + `(SELECT (SELECT count(*) FILTER (WHERE p.age > 3)) AS s` + fromPatients +
			`) AS u WHERE u.s > 5`,
		"HAVING alone":              countOf + `(SELECT 1 AS x` + fromPatients + ` HAVING true) AS u`,
		"columns under other names": countOf + `ONLY public.patients AS p (name, id) WHERE p.id IS NOT NULL`,
		"units under other names": countOf + `(SELECT q.b AS u FROM (SELECT v.patient_id, v.visit_id` + fromVisits +
			`) AS q (a, b) GROUP BY 1) AS u`,
		"a window in a CASE": countOf +
			`(SELECT CASE WHEN p.age > 0 THEN sum(10 / p.age) OVER (PARTITION BY p.id) END AS x` + fromPatients + `) AS u`,
		"an aggregate in a CASE": countOf + `(SELECT p.id AS u, CASE WHEN min(p.age) > 0 THEN sum(10 / p.age) END AS x` +
			fromPatients + ` GROUP BY 1) AS u`,
		"NULL before it is filtered": countOf + `(SELECT LEAST(p.age, 5) AS x` + fromPatients +
			` AND p.age IS NOT NULL) AS u WHERE 1 / (LEAST(GREATEST(LEAST(u.x, 6), 0), 3) - 6) > 0 AND 1 / (LEAST(GREATEST(u.x, 1), 3) - 4 + LEAST(u.x, 4) - LEAST(u.x, 4)) > 0`,
		"order by an output": countOf + `(SELECT DISTINCT ON (v.patient_id) v.patient_id AS visit_id, v.ward AS w` +
			fromVisits + ` ORDER BY v.patient_id, visit_id) AS u`,
		"an excluded row": `SELECT 1::pg_catalog.int8, COALESCE(sum(10 / u.n), 0) FROM (SELECT v.patient_id AS u, count(*) OVER (PARTITION BY v.patient_id ORDER BY v.visit_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS n` + fromVisits + `) AS u`,
		"a sample":        countOf + `ONLY public.patients AS p TABLESAMPLE SYSTEM (50) WHERE p.id IS NOT NULL`,
		"lateral of other units": countOf +
			`ONLY public.patients AS p, LATERAL (SELECT count(*) AS n FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL AND v.ward = p.ward) AS l WHERE p.id IS NOT NULL AND l.n > 3`,
		"division of what may be 0": `SELECT 1::pg_catalog.int8, count(*)` + fromPatients + ` AND 5 / (p.score - 3) > 0`,
		"numeric near zero":         `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, ONLY public.shifts AS s WHERE p.id IS NOT NULL AND (LEAST(GREATEST(s.code, '0'::pg_catalog.numeric), '1'::pg_catalog.numeric))::pg_catalog.float8 > '0'::pg_catalog.float8`,
		"system column":             `SELECT 1::pg_catalog.int8, count(DISTINCT p.ctid)` + fromPatients,
	}
	for name, q := range bad {
		if c, err := checked(clinic, q, parameters, claims); err == nil {
			t.Errorf("%s passes: %s\n%v", name, q, c.Outputs)
		}
	}
	if _, err := checked(clinic, good[0], parameters, nil); err != nil {
		t.Error(err)
	}
}
