package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

const (
	analyst    = "alice"
	database   = "clinic"
	shadowRole = "catalog_test_shadow"
	plainRole  = "catalog_test_plain"
)

// schemaSQL is a small clinic. Both databases have it; the plain one has rows besides.
const schemaSQL = `
CREATE TYPE public.severity AS ENUM ('low', 'mid', 'high');
CREATE DOMAIN public.cents AS integer CHECK (VALUE >= 0);
CREATE TABLE wards (ward text PRIMARY KEY, floor int NOT NULL, opened date);
CREATE TABLE patients (id bigint PRIMARY KEY, age int, income numeric(10,2), diagnosis text, ward text REFERENCES wards,
	admitted date, name text, sev severity, tags text[], fee cents);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients (id), cost numeric(8,2), minutes int);
CREATE INDEX visits_patient ON visits (patient_id);
CREATE VIEW visit_costs AS SELECT patient_id, sum(cost) AS cost FROM visits GROUP BY patient_id;
COMMENT ON COLUMN patients.age IS 'bounds [0, 120]';
COMMENT ON TABLE patients IS 'one row per patient';
`

const rowsSQL = `
INSERT INTO wards VALUES ('a', 1, '2020-01-01'), ('b', 2, '2021-01-01');
INSERT INTO patients SELECT i, i % 90, i, 'flu', 'a', '2024-01-01', 'canary' || i FROM generate_series(1, 500) i;
INSERT INTO visits SELECT i, i % 500 + 1, 10, 5 FROM generate_series(1, 1500) i;
ANALYZE;
`

var input = catalog.Input{
	Public: map[policy.Name][]string{{Schema: "public", Relation: "wards"}: nil},
	Private: map[policy.Name]bool{
		{Schema: "public", Relation: "patients"}: true,
		{Schema: "public", Relation: "visits"}:   true, {Schema: "public", Relation: "visit_costs"}: true,
	},
	Types: map[policy.Name]bool{
		{Schema: "public", Relation: "severity"}: true,
		{Schema: "public", Relation: "cents"}:    true,
	},
	Schemas:  []string{"public"},
	User:     analyst,
	Database: database,
}

// side is one of the two databases that a fixture runs on.
type side struct {
	conn *pgx.Conn
	oids map[string]string
}

