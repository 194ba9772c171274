package pgservertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// Citus is a cluster of a coordinator and two workers, which have a database of its name each. The coordinator's is
// made by its user, who runs Join in it.
type Citus struct {
	Coordinator *pgserver.Server
	Workers     []*pgserver.Server
}

// Join is the SQL by which a database of the coordinator becomes that of the cluster: one statement each.
func (c *Citus) Join() []string {
	sql := []string{"CREATE EXTENSION citus", fmt.Sprintf("SELECT citus_set_coordinator_host('127.0.0.1', %d)",
		c.Coordinator.Port)}
	for _, w := range c.Workers {
		sql = append(sql, fmt.Sprintf("SELECT citus_add_node('127.0.0.1', %d)", w.Port))
	}
	return sql
}

// StartCitus starts a cluster, which ends with the test. Without the extension, which tests/integration/citus.sh
// installs, the test is skipped.
func StartCitus(t testing.TB, database string) *Citus {
	t.Helper()
	programs := citusPrograms()
	if programs == "" {
		t.Skip("the extension Citus is not installed: see tests/integration/citus.sh")
	}
	var servers []*pgserver.Server
	for range 3 {
		s, err := pgserver.Start(context.Background(), pgserver.Options{Programs: programs, Settings: map[string]string{
			"shared_preload_libraries": "citus", "citus.node_conninfo": "sslmode=prefer",
			"citus.enable_statistics_collection": "off",
			"max_prepared_transactions":          "50",
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		servers = append(servers, s)
	}
	for _, s := range servers[1:] {
		Exec(t, s.DSN("postgres", pgserver.Superuser), "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
		Exec(t, s.DSN(database, pgserver.Superuser), "CREATE EXTENSION citus")
	}
	return &Citus{servers[0], servers[1:]}
}

// citusPrograms is the folder of a PostgreSQL that has the extension; empty: there is none.
func citusPrograms() string {
	_, here, _, _ := runtime.Caller(0)
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(here),
		"../../../tests/integration/citus/usr/lib/postgresql/*/lib/citus.so"))
	for _, library := range found {
		programs := filepath.Join(filepath.Dir(filepath.Dir(library)), "bin")
		if _, err := os.Stat(filepath.Join(programs, "initdb")); err == nil {
			return programs
		}
	}
	return ""
}
