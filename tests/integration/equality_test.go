package integration_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestReloadServeAndCheckRefuseAlike gives each a policy that main's types, collations or row-level security make
// unsafe: check --live and serve end with the problem, and a running proxy keeps its policy.
func TestReloadServeAndCheckRefuseAlike(t *testing.T) {
	good := strings.Replace(clinicPolicy(), "      visit_id:   {}\n", "      visit_id:   {}\n      note:       {}\n", 1)
	p := start(t, good, clinic+`
CREATE COLLATION folds (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
ALTER TABLE visits ADD note text COLLATE folds;`)
	conn, ctx := p.connect(), context.Background()
	if _, err := conn.Exec(ctx, measured); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, fresh, broken, mend, want string }{
		{
			name: "a foreign key of another type", old: "via: {column: visit_id,", fresh: "via: {column: value,",
			want: "tables.lab_results.privacy_unit.via: value is double precision and public.visits.visit_id is bigint, which do not compare as one",
		},
		{
			name: "a unit that folds", old: "privacy_unit: {name: patient, column: patient_id}",
			fresh: "privacy_unit: {name: patient, column: note}",
			want:  "tables.visits.privacy_unit.column: note is text COLLATE public.folds (not deterministic)",
		},
		{
			name: "values that fold", old: "note:       {}", fresh: "note:       {values: [ann, ANN]}",
			want: "tables.visits.columns.note.values: the column's collation public.folds is not deterministic",
		},
		{
			name: "one value twice", old: "cost:       {bounds: [0, 2000]}", fresh: "cost:       {values: [1.0, 1.00]}",
			want: `tables.visits.columns.cost.values: \"1.0\" and \"1.00\" are equal as numeric(10,2)`,
		},
		{
			name: "row-level security", broken: "ALTER TABLE wards ENABLE ROW LEVEL SECURITY",
			mend: "ALTER TABLE wards DISABLE ROW LEVEL SECURITY",
			want: "wards: it has row-level security that applies to main's role",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			superuser := p.server.DSN(p.db, pgserver.Superuser)
			if c.broken != "" {
				pgservertest.Exec(t, superuser, c.broken)
			}
			p.write(strings.Replace(good, c.old, c.fresh, 1))
			want := strings.ReplaceAll(c.want, `\"`, `"`)
			for _, command := range [][]string{{"check", "--live"}, {"serve"}} {
				out, err := p.command(command[0], command[1:]...).CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), want) {
					t.Errorf("%v: %v\n%s", command, err, out)
				}
			}
			p.hangUp(t, "not reloaded")
			if !strings.Contains(p.log.String(), c.want) {
				t.Errorf("the log of the reload lacks %s:\n%s", c.want, p.log)
			}
			if c.mend != "" {
				pgservertest.Exec(t, superuser, c.mend)
			}
			if _, err := conn.Exec(ctx, "SELECT count(*) FROM lab_results WHERE value < 10"); err != nil {
				t.Errorf("under the old policy: %v", err)
			}
		})
	}
	p.write(good)
	p.hangUp(t, "policy reloaded")
}
