package integration_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestIntervalsForToolsWithoutNotices: the ends of intervals are columns, of simple, extended and prepared queries alike, around the value that
// the answer without them has, and the last answer explains itself.
func TestIntervalsForToolsWithoutNotices(t *testing.T) {
	ctx := context.Background()
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	const sql = "SELECT count(*) AS n, diagnosis FROM patients WHERE age > 20 GROUP BY 2 ORDER BY 2 DESC"
	read := func(mode pgx.QueryExecMode) (names []string, values [][]any) {
		t.Helper()
		rows, err := conn.Query(ctx, sql, mode)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for _, f := range rows.FieldDescriptions() {
			names = append(names, f.Name)
		}
		for rows.Next() {
			row, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, row)
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		return names, values
	}
	var margin *float64
	if err := conn.QueryRow(ctx, "SELECT max(margin) FROM dpproxy.last").Scan(&margin); err != nil || margin != nil {
		t.Errorf("before the first answer: margin %v, %v", margin, err)
	}
	names, plain := read(pgx.QueryExecModeSimpleProtocol)
	if !slices.Equal(names, []string{"n", "diagnosis"}) {
		t.Fatalf("columns %q", names)
	}
	before := spent(t, conn)
	exec("SET dpproxy.intervals = on")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec} {
		names, wide := read(mode)
		if !slices.Equal(names, []string{"n", "n_low", "n_high", "diagnosis"}) || len(wide) != len(plain) {
			t.Fatalf("%s: columns %q, rows %v, and %v", mode, names, wide, plain)
		}
		for i, row := range wide {
			n, low, high := row[0].(int64), row[1].(int64), row[2].(int64)
			if n != plain[i][0] || row[3] != plain[i][1] || low > n || n > high || low == high {
				t.Errorf("%s: %v around %v", mode, row, plain[i])
			}
		}
	}
	if now := spent(t, conn); now != before {
		t.Errorf("the same question has cost %v", now-before)
	}
	var column, mechanism string
	var scale, epsilon, last float64
	if err := conn.QueryRow(ctx, "SELECT column_name, mechanism, scale, margin, epsilon FROM dpproxy.last").Scan(&column, &mechanism, &scale, &last, &epsilon); err != nil {
		t.Fatal(err)
	}
	if column != "n" || mechanism == "" || scale <= 0 || last < scale || epsilon != 0 {
		t.Errorf("last: %s, %s, scale %v, margin %v, epsilon %v", column, mechanism, scale, last, epsilon)
	}
	exec("SET dpproxy.max_rows = 1")
	if _, err := conn.Exec(ctx, "SELECT sum(cost) FROM visits"); err != nil {
		t.Fatal(err)
	}
	fewer := 0.0
	if err := conn.QueryRow(ctx, "SELECT margin, epsilon FROM dpproxy.last WHERE column_name = 'sum'").Scan(&last, &epsilon); err != nil || epsilon <= 0 {
		t.Fatalf("spent %v, %v", epsilon, err)
	}
	fewer = last
	exec("RESET dpproxy.max_rows")
	if _, err := conn.Exec(ctx, "SELECT sum(cost) FROM visits"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, "SELECT margin FROM dpproxy.last WHERE column_name = 'sum'").Scan(&last); err != nil || last <= 1.5*fewer {
		t.Errorf("margin %v with fewer rows, %v without, %v", fewer, last, err)
	}
}
