package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// plainTwinRows are what the tests have in the place of drawn rows. Main has 1000 patients; none is called Nobody.
const plainTwinRows = `
INSERT INTO wards VALUES ('A', 'Cardiology', 1, 30), ('B', 'Surgery', 2, 24), ('C', 'Paediatrics', 3, 18);
INSERT INTO patients (id, name, age, income, weight, diagnosis, ward, admitted, smoker) SELECT -i, 'Nobody ' || i, 20 + i, 1000 * i, 60, 'flu', (ARRAY['A','B'])[1 + i % 2], '2020-01-01', i % 2 = 0 FROM generate_series(1, 30) i;
INSERT INTO visits SELECT -i, -1 - i % 30, 'A', '2021-06-01', 10 * i, i FROM generate_series(1, 60) i;
INSERT INTO lab_results SELECT -i, i FROM generate_series(1, 50) i;`

// twinRows are for twinned.
const twinRows = plainTwinRows + "UPDATE patients SET mood = 'bad' WHERE id = -9"

const syntheticWarning = "dpproxy: these rows are synthetic: drawn from released statistics, nobody's data"

// twinned is a clinic with a type of its own, and with a twin that alice is shown, and what fills it.
func twinned(t *testing.T, filling string) *proxy {
	t.Helper()
	return plainTwinned(t, strings.Replace(clinicPolicy(), "smoker:    {}", "smoker:    {}\n      mood:      {}", 1),
		`CREATE TYPE mood AS ENUM ('bad', 'good');
		ALTER TABLE patients ADD mood mood; ALTER TABLE wards ADD mood mood DEFAULT 'good';`, filling)
}

func plainTwinned(t *testing.T, policy, more, filling string) *proxy {
	t.Helper()
	policy = strings.NewReplacer(
		"ledger:", "synthetic: {epsilon: 3, delta: 1e-6}\nlog: {statements: true}\nledger:", "  alice: {", "  alice: {rows: synthetic, ",
	).Replace(policy + "views: [adults]\n")
	p := start(t, policy, clinic+`INSERT INTO secrets VALUES (1, 'secret-canary');
		CREATE VIEW adults AS SELECT id, name, age FROM patients WHERE age >= 18;`+more)
	twin := p.server.DSN(p.db+"_synthetic", pgserver.Superuser)
	t.Cleanup(func() {
		pgservertest.Exec(t, p.server.DSN("postgres", pgserver.Superuser),
			"DROP DATABASE IF EXISTS "+p.db+"_synthetic WITH (FORCE)")
	})
	if filling != "" {
		pgservertest.Exec(t, twin, filling)
	}
	return p
}

// twinClient is alice, or another, with the messages that she gets.
type twinClient struct {
	*pgx.Conn
	t       *testing.T
	notices []*pgconn.Notice
}

func (p *proxy) twinClient(t *testing.T, user string) *twinClient {
	c := &twinClient{t: t}
	c.Conn = p.connect(func(config *pgx.ConnConfig) {
		config.User = user
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n) }
	})
	return c
}

// texts runs a statement by the simple protocol, and returns its rows, and whether the WARNING came with them.
func (c *twinClient) texts(sql string) (rows []string, warned bool, err error) {
	c.notices = nil
	results, err := c.PgConn().Exec(context.Background(), sql).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			rows = append(rows, string(bytes.Join(row, []byte("|"))))
		}
	}
	return rows, c.warned(), err
}

func (c *twinClient) warned() bool {
	return slices.ContainsFunc(c.notices, func(n *pgconn.Notice) bool {
		return n.Severity == "WARNING" && n.Message == syntheticWarning
	})
}

// synthetic demands the twin's rows, free of charge.
func (c *twinClient) synthetic(sql string, want ...string) {
	c.t.Helper()
	before := c.left()
	got, warned, err := c.texts(sql)
	if err != nil || !warned || !slices.Equal(got, want) {
		c.t.Errorf("%s: %q, warned %t, %v; want %q", sql, got, warned, err, want)
	}
	if c.left() != before {
		c.t.Errorf("%s was charged", sql)
	}
}

func (c *twinClient) left() string {
	rows, warned, err := c.texts("SELECT epsilon_spent FROM dpproxy.budget")
	if err != nil || len(rows) != 1 || warned {
		c.t.Fatalf("dpproxy.budget: %v %q", err, rows)
	}
	return rows[0]
}

