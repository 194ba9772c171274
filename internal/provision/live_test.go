package provision

import (
	"context"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// check runs the live check on fresh connections.
func check(t *testing.T, p *policy.Policy) *Findings {
	t.Helper()
	f, err := CheckLive(context.Background(), p, reopen(t, p))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCheckLiveIsContentAfterSetup(t *testing.T) {
	p, _ := clinic(t)
	setUp(t, p)
	f := check(t, p)
	if err := f.Err(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(f.Advice, "\n"); !strings.Contains(got, "no index begins with patient_id") ||
		strings.Contains(got, "public.patients") {
		t.Errorf("advice:\n%s", got)
	}
}

// TestCheckLiveRefuses breaks one thing after the other, and mends it again.
func TestCheckLiveRefuses(t *testing.T) {
	p, s := clinic(t)
	b := setUp(t, p)
	database := databaseOf(t, p)
	b.Close()
	roles := strings.NewReplacer("%shadow", "shadow_"+database, "%public", "public_"+database, "%main", "main_"+database)
	for _, c := range []struct {
		name         string
		shadow       bool // break and mend there, not in main
		broken, mend string
		want         string
	}{
		{
			"public reads a private table", false, "GRANT SELECT (age) ON patients TO %public",
			"REVOKE ALL ON patients FROM %public", "role public_.* can read private rows of public.patients",
		},
		{
			"everybody reads a private view", false, "GRANT SELECT ON costs TO PUBLIC", "REVOKE ALL ON costs FROM PUBLIC",
			"can read private rows of public.costs",
		},
		{
			"a partition", false, `GRANT SELECT ON "Odd Schema".v1 TO %shadow`, `REVOKE ALL ON "Odd Schema".v1 FROM %shadow`,
			`can read private rows of "Odd Schema".v1`,
		},
		{
			"a copy of the rows", false, "CREATE MATERIALIZED VIEW copy AS SELECT * FROM costs; GRANT SELECT ON copy TO PUBLIC",
			"DROP MATERIALIZED VIEW copy", "can read private rows of public.copy",
		},
		{
			"a group that reads", false,
			"CREATE ROLE g_%public NOLOGIN; GRANT SELECT ON patients TO g_%public; ALTER ROLE %public NOINHERIT; GRANT g_%public TO %public", "DROP OWNED BY g_%public; DROP ROLE g_%public", "of which it is a member",
		},
		{
			"all data", false, "GRANT pg_read_all_data TO %shadow", "REVOKE pg_read_all_data FROM %shadow",
			"is a member of pg_read_all_data",
		},
		{
			"main lost a column", false, "REVOKE SELECT (age) ON patients FROM %main", "GRANT SELECT (age) ON patients TO %main",
			`its role may not read "public"."patients" ("age"): run dpproxy setup`,
		},
		{"superuser", false, "ALTER ROLE %public SUPERUSER", "ALTER ROLE %public NOSUPERUSER", "is superuser"},
		{
			"row-level security", false, "ALTER TABLE patients ENABLE ROW LEVEL SECURITY",
			"ALTER TABLE patients DISABLE ROW LEVEL SECURITY", "row-level security",
		},
		{
			"row-level security of a public table", false, "ALTER TABLE wards ENABLE ROW LEVEL SECURITY",
			"ALTER TABLE wards DISABLE ROW LEVEL SECURITY", "tables.public.wards: it has row-level security",
		},
		{"rows in the shadow", true, "INSERT INTO wards VALUES ('x')", "DELETE FROM wards", "public.wards has rows"},
		{
			"a column of another type", true, "ALTER TABLE wards ALTER beds TYPE bigint",
			"ALTER TABLE wards ALTER beds TYPE int", "run dpproxy setup",
		},
		{
			"one column too many", true, "ALTER TABLE patients ADD secret text", "ALTER TABLE patients DROP secret",
			"columns that the policy does not list",
		},
		{"nothing", false, "SELECT", "SELECT", ""}, // all is mended
		{"labels", false, "ALTER TYPE mood ADD VALUE 'superb'", "SELECT", "the labels of public.mood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dsn := s.DSN(database, pgserver.Superuser)
			if c.shadow {
				dsn = s.DSN(database+"_shadow", pgserver.Superuser)
			}
			pgservertest.Exec(t, dsn, roles.Replace(c.broken))
			found := check(t, p)
			pgservertest.Exec(t, dsn, roles.Replace(c.mend))
			if c.want == "" {
				if err := found.Err(); err != nil {
					t.Error(err)
				}
				return
			}
			mustSay(t, found, c.want)
		})
	}
}

// mustSay wants a problem that holds the parts of want, which are separated by ".*".
func mustSay(t *testing.T, f *Findings, want string) {
	t.Helper()
	err := f.Err()
	for _, part := range strings.Split(want, ".*") {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("problems: %v, want %s", err, want)
		}
	}
}

func TestCheckLiveRefusesPolicies(t *testing.T) {
	p, _ := clinic(t)
	setUp(t, p)
	for name, c := range map[string]struct {
		change func(*policy.Policy)
		want   string
	}{
		"a bound of the wrong type": {change: func(p *policy.Policy) {
			p.Tables[0].Columns[1].Bounds = &policy.Bounds{
				Lo: "0", Hi: "young",
			}
		}, want: "columns.age.bounds: \"young\" is not a finite number"},
		"bounds upside down": {change: func(p *policy.Policy) {
			p.Tables[0].Columns[1].Bounds = &policy.Bounds{
				Lo: "10", Hi: "9",
			}
		}, want: "lower 10 is above upper 9"},
		"a value of the wrong type": {change: func(p *policy.Policy) {
			p.Tables[0].Columns[5].Values = []string{
				"good", "fine",
			}
		}, want: "columns.mood.values: invalid input value for enum"},
		"a domain from a private table": {change: func(p *policy.Policy) {
			p.Tables[0].Columns[8].ValuesFrom = &policy.ColumnOf{Table: p.Tables[2].Name, Column: "x"}
		}, want: "no column of a public table"},
		"a chain over a column that repeats": {change: func(p *policy.Policy) {
			p.Tables[1].Unit = &policy.Unit{Name: "patient", Via: &policy.Via{
				Column: "patient_id", References: p.Tables[0].Name,
				ReferencesColumn: "age",
			}}
		}, want: "no unique index"},
		"public elsewhere": {change: func(p *policy.Policy) {
			p.Databases.Public = p.Databases.AdminMain
		}, want: "it must name main's database"},
		"one role for two": {
			change: func(p *policy.Policy) { p.Databases.Public = p.Databases.Main },
			want:   "names main's role",
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := *p
			changed.Tables = nil
			for _, table := range p.Tables {
				copied := *table
				copied.Columns = nil
				for _, column := range table.Columns {
					c := *column
					copied.Columns = append(copied.Columns, &c)
				}
				changed.Tables = append(changed.Tables, &copied)
			}
			c.change(&changed)
			mustSay(t, check(t, &changed), c.want)
		})
	}
}

func TestCheckLiveComparesLocales(t *testing.T) {
	p, s := clinic(t)
	b := setUp(t, p)
	shadow := databaseOf(t, p) + "_shadow"
	b.Close()
	other := s.DSN("postgres", pgserver.Superuser)
	pgservertest.Exec(t, other, "DROP DATABASE "+shadow+" WITH (FORCE)")
	pgservertest.Exec(t, other, "CREATE DATABASE "+shadow+
		" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'")
	if err := Setup(context.Background(), p, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	if err := check(t, p).Err(); err == nil || !strings.Contains(
		err.Error(), `its LC_COLLATE is "C.UTF-8", main's is "C"`) {
		t.Errorf("problems: %v", err)
	}
}
