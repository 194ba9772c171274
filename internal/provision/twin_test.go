package provision

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// withTwin is clinic's policy with a twin that the shadow's login reads and a login of its own fills.
func withTwin(t *testing.T) (p *policy.Policy, s *pgserver.Server, twin string) {
	t.Helper()
	p, s = clinic(t)
	db := databaseOf(t, p)
	p.Synthetic = &policy.Budget{Epsilon: 3}
	p.Databases.Synthetic = strings.Replace(p.Databases.Shadow, "/"+db+"_shadow", "/"+db+"_synthetic", 1)
	p.Databases.Synthesize = strings.Replace(p.Databases.Synthetic, "shadow_"+db, "filler_"+db, 1)
	t.Cleanup(func() {
		pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_synthetic WITH (FORCE)")
		pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), "DROP ROLE IF EXISTS filler_"+db)
	})
	return p, s, s.DSN(db+"_synthetic", pgserver.Superuser)
}

// fill writes a row as the role that fills the twin.
func fill(t *testing.T, p *policy.Policy) {
	t.Helper()
	pgservertest.Exec(t, p.Databases.Synthesize, "INSERT INTO patients (id, age, small) VALUES (-1, 30, 5)")
}

func TestSetupMakesTheTwin(t *testing.T) {
	p, _, twin := withTwin(t)
	b := setUp(t, p)
	if f := check(t, p); f.Err() != nil || !strings.Contains(strings.Join(f.Advice, "\n"), "synthesize draws them") {
		t.Errorf("%v %q", f.Err(), f.Advice)
	}
	if drawn, err := b.Drawn(context.Background()); drawn || err != nil {
		t.Errorf("drawn before there are rows: %t, %v", drawn, err)
	}
	fill(t, p)
	if drawn, err := b.Drawn(context.Background()); !drawn || err != nil {
		t.Errorf("not drawn: %t, %v", drawn, err)
	}
	if f := check(t, p); f.Err() != nil || strings.Contains(strings.Join(f.Advice, "\n"), "synthesize") {
		t.Errorf("%v %q", f.Err(), f.Advice)
	}
	for _, sql := range []string{
		"SELECT obj_description('patients'::regclass)", "SELECT col_description('patients'::regclass, 2)",
	} {
		if comment := ask(t, twin, sql); !strings.HasSuffix(comment, "synthetic, nobody's data") {
			t.Errorf("%s: %q", sql, comment)
		}
	}
	if comment := ask(t, twin, "SELECT obj_description('wards'::regclass)"); comment != "public" {
		t.Errorf("a public table's comment: %q", comment)
	}
	for sql, dsn := range map[string]string{
		"DELETE FROM patients":             p.Databases.Synthetic,
		"SELECT pg_sleep(0)":               p.Databases.Synthetic,
		"CREATE TABLE public.x ()":         p.Databases.Synthesize,
		"SELECT pg_read_file('/etc/host')": p.Databases.Synthesize,
	} {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(context.Background(), "SET default_transaction_read_only = off"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(context.Background(), sql); code(err) != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
		_ = conn.Close(context.Background())
	}
}

// TestSetupKeepsTheTwinsRows: they have been paid for, and are gone only where what they are rows of has changed.
func TestSetupKeepsTheTwinsRows(t *testing.T) {
	p, s, twin := withTwin(t)
	setUp(t, p)
	main := s.DSN(databaseOf(t, p), pgserver.Superuser)
	for _, c := range []struct {
		name   string
		change func()
		kept   bool
	}{
		{"nothing", func() {}, true},
		{"an unlisted column", func() { pgservertest.Exec(t, main, "ALTER TABLE patients ADD more int") }, true},
		{"another bound", func() { p.Tables[0].Columns[1].Bounds.Hi = "119" }, false},
		{"a type in main", func() { pgservertest.Exec(t, main, "ALTER TABLE wards ALTER beds TYPE bigint") }, false},
		{"a table in the twin", func() { pgservertest.Exec(t, twin, "CREATE TABLE more ()") }, false},
	} {
		pgservertest.Exec(t, twin, "DELETE FROM patients")
		fill(t, p)
		c.change()
		var log strings.Builder
		if err := Setup(context.Background(), p, &log); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		kept := ask(t, twin, "SELECT count(*)::text FROM patients") == "1"
		if kept != c.kept || strings.Contains(log.String(), "_synthetic: up to date") != c.kept ||
			strings.Contains(log.String(), "without rows, until dpproxy synthesize") == c.kept {
			t.Errorf("%s: kept %t\n%s", c.name, kept, &log)
		}
	}
}

// TestCheckLiveRefusesAnotherTwin: rows of a database that setup has not made may be anybody's.
func TestCheckLiveRefusesAnotherTwin(t *testing.T) {
	p, _, twin := withTwin(t)
	setUp(t, p)
	comment := func(text string) string {
		return "DO $$ BEGIN EXECUTE format('COMMENT ON DATABASE %I IS " + text + "', current_database()); END $$"
	}
	for _, c := range []struct{ sql, want string }{
		{"ALTER TABLE patients ADD secret text", "databases.synthetic: its tables are not those of main"},
		{comment("NULL"), "databases.synthetic: dpproxy setup has not made this database"},
	} {
		pgservertest.Exec(t, twin, c.sql)
		if err := check(t, p).Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
	err := Setup(context.Background(), p, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "was not made by dpproxy") {
		t.Errorf("setup over a database of another origin: %v", err)
	}
}

func TestSetupScriptMakesTheTwin(t *testing.T) {
	p, s, _ := withTwin(t)
	script, err := SetupScript(p)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.Command("psql", "-X", "-q", "-d", s.DSN("postgres", pgserver.Superuser))
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("ERROR")) {
			t.Fatalf("psql: %v\n%s", err, out)
		}
	}
	fill(t, p)
	if err := check(t, p).Err(); err != nil {
		t.Error(err)
	}
}

// TestTwinConflicts: connections that can never be right.
func TestTwinConflicts(t *testing.T) {
	const main, shadow = "postgres://m@db/clinic", "postgres://s@db/clinic_shadow"
	for _, c := range []struct{ synthetic, synthesize, want string }{
		{"postgres://s@db/clinic_synthetic", "", ""},
		{"postgres://s@db/clinic_synthetic", "postgres://f@db/clinic_synthetic", ""},
		{"postgres://s@other/clinic_synthetic", "", "on the server of the shadow"},
		{"postgres://s@db/clinic", "", "names the database clinic of main or the shadow"},
		{"postgres://s@db/clinic_shadow", "", "names the database clinic_shadow of main or the shadow"},
		{"postgres://m@db/clinic_synthetic", "", "names main's role m"},
		{"postgres://s:x@db/clinic_synthetic", "", "another password"},
		{"postgres://s@db/clinic_synthetic", "postgres://f@db/clinic", "names another database"},
		{"postgres://s@db/clinic_synthetic", "postgres://m@db/clinic_synthetic", "the role m, which reads"},
		{"postgres://s@db/clinic_synthetic", "postgres://s@db/clinic_synthetic", "the role s, which reads"},
	} {
		p := &policy.Policy{Synthetic: &policy.Budget{Epsilon: 1}, Databases: policy.Databases{
			Main: main, Shadow: shadow, Synthetic: c.synthetic, Synthesize: c.synthesize,
		}}
		_, err := parseDSNs(p)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.synthetic, c.synthesize, err, c.want)
		}
	}
}
