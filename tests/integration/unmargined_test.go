package integration_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestEveryColumnIsSaid: each result column that released values are in has a line with its margin, under a name of its
// own, or a HINT names it as one without; so does an order that may be that of the noise.
func TestEveryColumnIsSaid(t *testing.T) {
	p := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic)
	var notice *pgconn.Notice
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice = n } })
	const none = "No margin is known of "
	for _, c := range []struct {
		sql          string
		detail, hint []string
		not          string // is in neither
	}{
		{
			"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS median, max(age) AS oldest FROM patients", nil,
			[]string{none + "median, oldest. dpproxy.interval_low"},
			"±",
		},
		{
			"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS m, dpproxy.interval_low(percentile_disc(0.5) WITHIN GROUP (ORDER BY age)), " +
				"dpproxy.interval_high(percentile_disc(0.5) WITHIN GROUP (ORDER BY age)) FROM patients",
			[]string{"m: ±"},
			nil,
			none,
		},
		{
			"SELECT ward, round(100 * count(*) / sum(count(*)) OVER (), 1) AS percent FROM patients GROUP BY ward",
			[]string{"percent: ±", "count(*): ±", "sum(count(*)) OVER (): ±"},
			nil, none,
		},
		{
			"SELECT sum(n) AS patients FROM (SELECT ward, count(*) AS n FROM patients GROUP BY ward) t",
			[]string{"patients: ±"},
			nil, "n: ±",
		},
		{"SELECT avg(age), avg(income) FROM patients", []string{"avg(age): ±", "avg(income): ±"}, nil, "avg: ±"},
		{"SELECT 2 * avg(age) AS x, count(*) AS x FROM patients", []string{"x (1): ±", "x (2): ±"}, nil, "x: ±"},
		{
			"SELECT CASE WHEN count(*) > 9 THEN 'many' END AS many, bool_or(smoker) AS smokes FROM patients",
			[]string{"count(*): ±"},
			[]string{none + "many, smokes."},
			"",
		},
		{
			// Twelve groups of which nothing is left out are never all told apart.
			"SET dpproxy.empty_groups = keep; SELECT extract(month FROM visited) AS month, rank() OVER (ORDER BY 2 * count(*)) AS place FROM visits GROUP BY month; RESET dpproxy.empty_groups",
			[]string{"count(*): ±"},
			[]string{"By rank: "},
			none,
		},
		{
			"SELECT ward, rank() OVER (PARTITION BY ward ORDER BY avg(age)) AS place FROM patients GROUP BY ward", nil,
			[]string{none + "place."},
			"By rank",
		},
		{
			"SELECT ward, count(*) AS n FROM patients GROUP BY ward HAVING count(*) > 2 ORDER BY n",
			[]string{"n: ±"},
			[]string{"Released values choose which groups are shown", "Any place may be within the noise."},
			none,
		},
		{
			"SELECT count(*) AS visits, avg(cost) AS cost FROM visits WHERE date_trunc('month', visited) = '2021-03-01'", nil,
			[]string{none + "visits, cost."},
			"±",
		},
	} {
		rowsText(t, conn, c.sql)
		for _, want := range c.detail {
			if !strings.Contains("\n"+notice.Detail, "\n"+want) {
				t.Errorf("%s: DETAIL %q lacks %q", c.sql, notice.Detail, want)
			}
		}
		for _, want := range c.hint {
			if !strings.Contains(notice.Hint, want) {
				t.Errorf("%s: HINT %q lacks %q", c.sql, notice.Hint, want)
			}
		}
		if said := "\n" + notice.Detail + notice.Hint; c.not != "" && (strings.Contains(said, "\n"+c.not) ||
			strings.Contains(notice.Hint, c.not) || c.not == "±" && notice.Detail != "") {
			t.Errorf("%s: it says %q", c.sql, said)
		}
	}
}
