package engine

import (
	"reflect"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
)

const reading = "SELECT count(*) FROM patients WHERE age IN (SELECT count(*) FROM wards ORDER BY 1 LIMIT 3)"

// TestPlansAreOfTheirSettings: what is read under any setting that a backend gets belongs to sessions that have the
// same (docs/privacy.md P4g).
func TestPlansAreOfTheirSettings(t *testing.T) {
	others := map[string]string{
		"timezone": "Asia/Tokyo", "datestyle": "SQL, DMY", "intervalstyle": "iso_8601", "extra_float_digits": "-15",
		"bytea_output": "escape",
	}
	if n := reflect.TypeFor[backend.Settings]().NumField(); n != len(others) {
		t.Errorf("%d settings reach a backend, and %d are tried: add the others", n, len(others))
	}
	w := newWorld(t)
	plain := w.scope
	plan := func() any {
		t.Helper()
		return w.mustBind(t, reading).Plan
	}
	first := plan()
	for name, value := range others {
		w.scope.Settings = plain.Settings.With(name, value)
		if backendSettings(w.scope) == backendSettings(plain) {
			t.Errorf("%s does not reach a backend", name)
		}
		read := w.count("stage")
		if plan() == first || w.count("stage") != read+1 {
			t.Errorf("with %s = %s a statement has the plan of a session without", name, value)
		}
		if plan(); w.count("stage") != read+1 {
			t.Errorf("with %s = %s a statement is planned each time", name, value)
		}
	}
	w.scope = plain
	if plan() != first {
		t.Error("the first plan is forgotten")
	}
}
