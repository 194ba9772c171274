package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// widened gives a statement the ends of its intervals; empty: it has none.
func (w *world) widened(t *testing.T, q *question) string {
	t.Helper()
	list, err := rewrite.Parse(q.sql, 32768)
	if err != nil {
		t.Fatal(err)
	}
	wider, added, err := q.analysis.WithIntervals(list[0], 32768)
	if err != nil {
		t.Errorf("%s: %v", q.sql, err)
	}
	if !added {
		return ""
	}
	return wider.SQL
}

func TestWithIntervals(t *testing.T) {
	w := theWorld.then()
	w.wide = true
	for sql, want := range map[string]string{
		"SELECT count(*) FROM patients":                                        "SELECT count(*), dpproxy.interval_low(count(*)) AS count_low, dpproxy.interval_high(count(*)) AS count_high FROM patients",
		"SELECT ward, avg(age) AS a, ward FROM patients GROUP BY 3 ORDER BY 2": "SELECT ward, avg(age) AS a, dpproxy.interval_low(avg(age)) AS a_low, dpproxy.interval_high(avg(age)) AS a_high, ward FROM patients GROUP BY 5 ORDER BY 2",
		"SELECT sum(age), ward, smoker FROM patients GROUP BY ROLLUP (2, 3) ORDER BY 3 DESC, 1, ward LIMIT 3": "SELECT sum(age), dpproxy.interval_low(sum(age)) AS sum_low, dpproxy.interval_high(sum(age)) AS sum_high, ward, smoker " +
			"FROM patients GROUP BY ROLLUP (4, 5) ORDER BY 5 DESC, 1, ward LIMIT 3",
		"SELECT round(avg(age)::numeric, 1), COALESCE(sum(age), 0) AS s FROM patients": "SELECT round(avg(age)::numeric, 1), round(dpproxy.interval_low(avg(age))::numeric, 1) AS round_low, " +
			"round(dpproxy.interval_high(avg(age))::numeric, 1) AS round_high, COALESCE(sum(age), 0) AS s, COALESCE(dpproxy.interval_low(sum(age)), 0) AS s_low, " +
			"COALESCE(dpproxy.interval_high(sum(age)), 0) AS s_high FROM patients",
		"SELECT dpproxy.within(count(*), 20) FROM patients":             "SELECT dpproxy.within(count(*), 20), dpproxy.interval_low(count(*)) AS within_low, dpproxy.interval_high(count(*)) AS within_high FROM patients",
		"SELECT count(*) - 1, -count(*), bool_or(smoker) FROM patients": "",
		"SELECT DISTINCT count(*) FROM patients GROUP BY ward":          "",
		"SELECT n FROM (SELECT count(*) AS n FROM patients) x":          "",
		"SELECT ward, n, sum(n) OVER (ORDER BY ward)::int AS r FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x ORDER BY 3": "SELECT ward, n, sum(n) OVER (ORDER BY ward)::int AS r, " +
			"dpproxy.interval_low(sum(n) OVER (ORDER BY ward))::int AS r_low, dpproxy.interval_high(sum(n) OVER (ORDER BY ward))::int AS r_high " +
			"FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x ORDER BY 3",
		"SELECT sum(n), max(n) FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x": "SELECT sum(n), dpproxy.interval_low(sum(n)) AS sum_low, dpproxy.interval_high(sum(n)) AS sum_high, max(n) " +
			"FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x",
		"SELECT sum(n) OVER (ORDER BY n) FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x": "",
		"SELECT max(n) FROM (SELECT ward, count(*) AS n FROM patients GROUP BY 1) x":                   "",
		"SELECT count(*) FROM patients UNION ALL SELECT count(*) FROM visits":                          "",
	} {
		q, err := w.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got := w.widened(t, q); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", sql, got, want)
		}
		if want == "" {
			continue
		}
		if _, err := w.ask(want, nil); err != nil {
			t.Errorf("%s\n%v", want, err)
		}
	}
}

// TestIntervalsOfTheCorpus: whatever is answered is answered with the ends of its intervals too. The columns of the
// client's are those that it has without them, and an end has its aggregate's type.
func TestIntervalsOfTheCorpus(t *testing.T) {
	w := theWorld.then()
	w.wide = true
	widened := 0
	for _, c := range corpus(t) {
		q, err := w.ask(c.sql, parameters(c.params))
		if err != nil || q.plan == nil {
			continue
		}
		sql := w.widened(t, q)
		if sql == "" {
			continue
		}
		widened++
		wider, err := w.ask(sql, parameters(c.params))
		if err != nil {
			t.Errorf("%s\n%s\n%v", c.sql, sql, err)
			continue
		}
		fields := wider.described.Fields
		for _, f := range q.described.Fields {
			if fields[0].Name != f.Name || fields[0].DataTypeOID != f.DataTypeOID {
				t.Errorf("%s: column %s has become %s", c.sql, f.Name, fields[0].Name)
				break
			}
			fields = fields[1:]
			if len(fields) > 1 && fields[0].Name == f.Name+"_low" && fields[1].Name == f.Name+"_high" {
				if fields[0].DataTypeOID != f.DataTypeOID || fields[1].DataTypeOID != f.DataTypeOID {
					t.Errorf("%s: the ends of %s have other types", c.sql, f.Name)
				}
				fields = fields[2:]
			}
		}
	}
	if widened < 300 {
		t.Errorf("%d statements have intervals", widened)
	}
}

// TestMaxRows: a session counts with fewer rows of a unit than the policy allows, and never with more. What is left out
// then, nobody vouches for.
func TestMaxRows(t *testing.T) {
	for _, c := range []struct {
		maxRows int
		want    string
	}{{0, "at most 4 rows per unit"}, {2, "at most 2 rows per unit"}, {9, "at most 4 rows per unit"}} {
		w := theWorld.then()
		w.maxRows = c.maxRows
		q, err := w.ask("SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward", nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(q.plan.Explain, func(line string) bool { return strings.Contains(line, c.want) }) {
			t.Errorf("max_rows %d: %q, want %s", c.maxRows, q.plan.Explain, c.want)
		}
		first := q.plan.Blocks[0].Releases[0]
		if limit := int64(4); first.Sensitivity > limit || c.maxRows == 2 && first.Sensitivity != 2 {
			t.Errorf("max_rows %d: sensitivity %d", c.maxRows, first.Sensitivity)
		}
		if c.maxRows == 2 && q.plan.Blocks[0].LeftOut != nil {
			t.Errorf("max_rows %d: a share of %v is said to be left out", c.maxRows, *q.plan.Blocks[0].LeftOut)
		}
	}
}

// TestIntervalsOfNestedCalls: the two columns of an expression take work in proportion to it, however deep the
// aggregate is.
func TestIntervalsOfNestedCalls(t *testing.T) {
	nested := func(n int) uint64 {
		sql := "SELECT " + strings.Repeat("round(", n) + "avg(age)" + strings.Repeat(")", n) + " FROM patients"
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := rewrite.Parse(sql, 32768)
		if err != nil {
			t.Fatal(err)
		}
		before := allocations()
		if _, added, err := q.analysis.WithIntervals(list[0], 32768); err != nil || !added {
			t.Fatalf("%t, %v", added, err)
		}
		return allocations() - before
	}
	if few, many := nested(30), nested(120); many > 6*few {
		t.Errorf("30 calls: %d allocations, 120: %d", few, many)
	}
}
