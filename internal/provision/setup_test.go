package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// clinicSQL has one of every kind of thing that a shadow must mirror, and of every kind that it must leave out.
const clinicSQL = `
CREATE SCHEMA "Odd Schema";
CREATE TYPE mood AS ENUM ('bad', 'so ''so''', 'good');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN "Odd Schema".small AS positive NOT NULL CHECK (VALUE < 100);
CREATE COLLATION "und-ci" (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE TABLE wards (ward text PRIMARY KEY, name text COLLATE "und-ci", floor int, beds int);
CREATE TABLE patients (secret text, id bigint PRIMARY KEY, age int, income numeric(10,2), name varchar(40) COLLATE "C", moods mood[], mood mood DEFAULT 'good',
  small "Odd Schema".small, twice int GENERATED ALWAYS AS (age * 2) STORED, ward text REFERENCES wards, dropped int, UNIQUE (ward, id), UNIQUE (ward, age));
ALTER TABLE patients DROP COLUMN dropped;
CREATE UNIQUE INDEX half ON patients (age) WHERE age > 50;
CREATE UNIQUE INDEX expression ON patients ((age + id));
CREATE TABLE "Odd Schema"."vi""sits" ("Visit Id" bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients, cost float8) PARTITION BY RANGE ("Visit Id");
CREATE TABLE "Odd Schema".v1 PARTITION OF "Odd Schema"."vi""sits" FOR VALUES FROM (0) TO (1000000);
CREATE TABLE parent (id bigint PRIMARY KEY, x int);
CREATE TABLE child () INHERITS (parent);
CREATE VIEW costs AS SELECT p.id, v.cost, p.name FROM patients p JOIN "Odd Schema"."vi""sits" v ON v.patient_id = p.id;
CREATE TABLE unlisted (password text);
INSERT INTO wards VALUES ('a', 'A', 1, 2);
INSERT INTO patients (secret, id, age, small, ward) VALUES ('Canary', 1, 40, 3, 'a')`

func columns(names ...string) []*policy.Column {
	all := []*policy.Column{}
	for _, n := range names {
		all = append(all, &policy.Column{Name: n})
	}
	return all
}

// clinic is a policy over clinicSQL in a fresh database; its roles do not exist yet.
func clinic(t *testing.T) (*policy.Policy, *pgserver.Server) {
	t.Helper()
	s, db := pgservertest.Database(t, clinicSQL)
	unit := func(column string) *policy.Unit { return &policy.Unit{Name: "patient", Column: column} }
	odd := policy.Name{Schema: "Odd Schema", Relation: `vi"sits`}
	p := &policy.Policy{
		Pool: policy.Pool{Main: 2, Shadow: 2, Public: 2, Wait: 5 * time.Second},
		Tables: []*policy.Table{
			{
				Name: policy.Name{Schema: "public", Relation: "patients"}, Unit: unit("id"), MaxRowsPerUnit: 1,
				Columns: columns("id", "age", "income", "name", "moods", "mood", "small", "twice", "ward"),
			},
			{Name: odd, Unit: unit("patient_id"), MaxRowsPerUnit: 50, Columns: columns("Visit Id", "patient_id", "cost")},
			{
				Name: policy.Name{Schema: "public", Relation: "parent"}, Unit: unit("id"), MaxRowsPerUnit: 2,
				Columns: columns("id", "x"),
			},
			{Name: policy.Name{Schema: "public", Relation: "wards"}, Public: true},
		},
		Views: []policy.Name{{Schema: "public", Relation: "costs"}},
	}
	p.Tables[0].Columns[1].Bounds = &policy.Bounds{Lo: "0", Hi: "120"}
	login := func(role string) string {
		return strings.Replace(s.DSN(db, role+"_"+db), "@", ":it's%20"+role+"@", 1)
	}
	p.Databases = policy.Databases{
		Main: login("main"), Shadow: strings.Replace(login("shadow"), "/"+db, "/"+db+"_shadow", 1), Public: login("public"),
		AdminMain: s.DSN("postgres", pgserver.Superuser), AdminShadow: s.DSN("postgres", pgserver.Superuser),
	}
	t.Cleanup(func() {
		pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
		for _, role := range []string{"main", "shadow", "public"} {
			pgservertest.Exec(t, s.DSN(db, pgserver.Superuser),
				fmt.Sprintf(
					`DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = '%[1]s') THEN DROP OWNED BY %[1]s; DROP ROLE %[1]s; END IF; END $$`, role+"_"+db))
		}
	})
	return p, s
}

func setUp(t *testing.T, p *policy.Policy) *backend.Backend {
	t.Helper()
	if err := Setup(context.Background(), p, io.Discard); err != nil {
		t.Fatal(err)
	}
	return reopen(t, p)
}

