package integration_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestSumsOverGroups: what is added up over a thousand groups, of which nearly none is shown, is within four margins of
// the truth. False alarms: below 1e-7 each, as no sum has less than four draws.
func TestSumsOverGroups(t *testing.T) {
	p := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic)
	conn := p.connect()
	for _, c := range []struct {
		sql  string
		want float64
	}{
		{"SELECT sum(n) FROM (SELECT visited, ward, count(*) AS n FROM visits GROUP BY visited, ward) t", 4000},
		{
			"WITH t AS (SELECT 1) SELECT count(*) - count(*) + sum(n) FROM (SELECT visited, count(*) AS n FROM visits GROUP BY visited) t", 4000,
		},
		{"SELECT DISTINCT total FROM (SELECT ward, sum(count(*)) OVER () AS total FROM visits GROUP BY ward) t", 4000},
		{"WITH t AS (SELECT visited, ward, count(*) AS n FROM visits GROUP BY 1, 2) SELECT sum(n) FROM t", 4000},
		{
			"SELECT sum(m) FROM (SELECT ward, sum(n) AS m FROM (SELECT visited, t.ward, count(*) AS n FROM visits t GROUP BY 1, 2) t GROUP BY t.ward) t", 4000,
		},
	} {
		got, err := strconv.ParseFloat(rowsText(t, conn, c.sql), 64)
		if margin := lastMargin(t, conn); err != nil || got < c.want-4*margin || got > c.want+4*margin {
			t.Errorf("%s: %g (%v), want %g ± %g", c.sql, got, err, c.want, margin)
		}
	}
}

// TestRunningTotals: windows over days and weeks of few rows end within four margins of the truth, and have a margin.
// Those that follow from released values have none, which the answer says.
func TestRunningTotals(t *testing.T) {
	p := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic)
	hint := ""
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { hint = n.Hint } })
	const groups = "SELECT ward, date_trunc('week', visited)::date AS week, count(*) AS n FROM visits WHERE visited < '2021-03-01' GROUP BY 1, 2"
	const truth = "SELECT count(*) FROM visits WHERE visited < '2021-03-01'"
	want := parsed(t, rowsText(t, conn, truth))
	for _, c := range []struct{ sql, column string }{
		{
			"SELECT max(running) FROM (SELECT sum(count(*)) OVER (ORDER BY visited) AS running FROM visits WHERE visited < '2021-03-01' GROUP BY visited) t", "running",
		},
		{
			"SELECT sum(last) FROM (SELECT ward, max(running) AS last FROM (SELECT ward, sum(n) OVER (PARTITION BY ward ORDER BY week) AS running FROM (" + groups + ") g) t GROUP BY 1) u", "running",
		},
		{"WITH g AS (" + groups + ") SELECT max(r) FROM (SELECT sum(n) OVER (ORDER BY week) AS r FROM g) t", "r"},
	} {
		if _, err := conn.Exec(t.Context(), "SET dpproxy.empty_groups = keep"); err != nil {
			t.Fatal(err)
		}
		got := parsed(t, rowsText(t, conn, c.sql))
		margin := parsed(t, rowsText(t, conn, "SELECT margin FROM dpproxy.last WHERE column_name = '"+c.column+"'"))
		// the greatest of a running total is hardly more than its last
		if got < want-4*margin || got > want+4*margin || margin <= 0 {
			t.Errorf("%s: %g, want %g ± %g", c.sql, got, want, margin)
		}
	}
	if _, err := conn.Exec(t.Context(), "SET dpproxy.intervals = on"); err != nil {
		t.Fatal(err)
	}
	const ends = "SELECT ward, sum(count(*)) OVER (ORDER BY ward) AS x, sum(count(*)) OVER () AS y, sum(count(*)) OVER (ORDER BY count(*)) AS none " +
		"FROM visits GROUP BY ward ORDER BY ward"
	for i, row := range strings.Split(rowsText(t, conn, ends), ", ") {
		v := strings.Fields(row)
		for x := 1; x < 7; x += 3 {
			if low, at, high := parsed(t, v[x+1]), parsed(t, v[x]), parsed(t, v[x+2]); low > at || at > high || low == high {
				t.Errorf("row %d, column %d: %g in [%g, %g]", i, x, at, low, high)
			}
		}
		if v[8] != "NULL" || v[9] != "NULL" {
			t.Errorf("row %d: what adds up by released values has an interval: %v", i, v)
		}
	}
	if said := strings.Contains(hint, "reads those that are shown"); !said {
		t.Errorf("HINT %q", hint)
	}
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// lastMargin is the widest margin of the last answer.
func lastMargin(t *testing.T, conn *pgx.Conn) float64 {
	t.Helper()
	margin, err := strconv.ParseFloat(rowsText(t, conn, "SELECT max(margin) FROM dpproxy.last"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return margin
}

// TestSortedByAKey: where an output has the name of a key, the key with its table's name is the key.
func TestSortedByAKey(t *testing.T) {
	conn := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic).connect()
	const groups = "(SELECT ward, diagnosis, count(*) AS n FROM patients GROUP BY 1, 2) t"
	var keys []string
	rows, err := conn.Query(t.Context(), "SELECT ward AS a, sum(n) AS ward FROM "+groups+
		" GROUP BY t.ward ORDER BY t.ward")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		if key, ok := values[0].(string); ok { // NULL is the last
			keys = append(keys, key)
		}
	}
	if err := rows.Err(); err != nil || len(keys) < 2 || !slices.IsSorted(keys) {
		t.Errorf("%v: %q", err, keys)
	}
}
