package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// TestEmptyGroups asks where noise is nil. No patient has gout, and none is in ward C or in none.
func TestEmptyGroups(t *testing.T) {
	p := start(t, strings.Replace(purePolicy(), "epsilon: 0.5, epsilon_max: 5", "epsilon: 500, epsilon_max: 1000", 1),
		clinic)
	var notice *pgconn.Notice
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice = n } })
	const unread = "No private row was read: the groups are the declared values of the keys, whether or not a row has them."
	for _, c := range []struct{ sql, dropped, kept, hint string }{
		{
			"SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis", "asthma 333, cold 334, flu 333",
			"asthma 333, cold 334, flu 333, gout 0", "",
		},
		{"SELECT diagnosis FROM patients GROUP BY diagnosis", "asthma, cold, flu", "asthma, cold, flu, gout", unread},
		{"SELECT DISTINCT diagnosis FROM patients ORDER BY 1", "asthma, cold, flu", "asthma, cold, flu, gout", unread},
		{
			"SELECT count(*), avg(n) FROM (SELECT diagnosis, count(*) AS n FROM patients WHERE age IS NOT NULL GROUP BY diagnosis) s", "3 326.6666666666666667", "4 245.0000000000000000", "",
		},
		{
			"SELECT diagnosis, count(DISTINCT id) FROM patients GROUP BY diagnosis ORDER BY 1 DESC",
			"flu 333, cold 334, asthma 333", "gout 0, flu 333, cold 334, asthma 333", "",
		},
		{
			"SELECT diagnosis, count(*) FILTER (WHERE age > 200) FROM patients GROUP BY diagnosis", "asthma 0, cold 0, flu 0",
			"asthma 0, cold 0, flu 0, gout 0", "",
		},
		{"SELECT ward, count(*) FROM patients WHERE age < 0 GROUP BY ward", "", "A 0, B 0, C 0, NULL 0", ""},
		{"SELECT ward, count(*) FROM patients WHERE 1 = 0 GROUP BY ward", "", "A 0, B 0, C 0, NULL 0", unread},
		{
			"SELECT ward, count(*) FROM patients WHERE age < 0 GROUP BY GROUPING SETS ((ward), ())", "NULL 0",
			"A 0, B 0, C 0, NULL 0, NULL 0", "",
		},
		{
			"SELECT w.ward, count(p.id) FROM wards w LEFT JOIN patients p ON p.ward = w.ward GROUP BY w.ward ORDER BY 1",
			"A 500, B 500, C 0", "A 500, B 500, C 0", "",
		},
	} {
		for set, want := range map[string]string{"drop": c.dropped, "keep": c.kept} {
			got := rowsText(t, conn, "SET dpproxy.empty_groups = "+set+"; "+c.sql)
			if got != want {
				t.Errorf("%s: %s\ngives %s\nwant  %s", set, c.sql, got, want)
			}
			if hint := notice.Hint; set == "keep" && !strings.Contains(hint, c.hint) || set == "drop" &&
				strings.Contains(hint, unread) && c.kept != "" && !strings.Contains(c.sql, "1 = 0") {
				t.Errorf("%s: %s\nhint %q", set, c.sql, hint)
			}
		}
	}
	// A sum has noise also here: of the four groups an empty one is among those that are shown in 5% of the answers at
	// most.
	const asked = 40
	wrong := map[string]int{}
	for i := range asked {
		sql := fmt.Sprintf(
			"SELECT diagnosis, sum(cost) AS s FROM visits v JOIN patients p ON p.id = v.patient_id WHERE p.income >= %d GROUP BY diagnosis ORDER BY s DESC LIMIT 4", i)
		for set, rows := range map[string]int{"drop": 3, "keep": 4} {
			if strings.Count(rowsText(t, conn, "SET dpproxy.empty_groups = "+set+"; "+sql), ",")+1 != rows {
				wrong[set]++
			}
		}
	}
	if !stattest.AtMost(wrong["drop"], asked, .05) || wrong["keep"] > 0 {
		t.Errorf("of %d answers of sums, so many have not the groups that are there: %v", asked, wrong)
	}
	for set, want := range map[string]string{"drop": "empty groups: dropped", "keep": "empty groups: kept"} {
		if got := rowsText(t, conn, "SET dpproxy.empty_groups = "+set+
			"; EXPLAIN SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis"); !strings.Contains(got, want) {
			t.Errorf("EXPLAIN has no %q:\n%s", want, got)
		}
	}
	for sql, want := range map[string]string{
		"RESET dpproxy.empty_groups; SHOW dpproxy.empty_groups":                               "drop",
		"SELECT current_setting('dpproxy.empty_groups'), current_setting('dpproxy.epsilon')":  "drop 500",
		"SET dpproxy.empty_groups = keep; SELECT current_setting('dpproxy.empty_groups')":     "keep",
		"SELECT set_config('dpproxy.empty_groups', 'drop', false); SHOW dpproxy.empty_groups": "drop",
	} {
		if got := rowsText(t, conn, "RESET ALL; "+sql); got != want {
			t.Errorf("%s gives %q, want %q", sql, got, want)
		}
	}
	var refused *pgconn.PgError
	if _, err := conn.Exec(context.Background(), "SET dpproxy.empty_groups = hide"); !errors.As(err, &refused) ||
		refused.Code != "22023" {
		t.Errorf("a value that there is not: %v", err)
	}
}

