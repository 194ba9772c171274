package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

// hospital is a proxy over two databases, in each of which patients is another table.
type hospital struct {
	*Server
	t      *testing.T
	log    *locked
	file   string
	common string            // of the policy
	of     map[string]string // database → its part of the policy
	admin  map[string]string // database → the connection of its administrator
}

func newHospital(t *testing.T) *hospital {
	t.Helper()
	v, err := verifier.New("secret")
	if err != nil {
		t.Fatal(err)
	}
	h := &hospital{
		t: t, log: &locked{}, file: filepath.Join(t.TempDir(), "policy.yaml"), of: map[string]string{},
		admin: map[string]string{},
		common: fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
console: {listen: 127.0.0.1:0}
accounting: {method: rdp, delta: 1e-6}
defaults: {epsilon: 1}
log: {statements: true}
analysts: {alice: {password: %q, budget: {epsilon: 100}}, bob: {password: %q, budget: {epsilon: 100}}}
databases:
`, v, v),
	}
	for name, create := range map[string]string{
		"clinic": `CREATE TABLE wards (ward text PRIMARY KEY); INSERT INTO wards VALUES ('A'); CREATE TABLE patients (id bigint PRIMARY KEY, age int);
			INSERT INTO patients SELECT i, i % 90 FROM generate_series(1, 5000) i`,
		"trials": `CREATE TABLE patients (id bigint PRIMARY KEY, age int); INSERT INTO patients SELECT i, 30 FROM generate_series(1, 300) i`,
	} {
		pg, db := pgservertest.Database(t, create)
		t.Cleanup(func() { // before the database goes
			pgservertest.Exec(t, pg.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
		})
		h.admin[name] = pg.DSN(db, pgserver.Superuser)
		h.of[name] = fmt.Sprintf(`  %s:
    main: %q
    shadow: %q
    public: %q
    admin: %q
    tables:
      patients: {privacy_unit: {name: patient, column: id}, max_rows_per_unit: 1, columns: {id: {}, age: {bounds: [0, 120]}}}
`, name, pg.DSN(db, name+"_main"), pg.DSN(db+"_shadow", name+"_shadow"), pg.DSN(db, name+"_public"), h.admin[name])
	}
	h.of["clinic"] += "      wards: {public: true}\n"
	h.of["trials"] += "    analysts: [alice]\n"
	h.write("clinic", "trials")
	p, err := policy.Load(h.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range p.Each() {
		if err := provision.Setup(t.Context(), one, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if h.Server, err = Start(t.Context(), p, slog.New(slog.NewTextHandler(h.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// write makes a policy of some of the databases.
func (h *hospital) write(databases ...string) {
	h.t.Helper()
	text := h.common
	for _, name := range databases {
		text += h.of[name]
	}
	if err := os.WriteFile(h.file, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hospital) login(user, database string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(h.t.Context(), fmt.Sprintf("postgres://%s:secret@%s/%s?sslmode=disable", user, h.Addr(),
		database))
	if err == nil {
		h.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func (h *hospital) mustLogin(user, database string) *pgx.Conn {
	h.t.Helper()
	conn, err := h.login(user, database)
	if err != nil {
		h.t.Fatal(err)
	}
	return conn
}

func one[T any](t *testing.T, conn *pgx.Conn, sql string) (value T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

const countPatients = "SELECT count(*) FROM patients"

// TestSeveralDatabases: one listener, one ledger, and each question is answered by the database that the client has
// connected to.
func TestSeveralDatabases(t *testing.T) {
	h := newHospital(t)
	clinic, trials := h.mustLogin("alice", "clinic"), h.mustLogin("alice", "trials")
	for range 2 { // the second time, answers that were kept
		// Noise of ε = 1 is beyond 100 with a probability below e^-100.
		if n := one[int](t, clinic, countPatients); n < 4900 || n > 5100 {
			t.Errorf("clinic has %d patients, not some 5000", n)
		}
		if n := one[int](t, trials, countPatients); n < 200 || n > 400 {
			t.Errorf("trials has %d patients, not some 300", n)
		}
	}
	const spent = "SELECT round(epsilon_spent::numeric, 6)::text FROM dpproxy.budget"
	if here, there := one[string](t, clinic, spent), one[string](t, trials, spent); here != there || here == "0.000000" {
		t.Errorf("alice has spent %s of her budget in clinic and %s in trials, and it is one", here, there)
	}
	bob := h.mustLogin("bob", "clinic")
	if n := one[string](t, bob, spent); n != "0.000000" {
		t.Errorf("bob has spent %s", n)
	}
	if n := one[int](t, clinic, "SELECT count(*) FROM wards"); n != 1 {
		t.Errorf("%d wards", n)
	}
	_, err := trials.Exec(t.Context(), "SELECT count(*) FROM wards")
	ledgertest.WantCode(t, err, "42P01")
	for name, conn := range map[string]*pgx.Conn{"clinic": clinic, "trials": trials} {
		if got := one[string](t, conn, "SELECT current_database()"); got != name {
			t.Errorf("%s calls itself %s", name, got)
		}
		if got := one[string](t, conn, "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database"); got != "clinic trials" {
			t.Errorf("%s lists the databases %s", name, got)
		}
	}
	maintenance := h.mustLogin("alice", "postgres")
	if got := one[string](t, maintenance, "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database"); got != "clinic postgres trials" {
		t.Errorf("postgres lists %s", got)
	}
	_, err = maintenance.Exec(t.Context(), countPatients)
	if err == nil || !strings.Contains(err.Error(), `the tables are in databases "clinic", "trials"`) {
		t.Errorf("a count in postgres: %v", err)
	}
	for _, c := range []struct{ user, database, code string }{
		{"alice", "research", "3D000"},
		{"bob", "trials", "42501"},
		{"alice", strings.TrimSuffix(clinic.Config().Database, "c"), "3D000"},
	} {
		_, err := h.login(c.user, c.database)
		ledgertest.WantCode(t, err, c.code)
	}
	said := h.log.since()
	for _, database := range []string{"clinic", "trials"} {
		if want := "msg=statement analyst=alice database=" + database + " verdict=private"; !strings.Contains(said, want) {
			t.Errorf("no %q in the log:\n%s", want, said)
		}
	}
	r := httptest.NewRecorder()
	h.metrics.Handler(h.Ready, slog.New(slog.DiscardHandler)).ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	for _, pool := range []string{"clinic.main", "clinic.public", "trials.main", "trials.shadow"} {
		if !strings.Contains(r.Body.String(), `dpproxy_pool_connections{database="`+pool+`"}`) {
			t.Errorf("no metrics of %s", pool)
		}
	}
}

// TestReloadsOfSeveral: databases come and go with the policy. Sessions of those that stay go on, sessions of one that
// goes end.
func TestReloadsOfSeveral(t *testing.T) {
	h := newHospital(t)
	clinic, trials := h.mustLogin("alice", "clinic"), h.mustLogin("alice", "trials")
	one[int](t, trials, countPatients)

	h.write("clinic")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	one[int](t, clinic, countPatients)
	_, err := trials.Exec(t.Context(), countPatients)
	ledgertest.WantCode(t, err, "3D000")
	if !trials.IsClosed() {
		t.Error("the session of a database that has gone is open")
	}
	_, err = h.login("alice", "trials")
	ledgertest.WantCode(t, err, "3D000")

	broken := h.of["trials"]
	h.of["trials"] = strings.Replace(broken, "age: {", "years: {", 1)
	h.write("clinic", "trials")
	if err := h.Reload(t.Context()); err == nil || !strings.Contains(
		err.Error(), "databases.trials.tables.patients.columns.years: main has no such column") {
		t.Errorf("a database that is not what the policy says: %v", err)
	}
	if diff := cmp.Diff([]string{"clinic"}, h.databases()); diff != "" {
		t.Errorf("after a reload that failed: %s", diff)
	}
	h.of["trials"] = strings.Replace(broken, "[alice]", "[bob]", 1)
	h.write("trials", "clinic")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	one[int](t, clinic, countPatients)
	one[int](t, h.mustLogin("bob", "trials"), countPatients)
	_, err = h.login("alice", "trials")
	ledgertest.WantCode(t, err, "42501")
	if got := one[string](t, clinic, "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database"); got != "clinic trials" {
		t.Errorf("clinic lists %s", got)
	}
}

// TestDriftOfOne: what has changed in one database is refused there, and nowhere else; the log says where it is.
func TestDriftOfOne(t *testing.T) {
	h := newHospital(t)
	clinic, trials := h.mustLogin("alice", "clinic"), h.mustLogin("alice", "trials")
	pgservertest.Exec(t, h.admin["trials"], "ALTER TABLE patients RENAME age TO years; CREATE TABLE extra (id int)")
	pgservertest.Exec(t, h.admin["clinic"], "ALTER TABLE wards ADD chief bigint REFERENCES patients")
	h.Look()
	said := h.log.since()
	for _, want := range []string{
		"databases.trials.tables.patients.columns.age: main has no such column",
		"leads to public.patients",
	} {
		if !strings.Contains(said, escaped(want)) {
			t.Errorf("no %q in the log:\n%s", want, said)
		}
	}
	_, err := trials.Exec(t.Context(), "SELECT avg(age) FROM patients")
	ledgertest.WantCode(t, err, "0A000")
	one[float64](t, clinic, "SELECT avg(age) FROM patients")
	if _, err = clinic.Exec(t.Context(), "SELECT * FROM wards"); err == nil {
		t.Error("a public table that leads to people is read")
	}
	pgservertest.Exec(t, h.admin["clinic"], "ALTER TABLE wards DROP chief")
	h.Look()
	one[string](t, clinic, "SELECT ward FROM wards")
	if err := h.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "trials") ||
		strings.Contains(err.Error(), "clinic") {
		t.Errorf("ready: %v", err)
	}
}

// TestConsoleOfSeveral: an analyst of the console chooses a database where there are several, and asks that one.
func TestConsoleOfSeveral(t *testing.T) {
	h := newHospital(t)
	base := "http://" + h.ConsoleAddr().String()
	page := func(client *http.Client, method, path string, form url.Values) (status int, text string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", base)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	for _, c := range []struct {
		user, database string
		status         int
		want           string // on the page of what may be asked, or of the login
	}{
		{"alice", "clinic", 200, "alice in clinic"},
		{"alice", "trials", 200, "alice in trials"},
		{"bob", "trials", 401, "permission denied for database"},
		{"alice", "postgres", 422, "Choose a database"},
		{"alice", "", 422, "Choose a database"},
	} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar}
		if _, text := page(client, "GET", "/login", nil); !strings.Contains(
			text, "<option>clinic</option><option>trials</option>") {
			t.Fatalf("no choice of databases in\n%s", text)
		}
		status, text := page(client, "POST", "/login", url.Values{
			"user": {c.user}, "password": {"secret"},
			"database": {c.database},
		})
		if status == 200 {
			_, text = page(client, "GET", "/columns", nil)
			if strings.Contains(text, "wards") != (c.database == "clinic") {
				t.Errorf("%s in %q sees the tables of another database:\n%s", c.user, c.database, text)
			}
		}
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s in %q: %d\n%s", c.user, c.database, status, text)
		}
	}
}

// TestOneMainByTwoNames: what is private by one name could be public by the other.
func TestOneMainByTwoNames(t *testing.T) {
	h := newHospital(t)
	ward := strings.NewReplacer("  clinic:\n", "  ward:\n", "clinic_main@127.0.0.1", "clinic_main@localhost").Replace(
		h.of["clinic"])
	shadowOf := func(part string) string {
		_, shadow, _ := strings.Cut(part, "    shadow:")
		shadow, _, _ = strings.Cut(shadow, "    public:")
		return shadow
	}
	h.of["ward"] = strings.Replace(ward, shadowOf(ward), shadowOf(h.of["trials"]), 1)
	h.write("clinic", "ward")
	err := h.Reload(t.Context())
	if err == nil || !strings.Contains(h.of["ward"], "@localhost") ||
		!strings.Contains(err.Error(), "databases.ward.main: is the main database of clinic, too") {
		t.Errorf("reloaded: %v\n%s", err, h.of["ward"])
	}
}
