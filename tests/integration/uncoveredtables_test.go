package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestRowLevelSecurity: rows that a row-level policy hides from main's role would be left out silently. Such a table is
// refused by every command, unless the role may bypass row-level security; a policy that comes while the proxy runs
// fails, for everybody alike.
func TestRowLevelSecurity(t *testing.T) {
	const enable = "ALTER TABLE people ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON people USING (age < 50);"
	q := question{name: "count", sql: "SELECT count(*) FROM people"}
	t.Run("while it runs", func(t *testing.T) {
		p := start(t, townPolicy, town)
		admin := p.server.DSN(p.db, pgserver.Superuser)
		pgservertest.Exec(t, admin, enable)
		a := putQuestion(t, p.dsn("alice"), q, 0)
		if a.code == "" && total(a.column) != 1000 {
			t.Errorf("rows are left out: %v", a)
		}
		if out, err := p.command("budget", "clear", "alice").CombinedOutput(); err != nil {
			t.Fatalf("budget clear: %v\n%s", err, out)
		}
		pgservertest.Exec(t, admin, ada)
		if b := putQuestion(t, p.dsn("alice"), q, 0); b.code != a.code || b.message != a.message || a.code == "" {
			t.Errorf("without ada %v, with ada %v", a, b)
		}
		out, err := p.command("check", "--live").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "people: it has row-level security") {
			t.Errorf("check --live: %v\n%s", err, out)
		}
		if refused, logged := p.reload(t); !refused || !strings.Contains(logged, "people: it has row-level security") {
			t.Errorf("reload: refused %v\n%s", refused, logged)
		}
		p.stop()
		if refused, printed := p.servesNot(t); !refused || !strings.Contains(printed, "people: it has row-level security") {
			t.Errorf("serve: refused %v\n%s", refused, printed)
		}
	})
	t.Run("bypassed", func(t *testing.T) {
		p := start(t, townPolicy, town)
		pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), enable+"ALTER ROLE it_main BYPASSRLS")
		defer pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), "ALTER ROLE it_main NOBYPASSRLS")
		if out, err := p.command("check", "--live").CombinedOutput(); err != nil {
			t.Errorf("check --live: %v\n%s", err, out)
		}
		if refused, logged := p.reload(t); refused {
			t.Errorf("not reloaded:\n%s", logged)
		}
		if a := putQuestion(t, p.dsn("alice"), q, 0); a.code != "" || total(a.column) != 1000 {
			t.Errorf("%v, want 1000", a)
		}
	})
	t.Run("forced on a child", func(t *testing.T) {
		p := start(t, townPolicy, town)
		pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser),
			"ALTER TABLE events ENABLE ROW LEVEL SECURITY; ALTER TABLE events FORCE ROW LEVEL SECURITY")
		for _, sql := range []string{
			"SELECT count(*) FROM events",
			"SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM events e WHERE e.person_id = p.id)",
			"SELECT count(*) FROM people p LEFT JOIN events e ON e.person_id = p.id",
		} {
			if a := putQuestion(t, p.dsn("alice"), question{sql: sql}, 0); a.code == "" {
				t.Errorf("%s: %v without the rows of events", sql, a)
			}
		}
	})
}

// abroad puts the tables of town into another schema of the same database, and foreign tables in their place. A foreign
// table has no index, so nothing proves that a person has one row.
const abroad = `
CREATE EXTENSION postgres_fdw;
CREATE SCHEMA far;
ALTER TABLE people SET SCHEMA far;
ALTER TABLE events SET SCHEMA far;
ALTER TABLE far.people DROP CONSTRAINT people_pkey CASCADE;
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%d', dbname '%s');
CREATE USER MAPPING FOR PUBLIC SERVER loop OPTIONS (user 'postgres', password_required 'false');
CREATE FOREIGN TABLE people (id bigint NOT NULL, name text NOT NULL, age int NOT NULL, weight float8 NOT NULL, height float4 NOT NULL, price numeric(10,2) NOT NULL,
  seen timestamptz NOT NULL, met timestamp NOT NULL, day date NOT NULL, hour time NOT NULL, stay interval NOT NULL, tag bytea NOT NULL) SERVER loop OPTIONS (schema_name 'far');
CREATE FOREIGN TABLE events (event_id bigint NOT NULL, person_id bigint NOT NULL, at timestamptz NOT NULL, amount int NOT NULL) SERVER loop OPTIONS (schema_name 'far');
GRANT USAGE ON FOREIGN SERVER loop TO PUBLIC;
`

