package policy

import "testing"

func TestNames(t *testing.T) {
	for s, want := range map[string]Name{
		"patients": {"public", "patients"}, "clinic.patients": {"clinic", "patients"}, "Clinic.Patients": {
			"Clinic", "Patients",
		},
		`"a.b"`: {"public", "a.b"}, `"a.b"."c""d"`: {"a.b", `c"d`}, `x."y z"`: {"x", "y z"}, "schöne.tabelle": {
			"schöne", "tabelle",
		},
	} {
		if n, err := relation(s); n != want || err != nil {
			t.Errorf("%s: %v, %v", s, n, err)
		}
	}
	long := "a234567890123456789012345678901234567890123456789012345678901234"
	for _, s := range []string{
		"", ".", "a.", ".a", "a..b", "a.b.c", `"`, `"a`, `"a"b`, `a"b`, "a b", long, "pg_catalog.pg_class", "pg_toast.x",
		"information_schema.tables", "dpproxy.budget",
	} {
		if n, err := relation(s); err == nil {
			t.Errorf("%q is read as %v", s, n)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"epsilon", "epsilon_max", "mechanism", "grid", "public", "columns"}
	for name, want := range map[string]string{
		"epsilom": "epsilon", "Columns": "columns", "colums": "columns", "gird": "grid", "epsilonmax": "epsilon_max",
		"colour": "", "x": "", "publik": "public", "": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