// sides builds a plain database with rows and a shadow, and connects to both as ordinary roles.
func sides(t *testing.T) (plain, shadow side, shadowName string) {
	t.Helper()
	server, plainName := pgservertest.Database(t, schemaSQL, rowsSQL)
	_, shadowName = pgservertest.Database(t, schemaSQL, catalog.ShadowSQL())
	admin := server.DSN(shadowName, "postgres")
	for _, r := range []string{shadowRole, plainRole} {
		pgservertest.Exec(
			t, admin, fmt.Sprintf(`DO $$BEGIN IF to_regrole('%[1]s') IS NULL THEN CREATE ROLE %[1]s LOGIN; END IF; END$$`, r))
	}
	pgservertest.Exec(t, admin, catalog.RoleSQL(shadowRole)+"GRANT USAGE ON SCHEMA public TO "+shadowRole+
		"; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+shadowRole)
	pgservertest.Exec(t, server.DSN(plainName, "postgres"), "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+plainRole)
	return connect(t, server.DSN(plainName, plainRole)), connect(t, server.DSN(shadowName, shadowRole)), shadowName
}

func connect(t *testing.T, dsn string) side {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ctx) })
	s := side{conn: conn, oids: map[string]string{}}
	rows,
		err := conn.Query(
		ctx, `SELECT 'class:' || relname, oid::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT 'type:' || typname, oid::text FROM pg_type WHERE typnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	var k, v string
	if _, err := pgx.ForEachRow(rows, []any{&k, &v}, func() error { s.oids[k] = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is what a statement returned.
type answer struct {
	columns []pgconn.FieldDescription
	rows    [][]string
	err     error
}

// run executes one statement by the extended protocol, all values as text, and reads everything.
func (s side) run(sql string, parameters []*string) answer {
	values := make([][]byte, len(parameters))
	for i, p := range parameters {
		if p != nil {
			values[i] = []byte(withOIDs(*p, s.oids))
		}
	}
	reader := s.conn.PgConn().ExecParams(context.Background(), withOIDs(sql, s.oids), values, nil, nil, nil)
	var a answer
	for reader.NextRow() {
		var row []string
		for _, v := range reader.Values() {
			row = append(row, string(v))
		}
		a.rows = append(a.rows, row)
	}
	a.columns = append(a.columns, reader.FieldDescriptions()...)
	_, a.err = reader.Close()
	return a
}

// TestClients runs what real clients send on a plain PostgreSQL and, through Check, on a shadow: both answer, with the
// same columns, and the shadow shows neither itself nor anything of the rows.
func TestClients(t *testing.T) {
	plain, shadow, shadowName := sides(t)
	answered := 0
	for i, st := range fixtures(t) {
		t.Run(fmt.Sprintf("%s/%d", st.file, i), func(t *testing.T) {
			text := withOIDs(st.sql, shadow.oids)
			tree, err := pg_query.Parse(text)
			if err != nil {
				t.Fatalf("fixture does not parse: %v\n%s", err, brief(text))
			}
			if len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
				return // SET, SHOW, BEGIN, DECLARE: the session answers
			}
			want := plain.run(st.sql, st.parameters)
			denied := isDenied(want.err) // PostgreSQL denies it to an ordinary role, too
			if want.err != nil && !denied {
				t.Fatalf("fixture fails on PostgreSQL: %v\n%s", want.err, brief(text))
			}
			in := input
			in.Parameters = len(st.parameters)
			result, err := catalog.Check(tree.Stmts[0].Stmt, text, in)
			if err != nil {
				t.Fatalf("refused: %v\n%s", describe(err), brief(text))
			}
			answered++
			if result.Route == catalog.Public {
				return
			}
			got := shadow.run(result.SQL, append(st.parameters, make([]*string, len(result.Supplies))...))
			if got.err != nil {
				t.Fatalf("fails on the shadow: %v\n%s", got.err, brief(result.SQL))
			}
			if !denied {
				compareColumns(t, want, got, text)
			}
			if strings.HasPrefix(st.file, "psql/d_") { // descriptions of the policy's tables: word for word
				if w, g := withNames(want.rows, plain.oids), withNames(got.rows, shadow.oids); w != g {
					t.Errorf("rows\n%s\nwant\n%s\n%s", g, w, brief(text))
				}
			}
			for _, row := range got.rows {
				for _, v := range row {
					if strings.Contains(v, shadowName) || strings.Contains(v, shadowRole) || strings.Contains(v, "canary") {
						t.Errorf("the answer shows %q\n%s", v, brief(result.SQL))
					}
				}
			}
		})
	}
	t.Logf("%d statements answered", answered)
}

// withNames prints rows with names in the place of OIDs, which differ between databases.
func withNames(rows [][]string, oids map[string]string) string {
	text := fmt.Sprintf("%q", rows)
	for name, oid := range oids {
		text = strings.ReplaceAll(text, `"`+oid+`"`, name)
	}
	return text
}

// compareColumns compares names and types. Types of the schema have other OIDs in the other database.
func compareColumns(t *testing.T, want, got answer, sql string) {
	t.Helper()
	if len(want.columns) != len(got.columns) {
		t.Fatalf("%d columns, want %d\n%s", len(got.columns), len(want.columns), brief(sql))
	}
	for i, w := range want.columns {
		g := got.columns[i]
		if g.Name != w.Name || g.DataTypeOID != w.DataTypeOID && w.DataTypeOID < 16384 || g.TypeModifier != w.TypeModifier {
			t.Errorf("column %d: %s type %d typmod %d, want %s type %d typmod %d\n%s", i+1, g.Name, g.DataTypeOID,
				g.TypeModifier,
				w.Name, w.DataTypeOID, w.TypeModifier, brief(sql))
		}
	}
}

func isDenied(err error) bool {
	e, ok := err.(*pgconn.PgError)
	return ok && e.Code == "42501"
}

// brief cuts a statement for a message.
func brief(sql string) string {
	if len(sql) > 600 {
		return sql[:600] + " …"
	}
	return sql
}

// describe prints an error with what a client would see of it.
func describe(err error) string {
	if e, ok := err.(*pgconn.PgError); ok {
		return fmt.Sprintf("%s %s (position %d) hint: %s", e.Code, e.Message, e.Position, e.Hint)
	}
	return err.Error()
}
