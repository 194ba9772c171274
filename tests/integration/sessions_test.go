package integration_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// sessionTime bounds one client's session: a client that hangs would otherwise hang the test.
const sessionTime = 2 * time.Minute

// environment is how libpq and the clients that follow it find the proxy.
func (p *proxy) environment() []string {
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	return append(os.Environ(), "PGHOST="+host, "PGPORT="+port, "PGUSER=alice", "PGPASSWORD="+password, "PGDATABASE="+p.db,
		"PGSSLMODE=disable", "PGTZ=UTC", "PGCONNECT_TIMEOUT=20")
}

// client runs a program of somebody else's against the proxy and returns what it printed.
func (p *proxy) client(stdin, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdin = p.environment(), strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(sessionTime, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fewClients are those that `make test` runs, beside psql, pgx and lib/pq: one for each way to write the protocol that
// is much used.
var fewClients = []string{"psycopg 3", "node-postgres", "pgjdbc"}

// TestSessions runs an application's session with every client library: each script ends with the line ok, or says what
// went wrong. The Python is the system's, for which the packages are.
func TestSessions(t *testing.T) {
	p := start(t, everyKey(clinicPolicy()), clinic)
	var group errgroup.Group
	group.SetLimit(4)
	for name, command := range map[string][]string{
		"psycopg2":      {"/usr/bin/python3", "sessions/psycopg2_session.py"},
		"psycopg 3":     {"/usr/bin/python3", "sessions/psycopg3_session.py"},
		"asyncpg":       {"/usr/bin/python3", "sessions/asyncpg_session.py"},
		"SQLAlchemy":    {"/usr/bin/python3", "sessions/sqlalchemy_session.py"},
		"node-postgres": {"node", "sessions/node-postgres_session.js"},
		"postgres.js":   {"node", "sessions/postgresjs_session.js"},
		"DBD::Pg":       {"perl", "sessions/dbi_session.pl"},
		"PDO":           {"php", "sessions/pdo_session.php"},
		"ruby-pg":       {"ruby", "sessions/pg_session.rb"},
		"Pgtcl":         {"tclsh", "sessions/pgtcl_session.tcl"},
		"pgjdbc":        {"java", "-cp", "/usr/share/java/postgresql.jar", "sessions/Session.java"},
	} {
		if testing.Short() && !slices.Contains(fewClients, name) {
			continue
		}
		group.Go(func() error {
			out, err := p.client("", command[0], command[1:]...)
			if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "ok") {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are reported above
}

// TestODBC drives psqlODBC through isql, which prints a table for each line of SQL.
func TestODBC(t *testing.T) {
	p := start(t, everyKey(clinicPolicy()), clinic)
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ini := "[dpproxy]\nDriver=PostgreSQL Unicode\nServername=" + host + "\nPort=" + port + "\nDatabase=" + p.db +
		"\nSSLmode=disable\n"
	if err := os.WriteFile(filepath.Join(dir, "odbc.ini"), []byte(ini), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ODBCINI", filepath.Join(dir, "odbc.ini"))
	sql, err := os.ReadFile("sessions/isql.sql")
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.client(string(sql), "isql", "dpproxy", "alice", password, "-b")
	if err != nil {
		t.Fatalf("isql: %v\n%s", err, out)
	}
	for _, want := range []string{"| A ", "| 30 ", "Could not SQLExecute", "| gout "} {
		if !strings.Contains(out, want) {
			t.Errorf("isql printed no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "Patient ") {
		t.Errorf("a patient's name:\n%s", out)
	}
}

// TestPgbench runs a public statement over the three protocols: nothing fails, nothing is confused.
func TestPgbench(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	script := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(
		script,
		[]byte(
			"\\set floor random(1, 3)\nSELECT ward, beds FROM wards WHERE floor = :floor;\nSELECT count(*) FROM patients WHERE age > 40;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		out, err := p.client("", "pgbench", "-n", "-M", mode, "-c", "4", "-j", "2", "-t", "50", "-f", script)
		if err != nil || !strings.Contains(out, "number of transactions actually processed: 200/200") ||
			strings.Contains(out, "ERROR") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
}