// TestOfNothing: at the default ε everything but a count is NULL over no rows beside a count, and EXISTS and IN do not
// hold, but for 5% of the answers; over many rows nothing is NULL. That of no rows is not shown is said. False alarms:
// 1e-6 each at most.
func TestOfNothing(t *testing.T) {
	const asked = 60
	p := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic)
	var notice *pgconn.Notice
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice = n } })
	const aggregates = "min(age), max(income), avg(weight), percentile_cont(0.5) WITHIN GROUP (ORDER BY age)"
	counted, exists, wards := 0, 0, 0
	for i := range asked {
		none := fmt.Sprintf("FROM patients WHERE age = 99 AND income > 89000 AND weight > 118 AND income >= %d", i)
		if got := rowsText(t, conn, "SELECT "+aggregates+", count(*) - count(*) "+none); got != "NULL NULL NULL NULL 0" {
			counted++
		}
		if rowsText(t, conn, "SELECT EXISTS (SELECT 1 "+none+")") != "f" {
			exists++
		}
		if rowsText(t, conn, "SELECT ward FROM wards w WHERE ward IN (SELECT ward "+none+" AND ward IS NOT NULL)") != "" {
			wards++
		}
	}
	for name, wrong := range map[string]int{"aggregates": counted, "EXISTS": exists, "IN": wards} {
		if !stattest.AtMost(wrong, asked, .1) { // an average and the others have a count each
			t.Errorf("%s say that there are rows %d times of %d", name, wrong, asked)
		}
	}
	if got := rowsText(t, conn, "SELECT "+aggregates+", count(*) > 0, EXISTS (SELECT 1 FROM patients) FROM patients"); strings.Contains(got, "NULL") || !strings.HasSuffix(got, "t t") {
		t.Errorf("of all patients: %s", got)
	}
	if got := rowsText(t, conn, "EXPLAIN SELECT max(age) FROM patients"); !strings.Contains(
		got, "max(age) over no rows is a value between its bounds") {
		t.Errorf("EXPLAIN says nothing of an empty set:\n%s", got)
	}
	// that noise shows 15 of 16 groups is less likely than 0.05^15
	if rowsText(t, conn, "SELECT ward, diagnosis, count(*) FROM patients WHERE income < 60 GROUP BY 1, 2"); !strings.Contains(
		notice.Hint, "groups are not shown: they cannot be told from empty ones") {
		t.Errorf("of wards without patients: %q", notice.Hint)
	}
}

// TestSmallGroupsAreAnnounced: partition selection says what it does not show before it is paid for, and is refused
// where it shows nothing.
func TestSmallGroupsAreAnnounced(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	var notice *pgconn.Notice
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice = n } })
	const hint = " units (patient) are not shown"
	for _, sql := range []string{
		"SELECT left(name, 9), count(*) FROM patients GROUP BY 1",
		"SELECT left(name, 7), count(*) FROM patients GROUP BY 1",
	} {
		rowsText(t, conn, sql)
		if !strings.Contains(notice.Hint, hint) {
			t.Errorf("%s: hint %q", sql, notice.Hint)
		}
		if got := rowsText(t, conn, "EXPLAIN "+sql); !strings.Contains(got, hint) {
			t.Errorf("EXPLAIN %s:\n%s", sql, got)
		}
	}
	few := start(t, strings.Replace(clinicPolicy(), "max_rows: 100000", "max_rows: 5", 1), clinic).connect()
	before := spent(t, few)
	var refused *pgconn.PgError
	_, err := few.Exec(context.Background(), "SELECT left(name, 9), count(*) FROM patients GROUP BY 1")
	if !errors.As(err, &refused) || refused.Code != "0A000" || refused.Hint == "" || spent(t, few) != before {
		t.Errorf("a selection that shows nothing: %v, spent %v after %v", err, spent(t, few), before)
	}
}

// rowsText asks and prints the rows of the last statement: values with a space between them, rows with a comma.
func rowsText(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []string
	for _, row := range results[len(results)-1].Rows {
		var values []string
		for _, v := range row {
			if v == nil {
				v = []byte("NULL")
			}
			values = append(values, string(v))
		}
		rows = append(rows, strings.Join(values, " "))
	}
	return strings.Join(rows, ", ")
}
