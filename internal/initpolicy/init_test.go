package initpolicy_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/initpolicy"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

const clinic = `
CREATE TYPE severity AS ENUM ('low', 'high');
CREATE TYPE pair AS (a int, b int);
CREATE TABLE wards (ward text PRIMARY KEY, floor int);
CREATE TABLE patients (
	id bigint PRIMARY KEY, name text, age int CHECK (age BETWEEN 0 AND 120), ward text REFERENCES wards,
	kind text CHECK (kind IN ('in', 'out''side')), admitted date CHECK (admitted >= '2015-01-01' AND admitted <= '2026-12-31'),
	weight float8 CHECK (weight > 0 OR weight IS NULL), floor int CHECK (floor > 0.5 AND floor < 9.5), how severity, odd pair);
COMMENT ON TABLE patients IS 'One row per patient.';
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint REFERENCES patients, "Cost" numeric(10,2), during tstzrange, pauses tstzmultirange);
CREATE TABLE results (visit_id bigint REFERENCES visits, value float8, reviewer bigint REFERENCES patients(id));
CREATE TABLE notes (visit_id bigint UNIQUE REFERENCES visits, note text);
CREATE SCHEMA misc;
CREATE TABLE misc."Odd.Name" (x int);
INSERT INTO patients (id, name, age) VALUES (1, 'Canary', 77);
ANALYZE;
`

func TestPolicyFromASchema(t *testing.T) {
	s, name := pgservertest.Database(t, clinic)
	text, err := initpolicy.Print(context.Background(), s.DSN(name, pgserver.Superuser), "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatalf("it does not pass its own check: %v\n%s", err, text)
	}
	_, tables, _ := strings.Cut(text, "\ntables:\n")
	if strings.Contains(text, "Canary") || strings.Contains(tables, "77") {
		t.Error("a row's value is in the policy")
	}
	want, err := os.ReadFile("testdata/clinic.want")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), tables); diff != "" {
		t.Errorf("tables differ (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^postgres://dpproxy_main@127.0.0.1:\d+/test_[0-9_]+$`).MatchString(p.Databases.Main) {
		t.Errorf("main is %s", p.Databases.Main)
	}
}

func TestUnitByName(t *testing.T) {
	s, name := pgservertest.Database(t, clinic)
	dsn := s.DSN(name, pgserver.Superuser)
	text, err := initpolicy.Print(context.Background(), dsn, "visits")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"  # REVIEW: a visit is what is protected, because of named on the command line; --unit TABLE takes another table.",
		"    privacy_unit: {name: visit, column: visit_id}",
		"  # patients: {public: true}",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("lacks %q in\n%s", line, text)
		}
	}
	for bad, want := range map[string]string{"nowhere": "tables with a primary key of one column: ", "results": ""} {
		if _, err := initpolicy.Print(context.Background(), dsn, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--unit %s: %v", bad, err)
		}
	}
}

func TestEmptyDatabase(t *testing.T) {
	s, name := pgservertest.Database(t)
	if text, err := initpolicy.Print(context.Background(), s.DSN(name, pgserver.Superuser), ""); err == nil {
		t.Errorf("got\n%s", text)
	}
}