func reopen(t *testing.T, p *policy.Policy) *backend.Backend {
	t.Helper()
	b, err := backend.Open(context.Background(), p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func databaseOf(t *testing.T, p *policy.Policy) string {
	t.Helper()
	config, err := pgx.ParseConfig(p.Databases.Main)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}

func text(s string) *rewrite.Canonical { return (*rewrite.Canonical)(&s) }

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestSetupMakesAShadowThatSchemaAccepts(t *testing.T) {
	p, _ := clinic(t)
	b := setUp(t, p)
	s, err := b.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	patients := s.Relations[p.Tables[0].Name]
	if got := fmt.Sprint(patients.Unique, patients.PrimaryKey); got != "[[id]] [id]" {
		t.Errorf("unique = %s; NULLs in ward make (ward, id) and (ward, age) unsafe, half and expression are partial", got)
	}
	if c := patients.Column("name"); c.TypeName != "character varying(40)" || c.Collation != `pg_catalog."C"` ||
		c.NotNull || c.Typmod != 44 {
		t.Errorf("name = %+v", c)
	}
	if c := patients.Column("small"); c.TypeName != `"Odd Schema".small` || c.NotNull || !c.Filled ||
		s.Types[c.Type].Kind != 'd' || s.Types[s.Types[c.Type].Base].Name != "positive" {
		t.Errorf("small = %+v, %+v", c, s.Types[c.Type])
	}
	mood := patients.Column("mood")
	if got := s.Enums[mood.Type]; len(got) != 3 || got[1] != "so 'so'" {
		t.Errorf("labels = %q", got)
	}
	if c := patients.Column("moods"); s.Types[c.Type].Elem != mood.Type {
		t.Errorf("moods = %+v", s.Types[c.Type])
	}
	if patients.Column("secret") != nil {
		t.Error("secret is not in the policy")
	}
	if c := s.Relations[p.Tables[3].Name].Column("name"); c.DeterministicCollation || c.Collation != `public."und-ci"` {
		t.Errorf("wards.name = %+v", c)
	}
	if r := s.Relations[p.Tables[1].Name]; r.Kind != 'p' || r.Inherits || fmt.Sprint(r.PrimaryKey) != "[Visit Id]" {
		t.Errorf("visits = %+v", r)
	}
	if r := s.Relations[p.Tables[2].Name]; !r.Inherits {
		t.Errorf("parent = %+v", r)
	}
	if r := s.Relations[p.Views[0]]; r.Kind != 'v' || !strings.Contains(r.Definition, "public.patients") ||
		len(r.Columns) != 3 {
		t.Errorf("view = %+v", r)
	}
}

func TestMeasureTranslatesTypesOfUsers(t *testing.T) {
	p, _ := clinic(t)
	b := setUp(t, p)
	s, err := b.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mood := s.Relations[p.Tables[0].Name].Column("mood").Type
	q := backend.MeasureQuery{
		SQL: rewrite.SQL{
			Text:       "SELECT count(*) FROM public.patients WHERE mood OPERATOR(pg_catalog.=) $1",
			Parameters: []rewrite.Parameter{{Type: mood, Value: text("good")}},
		},
	}
	var n int64
	if err := b.Measure(context.Background(), backend.Measurement{
		Admit:   func(int, rewrite.SQL) error { return nil },
		Queries: []backend.MeasureQuery{q},
	}, func(r backend.MeasureRow) error { n = r.Integers[0]; return nil }); err != nil || n != 1 {
		t.Errorf("n = %d, %v", n, err)
	}
}

func TestSetupAgainFollowsThePolicyAndMain(t *testing.T) {
	p, s := clinic(t)
	b := setUp(t, p)
	main := s.DSN(databaseOf(t, p), pgserver.Superuser)
	ctx := context.Background()
	pgservertest.Exec(t, main, "ALTER TABLE patients ALTER income TYPE numeric(12,2)")
	if _, err := b.Schema(ctx); err == nil || !strings.Contains(err.Error(), "run dpproxy setup") ||
		!strings.Contains(err.Error(), "public.patients.income is numeric(12,2)") {
		t.Errorf("a changed column: %v", err)
	}
	p.Tables = append(p.Tables[:2:2], p.Tables[3]) // without parent
	p.Tables[0].Columns = columns("id", "age", "ward")
	p.Views = nil
	var log bytes.Buffer
	if err := Setup(ctx, p, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(
		log.String(), " may no longer read public.parent, public.patients.income, public.patients.mood, ") ||
		strings.Count(log.String(), "may no longer read") != 1 {
		t.Errorf("what setup told of its REVOKEs:\n%s", log.String())
	}
	b = reopen(t, p)
	if _, err := b.Describe(ctx, "SELECT x FROM parent", nil, backend.Settings{}); code(err) != "42P01" {
		t.Errorf("a table that left the policy: %v", err)
	}
	for _, sql := range []string{"SELECT count(x) FROM public.parent", "SELECT count(name) FROM public.patients"} {
		err := b.Measure(ctx, backend.Measurement{
			Admit:   func(int, rewrite.SQL) error { return nil },
			Queries: []backend.MeasureQuery{{SQL: rewrite.SQL{Text: sql}}},
		}, func(backend.MeasureRow) error { return nil })
		if e, ok := err.(*backend.MeasureError); !ok || e.Code() != "42501" {
			t.Errorf("%s: main's role kept its right: %v", sql, err)
		}
	}
	p.Tables[0].Columns = columns("id", "nope")
	if err := Setup(ctx, p, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "tables.public.patients.columns.nope: main has no such column") {
		t.Errorf("unknown column: %v", err)
	}
}

func TestRolesReadWhatThePolicyListsAndNoMore(t *testing.T) {
	p, s := clinic(t)
	setUp(t, p)
	database := databaseOf(t, p)
	shadowOnMain := strings.Replace(p.Databases.Shadow, "_shadow?", "?", 1)
	for _, c := range []struct{ name, dsn, sql, code string }{
		{"main reads a listed column", p.Databases.Main, "SELECT age FROM patients", ""},
		{"main reads no other column", p.Databases.Main, "SELECT secret FROM patients", "42501"},
		{"main reads no other table", p.Databases.Main, "SELECT * FROM unlisted", "42501"},
		{"main writes nothing", p.Databases.Main, "UPDATE patients SET age = 1", "42501"},
		{"public reads a public table", p.Databases.Public, "SELECT * FROM wards", ""},
		{"public reads no private table", p.Databases.Public, "SELECT age FROM patients", "42501"},
		{"public reads no private view", p.Databases.Public, "SELECT * FROM costs", "42501"},
		{"shadow reads the shadow", p.Databases.Shadow, "SELECT * FROM patients", ""},
		{"shadow has no unlisted column", p.Databases.Shadow, "SELECT secret FROM patients", "42703"},
		{"shadow writes nothing", p.Databases.Shadow, "INSERT INTO wards VALUES ('x')", "42501|25006"},
		{"shadow makes nothing", p.Databases.Shadow, "CREATE TABLE public.mine ()", "42501|25006"},
		{"shadow makes nothing temporary", p.Databases.Shadow, "CREATE TEMP TABLE mine ()", "42501|25006"},
		{"shadow's role reads nothing in main", shadowOnMain, "SELECT age FROM patients", "42501"},
	} {
		err := try(c.dsn, c.sql)
		if got := code(err); got != c.code && !strings.Contains(c.code, "|") || strings.Contains(c.code, "|") &&
			!strings.Contains(c.code, got) || (err == nil) != (c.code == "") {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
	if got := ask(t, s.DSN(database+"_shadow", pgserver.Superuser), "SELECT col_description('patients'::regclass, 2)"); got != "bounds [0, 120]" {
		t.Errorf("comment = %q", got)
	}
}

func try(dsn, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func ask(t *testing.T, dsn, sql string) (out string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSetupLeavesWhatIsNotItsOwn(t *testing.T) {
	p, s := clinic(t)
	ctx := context.Background()
	database := strings.TrimPrefix(strings.Split(p.Databases.Main, "?")[0][strings.LastIndex(
		strings.Split(p.Databases.Main, "?")[0], "/"):], "/")
	other := s.DSN("postgres", pgserver.Superuser)
	pgservertest.Exec(t, other, "CREATE DATABASE "+database+"_shadow")
	pgservertest.Exec(t, s.DSN(database+"_shadow", pgserver.Superuser), "CREATE TABLE precious (x int)")
	if err := Setup(ctx, p, io.Discard); err == nil || !strings.Contains(err.Error(), "was not made by dpproxy") {
		t.Errorf("a database of somebody else's: %v", err)
	}
	if err := try(s.DSN(database+"_shadow", pgserver.Superuser), "SELECT * FROM precious"); err != nil {
		t.Error(err)
	}
	pgservertest.Exec(t, s.DSN(database+"_shadow", pgserver.Superuser), "DROP TABLE precious")
	// A role that was there before keeps its password and its rights.
	role := "shadow_" + database
	pgservertest.Exec(t, other, fmt.Sprintf("DROP ROLE IF EXISTS %[1]s; CREATE ROLE %[1]s LOGIN CREATEDB PASSWORD 'old'",
		role))
	if err := Setup(ctx, p, io.Discard); err != nil {
		t.Fatal(err) // the test server trusts every local login
	}
	if got := ask(t, other, "SELECT rolcreatedb::text FROM pg_roles WHERE rolname = '"+role+"'"); got != "true" {
		t.Error("setup changed a role that it did not make")
	}
	pgservertest.Exec(t, s.DSN(database+"_shadow", pgserver.Superuser), "INSERT INTO wards VALUES ('row')")
	if err := Setup(ctx, p, io.Discard); err == nil || !strings.Contains(err.Error(), "has rows") {
		t.Errorf("a shadow with rows: %v", err)
	}
}

func TestSetupScriptDoesWhatSetupDoes(t *testing.T) {
	p, s := clinic(t)
	script, err := SetupScript(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(script, "it's ") || strings.Contains(script, "it''s ") || !strings.Contains(script, `\connect`) ||
		!strings.Contains(script, `\gexec`) {
		t.Error("the script holds a password, or does not switch databases")
	}
	for range 2 { // again: nothing changes, nothing fails
		cmd := exec.Command("psql", "-X", "-q", "-d", s.DSN("postgres", pgserver.Superuser))
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("ERROR")) {
			t.Fatalf("psql: %v\n%s", err, out)
		}
	}
	if _, err := reopen(t, p).Schema(context.Background()); err != nil {
		t.Error(err)
	}
}
