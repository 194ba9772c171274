package policy

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func several(t *testing.T) *Policy {
	t.Helper()
	p, err := Load("testdata/good/databases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSeveralDatabases: each is a policy of its own, which shares what the file says once.
func TestSeveralDatabases(t *testing.T) {
	p := several(t)
	if len(p.Tables)+len(p.Views) > 0 || p.Databases.Main != "" {
		t.Errorf("what the databases have in common has tables or a connection: %+v", p)
	}
	list := p.Each()
	if len(list) != 2 || list[0].Name != "clinic" || list[1].Name != "trials" {
		t.Fatalf("%d databases", len(list))
	}
	clinic, trials := list[0], list[1]
	if clinic.Databases.Main != "postgres://clinic_main@db/clinic" ||
		trials.Databases.Main != "postgres://trials_main@db/trials" {
		t.Errorf("main %s and %s", clinic.Databases.Main, trials.Databases.Main)
	}
	patients := Name{"public", "patients"}
	if clinic.Table(patients).Unit.Column != "id" || trials.Table(patients).Unit.Column != "patient_id" {
		t.Error("a table of the other database")
	}
	if !clinic.HasPublicTable() || trials.HasPublicTable() || len(clinic.Views) != 0 || len(trials.Views) != 1 {
		t.Error("public tables or views of the other database")
	}
	if !slices.Equal(clinic.Beside, []string{"trials"}) || !slices.Equal(trials.Beside, []string{"clinic"}) {
		t.Errorf("beside %v and %v", clinic.Beside, trials.Beside)
	}
	if clinic.Ledger != p.Ledger || len(clinic.Analysts) != 3 || clinic.Accounting != p.Accounting {
		t.Error("ledger, analysts and accounting are not shared")
	}
	for _, one := range list {
		for analyst, want := range map[string]bool{"alice": true, "bob": one == clinic, "carol": true, "dave": false} {
			if got := one.Knows(analyst); got != want {
				t.Errorf("%s in %s: %t", analyst, one.Name, got)
			}
		}
	}
	members := NewMembers()
	p.SetMembers(members)
	if p.Members != members || clinic.Members != members || trials.Members != members {
		t.Error("members are not shared")
	}
}

func TestOneOfSeveral(t *testing.T) {
	p, single := several(t), mustParse(t, small)
	for _, c := range []struct {
		p          *Policy
		name, want string // want: of the error
	}{
		{single, "", ""},
		{single, "clinic", "no databases"},
		{p, "trials", ""},
		{p, "", "choose one of clinic, trials"},
		{p, "trial", `no database "trial", but clinic, trials`},
	} {
		one, err := c.p.One(c.name)
		if c.want == "" && (err != nil || one.Name != c.name) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, %v", c.name, one, err)
		}
	}
	if list := single.Each(); len(list) != 1 || list[0] != single {
		t.Error("one database is not itself")
	}
}

// TestVersionsOfSeveral: answers of one database are none of another's, and a change to one leaves the other's as they
// are.
func TestVersionsOfSeveral(t *testing.T) {
	data, err := os.ReadFile("testdata/good/databases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, changed := several(t), mustParse(t, strings.Replace(string(data), "[0, 120]", "[0, 110]", 1))
	if changed.Version == p.Version || changed.Several[0].Version == p.Several[0].Version ||
		changed.Several[1].Version != p.Several[1].Version {
		t.Error("a change to clinic is one to clinic and to the whole, and to nothing else")
	}
	const table = `
    tables:
      t: {privacy_unit: {name: person, column: id}, max_rows_per_unit: 1, columns: {id: {}}}
`
	alike := mustParse(t, `version: 1
accounting: {method: pure}
analysts: {a: {password: "`+verifierText+`", budget: {epsilon: 1}}}
databases:
  one:
    main: host=a user=m dbname=x
    shadow: host=a user=s dbname=y`+table+`
  two:
    main: host=b user=m dbname=x
    shadow: host=b user=s dbname=y`+table)
	if alike.Several[0].Version == alike.Several[1].Version {
		t.Error("two databases that are alike have one version")
	}
}

// TestPlacesInSeveral: problems that show later have the places of their database.
func TestPlacesInSeveral(t *testing.T) {
	p := several(t)
	const file = "testdata/good/databases.yaml"
	for line, want := range map[string][2]string{
		"tables.public.patients: no index": {file + ":8:7: databases.clinic.tables.patients: no index", file +
			":19:7: databases.trials.tables.patients: no index"},
		"databases.shadow: out of date": {file + ":5:5: databases.clinic.shadow: out of date", file +
			":14:5: databases.trials.shadow: out of date"},
		"views[0]: main has no view": {
			file + ":3:3: databases.clinic.views[0]: main has no view",
			file + ":23:13: databases.trials.views[0]: main has no view",
		},
		"the shadow database is out of date, run it again": {
			"the shadow database is out of date, run it again",
			"the shadow database is out of date, run it again",
		},
	} {
		for i, one := range p.Several {
			if got := one.LocateLine(line); got != want[i] {
				t.Errorf("%s in %s: %s", line, one.Name, got)
			}
		}
	}
	var missing Errors
	if !errors.As(p.Several[1].Need("admin.main", "admin.shadow", "ledger"), &missing) || len(missing) != 2 ||
		missing[0].String() != file+":15:13: databases.trials.admin.main: the environment variable DP_ADMIN is not set" ||
		missing[1].String() != file+": databases.trials.admin.shadow: missing: this command needs it" {
		t.Errorf("missing: %v", missing)
	}
}

func TestEditOneOfSeveral(t *testing.T) {
	data, err := os.ReadFile("testdata/good/databases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	keys := []Key{{Table: Name{"public", "patients"}, Name: "max_rows_per_unit", Value: "7", Comment: "rows"}}
	got, err := Edit("p.yaml", data, "trials", keys)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(string(data), "max_rows_per_unit: 1\n", "max_rows_per_unit: 7\n", 1); string(got) != want {
		t.Errorf("got\n%s", got)
	}
	if got, err := Edit("p.yaml", data, "", keys); err == nil {
		t.Errorf("written without a database:\n%s", got)
	}
	const want = "databases:\n  trials:\n    tables:\n      patients:\n        max_rows_per_unit: 7 # rows\n"
	if text := Print("trials", keys); text != want {
		t.Errorf("printed\n%s", text)
	}
}