// refused demands an error with a code.
func (c *twinClient) refused(sql, code string) *pgconn.PgError {
	c.t.Helper()
	rows, _, err := c.texts(sql)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != code {
		c.t.Errorf("%s: %v %q, want %s", sql, err, rows, code)
		return &pgconn.PgError{}
	}
	return refused
}

// TestSyntheticRows: what returns private rows has rows of the twin, by whatever way it is asked.
func TestSyntheticRows(t *testing.T) {
	p := twinned(t, twinRows)
	alice, ctx := p.twinClient(t, "alice"), context.Background()
	alice.synthetic("SELECT name FROM patients ORDER BY id DESC LIMIT 2", "Nobody 1", "Nobody 2")
	alice.synthetic("SELECT id, count(*) FROM patients GROUP BY id ORDER BY 1 LIMIT 1", "-30|1")
	alice.synthetic("SELECT string_agg(name, ',') FROM patients WHERE id > -3", "Nobody 1,Nobody 2")
	alice.synthetic("SELECT w.name, p.name FROM wards w JOIN patients p USING (ward) WHERE p.id = -1", "Surgery|Nobody 1")
	alice.synthetic("SELECT name FROM adults WHERE id = -5", "Nobody 5")
	alice.synthetic("SELECT name, row_number() OVER (ORDER BY id) FROM patients ORDER BY 2 LIMIT 1", "Nobody 30|1")
	alice.synthetic("BEGIN; DECLARE c CURSOR FOR SELECT name FROM patients ORDER BY id DESC; FETCH 2 FROM c; COMMIT", "Nobody 1", "Nobody 2")
	alice.synthetic("PREPARE q (int) AS SELECT name FROM patients WHERE id = $1; EXECUTE q(-3)", "Nobody 3")
	for _, c := range []struct{ sql, want string }{
		{"SELECT column_name, mechanism, epsilon FROM dpproxy.last", "name|synthetic|0"},
		{"EXPLAIN SELECT name FROM patients", syntheticWarning + "; it costs no budget"},
		{"SELECT obj_description('patients'::regclass)", "synthetic, nobody's data"},
	} {
		if rows, _, err := alice.texts(c.sql); err != nil || len(rows) != 1 || !strings.Contains(rows[0], c.want) {
			t.Errorf("%s: %v %q", c.sql, err, rows)
		}
	}

	alice.notices = nil
	for _, c := range []struct {
		sql   string
		value any
		want  string
	}{
		{"SELECT name FROM patients WHERE age = $1 LIMIT 1", 21, "Nobody 1"},
		{"SELECT name FROM patients WHERE age = $1 ORDER BY random() LIMIT 1", 21, "Nobody 1"},
		{"SELECT 'x' FROM patients LIMIT $1", 2, "x"},                            // rows by the value of the parameter
		{"SELECT name FROM patients WHERE mood = $1 LIMIT 5", "bad", "Nobody 9"}, // types have other numbers
		{"SELECT ward FROM wards WHERE mood = $1 ORDER BY 1 LIMIT 1", "good", "A"},
	} {
		var got string
		if err := alice.QueryRow(ctx, c.sql, c.value).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.sql, got, err)
		}
	}
	var copied bytes.Buffer
	_, err := alice.PgConn().CopyTo(ctx, &copied, "COPY (SELECT name FROM patients WHERE id = -7) TO STDOUT")
	if err != nil || copied.String() != "Nobody 7\n" {
		t.Errorf("COPY: %q, %v", &copied, err)
	}
	copied.Reset()
	if _, err := alice.PgConn().CopyTo(ctx, &copied, "COPY public.patients (name) TO STDOUT"); err != nil ||
		strings.Count(copied.String(), "\n") < 5 || strings.Count(copied.String(), "\n") != strings.Count(copied.String(), "Nobody ") {
		t.Errorf("COPY of a table: %q, %v", &copied, err)
	}
	if !alice.warned() {
		t.Error("no warning by the extended protocol")
	}
	if log := p.log.String(); !strings.Contains(log, `"verdict":"synthetic"`) || strings.Contains(log, "Nobody") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestAggregatesAreTheDatas: they go to main, with noise and a charge, unless the session wants synthetic rows alone.
