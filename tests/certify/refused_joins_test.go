package certify_test

import (
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestRelations asks Check about joins, lists and set operations: of each text, how far one unit moves its integer, ∞
// beyond a million; "" is refused.
func TestRelations(t *testing.T) {
	list := func(q string) string { return countOf + `ONLY public.patients AS p, ` + q }
	tests := []struct{ name, sql, moves string }{
		{"units equated in WHERE, beside a LEFT JOIN", countOf +
			`((ONLY public.patients AS p CROSS JOIN ONLY public.profiles AS f) LEFT JOIN ONLY public.wards AS w ON p.ward = w.ward) WHERE p.id IS NOT NULL AND p.id = f.patient_id`, "1"},
		{"units equated in ON alone, of the left side", countOf +
			`((ONLY public.patients AS p CROSS JOIN ONLY public.profiles AS f) LEFT JOIN ONLY public.wards AS w ON p.ward = w.ward AND p.id = f.patient_id) WHERE p.id IS NOT NULL`, ""},
		{"units equated in ON, of the right side", countOf +
			`(ONLY public.patients AS p LEFT JOIN (ONLY public.profiles AS f CROSS JOIN ONLY public.patients AS r) ON f.patient_id = r.id AND p.id = f.patient_id) WHERE p.id IS NOT NULL`, "1"},
		{"units of the right side equated in WHERE: padded rows are dropped, too late", countOf +
			`(ONLY public.patients AS p LEFT JOIN (ONLY public.profiles AS f CROSS JOIN ONLY public.patients AS r) ON p.id = f.patient_id) WHERE p.id IS NOT NULL AND f.patient_id = r.id`, ""},
		{"a row number that a condition above bounds", countOf +
			`((SELECT v.patient_id AS u, v.ward AS k, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id) AS i` +
			fromVisits + `) AS v LEFT JOIN ONLY public.wards AS w ON v.k = w.ward) WHERE v.i = 1`, "1"},
		{"a row number that ON bounds", countOf +
			`((SELECT v.patient_id AS u, v.ward AS k, row_number() OVER (PARTITION BY v.patient_id ORDER BY v.visit_id) AS i` +
			fromVisits + `) AS v LEFT JOIN ONLY public.wards AS w ON v.k = w.ward AND v.i = 1)`, "∞"},
		{"a padded unit", countOf +
			`(ONLY public.patients AS p LEFT JOIN ONLY public.visits AS v ON p.id = v.patient_id), ONLY public.profiles AS f WHERE p.id IS NOT NULL AND v.patient_id = f.patient_id`, "∞"},
		{"groups by a padded unit", countOf +
			`(SELECT v.patient_id AS u FROM (ONLY public.patients AS p LEFT JOIN ONLY public.visits AS v ON p.id = v.patient_id) WHERE p.id IS NOT NULL GROUP BY 1) AS u`, ""},
		{"groups by a padded unit that is there", countOf +
			`(SELECT v.patient_id AS u FROM (ONLY public.patients AS p LEFT JOIN ONLY public.visits AS v ON p.id = v.patient_id) WHERE p.id IS NOT NULL AND v.patient_id IS NOT NULL GROUP BY 1) AS u`, "1"},
		{"a visit of the unit's own", countOf +
			`ONLY public.visits AS v, (SELECT v.patient_id AS u, max(v.visit_id) AS last` + fromVisits +
			` GROUP BY 1) AS m WHERE v.patient_id IS NOT NULL AND v.visit_id = m.last`, "1"},
		{"a visit of all", countOf + `ONLY public.visits AS v, (SELECT max(v.visit_id) AS last` + fromVisits +
			`) AS m WHERE v.patient_id IS NOT NULL AND v.visit_id = m.last`, ""},
		{"minutes of the unit's own", countOf + `ONLY public.visits AS v, (SELECT v.patient_id AS u, max(v.minutes) AS most` +
			fromVisits + ` GROUP BY 1) AS m WHERE v.patient_id IS NOT NULL AND v.minutes = m.most`, ""},
		{"a key that equals a subquery over its own row", countOf +
			`ONLY public.visits AS v WHERE v.patient_id IS NOT NULL AND v.visit_id = (SELECT max(o.visit_id) FROM ONLY public.visits AS o WHERE o.patient_id = v.patient_id AND o.visit_id = v.visit_id)`, "∞"},
		{"... beside another table", countOf +
			`ONLY public.patients AS p, ONLY public.visits AS v WHERE p.id = v.patient_id AND v.visit_id = (SELECT max(o.visit_id) FROM ONLY public.visits AS o WHERE o.patient_id = v.patient_id AND o.visit_id = v.visit_id)`, "∞"},
		{"a key that equals a subquery over the other row", countOf +
			`ONLY public.patients AS p, ONLY public.visits AS v WHERE p.id = v.patient_id AND v.visit_id = (SELECT max(o.visit_id) FROM ONLY public.visits AS o WHERE o.patient_id = p.id)`, "1"},
		{"EXISTS by a unit that a subquery gives", countOf +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS v WHERE v.patient_id = (SELECT min(f.patient_id) FROM ONLY public.profiles AS f WHERE f.patient_id = p.id))`, "1"},
		{"EXISTS by a unit of its own", countOf +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS v WHERE v.patient_id = (SELECT min(f.patient_id) FROM ONLY public.profiles AS f WHERE f.patient_id = v.patient_id))`, ""},
		{"EXISTS by COALESCE with its own unit", countOf +
			`ONLY public.patients AS p WHERE p.id IS NOT NULL AND EXISTS (SELECT 1 FROM ONLY public.visits AS v WHERE v.patient_id = COALESCE(v.patient_id, p.id))`, ""},
		{"tables by COALESCE of units", countOf +
			`ONLY public.patients AS p, ONLY public.profiles AS f, ONLY public.visits AS v WHERE p.id = COALESCE(f.patient_id, v.patient_id)`, ""},

		{
			"a key of a list",
			list(
				`(VALUES (1, 'x'::pg_catalog.text), (2, 'x'::pg_catalog.text)) AS l (a, b) WHERE p.id IS NOT NULL AND p.score = l.a`), "1",
		},
		{
			"no key of a list",
			list(
				`(VALUES (1, 'x'::pg_catalog.text), (2, 'x'::pg_catalog.text)) AS l (a, b) WHERE p.id IS NOT NULL AND p.name = l.b`), "2",
		},
		{
			"two columns of a list",
			list(
				`(VALUES (1, 'x'::pg_catalog.text), (1, 'y'::pg_catalog.text), (2, 'x'::pg_catalog.text)) AS l (a, b) WHERE p.id IS NOT NULL AND p.score = l.a AND p.name = l.b`), "1",
		},
		{
			"one of two columns of a list",
			list(
				`(VALUES (1, 'x'::pg_catalog.text), (1, 'y'::pg_catalog.text), (2, 'x'::pg_catalog.text)) AS l (a, b) WHERE p.id IS NOT NULL AND p.score = l.a`), "2",
		},
		{
			"one value that two columns equal",
			list(
				`(VALUES ('x'::pg_catalog.text, 'y'::pg_catalog.text), ('y'::pg_catalog.text, 'x'::pg_catalog.text)) AS l (a, b) WHERE p.id IS NOT NULL AND (p.name = l.a OR p.name = l.b)`), "2",
		},
		{
			"columns in another order",
			list(
				`(SELECT l.b AS a, l.a AS b FROM (VALUES (1, 5), (2, 5)) AS l (a, b)) AS l WHERE p.id IS NOT NULL AND p.score = l.a`), "2",
		},
		{
			"a column that is left out",
			list(
				`(SELECT DISTINCT l.b AS a FROM (VALUES (1, 5), (2, 5)) AS l (a, b)) AS l WHERE p.id IS NOT NULL AND p.score = l.a`), "1",
		},
		{
			"ranges that exclude each other",
			list(`(VALUES (0, 10), (10, 20), (20, 30)) AS l (lo, hi) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age < l.hi`),
			"1",
		},
		{
			"ranges that share an end",
			list(
				`(VALUES (0, 10), (10, 20), (20, 30)) AS l (lo, hi) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age <= l.hi`),
			"2",
		},
		{
			"a chain of ranges",
			list(`(VALUES (0, 10), (5, 15), (12, 20)) AS l (lo, hi) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age <= l.hi`),
			"2",
		},
		{
			"ranges of two values",
			list(
				`(VALUES (0, 10), (10, 20), (20, 30)) AS l (lo, hi) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.score < l.hi`),
			"3",
		},
		{
			"a range that is none",
			list(`(VALUES (10, 0), (30, 20)) AS l (lo, hi) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age < l.hi`), "0",
		},
		{
			"ranges on the other side",
			list(`(VALUES (0, 10), (10, 20), (20, 30)) AS l (lo, hi) WHERE p.id IS NOT NULL AND l.lo <= p.age AND l.hi > p.age`),
			"1",
		},
		{
			"ranges the wrong way",
			list(`(VALUES (0, 10), (10, 20), (20, 30)) AS l (lo, hi) WHERE p.id IS NOT NULL AND l.lo >= p.age AND l.hi > p.age`),
			"3",
		},
		{
			"a sum over a list",
			list(`(VALUES (0), (10), (20)) AS l (lo) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age <= l.lo + 9`), "1",
		},
		{
			"a sum over a list, too wide",
			list(`(VALUES (0), (10), (20)) AS l (lo) WHERE p.id IS NOT NULL AND p.age >= l.lo AND p.age <= l.lo + 10`), "2",
		},
		{
			"NULL in a list",
			list(
				`(VALUES (1), (NULL::pg_catalog.int4), (NULL::pg_catalog.int4)) AS l (a) WHERE p.id IS NOT NULL AND p.score = l.a`),
			"1",
		},
		{
			"NULL beside a list",
			list(
				`(VALUES (1), (NULL::pg_catalog.int4), (NULL::pg_catalog.int4)) AS l (a) WHERE p.id IS NOT NULL AND COALESCE(l.a, 7) = p.score`), "3",
		},
		{
			"days",
			list(
				`(VALUES ('2021-01-01'::pg_catalog.date), ('2021-01-02'::pg_catalog.date)) AS l (d) WHERE p.id IS NOT NULL AND p.admitted = l.d`), "1",
		},
		{
			"one day twice",
			list(
				`(VALUES ('2021-01-01'::pg_catalog.date), ('2021-01-01'::pg_catalog.date)) AS l (d) WHERE p.id IS NOT NULL AND p.admitted = l.d`), "2",
		},
		{
			"one number twice",
			list(
				`(VALUES ('1.0'::pg_catalog.numeric), ('1.00'::pg_catalog.numeric)) AS l (d) WHERE p.id IS NOT NULL AND p.income = l.d`), "2",
		},
		{
			"floats",
			list(
				`(VALUES ('0.1'::pg_catalog.float8), ('0.10000000000000000001'::pg_catalog.float8)) AS l (d) WHERE p.id IS NOT NULL AND p.weight = l.d`), "2",
		},
		{
			"a key that equals an expression of the other row",
			list(`ONLY public.floors AS f WHERE p.id IS NOT NULL AND f.floor = LEAST(GREATEST(p.age, 0), 100) + 1`), "1",
		},
		{
			"a key that equals an expression of its own row",
			list(`ONLY public.floors AS f WHERE p.id IS NOT NULL AND f.floor = LEAST(GREATEST(f.floor, 0), 100) + 1`), "∞",
		},
		{
			"a key that equals an expression of both rows",
			list(
				`ONLY public.wards AS w WHERE p.id IS NOT NULL AND w.ward = pg_catalog."left"(w.name, 5) || pg_catalog."left"(p.name, 5)`), "∞",
		},

		{
			"rows of a ward, as main has proven", list(`ONLY public.shifts AS s WHERE p.id IS NOT NULL AND p.ward = s.ward`),
			"3",
		},
		{"rows of a ward and part, as main has proven", list(
			`ONLY public.shifts AS s WHERE p.id IS NOT NULL AND p.ward = s.ward AND p.name = s.part`), "2"},
		{"rows of a part", list(`ONLY public.shifts AS s WHERE p.id IS NOT NULL AND p.name = s.part`), "∞"},
		{
			"rows of no ward",
			list(
				`ONLY public.shifts AS s WHERE p.id IS NOT NULL AND (p.ward IS NULL) = (s.ward IS NULL) AND COALESCE(p.ward, 'x'::pg_catalog.text) = COALESCE(s.ward, 'x'::pg_catalog.text)`), "∞",
		},
		{"rows of a floor", list(`ONLY public.wards AS w WHERE p.id IS NOT NULL AND p.score = w.floor`), "∞"},
		{"rows of all", list(`ONLY public.floors AS f WHERE p.id IS NOT NULL`), "∞"},

		{"scans that exclude each other", countOf + `(SELECT p.id AS u` + fromPatients +
			` AND p.age < 30 UNION ALL SELECT p.id AS u` + fromPatients + ` AND p.age >= 30) AS u`, "1"},
		{"scans that share a value", countOf + `(SELECT p.id AS u` + fromPatients +
			` AND p.age <= 30 UNION ALL SELECT p.id AS u` + fromPatients + ` AND p.age >= 30) AS u`, "2"},
		{"scans by two columns", countOf + `(SELECT p.id AS u` + fromPatients + ` AND p.age < 30 UNION ALL SELECT p.id AS u` +
			fromPatients + ` AND p.score >= 30) AS u`, "2"},
		{"scans of two tables", countOf + `(SELECT p.id AS u` + fromPatients +
			` AND p.height < '30'::pg_catalog.float4 UNION ALL SELECT p.patient_id AS u FROM ONLY public.profiles AS p WHERE p.height >= 30) AS u`, "2"},
		{"three scans", countOf + `((SELECT p.id AS u` + fromPatients + ` AND p.age < 30 UNION ALL SELECT p.id AS u` +
			fromPatients + ` AND p.age >= 30 AND p.age <= 59) UNION ALL SELECT p.id AS u` + fromPatients +
			` AND p.age >= 60) AS u`, "1"},
		{"three scans of which two share a value", countOf + `((SELECT p.id AS u` + fromPatients +
			` AND p.age < 30 UNION ALL SELECT p.id AS u` + fromPatients +
			` AND p.age >= 30 AND p.age <= 60) UNION ALL SELECT p.id AS u` + fromPatients + ` AND p.age >= 60) AS u`, "2"},
		{"a scan beside a list", countOf + `(SELECT p.id AS u` + fromPatients +
			` AND p.age < 30 UNION ALL SELECT p.id AS u FROM ONLY public.patients AS p, (VALUES (1), (2)) AS l (a) WHERE p.id IS NOT NULL AND p.age >= 30) AS u`, "3"},

		{
			"a value computed beside each row",
			list(
				`LATERAL (SELECT x.y FROM (SELECT p.score + 1 AS y FROM (VALUES (1)) AS o) AS x) AS l WHERE p.id IS NOT NULL AND l.y > 3`), "1",
		},
		{
			"rows beside each row",
			list(`LATERAL (SELECT w.floor FROM ONLY public.wards AS w WHERE w.floor < p.score) AS l WHERE p.id IS NOT NULL`),
			"∞",
		},
		{
			"a ward beside each row",
			list(`LATERAL (SELECT w.floor FROM ONLY public.wards AS w WHERE w.ward = p.ward) AS l WHERE p.id IS NOT NULL`), "1",
		},
		{"a ward beside each of many rows", countOf +
			`ONLY public.visits AS v, LATERAL (SELECT w.floor FROM ONLY public.wards AS w WHERE w.ward = v.ward) AS l WHERE v.patient_id IS NOT NULL`, "∞"},
		{"a row of a row beside", countOf +
			`((ONLY public.patients AS p CROSS JOIN LATERAL (SELECT w.floor FROM ONLY public.wards AS w WHERE w.ward = p.ward) AS l) LEFT JOIN ONLY public.floors AS f ON l.floor = f.floor) WHERE p.id IS NOT NULL`, "1"},
		{
			"groups that are alike in a key within units",
			`SELECT g.k, LEAST(GREATEST(sum(g.n), (-9)), 9) FROM (SELECT p.name AS k, p.age AS a, count(*) AS n` + fromPatients +
				` GROUP BY 1, 2) AS g GROUP BY 1`, "1",
		},
		{
			"wards in three groups of a unit",
			`SELECT d.o, count(*) FROM (SELECT v.k1, min(v.o) AS o FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY AS v (k1, o) GROUP BY 1) AS d, (SELECT DISTINCT v.patient_id AS u, v.ward AS k` + fromVisits + `) AS v WHERE v.k = d.k1 GROUP BY 1`, "1",
		},
	}
	facts := clinic
	facts.Proven = []string{
		`SELECT COALESCE(max(g.n), 0) <= 3 FROM (SELECT t1."ward" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."ward") IS NOT NULL) GROUP BY 1) AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 2 FROM (SELECT t1."part" AS v1, t1."ward" AS v2, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) AND ((t1."ward") IS NOT NULL) GROUP BY 1, 2) AS g`,
		// none of these says how many rows of a table agree
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) AND t1."shift_id" < 3 GROUP BY 1) AS g`,
		`SELECT COALESCE(min(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) GROUP BY 1) AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) GROUP BY 1, t1."shift_id") AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) GROUP BY 1 LIMIT 1) AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."ward") IS NOT NULL) GROUP BY 1) AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(DISTINCT 1) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) GROUP BY 1) AS g`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT t1."part" AS v1, count(*) AS n FROM ONLY "public"."shifts" AS t1 WHERE ((t1."part") IS NOT NULL) GROUP BY 1) AS g WHERE g.n < 2`,
		`SELECT COALESCE(max(g.n), 0) <= 1 FROM (SELECT pg_catalog.lower(t1."part") AS v1, count(*) AS n FROM ONLY "public"."floors" AS t1) AS g`,
	}
	wards := []certify.Value{{Array: true, Elements: []*string{new(string), new(string)}}}
	many := big.NewRat(1<<20, 1) // as a key has values
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := checked(facts, test.sql, wards, nil)
			got := ""
			if err == nil {
				got = "∞"
				if d := c.Outputs[len(c.Outputs)-1].Delta; d != nil && d.Cmp(many) < 0 {
					got = d.RatString()
				}
			}
			if got != test.moves {
				t.Errorf("%s\nmoves by %q, not %q: %v", test.sql, got, test.moves, err)
			}
		})
	}
}

// TestListed asks Check about groups of which the caller has a list.
func TestListed(t *testing.T) {
	n := func(n int64) *big.Rat { return big.NewRat(n, 1) }
	q := `SELECT w.ward, count(*) FROM (SELECT DISTINCT v.patient_id AS u, v.ward AS k` + fromVisits +
		`) AS v, ONLY public.wards AS w WHERE v.k = w.ward GROUP BY 1`
	for _, test := range []struct {
		listed, total, groups int64
		ok                    bool
	}{{3, 3, 3, true}, {3, 2, 3, false}, {3, 3, 2, false}, {4, 3, 3, false}, {0, 3, 3, false}} {
		key := certify.Claim{Kind: certify.Listed}
		if test.listed > 0 {
			key.Groups = n(test.listed)
		}
		claims := []certify.Claim{key, {Kind: certify.Integer, Influence: certify.Influence{
			Delta: n(1), Total: n(test.total),
			Groups: n(test.groups),
		}}}
		if _, err := certify.Check(clinic, q, nil, claims); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