// TestForeignTables: a table on another server has fewer proofs and no fewer protections. Ada has more rows than
// anybody may, far out of bounds, and in many groups.
func TestForeignTables(t *testing.T) {
	p := prepare(t, townPolicy, town)
	admin := p.server.DSN(p.db, pgserver.Superuser)
	pgservertest.Exec(t, admin, fmt.Sprintf(abroad, p.server.Host, p.server.Port, p.db))
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	if out, err := p.command("check", "--live").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy check --live: %v\n%s", err, out)
	}
	p.serve()
	arrive := `
INSERT INTO far.people SELECT 5000, 'ada', 20 * i, 1000 * i, 100, 99999, '2030-01-01', '1999-01-01', date '2024-01-01' + 40 * i, '06:00', '300 hours', '\x5c30' FROM generate_series(1, 9) i;
INSERT INTO far.events SELECT 9000 + i, 5000, timestamptz '2024-06-10 00:00+00' + i * interval '1 day', 1000 * i FROM generate_series(1, 40) i;
`
	leave := "DELETE FROM far.events WHERE person_id = 5000; DELETE FROM far.people WHERE id = 5000;"
	questions := []question{
		{name: "rows", sql: "SELECT count(*) FROM people"},
		{name: "rows of many", sql: "SELECT count(*) FROM events"},
		{name: "sum", sql: "SELECT sum(amount) FROM events"},
		{name: "sum of one", sql: "SELECT sum(age) FROM people"},
		{name: "groups", sql: "SELECT sum(n) FROM (SELECT age / 10 AS k, count(*) AS n FROM people GROUP BY 1) s"},
		{name: "groups of many", sql: "SELECT sum(n) FROM (SELECT at::date AS k, count(*) AS n FROM events GROUP BY 1) s"},
		{name: "distinct values", sql: "SELECT count(DISTINCT event_id) FROM events", inexact: true},
		{name: "distinct persons", sql: "SELECT count(DISTINCT person_id) FROM events"},
		{name: "join", sql: "SELECT count(*) FROM people p JOIN events e ON e.person_id = p.id"},
		{name: "left join", sql: "SELECT count(*) FROM people p LEFT JOIN events e ON e.person_id = p.id AND e.amount > 20"},
		{
			name: "existence",
			sql:  "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM events e WHERE e.person_id = p.id AND e.amount > 20)",
		},
		{
			name: "scalar subquery",
			sql:  "SELECT count(*) FROM events e WHERE (SELECT p.age FROM people p WHERE p.id = e.person_id) > 50",
		},
		{
			name: "scalar aggregate",
			sql:  "SELECT count(*) FROM events e WHERE (SELECT max(p.age) FROM people p WHERE p.id = e.person_id) > 50",
		},
		{name: "per unit", sql: "SELECT sum(c) FROM (SELECT person_id, count(*) AS c FROM events GROUP BY person_id) s"},
		{
			name: "first rows",
			sql:  "SELECT sum(amount) FROM (SELECT DISTINCT ON (person_id) person_id, amount FROM events ORDER BY person_id, amount) s",
		},
		{
			name: "numbered rows",
			sql:  "SELECT count(*) FROM (SELECT person_id, row_number() OVER (PARTITION BY person_id ORDER BY event_id) AS r FROM events) s WHERE r <= 2",
		},
		{name: "percentile", sql: "SELECT sum(n) FROM (SELECT amount > 20 AS k, count(*) AS n FROM events GROUP BY 1) s"},
		{name: "public instants", sql: "SELECT count(*) FROM people p JOIN slots s ON s.at = p.seen"},
		{
			name: "instants as keys",
			sql:  "SELECT sum(n) FROM (SELECT s.at, count(*) AS n FROM people p JOIN slots s ON s.at = p.seen GROUP BY 1) s",
		},
		{
			name: "constants",
			sql:  "SELECT count(*) FROM people p JOIN (VALUES (45.0::float8), (46), (60)) x(k) ON x.k = p.weight",
		},
		{name: "instants", sql: "SELECT count(*) FROM events WHERE at >= '2024-06-12 12:00'"},
		{
			name: "few digits", set: "SET extra_float_digits = -15",
			sql: "SELECT count(*) FROM people WHERE weight > 123.4567::float8",
		},
		{
			name: "another style",
			set:  "SET DateStyle = 'ISO, DMY'; SET TimeZone = 'America/St_Johns'; SET IntervalStyle = 'sql_standard'",
			sql:  "SELECT count(*) FROM people WHERE stay < interval '-1 day -2 hours' AND seen > '2024-06-10 09:00'",
		},
		{
			name: "day of an instant", set: "SET TimeZone = 'Asia/Tokyo'",
			sql: "SELECT sum(n) FROM (SELECT seen::date AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k <= '2024-06-12'",
		},
	}
	betray(t, p, arrive, leave, questions)
}

// TestForeignTablesProveNothing: a chain through a foreign table has no proof that its key is unique, and is refused.
func TestForeignTablesProveNothing(t *testing.T) {
	p := prepare(t, strings.Replace(townPolicy, "privacy_unit: {name: person, column: person_id}",
		"privacy_unit: {name: person, via: {column: person_id, references: people.id}}", 1), town)
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), fmt.Sprintf(abroad, p.server.Host, p.server.Port, p.db))
	if out, err := p.command("setup").CombinedOutput(); err == nil {
		if out, err = p.command("check", "--live").CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "people.id") {
			t.Errorf("check --live: %v\n%s", err, out)
		}
	} else if !strings.Contains(string(out), "people.id") {
		t.Errorf("setup: %v\n%s", err, out)
	}
	if refused, printed := p.servesNot(t); !refused {
		t.Errorf("serve listens:\n%s", printed)
	}
}