func TestAggregatesAreTheDatas(t *testing.T) {
	p := twinned(t, twinRows)
	alice := p.twinClient(t, "alice")
	before := alice.left()
	var n int
	if rows, warned, err := alice.texts("SELECT count(*) FROM patients"); err != nil || warned || len(rows) != 1 {
		t.Errorf("%q, warned %t, %v", rows, warned, err)
	} else if _, err := fmt.Sscan(rows[0], &n); err != nil || n < 500 {
		t.Errorf("a count of %q is not main's", rows)
	}
	if alice.left() == before {
		t.Error("an aggregate of the data was not charged")
	}
	if _, _, err := alice.texts("SET dpproxy.source = synthetic"); err != nil {
		t.Fatal(err)
	}
	alice.synthetic("SELECT count(*) FROM patients", "30")
	alice.synthetic("SELECT ward, avg(age)::int FROM patients GROUP BY ward ORDER BY 1", "A|36", "B|35")
	alice.synthetic("SELECT sum(value) FROM lab_results", "1275")
	if rows, warned, err := alice.texts("SELECT count(*) FROM wards"); err != nil || warned || rows[0] != "3" {
		t.Errorf("a public table: %q, warned %t, %v", rows, warned, err)
	}
	if _, _, err := alice.texts("RESET dpproxy.source"); err != nil {
		t.Fatal(err)
	}
	if _, warned, err := alice.texts("SELECT avg(age) FROM patients"); err != nil || warned {
		t.Errorf("after RESET: warned %t, %v", warned, err)
	}
}

// TestSyntheticRowsAreRefused: to whom the policy does not show them, where a session wants none, and before there are
// any.
func TestSyntheticRowsAreRefused(t *testing.T) {
	p := twinned(t, "")
	alice, bob := p.twinClient(t, "alice"), p.twinClient(t, "bob")
	if hint := alice.refused("SELECT name FROM patients", "0A000").Hint; !strings.Contains(hint, "dpproxy synthesize") {
		t.Errorf("an empty twin: %q", hint)
	}
	if _, _, err := alice.texts("SET dpproxy.rows = refuse"); err != nil {
		t.Fatal(err)
	}
	hint := alice.refused("SELECT name FROM patients", "42501").Hint
	if !strings.HasPrefix(hint, "SET dpproxy.rows = synthetic ") {
		t.Errorf("a session that wants none: %q", hint)
	}
	bob.refused("SET dpproxy.rows = synthetic", "42501")
	bob.refused("SET dpproxy.source = synthetic", "42501")
	bob.refused("SELECT set_config('dpproxy.source', 'synthetic', false)", "42501")
	if hint := bob.refused("SELECT name FROM patients", "42501").Hint; strings.Contains(hint, "synthetic") {
		t.Errorf("to bob: %q", hint)
	}
}

// TestTwinReadsNothingElse: under every setting, no statement reads what is in main alone or writes anything, and none
// reaches both.
func TestTwinReadsNothingElse(t *testing.T) {
	p := twinned(t, twinRows)
	alice := p.twinClient(t, "alice")
	for _, setting := range []string{"RESET dpproxy.source", "SET dpproxy.source = synthetic"} {
		if _, _, err := alice.texts(setting); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			"SELECT * FROM patients", "TABLE patients", "SELECT p FROM patients p", "SELECT row_to_json(p) FROM patients p",
			"SELECT array_agg(name) FROM patients", "SELECT * FROM adults", "SELECT * FROM public.patients UNION ALL SELECT * FROM patients",
			"SELECT name FROM patients WHERE age = (SELECT max(age) FROM patients)",
			"SELECT name, (SELECT count(*) FROM visits) FROM patients",
			"WITH p AS (SELECT * FROM patients) SELECT * FROM p, visits v WHERE v.patient_id = p.id",
			"SELECT name FROM patients WHERE ward IN (SELECT ward FROM wards)",
			"SELECT max(name) FROM patients", "SELECT min(name), max(name) FROM patients GROUP BY ward",
			"SELECT mode() WITHIN GROUP (ORDER BY name) FROM patients",
			"SELECT name FROM patients TABLESAMPLE SYSTEM (100)", "SELECT * FROM secrets", "SELECT * FROM patients, secrets",
			"SELECT * FROM " + p.db + ".public.patients", "SELECT * FROM pg_catalog.pg_stats WHERE tablename = 'patients'",
			"SELECT * FROM dblink('dbname=" + p.db + "', 'SELECT name FROM patients') AS t(name text)",
			"SELECT pg_read_file('PG_VERSION') FROM patients", "SELECT query_to_xml('SELECT * FROM patients', true, false, '') FROM patients",
			"SELECT lo_import('/etc/passwd') FROM patients", "SELECT set_config('search_path', 'pg_catalog', false), name FROM patients",
			"SELECT current_setting('data_directory'), name FROM patients",
		} {
			rows, _, err := alice.texts(sql)
			all := strings.Join(rows, "\n") + fmt.Sprint(err)
			if strings.Contains(all, "Patient ") || strings.Contains(all, "secret-") {
				t.Errorf("%s: %s: reads main: %.200s", setting, sql, all)
			}
		}
		for _, sql := range []string{
			"INSERT INTO patients (id) VALUES (1)", "UPDATE patients SET name = ''", "DELETE FROM patients", "TRUNCATE patients",
			"CREATE TEMP TABLE t AS SELECT * FROM patients", "SELECT * INTO t FROM patients", "SELECT name FROM patients FOR UPDATE",
			"WITH d AS (DELETE FROM patients RETURNING *) SELECT * FROM d", "COPY patients FROM STDIN",
			"SELECT nextval('s'), name FROM patients",
		} {
			if rows, _, err := alice.texts(sql); err == nil {
				t.Errorf("%s: %s: %q", setting, sql, rows)
			}
		}
	}
	alice.synthetic("SELECT count(*) FROM patients", "30")
}

