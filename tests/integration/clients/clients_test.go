package clients

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

const schema = `
CREATE TYPE public.severity AS ENUM ('low', 'mid', 'high');
CREATE DOMAIN public.cents AS integer CHECK (VALUE >= 0);
CREATE TABLE wards (ward text PRIMARY KEY, floor int NOT NULL, opened date);
CREATE TABLE patients (id bigint PRIMARY KEY, age int, income numeric(10,2), diagnosis text, ward text REFERENCES wards,
	admitted date, name text, sev severity, tags text[], fee cents);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients (id), cost numeric(8,2), minutes int);
CREATE VIEW visit_costs AS SELECT patient_id, sum(cost) AS cost FROM visits GROUP BY patient_id;
INSERT INTO wards VALUES ('a', 1, '2020-01-01'), ('b', 2, '2021-01-01');
INSERT INTO patients (id, age, name, ward) SELECT i, i % 90, 'canary' || i, 'a' FROM generate_series(1, 500) i;
ANALYZE;
`

const policy = `version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, public: %q, admin: %q}
ledger: file:test.ledger
accounting: {method: pure}
defaults: {epsilon: 0.5, epsilon_max: 1}
analysts:
  alice: {password: %q, budget: {epsilon: 10}}
tables:
  patients:
    privacy_unit: {name: patient, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, age: {bounds: [0, 120]}, income: {bounds: [0, 1000]}, diagnosis: {}, ward: {}, admitted: {}, name: {}, sev: {}, tags: {}, fee: {}}
  visits:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 5
    columns: {visit_id: {}, patient_id: {}, cost: {bounds: [0, 1000]}, minutes: {bounds: [0, 100]}}
  wards: {public: true}
views: [visit_costs]
`

// TestClients sends every fixture to a running dpproxy and to PostgreSQL. dpproxy answers whatever PostgreSQL answers,
// with the same columns, and no answer holds anything of a private row, or a name of what is behind the proxy.
func TestClients(t *testing.T) {
	server, db, dsn := start(t)
	folders, err := filepath.Glob("*/*.sql")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	byClient := map[string][]string{}
	for _, f := range folders {
		byClient[filepath.Dir(f)] = append(byClient[filepath.Dir(f)], f)
	}
	secret := []string{"canary", "clients_main", "clients_shadow", "clients_public", db + "_shadow"}
	for client, files := range byClient {
		t.Run(client, func(t *testing.T) {
			plain, proxied := connect(t, server.DSN(db, "clients_plain")), connect(t, dsn)
			sort.Strings(files)
			compared := 0
			for _, f := range files {
				for _, st := range statements(t, f) {
					want, got := plain.run(st), proxied.run(st)
					if e, ok := want.err.(*pgconn.PgError); ok && e.Code == "42501" {
						continue // PostgreSQL refuses it to an ordinary role, too
					} else if want.err != nil {
						t.Errorf("%s: fails on PostgreSQL: %v\n%.600s", f, want.err, st.sql)
						continue
					}
					compared++
					if got.err != nil {
						t.Errorf("%s: %v\n%.600s", f, got.err, st.sql)
						continue
					}
					if g, w := strings.Join(got.columns, ", "), strings.Join(want.columns, ", "); g != w {
						t.Errorf("%s: columns\n%s\nwant\n%s\n%.600s", f, g, w, st.sql)
					}
					for _, s := range secret {
						if strings.Contains(got.values, s) {
							t.Errorf("%s: the answer shows %s\n%.600s", f, s, st.sql)
						}
					}
				}
			}
			t.Logf("%d statements", compared)
		})
	}
}

func start(t *testing.T) (server *pgserver.Server, db, dsn string) {
	t.Helper()
	return startWith(t, schema, policy)
}

// startWith makes a database, sets up a proxy in front of it and starts it. dsn is how an analyst connects.
func startWith(t *testing.T, schema, policy string) (server *pgserver.Server, db, dsn string) {
	t.Helper()
	server, db = pgservertest.Database(t, schema)
	admin := server.DSN(db, "postgres")
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", "postgres"), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	pgservertest.Exec(
		t, admin, `DO $$BEGIN IF to_regrole('clients_plain') IS NULL THEN CREATE ROLE clients_plain LOGIN; END IF; END$$;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO clients_plain`)
	addr := serve(t, fmt.Sprintf(policy, server.DSN(db, "clients_main"), server.DSN(db+"_shadow", "clients_shadow"),
		server.DSN(db, "clients_public"), admin, "%s"))
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("alice", "secret"), Host: addr, Path: "/" + db,
		RawQuery: "sslmode=disable",
	}
	return server, db, u.String()
}

