package policy

import (
	"strings"
	"testing"
)

// TestTwin: each database of a file has a twin of its own beside its shadow.
func TestTwin(t *testing.T) {
	p, err := Load("testdata/good/synthetic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	clinic, trials := p.Each()[0], p.Each()[1]
	for _, c := range []struct{ got, want string }{
		{clinic.Databases.Synthetic, "postgres://shadow@db/clinic_synthetic?sslmode=require"},
		{clinic.Databases.Synthesize, "host=db user=postgres dbname='clinic_synthetic'"},
		{trials.Databases.Synthetic, ""},
		{trials.Databases.Synthesize, "postgres://filler@db/trials_synthetic"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if err := trials.Need("synthetic"); err == nil || !strings.Contains(err.Error(), "DP_SHADOW is not set") {
		t.Errorf("the twin of a shadow that is not known: %v", err)
	}
	if err := clinic.Need("synthetic", "synthesize"); err != nil {
		t.Error(err)
	}
}

// TestRowsOf: an analyst's own word comes first, and accounts of dpproxy's ask the data alone.
func TestRowsOf(t *testing.T) {
	p := &Policy{Rows: SyntheticRows, Analysts: map[string]*Analyst{"a": {}, "b": {Rows: RefuseRows}}}
	for analyst, want := range map[string]string{
		"a": SyntheticRows, "b": RefuseRows, "member": SyntheticRows, ProfileAccount: RefuseRows,
		SyntheticAccount: RefuseRows,
	} {
		if got := p.RowsOf(analyst); got != want {
			t.Errorf("%s: %s, want %s", analyst, got, want)
		}
	}
	p.Rows, p.Analysts["a"].Rows = RefuseRows, SyntheticRows
	if p.RowsOf("a") != SyntheticRows || p.RowsOf("member") != RefuseRows {
		t.Error("an analyst may be given what others are not")
	}
}

func TestInDatabase(t *testing.T) {
	for _, c := range []struct{ dsn, want string }{
		{"postgres://a:b%40@db/x", "postgres://a:b%40@db/y%27"},
		{"postgres://a@db/?dbname=x&sslmode=require", "postgres://a@db/y%27?sslmode=require"},
		{"host=db dbname=x", `host=db dbname=x dbname='y\''`},
	} {
		if got := inDatabase(c.dsn, "y'"); got != c.want {
			t.Errorf("%s: %s, want %s", c.dsn, got, c.want)
		}
		if login := loginOf(inDatabase(c.dsn, "y'")); login.database != "y'" || login.host != "db" {
			t.Errorf("%s: %+v", c.dsn, login)
		}
	}
}
