package provision

import (
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestCheckLiveOnCitus breaks, one after the other, what the workers of a cluster need, and mends it again.
func TestCheckLiveOnCitus(t *testing.T) {
	p, cluster := onCitus(t)
	dsn := cluster.Coordinator.DSN("spread", pgserver.Superuser)
	setUp(t, p).Close()
	for _, c := range []struct {
		name         string
		on           string
		broken, mend string
		want         string
	}{
		{"nothing", dsn, "SELECT", "SELECT", ""},
		{
			"a private table of one node", dsn, "SELECT undistribute_table('visits')",
			"SELECT create_distributed_table('visits', 'patient', colocate_with => 'patients')",
			"tables.public.visits: it is not distributed by its unit: SELECT create_distributed_table('public.visits', 'patient')",
		},
		{
			"a public table of one node", dsn, "SELECT undistribute_table('wards')", "SELECT create_reference_table('wards')",
			"tables.public.wards: it is public.*create_reference_table('public.wards')",
		},
		{
			"another column", dsn,
			"SELECT alter_distributed_table('visits', distribution_column => 'visit', colocate_with => 'none')",
			"SELECT alter_distributed_table('visits', distribution_column => 'patient', colocate_with => 'patients')",
			"tables.public.visits: it is distributed by visit, not by its unit",
		},
		{
			"elsewhere", dsn, "SELECT update_distributed_table_colocation('visits', colocate_with => 'none')",
			"SELECT update_distributed_table_colocation('visits', colocate_with => 'patients')",
			"not co-located with public.patients",
		},
		{
			"an index of the coordinator", dsn,
			"SET citus.enable_ddl_propagation = off; CREATE UNIQUE INDEX own ON visits (patient, visit, ward)",
			"SET citus.enable_ddl_propagation = off; DROP INDEX own",
			"tables.public.visits: 2 unique indexes are on the coordinator, and not all on every shard (found 1)",
		},
		{
			"a worker that does not admit main", cluster.Workers[1].DSN("spread", pgserver.Superuser),
			"SET citus.enable_ddl_propagation = off; ALTER ROLE c_main NOLOGIN",
			"SET citus.enable_ddl_propagation = off; ALTER ROLE c_main LOGIN",
			"role c_main cannot ask a worker of the Citus cluster (127.0.0.1:",
		},
		{"all is mended", dsn, "SELECT", "SELECT", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pgservertest.Exec(t, c.on, c.broken)
			found := check(t, p)
			pgservertest.Exec(t, c.on, c.mend)
			if c.want == "" {
				if err := found.Err(); err != nil {
					t.Error(err)
				}
				return
			}
			mustSay(t, found, c.want)
		})
	}
	t.Run("via", func(t *testing.T) {
		of := p.Tables[1]
		of.Unit = &policy.Unit{Name: "patient", Via: &policy.Via{Column: "visit", References: policy.Name{
			Schema: "public", Relation: "patients",
		}, ReferencesColumn: "id"}}
		mustSay(
			t, check(t, p),
			"tables.public.visits.privacy_unit.via: a Citus cluster must find the unit.*name it as privacy_unit.column")
		of.Unit.Via.Column = "patient"
		if err := check(t, p).Err(); err != nil {
			t.Error(err)
		}
	})
}

// onCitus is a policy over tables of a cluster.
func onCitus(t *testing.T) (*policy.Policy, *pgservertest.Citus) {
	t.Helper()
	cluster := pgservertest.StartCitus(t, "spread")
	s := cluster.Coordinator
	pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), "CREATE DATABASE spread")
	for _, sql := range append(cluster.Join(), `CREATE TABLE wards (ward text PRIMARY KEY);
		CREATE TABLE patients (id bigint PRIMARY KEY, age int);
		CREATE TABLE visits (visit bigint, patient bigint, ward text, PRIMARY KEY (patient, visit))`,
		"SELECT create_reference_table('wards')", "SELECT create_distributed_table('patients', 'id', shard_count => 2)",
		"SELECT create_distributed_table('visits', 'patient', colocate_with => 'patients')") {
		pgservertest.Exec(t, s.DSN("spread", pgserver.Superuser), sql)
	}
	unit := func(column string) *policy.Unit { return &policy.Unit{Name: "patient", Column: column} }
	name := func(relation string) policy.Name { return policy.Name{Schema: "public", Relation: relation} }
	p := &policy.Policy{
		Pool: policy.Pool{Main: 2, Shadow: 2, Public: 2, Wait: 5 * time.Second},
		Tables: []*policy.Table{
			{Name: name("patients"), Unit: unit("id"), MaxRowsPerUnit: 1, Columns: columns("id", "age")},
			{Name: name("visits"), Unit: unit("patient"), MaxRowsPerUnit: 5, Columns: columns("visit", "patient", "ward")},
			{Name: name("wards"), Public: true},
		},
		Databases: policy.Databases{
			Main: s.DSN("spread", "c_main"), Shadow: s.DSN("spread_shadow", "c_shadow"), Public: s.DSN("spread", "c_public"),
			AdminMain: s.DSN("postgres", pgserver.Superuser), AdminShadow: s.DSN("postgres", pgserver.Superuser),
		},
	}
	return p, cluster
}