// TestSynthesizeIsServed: what dpproxy synthesize draws into the twin that setup made, as a role of its own, is served,
// with public tables and foreign keys between these and private ones, and with a check of two columns that raises an
// error.
func TestSynthesizeIsServed(t *testing.T) {
	p := twinned(t, "")
	admin := p.server.DSN(p.db, pgserver.Superuser)
	pgservertest.Exec(t, admin, `
		CREATE TABLE cities (city int PRIMARY KEY, name text NOT NULL, next_to int REFERENCES cities);
		INSERT INTO cities VALUES (7, E'Tab\ttown', NULL), (9, 'Nine', 7);
		ALTER TABLE wards ADD city int REFERENCES cities, ADD head bigint REFERENCES patients; UPDATE wards SET city = 9, head = 1;
		ALTER TABLE patients ADD city int NOT NULL DEFAULT 7 REFERENCES cities, ADD CHECK (CASE WHEN smoker AND income >= 60000 THEN 1 / (id - id) > 0 ELSE true END) NOT VALID;
		UPDATE patients SET income = income / 2; ALTER TABLE patients VALIDATE CONSTRAINT patients_check`)
	pgservertest.Exec(t, p.server.DSN("postgres", pgserver.Superuser), "DROP ROLE IF EXISTS it_filler")
	text, err := os.ReadFile(p.policy)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("admin:", fmt.Sprintf("synthesize: %q, admin:", p.server.DSN(p.db+"_synthetic", "it_filler")),
		"  wards: {public: true}", "  wards: {public: true, refers_to_people: [head]}\n  cities: {public: true}",
		"      mood:      {}", "      mood:      {}\n      city:      {}").Replace(string(text))
	if err := os.WriteFile(p.policy, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if out, err := p.command("setup").CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	p.serve()
	alice := p.twinClient(t, "alice")
	alice.refused("SELECT * FROM patients LIMIT 1", "0A000")
	out, err := p.command("synthesize", "--epsilon", "3").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "public.wards: 3 rows in all, as it is public\n") ||
		!strings.Contains(string(out), "public.cities: 2 rows in all") {
		t.Fatalf("dpproxy synthesize: %v\n%s", err, out)
	}
	for _, sql := range []string{
		"SELECT * FROM patients JOIN wards USING (ward) LIMIT 3", "SELECT * FROM patients LIMIT 3",
		"SELECT p.name, c.name FROM patients p JOIN cities c USING (city) LIMIT 3",
		"SELECT p.name, v.cost FROM patients p JOIN visits v ON v.patient_id = p.id LIMIT 3",
		"SELECT w.name, w.head, p.id FROM wards w CROSS JOIN patients p WHERE w.head IS NULL AND w.ward = 'A' LIMIT 3",
	} {
		if rows, warned, err := alice.texts(sql); err != nil || !warned || len(rows) != 3 {
			t.Errorf("%s: %v, warned %t, %q", sql, err, warned, rows)
		}
	}
	if _, _, err := alice.texts("SET dpproxy.source = synthetic"); err != nil {
		t.Fatal(err)
	}
	alice.synthetic("SELECT count(*) FROM patients WHERE smoker AND income >= 60000", "0")
	alice.synthetic("SELECT count(DISTINCT city) FROM patients", "2")
}
