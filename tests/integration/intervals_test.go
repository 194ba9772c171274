package integration_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestIntervalsForToolsWithoutNotices: the ends of intervals are columns, of simple, extended and prepared queries
// alike, around the value that the answer without them has, and the last answer explains itself.
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
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec,
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec,
	} {
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
	if err := conn.QueryRow(ctx, "SELECT column_name, mechanism, scale, margin, epsilon FROM dpproxy.last").Scan(
		&column, &mechanism, &scale, &last, &epsilon); err != nil {
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
	if err := conn.QueryRow(ctx, "SELECT margin, epsilon FROM dpproxy.last WHERE column_name = 'sum'").Scan(
		&last, &epsilon); err != nil || epsilon <= 0 {
		t.Fatalf("spent %v, %v", epsilon, err)
	}
	fewer = last
	exec("RESET dpproxy.max_rows")
	if _, err := conn.Exec(ctx, "SELECT sum(cost) FROM visits"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, "SELECT margin FROM dpproxy.last WHERE column_name = 'sum'").Scan(&last); err != nil ||
		last <= 1.5*fewer {
		t.Errorf("margin %v with fewer rows, %v without, %v", fewer, last, err)
	}
	var n, low, high *int64 // of a table whose policy does not say what is left out
	if err := conn.QueryRow(ctx, "SELECT count(*) AS n FROM visits").Scan(&n, &low, &high); err != nil || low == nil ||
		high == nil || *low >= *n || *n >= *high {
		t.Errorf("visits: %v, %v, %v, %v", n, low, high, err)
	}
}

// TestIntervalsOfThePolicy: without SET the policy decides, and SHOW, current_setting and pg_settings say so.
func TestIntervalsOfThePolicy(t *testing.T) {
	p := start(t, strings.Replace(clinicPolicy(), "epsilon_max: 5}", "epsilon_max: 5, intervals: on}", 1), clinic)
	conn := p.connect()
	for _, c := range []struct {
		set     string
		columns []string
		shown   string
	}{
		{"RESET ALL", []string{"n", "n_low", "n_high"}, "on"},
		{"SET dpproxy.intervals = off", []string{"n"}, "off"},
		{"SET dpproxy.intervals = on", []string{"n", "n_low", "n_high"}, "on"},
		{"RESET dpproxy.intervals", []string{"n", "n_low", "n_high"}, "on"},
	} {
		if got := rowsText(t, conn, c.set+"; SHOW dpproxy.intervals"); got != c.shown {
			t.Errorf("%s: SHOW gives %q", c.set, got)
		}
		const told = "SELECT current_setting('dpproxy.intervals'), setting FROM pg_settings WHERE name = 'dpproxy.intervals'"
		if got := rowsText(t, conn, told); got != c.shown+" "+c.shown {
			t.Errorf("%s: the catalogs say %q", c.set, got)
		}
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			rows, err := conn.Query(context.Background(), "SELECT count(*) AS n FROM patients", mode)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range rows.FieldDescriptions() {
				names = append(names, f.Name)
			}
			rows.Close()
			if rows.Err() != nil || !slices.Equal(names, c.columns) {
				t.Errorf("%s, %s: columns %q, %v", c.set, mode, names, rows.Err())
			}
		}
	}
}
