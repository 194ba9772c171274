package server

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// TestGrowth: a start, a reload and a look ask main and shadow no more questions of eighty tables than of four.
func TestGrowth(t *testing.T) {
	few, many := questions(t, "few", 1), questions(t, "many", 20)
	for step, n := range few {
		if m := many[step]; n == 0 || m > n+10 { // a pool may open another connection
			t.Errorf("a %s asks %d questions of few tables and %d of many", step, n, m)
		}
	}
}

// questions counts what is asked of families of four tables: people, facts about them, facts by way of those, and a
// public table.
func questions(t *testing.T, role string, families int) map[string]int {
	t.Helper()
	var ddl, tables strings.Builder
	for i := range families {
		fmt.Fprintf(
			&ddl,
			`CREATE TABLE people%[1]d (id bigint PRIMARY KEY, age int, born date); CREATE TABLE visits%[1]d (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES people%[1]d, ward varchar(9));
			CREATE TABLE tests%[1]d (visit bigint REFERENCES visits%[1]d, n int); CREATE TABLE wards%[1]d (ward varchar(9) PRIMARY KEY, beds int);`, i)
		fmt.Fprintf(
			&tables,
			`  people%[1]d: {privacy_unit: {name: person%[1]d, column: id}, columns: {id: {}, age: {values: ["1", "2", "3"]}, born: {}}}
  visits%[1]d: {privacy_unit: {name: person%[1]d, column: person}, max_rows_per_unit: 2, columns: {id: {}, person: {}, ward: {values: [A, B]}}}
  tests%[1]d: {privacy_unit: {name: person%[1]d, via: {column: visit, references: visits%[1]d.id}}, max_rows_per_unit: 2, columns: {visit: {}, n: {bounds: [0, 9]}}}
  wards%[1]d: {public: true}
`, i)
	}
	pg, db := pgservertest.Database(t, ddl.String())
	t.Cleanup(func() {
		pgservertest.Exec(t, pg.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	address := net.JoinHostPort(pg.Host, strconv.Itoa(pg.Port))
	counted, err := relay.Start(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counted.Close)
	v, err := verifier.New("secret")
	if err != nil {
		t.Fatal(err)
	}
	dsn := func(db, role string) string { return strings.Replace(pg.DSN(db, role), address, counted.Addr(), 1) }
	file := filepath.Join(t.TempDir(), "policy.yaml")
	text := fmt.Sprintf(
		"version: 1\nlisten: 127.0.0.1:0\ndatabases: {main: %q, shadow: %q, public: %q, admin: %q}\naccounting: {method: rdp, delta: 1e-6}\nanalysts: {alice: {password: %q, budget: {epsilon: 1}}}\ntables:\n%s",
		dsn(db, role+"_main"), dsn(db+"_shadow", role+"_shadow"), dsn(db, role+"_public"), pg.DSN(db, pgserver.Superuser), v,
		tables.String())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Setup(t.Context(), p, io.Discard); err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	count := func(step string) {
		list, err := counted.Take()
		if err != nil {
			t.Fatal(err)
		}
		asked[step] = len(list)
	}
	count("setup")
	s, err := Start(t.Context(), p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	count("start")
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	count("reload")
	if s.Look(); s.Ready(t.Context()) != nil {
		t.Fatal(s.Ready(t.Context()))
	}
	count("look")
	return asked
}
