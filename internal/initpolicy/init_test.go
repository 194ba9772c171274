package initpolicy_test

import (
	"context"
	"flag"
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

var update = flag.Bool("update", false, "write testdata/*.want anew")

// schema makes a database of a file of testdata and returns its address.
func schema(t *testing.T, file string) string {
	t.Helper()
	sql, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s, name := pgservertest.Database(t, string(sql))
	return s.DSN(name, pgserver.Superuser)
}

// TestPoliciesFromSchemas compares the tables of the policies with testdata/*.want; each policy passes its own check.
func TestPoliciesFromSchemas(t *testing.T) {
	for want, c := range map[string]struct {
		schema string
		initpolicy.Options
	}{
		"clinic.want":        {schema: "clinic.sql"},
		"clinic_visits.want": {"clinic.sql", initpolicy.Options{Unit: "visits"}},
		"rental.want":        {schema: "rental.sql"},
		"rental_public.want": {"rental.sql", initpolicy.Options{
			Public: []string{"film", "category", "film_category", "inventory", "country", "city", "store"},
		}},
		"comments.want": {schema: "comments.sql"},
		"music.want":    {schema: "music.sql"},
		"music_public.want": {"music.sql", initpolicy.Options{
			Unit: "Customer", Public: []string{"Track", "Album", "Artist"},
		}},
	} {
		t.Run(want, func(t *testing.T) {
			text, err := initpolicy.Print(context.Background(), schema(t, c.schema), c.Options)
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
			if !regexp.MustCompile(`^postgres://dpproxy_test_[0-9_]+_main@127.0.0.1:\d+/test_[0-9_]+$`).MatchString(
				p.Databases.Main) {
				t.Errorf("main is %s", p.Databases.Main)
			}
			_, tables, _ := strings.Cut(text, "\ntables:\n")
			if strings.Contains(text, "Canary") || strings.Contains(tables, "77") {
				t.Error("a row's value is in the policy")
			}
			golden := filepath.Join("testdata", want)
			if *update {
				if err := os.WriteFile(golden, []byte(tables), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			wanted, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(wanted), tables); diff != "" {
				t.Errorf("tables differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoPrivateTableIsPublic names tables of people by hand, and wants every table of people out of what is offered.
func TestNoPrivateTableIsPublic(t *testing.T) {
	for file, private := range map[string][]string{
		"rental.sql": {"customer", "rental", "payment", "message", "complaint", "best_customers"},
		"music.sql": {
			"Customer", "Invoice", "InvoiceLine", "Refund", "Wallet", "WalletEntry", "Device", "DeviceLog",
			"DeviceLogPart",
		},
	} {
		dsn := schema(t, file)
		text, err := initpolicy.Print(context.Background(), dsn, initpolicy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, offered, _ := strings.Cut(text, "--public ")
		offered, _, _ = strings.Cut(offered, "\n")
		for _, name := range private {
			if strings.Contains(","+offered+",", ","+name+",") {
				t.Errorf("%s: %s is offered as public", file, name)
			}
			if _, err := initpolicy.Print(context.Background(), dsn, initpolicy.Options{Public: []string{name}}); err == nil ||
				!strings.Contains(err.Error(), "is not public: ") {
				t.Errorf("%s: --public %s: %v", file, name, err)
			}
		}
	}
}

func TestWrongNames(t *testing.T) {
	dsn := schema(t, "clinic.sql")
	for _, c := range []struct {
		initpolicy.Options
		want string
	}{
		{initpolicy.Options{Unit: "nowhere"}, "there is no table nowhere; the likeliest ones: patients, wards, visits"},
		{initpolicy.Options{Unit: "results"}, "no primary key of one column"},
		{initpolicy.Options{Public: []string{"nowhere"}}, "which --public names"},
	} {
		if _, err := initpolicy.Print(context.Background(), dsn, c.Options); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.Options, err)
		}
	}
}

func TestEmptyDatabase(t *testing.T) {
	s, name := pgservertest.Database(t)
	if text, err := initpolicy.Print(context.Background(), s.DSN(name, pgserver.Superuser), initpolicy.Options{}); err == nil {
		t.Errorf("got\n%s", text)
	}
}

// TestAddChoosesNobody: a table that leads to units of two kinds is a person's to decide.
func TestAddChoosesNobody(t *testing.T) {
	s, name := pgservertest.Database(t, `
		CREATE TABLE patients (id int PRIMARY KEY); CREATE TABLE nurses (id int PRIMARY KEY); CREATE TABLE wards (ward int PRIMARY KEY);
		CREATE TABLE visits (patient int REFERENCES patients, nurse int REFERENCES nurses);
		CREATE TABLE bills (patient int REFERENCES patients, ward int REFERENCES wards)`)
	of := func(table, unit string) *policy.Table {
		return &policy.Table{Name: policy.Name{Schema: "public", Relation: table}, Unit: &policy.Unit{Name: unit, Column: "id"}}
	}
	p := &policy.Policy{Tables: []*policy.Table{
		of("patients", "patient"), of("nurses", "nurse"), {Name: policy.Name{Schema: "public", Relation: "wards"}, Public: true},
	}}
	dsn := s.DSN(name, pgserver.Superuser)
	if lines, err := initpolicy.Add(context.Background(), dsn, p, "visits"); err == nil ||
		!strings.Contains(err.Error(), "leads to a patient and a nurse: choose by hand") {
		t.Errorf("%v\n%s", err, lines)
	}
	if lines, err := initpolicy.Add(context.Background(), dsn, p, "bills"); err != nil ||
		!strings.Contains(lines, "{name: patient, column: patient}") || !strings.Contains(lines, "ward: {values_from: wards.ward}") {
		t.Errorf("%v\n%s", err, lines)
	}
}
