package integration_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// selectionPolicy is townPolicy with a δ, so that keys without declared values are selected.
func selectionPolicy() string {
	return strings.NewReplacer("accounting: {method: pure}", "accounting: {method: rdp, delta: 1e-6}",
		"{epsilon: 100000000}", "{epsilon: 100000000, delta: 1e-2}",
		"max_rows_per_unit: 5", "max_rows_per_unit: 5\n    max_groups_per_unit: 2").Replace(townPolicy)
}

// TestBreachSelectionByDistinctCounts: where keys are selected, aggregates of every kind are answered alone and
// together. The keys have hundreds of units, so that none is left out but once in e^100 draws.
func TestBreachSelectionByDistinctCounts(t *testing.T) {
	const key = "CASE WHEN p.age < 50 THEN left(p.name, 6) ELSE left(p.name, 5) END"
	const from = " FROM events e JOIN people p ON p.id = e.person_id GROUP BY 1 ORDER BY 1"
	p := start(t, selectionPolicy(), town)
	admin := p.server.DSN(p.db, pgserver.Superuser)
	for _, c := range []struct {
		name, sql string
		exact     bool
	}{
		{"units", "SELECT " + key + ", count(DISTINCT e.person_id)" + from, true},
		{"values", "SELECT " + key + ", count(DISTINCT e.event_id)" + from, true},
		{"some values", "SELECT " + key + ", count(DISTINCT e.event_id) FILTER (WHERE e.amount < 10)" + from, true},
		{"two", "SELECT " + key + ", count(DISTINCT e.event_id), count(DISTINCT e.person_id)" + from, true},
		{"beside a count", "SELECT " + key + ", count(*), count(DISTINCT e.person_id)" + from, true},
		{"beside a percentile", "SELECT " + key +
			", percentile_disc(0.5) WITHIN GROUP (ORDER BY e.amount), count(DISTINCT e.person_id)" + from, true},
		{"percentile", "SELECT " + key + ", percentile_disc(0.5) WITHIN GROUP (ORDER BY e.amount)" + from, false},
		{"keys alone", "SELECT " + key + from, false},
		{"one row of each unit", "SELECT left(name, 6), count(DISTINCT age) FROM people GROUP BY 1 ORDER BY 1", false},
		{"two keys", "SELECT left(p.name, 6) || e.amount % 2, count(DISTINCT e.person_id)" + from, true},
		{"above", "SELECT count(*), sum(n) FROM (SELECT " + key + " AS k, count(DISTINCT e.person_id) AS n" +
			strings.TrimSuffix(from, " ORDER BY 1") + ") s", true},
	} {
		before := p.left("alice")
		conn := p.connect(quiet)
		got, err := conn.PgConn().Exec(t.Context(), c.sql).ReadAll()
		if err != nil {
			t.Errorf("%s: %v; left before %s, after %s\n%s", c.name, err, before, p.left("alice"), c.sql)
			continue
		}
		truth := putRows(t, admin, c.sql)
		if rows := got[0].Rows; len(rows) != len(truth) {
			t.Errorf("%s: %q, PostgreSQL says %q\n%s", c.name, rows, truth, c.sql)
			continue
		}
		for i, row := range got[0].Rows {
			first, last := string(row[0]), string(row[len(row)-1])
			if wanted := truth[i]; first != wanted[0] || c.exact && last != wanted[len(wanted)-1] {
				t.Errorf("%s: row %q, PostgreSQL says %q\n%s", c.name, row, wanted, c.sql)
			}
		}
	}
}

// putRows is what PostgreSQL itself answers.
func putRows(t *testing.T, dsn, sql string) (rows [][]string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for _, r := range results[0].Rows {
		var row []string
		for _, v := range r {
			row = append(row, string(v))
		}
		rows = append(rows, row)
	}
	return rows
}

