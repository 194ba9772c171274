package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestPostgresFDW: another PostgreSQL has the proxy's tables as foreign ones, by postgres_fdw, whether or not it asks
// what they cost. Aggregates that it pushes down are answered with noise; what it would compute from rows is refused.
func TestPostgresFDW(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{"use_remote_estimate 'false', fdw_tuple_cost '100'", "use_remote_estimate 'true'"} {
		t.Run(options, func(t *testing.T) {
			server, db := pgservertest.Database(t, "CREATE EXTENSION postgres_fdw", fmt.Sprintf(`
				CREATE SERVER clinic FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname '%s', %s);
				CREATE USER MAPPING FOR CURRENT_USER SERVER clinic OPTIONS (user 'alice', password '%s');
				CREATE SCHEMA clinic;
				IMPORT FOREIGN SCHEMA public FROM SERVER clinic INTO clinic`, host, port, p.db, options, password))
			ctx := context.Background()
			conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			var tables string
			if err := conn.QueryRow(
				ctx,
				"SELECT string_agg(foreign_table_name, ' ' ORDER BY foreign_table_name) FROM information_schema.foreign_tables").Scan(&tables); err != nil || tables != "lab_results patients visits wards" {
				t.Fatalf("imported %q: %v", tables, err)
			}
			var n int
			var age float64
			// 1000 and 49.5: ε 0.5 is 100 scales off
			if err := conn.QueryRow(ctx, "SELECT count(*), avg(age) FROM clinic.patients").Scan(&n, &age); err != nil ||
				n < 800 || n > 1200 || age < 30 || age > 70 {
				t.Errorf("count %d, average age %g: %v", n, age, err)
			}
			rows,
				err := conn.Query(
				ctx, "SELECT diagnosis, count(*) FROM clinic.patients WHERE age > 30 GROUP BY diagnosis ORDER BY diagnosis")
			if err != nil {
				t.Fatal(err)
			}
			groups, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (name string, err error) {
				return name, row.Scan(&name, &n)
			})
			if err != nil || !strings.HasPrefix(strings.Join(groups, " "), "asthma cold flu") { // and gout, if noise shows it
				t.Errorf("groups %q: %v", groups, err)
			}
			var beds int
			if err := conn.QueryRow(ctx, "SELECT sum(beds) FROM clinic.wards WHERE floor > 1").Scan(&beds); err != nil ||
				beds != 42 {
				t.Errorf("beds of a public table: %d, %v", beds, err)
			}
			var refused *pgconn.PgError
			for _, sql := range []string{
				"SELECT age FROM clinic.patients",
				"SELECT count(*) FROM clinic.patients WHERE random() < 1", "ANALYZE clinic.patients",
			} {
				if _, err := conn.Exec(ctx, sql); !errors.As(err, &refused) || refused.Code != "42501" {
					t.Errorf("%s: %v", sql, err)
				}
			}
		})
	}
}

// TestDblink: a statement that another PostgreSQL sends by dblink is answered, or refused with its reason.
func TestDblink(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		t.Fatal(err)
	}
	server, db := pgservertest.Database(t, "CREATE EXTENSION dblink")
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	to := fmt.Sprintf("host=%s port=%s dbname=%s user=alice password=%s", host, port, p.db, password)
	var n int
	if err := conn.QueryRow(ctx, "SELECT n FROM dblink($1, 'SELECT count(*) FROM patients') AS t (n int)", to).Scan(&n); err != nil ||
		n < 800 || n > 1200 {
		t.Errorf("count %d: %v", n, err)
	}
	var name string
	err = conn.QueryRow(ctx, "SELECT name FROM dblink($1, 'SELECT name FROM patients') AS t (name text)", to).Scan(&name)
	if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Message, refusal) {
		t.Errorf("%q: %v", name, err)
	}
}
