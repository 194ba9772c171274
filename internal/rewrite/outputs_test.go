package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// formulaText prints a formula; ?: nothing is known of it.
func formulaText(p *rewrite.Plan, f *rewrite.Formula) string {
	var args []string
	for _, x := range f.Args {
		args = append(args, formulaText(p, x))
	}
	switch f.Op {
	case rewrite.FormulaAggregate:
		return p.Blocks[f.Block].Columns[f.Column].Name
	case rewrite.FormulaWindow:
		return "total of " + p.Blocks[f.Block].Windows[f.Column].Column.Name
	case rewrite.FormulaNumber:
		return fmt.Sprint(f.Number)
	case rewrite.FormulaOther:
		return "?"
	case rewrite.FormulaNumeric:
		return args[0]
	}
	return f.Op + "(" + strings.Join(args, ", ") + ")"
}

// TestOutputs: every result column that released values are in is named, with what it is computed of.
func TestOutputs(t *testing.T) {
	const groups = "(SELECT diagnosis, max(age) AS a, count(*) AS n FROM patients GROUP BY diagnosis) t"
	for sql, want := range map[string]string{
		"SELECT diagnosis, count(*), avg(age) AS a FROM patients GROUP BY 1":                            "count: count(*); a: avg(age)",
		"SELECT count(*) AS a, count(*)::float8 AS b FROM patients":                                     "a: count(*); b: count(*)",
		"SELECT round(100.0 * count(*) FILTER (WHERE age > 40) / count(*), 1) AS old FROM patients":     "old: round(/(*(100, count(*)), count(*)), 1)",
		"SELECT diagnosis, count(*) / sum(count(*)) OVER () AS share FROM patients GROUP BY 1":          "share: /(count(*), sum(count(*)) OVER ())",
		"SELECT -count(*) / 2, NULLIF(count(*), 0), COALESCE(sum(age), 0)::numeric(9, 2) FROM patients": "?column?: /(-(0, count(*)), 2); nullif: count(*); coalesce: round(sum(age), 2)",
		"SELECT n AS x, t.a - 1 AS y, diagnosis FROM " +
			groups: "x: count(*); y: -(max(age), 1)",
		"SELECT * FROM " + groups +
			" JOIN wards ON true": "a: max(age); n: count(*)",
		"SELECT t.n, u.n FROM " + groups + ", " + strings.Replace(groups, ") t", ") u (diagnosis, a, n)",
			1): "n: count(*); n: count(*)",
		"WITH t (d, m) AS (SELECT diagnosis, count(*) FROM patients GROUP BY 1) SELECT d, m + 1 AS m FROM t": "m: +(count(*), 1)",
		"SELECT sum(n) AS s, count(*), max(n) FROM " +
			groups: "s: sum(n); count: ?; max: ?",
		"SELECT diagnosis, sum(count(*)) OVER (ORDER BY diagnosis) AS r FROM patients GROUP BY 1":                                                      "r: total of count(*)",
		"SELECT diagnosis, 2 * sum(count(*)) OVER (ORDER BY diagnosis) AS r FROM patients GROUP BY 1":                                                  "r: ?",
		"SELECT diagnosis, rank() OVER (ORDER BY avg(age) / 2 DESC) FROM patients GROUP BY 1":                                                          "rank: rank(/(avg(age), 2))",
		"SELECT diagnosis, rank() OVER (ORDER BY diagnosis), lag(count(*)) OVER (ORDER BY 1) FROM patients GROUP BY 1":                                 "lag: ?",
		"SELECT diagnosis, count(*) OVER () FROM patients GROUP BY 1":                                                                                  "count: ?",
		"SELECT CASE WHEN count(*) > 5 THEN 'many' END AS c, 1 AS one, count(*) > 5 AS b FROM patients":                                                "c: ?; b: ?",
		"SELECT (SELECT count(*) FROM patients) AS p, (SELECT count(*) FROM visits)::int8 / 3 AS v":                                                    "p: count(*); v: /(whole(count(*)), 3)",
		"SELECT count(*) FROM patients UNION ALL SELECT count(*) FROM visits":                                                                          "count: count(*) or count(*)",
		"SELECT ward, count(*) AS n FROM patients GROUP BY ROLLUP (1)":                                                                                 "n: count(*) or count(*)",
		"SELECT count(*), dpproxy.interval_low(count(*)) AS low FROM patients":                                                                         "count: count(*)",
		"SELECT diagnosis, dpproxy.interval_low(sum(count(*)) OVER (ORDER BY diagnosis)) AS low FROM patients GROUP BY 1":                              "",
		"SELECT ward, (SELECT count(*) FROM patients p WHERE p.ward = w.ward) AS n FROM wards w":                                                       "n: count(*)",
		"WITH t AS (SELECT diagnosis, count(*) AS n FROM patients GROUP BY 1) SELECT a.n - a.n AS same, a.n - b.n AS other, b.n FROM t a, t b":         "same: -(count(*), count(*)); other: ?; n: count(*)",
		"SELECT diagnosis, count(*) - (SELECT count(*) FROM patients q WHERE q.ward = 'a' GROUP BY ward) AS d FROM patients GROUP BY 1":                "d: ?",
		"SELECT ward FROM wards w WHERE EXISTS (SELECT 1 FROM patients p WHERE p.ward = w.ward)":                                                       "",
		"SELECT diagnosis AS dpn2, sum(count(*)) OVER () AS s FROM patients GROUP BY 1":                                                                "s: sum(count(*)) OVER ()",
		"SELECT sum(n) AS s, dpproxy.interval_low(sum(n)) AS low FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) t":                         "s: sum(n)",
		"WITH t AS (SELECT ward, count(*) AS n FROM patients GROUP BY 1) SELECT ward, dpproxy.interval_low(sum(n) OVER (ORDER BY ward)) AS low FROM t": "",
		"SELECT sum(low) AS lows FROM (SELECT ward, dpproxy.interval_low(count(*)) AS low FROM patients GROUP BY 1) t":                                 "lows: ?",
		"SELECT count(*) AS groups FROM (SELECT diagnosis FROM patients GROUP BY 1) t":                                                                 "groups: ?",
		"WITH t AS (SELECT diagnosis AS d FROM patients GROUP BY 1) SELECT count(*) OVER () AS groups, d FROM t":                                       "groups: ?",
		"SELECT count(*) AS wards FROM wards WHERE ward IN (SELECT ward FROM patients)":                                                                "wards: ?",
		"SELECT diagnosis FROM patients GROUP BY 1":                                                                                                    "",
	} {
		q, err := theWorld.then().ask(sql, nil)
		if err != nil || q.plan == nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, o := range q.plan.Outputs {
			var of []string
			for _, f := range o.Of {
				of = append(of, formulaText(q.plan, f))
			}
			got = append(got, o.Name+": "+strings.Join(of, " or "))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %q, want %q", sql, text, want)
		}
	}
}