// TestBreachMeasureThatCannotBeParsed: what main changed since the proxy read its catalogs makes measure queries that
// main cannot parse. That says nothing of anybody's rows: it is a plain refusal, costs nothing, is logged, and ends
// when main is mended.
func TestBreachMeasureThatCannotBeParsed(t *testing.T) {
	for _, c := range []struct{ name, broken, mended, sql string }{
		{
			"column renamed", "ALTER TABLE people RENAME age TO years", "ALTER TABLE people RENAME years TO age",
			"SELECT sum(age) FROM people",
		},
		{
			"column retyped", "ALTER TABLE people ALTER age TYPE text", "ALTER TABLE people ALTER age TYPE int USING age::int",
			"SELECT sum(age) FROM people",
		},
		{
			"column of a filter", "ALTER TABLE people ALTER age TYPE interval USING age * interval '1 day'",
			"ALTER TABLE people ALTER age TYPE int USING extract(day FROM age)",
			"SELECT count(*) FROM people WHERE age > 30 AND age + 1 < 80",
		},
		{
			"table renamed", "ALTER TABLE people RENAME TO persons", "ALTER TABLE persons RENAME TO people",
			"SELECT count(*) FROM people",
		},
		{
			"table replaced by a view",
			"ALTER TABLE people RENAME TO persons; CREATE VIEW people AS SELECT id, name FROM persons",
			"DROP VIEW people; ALTER TABLE persons RENAME TO people", "SELECT avg(weight) FROM people",
		},
		{
			"schema closed", "REVOKE USAGE ON SCHEMA public FROM PUBLIC, it_main",
			"GRANT USAGE ON SCHEMA public TO PUBLIC, it_main", "SELECT count(*) FROM people",
		},
		{
			"key of another table", "ALTER TABLE events RENAME person_id TO person",
			"ALTER TABLE events RENAME person TO person_id",
			"SELECT count(*) FROM people p JOIN events e ON e.person_id = p.id",
		},
		{
			"column of a percentile", "ALTER TABLE people RENAME age TO years", "ALTER TABLE people RENAME years TO age",
			"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM people",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, townPolicy, town)
			admin := p.server.DSN(p.db, pgserver.Superuser)
			q := question{name: c.name, sql: c.sql}
			if a := putQuestion(t, p.dsn("alice"), q, 0); a.code != "" {
				t.Fatalf("before anything is broken: %v", a)
			}
			before, lines := p.left("alice"), faults(p)
			pgservertest.Exec(t, admin, c.broken)
			for range 2 {
				a := putQuestion(t, p.dsn("alice"), q, 0)
				if left := p.left("alice"); left != before {
					t.Errorf("left before %s, after %s", before, left)
				}
				if a.code == "" || a.code == "XX000" || a.code == "55000" || a.code == "53400" ||
					strings.Contains(a.message, "years") || strings.Contains(a.message, "persons") {
					t.Errorf("not a plain refusal: %v", a)
				}
			}
			if faults(p) == lines {
				t.Errorf("nothing of it is in the log:\n%s", p.log)
			}
			pgservertest.Exec(t, admin, c.mended)
			if a := putQuestion(t, p.dsn("alice"), q, 0); a.code != "" {
				t.Errorf("when main is as it was: %v", a)
			}
		})
	}
}

// faults counts what the log calls an error or a warning.
func faults(p *proxy) int {
	text := p.log.String()
	return strings.Count(text, `"level":"ERROR"`) + strings.Count(text, `"level":"WARN"`)
}

// TestBreachMeasureThatMayNotRun: a right that main takes away is found when the measure starts, not when it is parsed.
// Then the one fixed error is all that anybody sees, whoever is in the table, or else nothing is charged.
func TestBreachMeasureThatMayNotRun(t *testing.T) {
	for _, c := range []struct{ name, broken, mended, sql string }{
		{
			"table", "REVOKE SELECT ON people FROM it_main; REVOKE SELECT (id, age) ON people FROM it_main",
			"GRANT SELECT (id, age) ON people TO it_main", "SELECT sum(age) FROM people",
		},
		{
			"function", "REVOKE EXECUTE ON FUNCTION pg_catalog.width_bucket(float8, float8, float8, int) FROM PUBLIC",
			"GRANT EXECUTE ON FUNCTION pg_catalog.width_bucket(float8, float8, float8, int) TO PUBLIC",
			"SELECT count(*) FROM people WHERE width_bucket(weight, 0, 200, 5) = 2",
		},
		{
			"division", "REVOKE EXECUTE ON FUNCTION pg_catalog.div(numeric, numeric) FROM PUBLIC",
			"GRANT EXECUTE ON FUNCTION pg_catalog.div(numeric, numeric) TO PUBLIC", "SELECT avg(amount) FROM events",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, townPolicy, town)
			admin := p.server.DSN(p.db, pgserver.Superuser)
			pgservertest.Exec(t, admin, c.broken)
			defer pgservertest.Exec(t, admin, c.mended)
			q := question{name: c.name, sql: c.sql}
			before, lines := p.left("alice"), faults(p)
			without := putQuestion(t, p.dsn("alice"), q, 0)
			charged := p.left("alice") != before
			if without.code == "" || charged && without.code != "XX000" || !charged && without.code == "XX000" {
				t.Errorf("charged: %v; %v", charged, without)
			}
			if faults(p) == lines {
				t.Errorf("nothing of it is in the log:\n%s", p.log)
			}
			if out, err := p.command("budget", "clear", "alice").CombinedOutput(); err != nil {
				t.Fatalf("budget clear: %v\n%s", err, out)
			}
			pgservertest.Exec(t, admin, ada)
			if with := putQuestion(t, p.dsn("alice"), q, 0); with.code != without.code || with.message != without.message {
				t.Errorf("without ada %v, with ada %v", without, with)
			}
		})
	}
}
