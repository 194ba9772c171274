package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// beyond moves rows of the world beyond the bounds of their columns.
const beyond = `
	UPDATE patients SET age = 130 WHERE id % 7 = 0;
	UPDATE patients SET age = -1 WHERE id % 11 = 0;
	UPDATE patients SET weight = 'NaN' WHERE id % 5 = 0;
	UPDATE patients SET weight = '-Infinity' WHERE id % 6 = 0;
	UPDATE patients SET admitted = 'infinity' WHERE id % 9 = 0;
	UPDATE patients SET admitted = '2022-03-05' WHERE id % 10 = 0;
	UPDATE patients SET seen = '2023-05-01' WHERE id % 8 = 0;
	UPDATE patients SET stay = '400 days' WHERE id % 13 = 0;
	UPDATE visits SET visited = '-infinity' WHERE visit_id % 6 = 0;
	UPDATE visits SET visited = '2022-12-24' WHERE visit_id % 7 = 0;
	UPDATE visits SET starts = '1999-12-31 23:00' WHERE visit_id % 8 = 0;
	UPDATE visits SET cost = 'NaN' WHERE visit_id % 9 = 0;
	UPDATE visits SET minutes = 100 WHERE visit_id % 5 = 0`

// TestBeyondBounds proves what a value beyond its column's bounds is, on rows that have such ones: as a group key it is
// in no group, a condition sees it, where that is total, and a sum counts it as the nearest bound. PostgreSQL is asked
// a statement that says so.
func TestBeyondBounds(t *testing.T) {
	if err := theWorld.fill(rand.New(rand.NewPCG(3, 4)), 600); err != nil {
		t.Fatal(err)
	}
	if _, err := theWorld.main.Exec(context.Background(), beyond); err != nil {
		t.Fatal(err)
	}
	wide := theWorld.withGroups(1 << 20)
	var answers []*answer
	for _, q := range []struct{ sql, means string }{
		// keys
		{
			`SELECT age, count(*) FROM patients GROUP BY age ORDER BY 1`,
			`SELECT age, count(*) FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY age ORDER BY 1`,
		},
		{
			`SELECT age / 10 * 10, count(*) FROM patients GROUP BY 1 ORDER BY 1`,
			`SELECT age / 10 * 10, count(*) FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT extract(year FROM admitted), count(*) FROM patients GROUP BY 1 ORDER BY 1`,
			`SELECT extract(year FROM admitted), count(*) FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT date_trunc('month', starts), count(*), avg(minutes) FROM visits GROUP BY 1 ORDER BY 1`,
			`SELECT date_trunc('month', starts), count(*), avg(least(minutes, 60)) FROM visits WHERE starts BETWEEN '2020-01-01' AND '2022-01-01' OR starts IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT floor(weight / 50)::int, count(*) FROM patients GROUP BY 1 ORDER BY 1`,
			`SELECT floor(weight / 50)::int, count(*) FROM patients WHERE weight BETWEEN 0 AND 250 OR weight IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT width_bucket(extract(epoch FROM stay), 0, 2592000, 3), count(*) FROM patients GROUP BY 1 ORDER BY 1`,
			`SELECT width_bucket(extract(epoch FROM stay), 0, 2592000, 3), count(*) FROM patients WHERE stay <= '30 days' OR stay IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT extract(year FROM visited), minutes / 40, count(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2`,
			`SELECT extract(year FROM visited), minutes / 40, count(*) FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' AND minutes <= 60 GROUP BY 1, 2 ORDER BY 1, 2`,
		},
		{
			`SELECT extract(year FROM visited), count(*) FROM visits WHERE visited >= '2021-06-01' GROUP BY 1`,
			`SELECT extract(year FROM visited), count(*) FROM visits WHERE visited BETWEEN '2021-06-01' AND '2021-12-31' GROUP BY 1`,
		},
		{`SELECT age > 60, count(*) FROM patients GROUP BY 1 ORDER BY 1`, ``}, // the stored value decides
		{
			`SELECT CASE WHEN age > 60 THEN 60 / (age - 59) ELSE 0 END, count(*) FROM patients GROUP BY 1 ORDER BY 1`,
			`SELECT CASE WHEN age > 60 THEN 60 / (age - 59) ELSE 0 END, count(*) FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT extract(year FROM admitted), count(*) FROM patients GROUP BY ROLLUP (1) ORDER BY 1`,
			`SELECT extract(year FROM admitted), count(*) FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1
			 UNION ALL SELECT NULL, count(*) FROM patients ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits GROUP BY 1, 2) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1, 2) v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT extract(year FROM visited) AS y, minutes FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT extract(year FROM visited) AS y, count(*) FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY y ORDER BY 1`,
		},
		{
			`WITH v AS (SELECT patient_id, starts::date - '2020-01-01' AS d FROM visits) SELECT d / 100 AS h, count(*) FROM patients p LEFT JOIN v ON v.patient_id = p.id GROUP BY 1 ORDER BY 1`,
			`WITH v AS (SELECT patient_id, starts::date - '2020-01-01' AS d, starts FROM visits) SELECT d / 100 AS h, count(*) FROM patients p LEFT JOIN v ON v.patient_id = p.id
			 WHERE starts BETWEEN '2020-01-01' AND '2022-01-01' OR starts IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT n, y, count(*) FROM (SELECT y, row_number() OVER (PARTITION BY patient_id ORDER BY visit_id) AS n FROM
			(SELECT patient_id, visit_id, extract(year FROM visited) AS y FROM visits) v) w GROUP BY 1, 2 ORDER BY 1, 2`,
			`SELECT n, y, count(*) FROM (SELECT extract(year FROM visited) AS y, visited, row_number() OVER (PARTITION BY patient_id ORDER BY visit_id) AS n FROM visits) w
			 WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1, 2 ORDER BY 1, 2`,
		},
		{
			`SELECT extract(year FROM visited), percentile_disc(.5) WITHIN GROUP (ORDER BY minutes), count(DISTINCT minutes) FROM visits GROUP BY 1 ORDER BY 1`,
			`SELECT extract(year FROM visited), percentile_disc(.5) WITHIN GROUP (ORDER BY least(minutes, 60)), count(DISTINCT minutes)
			 FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1 ORDER BY 1`,
		},
		// keys of rows that subqueries have merged, combined or computed
		{
			`SELECT y, count(*) FROM (SELECT DISTINCT patient_id, extract(year FROM visited) AS y FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT DISTINCT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, y FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits) v GROUP BY 1, 2) w GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT DISTINCT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT DISTINCT ON (patient_id, extract(year FROM visited)) extract(year FROM visited) AS y FROM visits ORDER BY patient_id, extract(year FROM visited), visit_id) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT DISTINCT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT extract(year FROM visited) AS y FROM visits UNION ALL SELECT extract(year FROM admitted) FROM patients) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' UNION ALL
			 SELECT extract(year FROM admitted) FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT v / 20, count(*) FROM (SELECT age / 2 AS v FROM patients UNION ALL SELECT minutes FROM visits) v GROUP BY 1 ORDER BY 1`,
			`SELECT v / 20, count(*) FROM (SELECT age / 2 AS v FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL UNION ALL SELECT minutes FROM visits WHERE minutes <= 60) v GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits UNION SELECT id, extract(year FROM admitted) FROM patients) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' UNION
			 SELECT id, extract(year FROM admitted) FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT id, extract(year FROM admitted) AS y FROM patients EXCEPT SELECT patient_id, extract(year FROM visited) FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT id, extract(year FROM admitted) AS y FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31' EXCEPT
			 SELECT patient_id, extract(year FROM visited) FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits INTERSECT ALL SELECT id, extract(year FROM admitted) FROM patients) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' INTERSECT ALL
			 SELECT id, extract(year FROM admitted) FROM patients WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT CASE WHEN n > 2 THEN age / 40 ELSE -1 END AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
			`SELECT CASE WHEN n > 2 THEN age / 40 ELSE -1 END AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id
			 WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT k, count(*) FROM (SELECT least(n, 3) * 10 + age / 40 AS k FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1, 2) t) s GROUP BY 1 ORDER BY 1`,
			`SELECT least(n, 3) * 10 + age / 40 AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id
			 WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT (SELECT extract(year FROM p.admitted) FROM patients p WHERE p.id = v.patient_id) AS y, count(*) FROM visits v GROUP BY 1 ORDER BY 1`,
			`SELECT (SELECT extract(year FROM p.admitted) FROM patients p WHERE p.id = v.patient_id) AS y, count(*) FROM visits v
			 WHERE (SELECT admitted BETWEEN '2020-01-01' AND '2021-12-31' FROM patients p WHERE p.id = v.patient_id) IS NOT FALSE GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT (SELECT extract(year FROM max(v.visited)) FROM visits v WHERE v.patient_id = p.id) AS y, count(*) FROM patients p GROUP BY 1 ORDER BY 1`,
			`SELECT (SELECT extract(year FROM max(v.visited)) FROM visits v WHERE v.patient_id = p.id) AS y, count(*) FROM patients p
			 WHERE (SELECT max(v.visited) BETWEEN '2020-01-01' AND '2021-12-31' FROM visits v WHERE v.patient_id = p.id) IS NOT FALSE GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, max(extract(year FROM visited)) AS y FROM visits GROUP BY 1) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT patient_id, max(extract(year FROM visited)) AS y FROM visits GROUP BY 1 HAVING bool_and(visited BETWEEN '2020-01-01' AND '2021-12-31')) v GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT extract(year FROM last), count(*) FROM (SELECT patient_id, max(visited) AS last FROM visits GROUP BY 1) v GROUP BY 1 ORDER BY 1`,
			`SELECT extract(year FROM last), count(*) FROM (SELECT patient_id, max(visited) AS last FROM visits GROUP BY 1) v WHERE last BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT lag(extract(year FROM visited)) OVER (PARTITION BY patient_id ORDER BY visit_id) AS y FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT lag(extract(year FROM visited)) OVER w AS y, lag(visited) OVER w AS d FROM visits WINDOW w AS (PARTITION BY patient_id ORDER BY visit_id)) v
			 WHERE d BETWEEN '2020-01-01' AND '2021-12-31' OR d IS NULL GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, n, count(*) FROM (SELECT extract(year FROM visited) AS y, row_number() OVER (PARTITION BY patient_id, extract(year FROM visited) ORDER BY visit_id) AS n FROM visits) v GROUP BY 1, 2 ORDER BY 1, 2`,
			`SELECT y, n, count(*) FROM (SELECT extract(year FROM visited) AS y, row_number() OVER (PARTITION BY patient_id, extract(year FROM visited) ORDER BY visit_id) AS n FROM visits
			 WHERE visited BETWEEN '2020-01-01' AND '2021-12-31') v GROUP BY 1, 2 ORDER BY 1, 2`,
		},
		{
			`SELECT l.y, count(*) FROM patients p, LATERAL (SELECT max(extract(year FROM v.visited)) AS y FROM visits v WHERE v.patient_id = p.id) l GROUP BY 1 ORDER BY 1`,
			`SELECT l.y, count(*) FROM patients p, LATERAL (SELECT max(extract(year FROM v.visited)) AS y, bool_and(visited BETWEEN '2020-01-01' AND '2021-12-31') AS i
			 FROM visits v WHERE v.patient_id = p.id) l WHERE i IS NOT FALSE GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT p.y, count(*) FROM visits v LEFT JOIN (SELECT id, extract(year FROM admitted) AS y FROM patients WHERE smoker) p ON p.id = v.patient_id GROUP BY 1 ORDER BY 1`,
			`SELECT p.y, count(*) FROM visits v LEFT JOIN (SELECT id, admitted, extract(year FROM admitted) AS y FROM patients WHERE smoker) p ON p.id = v.patient_id
			 WHERE admitted BETWEEN '2020-01-01' AND '2021-12-31' OR admitted IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{ // the join compares the nearest bounds
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits) v FULL JOIN (SELECT id AS patient_id, extract(year FROM admitted) AS y FROM patients) p USING (patient_id, y) GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM greatest(least(visited, '2021-12-31'), '2020-01-01')) AS y, visited BETWEEN '2020-01-01' AND '2021-12-31' AS i FROM visits) v FULL JOIN
			 (SELECT id AS patient_id, extract(year FROM greatest(least(admitted, '2021-12-31'), '2020-01-01')) AS y, admitted BETWEEN '2020-01-01' AND '2021-12-31' AS j FROM patients) p USING (patient_id, y)
			 WHERE CASE WHEN v.y IS NOT NULL THEN i ELSE j END GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT n * 100 + age / 40 AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
			`SELECT n * 100 + age / 40 AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id
			 WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT k, count(*) FROM (SELECT n * 100 + age / 40 AS k FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1, 2) t) s GROUP BY 1 ORDER BY 1`,
			`SELECT n * 100 + age / 40 AS k, count(*) FROM (SELECT p.id, p.age, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = p.id
			 WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1, 2) t GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT first_value(extract(year FROM visited)) OVER (PARTITION BY patient_id ORDER BY visit_id) AS y FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT extract(year FROM d) AS y, count(*) FROM (SELECT first_value(visited) OVER (PARTITION BY patient_id ORDER BY visit_id) AS d FROM visits) v
			 WHERE d BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT min(extract(year FROM visited)) OVER (PARTITION BY patient_id) AS y FROM visits) v GROUP BY y ORDER BY 1`,
			`SELECT y, count(*) FROM (SELECT min(extract(year FROM visited)) OVER w AS y, bool_and(visited BETWEEN '2020-01-01' AND '2021-12-31') OVER w AS i FROM visits WINDOW w AS (PARTITION BY patient_id)) v
			 WHERE i GROUP BY y ORDER BY 1`,
		},
		{
			`SELECT y, count(*) FROM (SELECT patient_id, extract(year FROM visited) AS y FROM visits) v WHERE y IN (SELECT extract(year FROM p.admitted) FROM patients p WHERE p.id = v.patient_id) GROUP BY y ORDER BY 1`,
			`SELECT extract(year FROM visited) AS y, count(*) FROM visits v JOIN patients p ON id = patient_id AND extract(year FROM visited) = extract(year FROM least(admitted, '2021-12-31'))
			 WHERE visited BETWEEN '2020-01-01' AND '2021-12-31' GROUP BY 1 ORDER BY 1`,
		},
		// what would raise an error of values beyond is computed of none
		{
			`SELECT k, count(*) FROM (SELECT DISTINCT id, 60 / (age + 1) AS k FROM patients) p GROUP BY 1 ORDER BY 1`,
			`SELECT 60 / (age + 1) AS k, count(*) FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT k / 1000000000, count(*) FROM (SELECT id, age * 17000000 AS k FROM patients EXCEPT SELECT patient_id, 60 / (minutes - 61) FROM visits) p GROUP BY 1 ORDER BY 1`,
			`SELECT k / 1000000000, count(*) FROM (SELECT id, age * 17000000 AS k FROM patients WHERE age BETWEEN 0 AND 120 OR age IS NULL
			 EXCEPT SELECT patient_id, 60 / (minutes - 61) FROM visits WHERE minutes <= 60) p GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT k, count(*) FROM (SELECT max(60 / (61 - minutes)) OVER (PARTITION BY patient_id, 120 / (61 - minutes)) AS k FROM visits) v GROUP BY 1 ORDER BY 1`,
			`SELECT k, count(*) FROM (SELECT max(60 / (61 - minutes)) OVER (PARTITION BY patient_id, 120 / (61 - minutes)) AS k FROM visits WHERE minutes <= 60) v GROUP BY 1 ORDER BY 1`,
		},
		{
			`SELECT (SELECT 60 / (p.age + 1) FROM patients p WHERE p.id = v.patient_id) AS k, count(*) FROM visits v GROUP BY 1 ORDER BY 1`,
			`SELECT 60 / (p.age + 1) AS k, count(*) FROM visits v LEFT JOIN patients p ON p.id = v.patient_id WHERE age BETWEEN 0 AND 120 OR age IS NULL GROUP BY 1 ORDER BY 1`,
		},
		// conditions
		{`SELECT count(*) FROM patients WHERE age > 125`, ``},
		{`SELECT count(*) FROM patients WHERE age > 125.5`, ``},
		{`SELECT count(*) FROM patients WHERE age BETWEEN -5 AND -1`, ``},
		{`SELECT count(*) FROM patients WHERE age IN (130, -1)`, ``},
		{`SELECT count(*) FROM patients WHERE NOT age <= 120`, ``},
		{
			`SELECT count(*), avg(age) FROM patients WHERE age >= 120`,
			`SELECT count(*), avg(least(age, 120)) FROM patients WHERE age >= 120`,
		},
		{
			`SELECT count(*), sum(age) FROM patients WHERE age > 125`,
			`SELECT count(*), sum(least(age, 120)) FROM patients WHERE age > 125`,
		},
		{`SELECT count(*) FROM patients WHERE weight = 'NaN'`, ``},
		{`SELECT count(*) FROM patients WHERE admitted > '2021-12-31'`, ``},
		{`SELECT count(*) FROM patients WHERE extract(year FROM admitted) = 2022`, ``},
		{`SELECT count(*) FROM patients WHERE extract(year FROM admitted) IN (2021, 2022)`, ``},
		{`SELECT count(*) FROM patients WHERE extract(month FROM admitted) = 3`, ``},
		{`SELECT count(*) FROM visits WHERE extract(year FROM starts) < 2020`, ``},
		{`SELECT count(*) FROM visits WHERE cost * 2 > 4000`, ``},
		{`SELECT count(*) FROM visits WHERE cost * minutes > 3000`, ``},
		// + may overflow
		{
			`SELECT count(*) FROM patients WHERE admitted + 30 > '2022-02-01'`,
			`SELECT count(*) FROM patients WHERE least(admitted, '2021-12-31') + 30 > '2022-02-01'`,
		},
		{
			`SELECT count(*) FROM patients WHERE (age * 17000000)::int8 > 2039999999`,
			`SELECT count(*) FROM patients WHERE age >= 120`,
		},
		{`SELECT count(*) FILTER (WHERE age > 120), count(CASE WHEN age < 0 THEN 1 END) FROM patients`, ``},
		// sums
		{
			`SELECT sum(age), avg(age), min(age), max(age) FROM patients`,
			`SELECT sum(v), avg(v), min(v), max(v) FROM (SELECT CASE WHEN age IS NOT NULL THEN greatest(least(age, 120), 0) END v FROM patients) p`,
		},
		{`SELECT avg(minutes) FROM visits`, `SELECT avg(least(minutes, 60)) FROM visits`},
	} {
		asked, err := wide.ask(q.sql, nil)
		if err != nil {
			t.Errorf("%s\n%v", q.sql, err)
			continue
		}
		got, err := wide.finish(asked)
		if err != nil {
			t.Errorf("%s\n%v", q.sql, err)
			continue
		}
		answers = append(answers, &answer{corpusQuery{sql: q.sql, expected: q.means}, asked, got})
	}
	if err := wide.dropUnitless(); err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if d := wide.compare(a); d != "" {
			t.Errorf("%s\n%s\nmeasure: %s", a.sql, d, a.asked.plan.Blocks[0].Measure.Text)
		}
	}
}

