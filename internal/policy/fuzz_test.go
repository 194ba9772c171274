package policy

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzParse: no input makes the loader panic or hang; it returns a policy or Errors, and every problem stands in the
// file.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		for _, file := range caseFiles(f, folder) {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse("policy.yaml", data, func(string) (string, bool) { return "", false })
		if err == nil {
			for _, one := range p.Each() {
				if len(one.Version) != 64 || len(one.Tables) == 0 || len(one.Analysts) == 0 && one.Auth.DefaultGroup == "" {
					t.Fatalf("accepted, but incomplete: %+v", one)
				}
				checkInvariants(t, one)
			}
			return
		}
		var problems Errors
		if !errors.As(err, &problems) || len(problems) == 0 || p != nil {
			t.Fatalf("%v with error %T", p, err)
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") +
			strings.Count(string(data), "\u0085") + strings.Count(string(data), "\u2028") + strings.Count(
			string(data), "\u2029") + 2
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Line > lines || p.Message == "" {
				t.Errorf("a problem without a place: %s", p)
			}
		}
	})
}

// checkInvariants holds for every accepted policy; others rely on it.
func checkInvariants(t *testing.T, p *Policy) {
	t.Helper()
	if p.Defaults.Epsilon > p.Defaults.EpsilonMax || !(p.Defaults.Epsilon > 0) {
		t.Errorf("defaults %+v", p.Defaults)
	}
	if p.Accounting.Method == RDP && !(p.Accounting.Delta > 0 && p.Accounting.Delta < 1) {
		t.Errorf("accounting %+v", p.Accounting)
	}
	for name, a := range p.Analysts {
		if !(a.Budget.Epsilon > 0) || p.Accounting.Method == RDP && !(a.Budget.Delta > 0) {
			t.Errorf("analyst %q: %+v", name, a.Budget)
		}
	}
	for _, table := range p.Tables {
		if table.Public != (table.Unit == nil) {
			t.Errorf("%s: public %v, unit %v", table.Name, table.Public, table.Unit)
		}
		if table.Public {
			continue
		}
		if table.MaxRowsPerUnit < 1 || table.MaxGroupsPerUnit < 0 || table.LeftOut != nil &&
			!(*table.LeftOut >= 0 && *table.LeftOut < 1) || table.Epsilon > table.EpsilonMax || !(table.Epsilon > 0) {
			t.Errorf("table %+v", table)
		}
		if via := table.Unit.Via; via != nil && (p.Table(via.References) == nil ||
			p.Table(via.References).Column(via.ReferencesColumn) == nil) {
			t.Errorf("%s: the chain leads nowhere", table.Name)
		}
		if c := table.Unit.Column; table.Unit.Via == nil && table.Column(c) == nil {
			t.Errorf("%s: unit column %q is not listed", table.Name, c)
		}
		for _, c := range table.Columns {
			if len(c.Valid) > 0 && c.Bounds == nil {
				t.Errorf("%s.%s: valid without bounds", table.Name, c.Name)
			}
		}
	}
}