// serve builds dpproxy, sets up and starts it, and returns its address.
func serve(t *testing.T, policy string) string {
	t.Helper()
	dir := t.TempDir()
	binary, file := filepath.Join(dir, "dpproxy"), filepath.Join(dir, "policy.yaml")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../cmd/dpproxy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passwd := exec.Command(binary, "passwd")
	passwd.Stdin = strings.NewReader("secret\n")
	verifier, err := passwd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(fmt.Sprintf(policy, strings.TrimSpace(string(verifier)))), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "setup", "--policy", file).CombinedOutput(); err != nil {
		t.Fatalf("dpproxy setup: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "serve", "--policy", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, log := make(chan string, 1), &strings.Builder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if a, ok := strings.CutPrefix(lines.Text(), "dpproxy: listening on "); ok {
				addr <- a
				continue
			}
			fmt.Fprintln(log, lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("dpproxy serve: %v\n%s", err, log)
		}
	})
	select {
	case a := <-addr:
		return a
	case <-done:
		t.Fatalf("dpproxy serve ended before it listened:\n%s", log)
	}
	return ""
}

// statement is one text of a fixture with its parameters.
type statement struct {
	sql        string
	parameters []*string
	types      []uint32 // of the parameters, 0 where the client does not say
	prepared   bool     // as a statement with a name
}

var parameterLine = regexp.MustCompile(`^-- \$\d+(?: (\w+))? = (?:'(.*)'|NULL)$`)

func statements(t *testing.T, file string) []statement {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []statement
	for _, part := range strings.Split(string(raw)+"\n", "\n;\n") {
		var s statement
		lines := strings.Split(strings.TrimSpace(part), "\n")
		for len(lines) > 0 && (strings.HasPrefix(lines[0], "--") || lines[0] == "") {
			if m := parameterLine.FindStringSubmatch(lines[0]); m != nil {
				value := strings.ReplaceAll(m[2], "''", "'")
				s.parameters = append(s.parameters, &value)
				s.types = append(s.types, typeOID(t, file, m[1]))
				if strings.HasSuffix(lines[0], "= NULL") {
					s.parameters[len(s.parameters)-1] = nil
				}
			}
			s.prepared = s.prepared || lines[0] == "-- prepared"
			lines = lines[1:]
		}
		if s.sql = strings.Join(lines, "\n"); s.sql != "" {
			out = append(out, s)
		}
	}
	return out
}

func typeOID(t *testing.T, file, name string) uint32 {
	t.Helper()
	if name == "" {
		return 0
	}
	known, ok := pgtype.NewMap().TypeForName(name)
	if !ok {
		t.Fatalf("%s: a parameter has the unknown type %s", file, name)
	}
	return known.OID
}

// connection is one of the two sides, with the OIDs that its catalogs show.
type connection struct {
	conn  *pgconn.PgConn
	oids  map[string]string
	types map[uint32]string
}

func connect(t *testing.T, dsn string) *connection {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	c := &connection{conn: conn.PgConn(), oids: map[string]string{}, types: map[uint32]string{}}
	rows, err := conn.Query(ctx, `SELECT 'class:' || relname, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT 'type:' || typname, oid FROM pg_type WHERE typnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var oid uint32
	if _, err := pgx.ForEachRow(rows, []any{&name, &oid}, func() error {
		c.oids[name], c.types[oid] = fmt.Sprint(oid), name
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

var oidToken = regexp.MustCompile(`\{((?:class|type):\w+)\}`)

func (c *connection) fill(text string) string {
	return oidToken.ReplaceAllStringFunc(text, func(tok string) string {
		if oid := c.oids[tok[1:len(tok)-1]]; oid != "" {
			return oid
		}
		return "0"
	})
}

// answer is what came back: columns as "name type typmod" and all values in one text.
type answer struct {
	columns []string
	values  string
	err     error
}

// run uses the extended protocol for statements with parameters and the simple one, which may hold several, for others.
func (c *connection) run(st statement) answer {
	ctx := context.Background()
	var a answer
	if len(st.parameters) > 0 {
		values := make([][]byte, len(st.parameters))
		for i, p := range st.parameters {
			if p != nil {
				values[i] = []byte(c.fill(*p))
			}
		}
		c.read(&a, c.conn.ExecParams(ctx, c.fill(st.sql), values, st.types, nil, nil))
		return a
	}
	results := c.conn.Exec(ctx, c.fill(st.sql))
	for results.NextResult() {
		c.read(&a, results.ResultReader())
	}
	if err := results.Close(); err != nil {
		a.err = err
	}
	return a
}

func (c *connection) read(a *answer, r *pgconn.ResultReader) {
	var values strings.Builder
	for r.NextRow() {
		for _, v := range r.Values() {
			values.Write(v)
			values.WriteByte('|')
		}
	}
	for _, f := range r.FieldDescriptions() {
		name := c.types[f.DataTypeOID]
		if name == "" {
			name = fmt.Sprint(f.DataTypeOID)
		}
		a.columns = append(a.columns, fmt.Sprintf("%s %s %d", f.Name, name, f.TypeModifier))
	}
	a.values += values.String()
	if _, err := r.Close(); err != nil {
		a.err = err
	}
}
