package integration_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestSumsOverGroups: what is added up over a thousand groups, of which nearly none is shown, is within four margins of
// the truth. False alarms: below 1e-5 of Laplace noise.
func TestSumsOverGroups(t *testing.T) {
	p := start(t, strings.ReplaceAll(clinicPolicy(), "epsilon: 40", "epsilon: 4000"), clinic)
	conn := p.connect()
	for _, c := range []struct {
		sql  string
		want float64
	}{
		{"SELECT sum(n) FROM (SELECT visited, ward, count(*) AS n FROM visits GROUP BY visited, ward) t", 4000},
		{"WITH t AS (SELECT 1) SELECT count(*) - count(*) + sum(n) FROM (SELECT visited, count(*) AS n FROM visits GROUP BY visited) t", 4000},
		{"SELECT DISTINCT total FROM (SELECT ward, sum(count(*)) OVER () AS total FROM visits GROUP BY ward) t", 4000},
	} {
		got, err := strconv.ParseFloat(rowsText(t, conn, c.sql), 64)
		if margin := lastMargin(t, conn); err != nil || got < c.want-4*margin || got > c.want+4*margin {
			t.Errorf("%s: %g (%v), want %g ± %g", c.sql, got, err, c.want, margin)
		}
	}
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
