package provision

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestAdviceOfComments: what main's comments say and the policy does not is advice, and no problem.
func TestAdviceOfComments(t *testing.T) {
	p, s := clinic(t)
	setUp(t, p)
	dsn := s.DSN(databaseOf(t, p), pgserver.Superuser)
	for _, c := range []struct{ on, comment, want string }{
		{"COLUMN patients.age", "Years. dpproxy: {bounds: [0, 120]}", ""},
		{
			"COLUMN patients.age", "Years. dpproxy: {bounds: [0, 130]}",
			"tables.public.patients.columns.age: main's comment says {bounds: [0, 130]}, and the policy does not",
		},
		{"COLUMN patients.age", "dpproxy: {values: [1]}", "main's comment says {values: [1]}"},
		{"COLUMN patients.age", "dpproxy: {bounds: [9, 0]}", "columns.age: main's comment cannot be read: "},
		{"COLUMN patients.age", "Years.", ""},
		{"TABLE patients", "dpproxy: {privacy_unit: {name: patient, column: id}}", ""},
		{
			"TABLE patients", "dpproxy: {privacy_unit: {name: person, column: id}}",
			"tables.public.patients: main's comment says {privacy_unit: {name: person, column: id}}",
		},
		{"TABLE patients", "dpproxy: {max_rows_per_unit: 7}", "main's comment says {max_rows_per_unit: 7}"},
		{"TABLE wards", "dpproxy: {max_rows: 7}", ""}, // a public table
		{"TABLE patients", "dpproxy: {public: true}", "tables.public.patients: main's comment cannot be read: "},
	} {
		pgservertest.Exec(t, dsn, "COMMENT ON "+c.on+" IS '"+c.comment+"'")
		f := check(t, p)
		pgservertest.Exec(t, dsn, "COMMENT ON "+c.on+" IS NULL")
		if err := f.Err(); err != nil {
			t.Errorf("%s: %v", c.comment, err)
		}
		got := strings.Join(f.Advice, "\n")
		if c.want == "" && strings.Contains(got, "comment") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: advice %s, want %q", c.on, c.comment, got, c.want)
		}
	}
}
