package integration_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestHelp: dpproxy.help is read as any relation, a refusal's HINT ends with the statement that explains it, and every
// setting and relation of schema dpproxy has a topic.
func TestHelp(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	for _, sql := range []string{
		"SELECT name FROM patients",
		"SELECT count(*) FROM patients WHERE age > random()",
		"SELECT pg_read_file('/etc/passwd')",
		"EXPLAIN ANALYZE SELECT count(*) FROM patients",
		"DELETE FROM patients",
	} {
		var refused *pgconn.PgError
		if _, err := conn.Exec(ctx, sql); !errors.As(err, &refused) {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		_, help, _ := strings.Cut(refused.Hint, "More: ")
		var text string
		if err := conn.QueryRow(ctx, help).Scan(&text); err != nil || !strings.Contains(text, "-- after") {
			t.Errorf("%s: hint %q: %v\n%s", sql, refused.Hint, err, text)
		}
	}
	var missing int
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM (
		SELECT name FROM pg_settings WHERE name LIKE 'dpproxy.%'
		UNION SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema = 'dpproxy'
		EXCEPT SELECT topic FROM dpproxy.help) x`).Scan(&missing); err != nil || missing != 0 {
		t.Errorf("%d settings and relations have no topic: %v", missing, err)
	}
	var plan string
	if err := conn.QueryRow(
		ctx,
		"EXPLAIN SELECT h.topic FROM dpproxy.help h JOIN dpproxy.columns c ON h.text LIKE '%' || c.column_name || '%' WHERE h.topic = $1",
		"read-only").Scan(&plan); err != nil || plan == "" {
		t.Errorf("EXPLAIN: %q, %v", plan, err)
	}
}

// TestUnknownNamesPointToColumns: what does not exist and what is not listed is answered alike, with where to look.
// PostgreSQL's own hint stays.
func TestUnknownNamesPointToColumns(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	const columns = "SELECT * FROM dpproxy.columns lists what may be asked."
	for _, c := range []struct{ sql, code, message, hint string }{
		{"SELECT * FROM secrets", "42P01", `relation "secrets" does not exist`, columns},
		{"SELECT * FROM no_such_table", "42P01", `relation "no_such_table" does not exist`, columns},
		{"SELECT count(*) FROM public.secrets", "42P01", `relation "public.secrets" does not exist`, columns},
		{"SELECT xyz FROM patients", "42703", `column "xyz" does not exist`, columns},
		{
			"SELECT avg(agee) FROM patients", "42703", `column "agee" does not exist`,
			`Perhaps you meant to reference the column "patients.age".`,
		},
	} {
		_, err := conn.Exec(context.Background(), c.sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != c.code || e.Message != c.message || e.Hint != c.hint {
			t.Errorf("%s: %#v", c.sql, err)
		}
	}
}
