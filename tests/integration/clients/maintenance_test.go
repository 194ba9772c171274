package clients

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestMaintenanceDatabase: tools connect to postgres for a list of databases. It has the catalogs, and no table of the
// policy.
func TestMaintenanceDatabase(t *testing.T) {
	_, db, dsn := start(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/postgres"
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT datname FROM pg_database ORDER BY datname = current_database()")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !slices.Equal(names, []string{db, "postgres"}) {
		t.Errorf("databases %v, %v", names, err)
	}
	for _, sql := range []string{
		"SELECT count(*) FROM patients", "SELECT * FROM wards",
		"EXPLAIN SELECT count(*) FROM visits", "SELECT sum(cost) FROM public.visit_costs",
	} {
		var e *pgconn.PgError
		if _, err := conn.Exec(ctx, sql); !errors.As(err, &e) || e.Code != "42P01" || e.Hint == "" {
			t.Errorf("%s: %v, want 42P01 with a hint", sql, err)
		}
	}
	settings,
		err := conn.Query(ctx, "SELECT name FROM pg_settings WHERE name LIKE 'dpproxy.%' AND context = 'user' ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	names, err = pgx.CollectRows(settings, pgx.RowTo[string])
	if err != nil || !slices.Equal(names, []string{
		"dpproxy.empty_groups", "dpproxy.epsilon", "dpproxy.intervals",
		"dpproxy.margin", "dpproxy.max_rows", "dpproxy.max_rows_per_group", "dpproxy.notices", "dpproxy.rows", "dpproxy.source",
		"dpproxy.workload",
	}) {
		t.Errorf("settings %v, %v", names, err)
	}
}
