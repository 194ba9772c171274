package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestSeveralRowsCostNothing: a scalar subquery over a public table that decides which private rows are measured and
// returns two rows is PostgreSQL's own error 21000, before anything is written to the ledger (docs/privacy.md P4g). One
// above the released values fails when they are there, as a division by zero does: they are kept, and the statement
// that is right costs nothing more.
func TestSeveralRowsCostNothing(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ledger := func() string {
		t.Helper()
		out, err := p.command("budget", "export").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const lower = "(SELECT ward FROM wards WHERE floor <= $1)"
	fails := func(sql string) {
		t.Helper()
		var e *pgconn.PgError
		if _, err := conn.Exec(context.Background(), sql, 2); !errors.As(err, &e) || e.Code != "21000" ||
			e.Message != "more than one row returned by a subquery used as an expression" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	untouched := ledger()
	for _, sql := range []string{
		"SELECT count(*) FROM patients WHERE ward = " + lower,
		"SELECT avg(age) FILTER (WHERE ward = " + lower + ") FROM patients",
		"SELECT ward = " + lower + ", count(*) FROM patients GROUP BY 1",
		"SELECT count(*) FROM patients WHERE ward = " + lower + " AND age > (SELECT avg(age) FROM patients)",
		"WITH w AS (SELECT count(*) AS n FROM visits WHERE ward = " + lower + ") SELECT n FROM w",
		"EXPLAIN SELECT count(*) FROM patients WHERE ward = " + lower,
	} {
		fails(sql)
	}
	if after := ledger(); after != untouched {
		t.Errorf("the ledger before\n%s\nand after\n%s", untouched, after)
	}
	const above = "SELECT " + lower + ", avg(age) FROM patients"
	fails(above)
	charged := ledger()
	if charged == untouched {
		t.Error("values that were released are not in the ledger")
	}
	fails(above)
	if _, err := conn.Exec(context.Background(), above, 1); err != nil || ledger() != charged {
		t.Errorf("the statement that is right: %v; the ledger\n%s\nand then\n%s", err, charged, ledger())
	}
}
