package rewrite_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOrders: where a statement, or the query that it selects from, sorts or ranks groups by an aggregate, the plan
// knows by which; where it reads others than all groups, by none.
func TestOrders(t *testing.T) {
	const groups = "(SELECT diagnosis, max(age) AS a, count(*) AS n FROM patients GROUP BY diagnosis) t"
	for sql, want := range map[string]string{
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 3": "count(*) true 3 false",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY count(*)":       "count(*) false 0 false",
		"SELECT diagnosis, n FROM " + groups +
			" ORDER BY n DESC LIMIT 5": "count(*) true 5 false",
		"SELECT n AS x, diagnosis FROM " + groups +
			" ORDER BY x DESC": "count(*) true 0 false",
		"SELECT * FROM " + groups +
			" ORDER BY t.n": "count(*) false 0 false",
		"SELECT diagnosis FROM " + groups +
			" ORDER BY n LIMIT 1": "count(*) false 1 false",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT ward, n FROM t ORDER BY 2 DESC LIMIT 2":             "count(*) true 2 false",
		"SELECT ward, sum(n) FROM (SELECT ward, diagnosis, count(*) AS n FROM patients GROUP BY 1, 2) t GROUP BY 1 ORDER BY 2 DESC": "count(*) true 0 false",
		"SELECT diagnosis, rank() OVER (ORDER BY count(*) DESC) FROM patients GROUP BY 1":                                           "count(*) true 0 true",
		"SELECT diagnosis, dense_rank() OVER (ORDER BY n DESC) FROM " +
			groups: "count(*) true 0 true",
		"SELECT diagnosis, row_number() OVER (ORDER BY count(*)) AS r FROM patients GROUP BY 1 ORDER BY diagnosis": "count(*) false 0 true",
		"SELECT ward, diagnosis, rank() OVER (PARTITION BY ward ORDER BY count(*)) FROM patients GROUP BY 1, 2":    "",
		"SELECT diagnosis, n FROM " + groups +
			" WHERE n > 3 ORDER BY n": "? false 0 false",
		"SELECT diagnosis, n FROM " + groups +
			" ORDER BY n OFFSET 2": "? false 0 false",
		"SELECT diagnosis, n FROM " + groups +
			" ORDER BY diagnosis": "",
		"SELECT diagnosis, n FROM (SELECT diagnosis, count(*) AS n FROM patients GROUP BY 1 LIMIT 2) t ORDER BY n":                    "? false 0 false",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 HAVING count(*) > 3 ORDER BY 2":                                          "? false 0 false",
		"SELECT ward, sum(n) FROM (SELECT ward, diagnosis, count(*) AS n FROM patients GROUP BY 1, 2) t GROUP BY 1 HAVING sum(n) > 3": "",
	} {
		q, err := theWorld.then().ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got := ""
		if o := q.plan.Order; o != nil {
			got = fmt.Sprint(formulaText(q.plan, o.By), " ", o.Descending, " ", q.plan.Blocks[0].Limit, " ", o.Ranked)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestLimits: how many groups LIMIT leaves by what is released of them.
func TestLimits(t *testing.T) {
	const groups = "(SELECT diagnosis, count(*) AS n FROM patients GROUP BY diagnosis) t"
	for sql, want := range map[string]int{
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY -count(*) LIMIT 2":                        2,
		"SELECT diagnosis, round(count(*)) AS c FROM patients GROUP BY 1 ORDER BY diagnosis = 'flu', c LIMIT 2": 2,
		"SELECT diagnosis, n + 1 AS m FROM " + groups + " ORDER BY m DESC LIMIT 3":                              3,
		"SELECT diagnosis, n FROM " + groups + " ORDER BY rank() OVER (ORDER BY n) LIMIT 3 OFFSET 0":            3,
		"SELECT diagnosis, n FROM " + groups + " ORDER BY diagnosis LIMIT 3":                                    0,
		"SELECT diagnosis, n FROM " + groups + " ORDER BY n":                                                    0,
	} {
		q, err := theWorld.then().ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := q.plan.Blocks[0].Limit; got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}

// TestChosen: in which statements released values choose groups in another way than by LIMIT behind an order, and which
// aggregates choose.
func TestChosen(t *testing.T) {
	const groups = "(SELECT diagnosis, percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS m, count(*) AS n FROM patients WHERE income > 3 GROUP BY diagnosis) t"
	const both = "percentile_disc(age) count(*)"
	for sql, want := range map[string]string{
		"SELECT diagnosis, count(*), avg(age) FROM patients GROUP BY 1":                                  "no []",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 HAVING diagnosis <> 'flu'":                  "no []",
		"SELECT diagnosis, avg(age) FROM patients GROUP BY 1 HAVING count(*) > 3":                        "yes [count(*)]",
		"SELECT diagnosis, avg(age), count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 3":          "no [avg(age)]",
		"SELECT diagnosis, avg(age), count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 3 OFFSET 3": "yes [avg(age)]",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC OFFSET 3":                   "yes [count(*)]",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 1 + 2":                "yes [count(*)]",
		"SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 1 LIMIT 3":                         "no []",
		"SELECT DISTINCT ON (ward) ward, diagnosis, count(*) FROM patients GROUP BY 1, 2 ORDER BY 1, 3":  "yes [count(*)]",
		"SELECT DISTINCT ON (ward) ward, diagnosis, count(*) FROM patients GROUP BY 1, 2 ORDER BY 1, 2":  "no []",
		"SELECT * FROM " + groups +
			" WHERE diagnosis <> 'flu'": "no []",
		"SELECT * FROM " + groups +
			" WHERE t.n > 3": "yes [" + both + "]",
		"SELECT * FROM " + groups +
			" ORDER BY n LIMIT 2": "no [count(*)]",
		"SELECT * FROM (SELECT diagnosis, n AS c FROM " + groups +
			") u WHERE c > 3": "yes [" + both + "]",
		"SELECT * FROM (SELECT diagnosis, n AS c FROM " + groups +
			") u ORDER BY c LIMIT 2": "yes [" + both + "]",
		"SELECT * FROM " + groups +
			" JOIN (SELECT 'flu' AS diagnosis) d USING (diagnosis)": "no []",
		"SELECT * FROM " + groups +
			" JOIN (SELECT 'flu' AS x) d ON d.x = t.diagnosis AND n > 3": "yes [" + both + "]",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT ward, n FROM t ORDER BY 2 DESC LIMIT 2":                   "no [count(*)]",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1), u AS (SELECT * FROM t WHERE n > 3) SELECT * FROM u":             "yes [count(*)]",
		"SELECT ward, count(*) FROM patients GROUP BY 1 UNION ALL SELECT diagnosis, count(*) FROM patients GROUP BY 1":                    "no [], no []",
		"SELECT ward, count(*) FROM patients GROUP BY 1 UNION ALL SELECT diagnosis, count(*) FROM patients GROUP BY 1 ORDER BY 2 LIMIT 2": "yes [count(*)], yes [count(*)]",
		"SELECT ward, smoker, count(*) FROM patients GROUP BY GROUPING SETS ((1), (2)) ORDER BY 3 DESC LIMIT 3":                           "yes [count(*)], yes [count(*)]",
		"SELECT ward, smoker, count(*) FROM patients GROUP BY GROUPING SETS ((1), (2))":                                                   "no [], no []",
		"SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 2) t":                                           "no []",
		"SELECT ward FROM wards w WHERE (SELECT count(*) FROM patients p WHERE p.ward = w.ward) > 2":                                      "yes [count(*)]",
		"SELECT ward FROM wards w WHERE EXISTS (SELECT 1 FROM patients p WHERE p.ward = w.ward)":                                          "no []",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT ward FROM t WHERE n > (SELECT avg(n) FROM t)":             "yes [count(*)]",
	} {
		q, err := theWorld.then().ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, b := range q.plan.Blocks {
			var choosers []string
			for _, c := range b.Columns {
				if c.Chooses {
					choosers = append(choosers, c.Name)
				}
			}
			got = append(got, fmt.Sprintf("%s %s", map[bool]string{true: "yes", false: "no"}[b.Chosen], choosers))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestWindows: which windows add up all groups, of which partitions, and which statements add up those that are shown.
func TestWindows(t *testing.T) {
	const groups = "(SELECT ward, diagnosis, count(*) AS n FROM patients GROUP BY 1, 2) t"
	for sql, want := range map[string]string{
		"SELECT diagnosis, sum(count(*)) OVER (ORDER BY diagnosis) AS r FROM patients GROUP BY 1": "r [] false",
		"SELECT ward, sum(n) OVER (PARTITION BY ward) AS r FROM " +
			groups: "r [0] true",
		"SELECT ward, 2 * sum(n) OVER (ORDER BY t.ward, diagnosis) AS r FROM " +
			groups: "sum [] false",
		"SELECT ward, sum(n) OVER w FROM " + groups + " WINDOW w AS (ORDER BY ward)":                                "shown",
		"SELECT diagnosis, sum(count(*)) OVER w AS r FROM patients GROUP BY 1 WINDOW w AS (PARTITION BY diagnosis)": "r [0] true",
		"SELECT age / 10, sum(count(*)) OVER (ORDER BY age / 10 RANGE 2 PRECEDING) AS r FROM patients GROUP BY 1":   "r [] false",
		"SELECT age / 10, sum(count(*)) OVER (ORDER BY age / 10 ROWS 2 PRECEDING) AS r FROM patients GROUP BY 1":    "shown",
		"SELECT diagnosis, sum(count(*)) OVER (ORDER BY count(*)) AS r FROM patients GROUP BY 1":                    "shown",
		"SELECT diagnosis, sum(count(*)) OVER (ORDER BY diagnosis) FROM patients GROUP BY 1 HAVING count(*) > 2":    "shown",
		"SELECT sum(n) FROM " + groups + " WHERE n > 2":                                                             "shown",
		"SELECT ward, sum(n), max(n) FROM " + groups + " GROUP BY 1":                                                "shown",
		"SELECT ward, sum(n) FROM " + groups + " GROUP BY 1":                                                        "",
		"SELECT sum(n) FROM " + groups: "",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT sum(n) FROM t":                                           "",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT sum(n) FROM t WHERE n > 2":                               "shown",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT *, sum(n) OVER (ORDER BY ward) r FROM t":                 "r [] false",
		"SELECT sum(n) OVER (ORDER BY r) FROM (SELECT ward, count(*) AS n, rank() OVER (ORDER BY ward) AS r FROM patients GROUP BY 1) t": "shown",
		"SELECT count(*), avg(n) FROM " + groups:                                         "shown",
		"SELECT ward, max(n) OVER (), rank() OVER (ORDER BY n) FROM " + groups:           "shown",
		"SELECT ward, rank() OVER (ORDER BY n) FROM " + groups:                           "",
		"SELECT avg(n) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t": "",
		"SELECT sum(n) FROM (SELECT count(*) AS n FROM patients) t":                      "",

		"SELECT sum(n) FROM (SELECT ward, count(*) AS n, generate_series(1, 3) FROM patients GROUP BY 1) t": "shown",
		"SELECT diagnosis, sum(count(*)) OVER (ORDER BY 1 / length(diagnosis)) FROM patients GROUP BY 1":    "shown",
		"SELECT format('%s', ward), sum(n) FROM " + groups + " GROUP BY 1":                                  "shown",
	} {
		q, err := theWorld.then().ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got := ""
		for _, b := range q.plan.Blocks {
			for _, w := range b.Windows {
				got = fmt.Sprint(w.Output, " ", w.Partition, " ", w.Whole)
			}
		}
		if q.plan.OverShown {
			got += "shown"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