// TestBeyondIsPlanned: a plan says of which columns values beyond bounds are in no group, or read as the nearest bound.
func TestBeyondIsPlanned(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT count(*), count(age), count(DISTINCT age) FROM patients WHERE age > 60`:                                                                              ``,
		`SELECT age, count(*) FROM patients GROUP BY 1`:                                                                                                              `no group [age]`,
		`SELECT age > 60, count(*) FROM patients GROUP BY 1`:                                                                                                         ``,
		`SELECT extract(year FROM admitted), avg(age + score) FROM patients GROUP BY 1`:                                                                              `no group [admitted], nearest [age score]`,
		`SELECT extract(year FROM admitted), count(*) FILTER (WHERE age / 2 > 30) FROM patients GROUP BY 1`:                                                          `no group [admitted], condition [age]`,
		`SELECT count(*) FROM patients WHERE extract(year FROM admitted) = 2020`:                                                                                     ``,
		`SELECT count(*) FROM patients WHERE admitted + 30 > '2020-06-01'`:                                                                                           `condition [admitted]`,
		`SELECT avg(s) FROM (SELECT patient_id, sum(cost) AS s FROM visits GROUP BY 1) v`:                                                                            `nearest [cost]`,
		`SELECT y, count(*) FROM (SELECT extract(year FROM admitted) AS y FROM patients) p GROUP BY 1`:                                                               `no group [admitted]`,
		`SELECT y, count(*) FROM (SELECT id, extract(year FROM admitted) AS y FROM patients GROUP BY 1, 2) p GROUP BY 1`:                                             `no group [admitted]`,
		`SELECT count(*) FROM (SELECT DISTINCT id, extract(year FROM admitted) FROM patients) p`:                                                                     `no group [admitted], dropped [admitted]`,
		`SELECT count(*) FROM (SELECT DISTINCT id, admitted FROM patients) p`:                                                                                        ``,
		`SELECT y, count(*) FROM (SELECT DISTINCT id, extract(year FROM admitted) AS y FROM patients) p GROUP BY 1`:                                                  `no group [admitted]`,
		`SELECT avg(y) FROM (SELECT DISTINCT id, extract(year FROM admitted) AS y FROM patients) p`:                                                                  `no group [admitted], dropped [admitted]`,
		`SELECT count(DISTINCT y) FROM (SELECT extract(year FROM admitted) AS y FROM patients) p`:                                                                    `nearest [admitted]`,
		`SELECT count(DISTINCT s) FROM (SELECT age AS s FROM patients) p`:                                                                                            ``,
		`SELECT v, count(*) FROM (SELECT age AS v FROM patients UNION ALL SELECT minutes FROM visits) v GROUP BY 1`:                                                  `no group [age minutes]`,
		`SELECT v, avg(v) FROM (SELECT age / 2 AS v FROM patients UNION ALL SELECT minutes FROM visits) v GROUP BY 1`:                                                `no group [age minutes], nearest [age minutes]`,
		`SELECT count(*) FROM (SELECT id, age / 2 FROM patients EXCEPT SELECT patient_id, minutes FROM visits) v`:                                                    `no group [age], dropped [age]`,
		`SELECT s, count(*) FROM (SELECT DISTINCT patient_id, s FROM (SELECT patient_id, floor(sum(cost) / 100)::int AS s FROM visits GROUP BY 1) v) w GROUP BY 1`:   `key [cost]`,
		`SELECT s / 100 + m, count(*) FROM (SELECT patient_id, sum(minutes) AS s, max(minutes) AS m FROM visits GROUP BY 1) v GROUP BY 1`:                            `no group [minutes], key [minutes]`,
		`SELECT a, count(*) FROM (SELECT DISTINCT p.id, p.height / 2 AS a, h.height / 2 AS b FROM patients p JOIN profiles h ON h.patient_id = p.id) v GROUP BY 1`:   `no group [public.patients.height public.profiles.height], dropped [height]`,
		`SELECT a, count(*) FROM (SELECT DISTINCT v.patient_id, v.minutes / 2 AS a, w.minutes / 2 AS b FROM visits v JOIN visits w USING (patient_id)) x GROUP BY 1`: `no group [minutes], dropped [minutes]`,
		`SELECT s + y, count(*) FROM (SELECT sum(cost)::int AS s, max(extract(year FROM visited))::int AS y FROM visits GROUP BY patient_id) v GROUP BY 1`:           `no group [visited], key [cost]`,
	} {
		asked, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Errorf("%s\n%v", sql, err)
			continue
		}
		got := ""
		for _, b := range asked.plan.Beyond {
			if got != "" {
				got += ", "
			}
			got += [...]string{
				rewrite.BeyondNoGroup: "no group ", rewrite.BeyondNearest: "nearest ",
				rewrite.BeyondCondition: "condition ", rewrite.BeyondKey: "key ", rewrite.BeyondDropped: "dropped ",
			}[b.Use] +
				fmt.Sprint(b.Columns)
		}
		if got != want {
			t.Errorf("%s\nit is %q, want %q", sql, got, want)
		}
		if uncovered := strings.Contains(want, "condition") || strings.Contains(want, "key") ||
			strings.Contains(want, "dropped"); asked.plan.Blocks[0].Uncovered != uncovered {
			t.Errorf("%s\nare rows left out, or taken for others, that nothing counts? %v", sql, !uncovered)
		}
	}
}
