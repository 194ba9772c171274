package provision

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// cluster is a server of its own, with passwords.
func cluster(t *testing.T) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(context.Background(), pgserver.Options{Password: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func login(s *pgserver.Server, db, role, password string) string {
	return strings.Replace(s.DSN(db, role), "@", ":"+password+"@", 1)
}

// twoClusters has main here and the shadow and a shared ledger there; the roles have real passwords.
func twoClusters(t *testing.T) *policy.Policy {
	t.Helper()
	here, there := cluster(t), cluster(t)
	pgservertest.Exec(t, here.DSN("postgres", pgserver.Superuser), "CREATE DATABASE clinic")
	pgservertest.Exec(t, here.DSN("clinic", pgserver.Superuser), clinicSQL)
	return &policy.Policy{
		Pool: policy.Pool{Main: 1, Shadow: 1, Public: 1, Wait: 5 * time.Second},
		Tables: []*policy.Table{
			{
				Name: policy.Name{Schema: "public", Relation: "patients"}, Unit: &policy.Unit{Name: "patient", Column: "id"},
				MaxRowsPerUnit: 1, Columns: columns("id", "age", "mood"),
			},
			{Name: policy.Name{Schema: "public", Relation: "wards"}, Public: true},
		},
		Ledger: login(there, "ledgers", "ledger", "l"),
		Databases: policy.Databases{
			Main: login(here, "clinic", "main", "m%20m"), Public: login(here, "clinic", "reader", "p"),
			Shadow:    login(there, "mirror", "shadow", "s"),
			AdminMain: here.DSN("postgres", pgserver.Superuser), AdminShadow: there.DSN("postgres", pgserver.Superuser),
			AdminLedger: there.DSN("postgres", pgserver.Superuser),
		},
	}
}

func TestSetupAcrossClusters(t *testing.T) {
	p := twoClusters(t)
	setUp(t, p)
	if err := check(t, p).Err(); err != nil {
		t.Error(err)
	}
	if err := try(p.Ledger, "SELECT count(*) FROM dpproxy_ledger.record"); err != nil {
		t.Errorf("the ledger's role: %v", err)
	}
	// A password that changed in the DSN is the role's after the next setup.
	p.Databases.Main = strings.Replace(p.Databases.Main, ":m%20m@", ":other@", 1)
	if _, err := backend.Open(context.Background(), p, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "run dpproxy setup") || strings.Contains(err.Error(), "other") {
		t.Errorf("a wrong password: %v", err)
	}
	setUp(t, p)
}

func TestSetupScriptAcrossClusters(t *testing.T) {
	p := twoClusters(t)
	script, err := SetupScript(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("psql", "-X", "-q", "-d", p.Databases.AdminMain)
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "PGPASSWORD=admin") // psql takes no password along to another server
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	if err := check(t, p).Err(); err != nil {
		t.Error(err)
	}
}

func TestSetupByAnOwnerWhoIsNoSuperuser(t *testing.T) {
	s := cluster(t)
	root := s.DSN("postgres", pgserver.Superuser)
	if ask(t, root, "SELECT current_setting('server_version_num')") < "150000" {
		t.Skip(
			"before version 15, PostgreSQL's public schema belongs to the superuser, and only that one closes it to others")
	}
	pgservertest.Exec(
		t, root, "CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'dba'; SET password_encryption = 'scram-sha-256'")
	pgservertest.Exec(t, root, "CREATE DATABASE clinic OWNER dba")
	pgservertest.Exec(t, login(s, "clinic", "dba", "dba"), "CREATE TABLE patients (id bigint PRIMARY KEY, age int)")
	p := &policy.Policy{
		Pool: policy.Pool{Main: 1, Shadow: 1, Wait: 5 * time.Second},
		Tables: []*policy.Table{{Name: policy.Name{Schema: "public", Relation: "patients"}, Unit: &policy.Unit{
			Name: "patient", Column: "id",
		}, MaxRowsPerUnit: 1, Columns: columns("id", "age")}},
		Databases: policy.Databases{
			Main: login(s, "clinic", "main", "m"), Shadow: login(s, "mirror", "shadow", "s"),
			AdminMain: login(s, "postgres", "dba", "dba"), AdminShadow: login(s, "postgres", "dba", "dba"),
		},
	}
	setUp(t, p)
	if err := Setup(context.Background(), p, io.Discard); err != nil {
		t.Fatalf("again: %v", err)
	}
	if err := check(t, p).Err(); err != nil {
		t.Error(err)
	}
}

func TestSetupNeedsAnAdministrator(t *testing.T) {
	p := &policy.Policy{Databases: policy.Databases{
		Main:   "postgres://main@127.0.0.1/clinic",
		Shadow: "postgres://shadow@127.0.0.1/mirror",
	}}
	if err := Setup(context.Background(), p, io.Discard); err == nil || !strings.Contains(err.Error(), "--print") {
		t.Errorf("error = %v", err)
	}
	p.Databases.Shadow = "postgres://shadow@127.0.0.1/clinic"
	if _, err := SetupScript(p); err == nil || !strings.Contains(err.Error(), "names main's database clinic") {
		t.Errorf("error = %v", err)
	}
}

// TestPublicIsUsedWhereATableIsPublic: databases.public may stay in a policy without public tables. Setup makes no role
// for it.
func TestPublicIsUsedWhereATableIsPublic(t *testing.T) {
	p, _ := clinic(t)
	p.Tables = p.Tables[:3]
	b := setUp(t, p)
	if err := check(t, p).Err(); err != nil {
		t.Error(err)
	}
	if err := b.Ping(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestSetupNamesAMissingPassword(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	t.Setenv("PGPASSFILE", "/dev/null")
	s := cluster(t)
	admin := s.DSN("postgres", pgserver.Superuser)
	pgservertest.Exec(t, admin, "CREATE TABLE t (id int PRIMARY KEY)")
	p := &policy.Policy{Tables: []*policy.Table{
		{
			Name: policy.Name{Schema: "public", Relation: "t"}, Unit: &policy.Unit{Name: "person", Column: "id"},
			MaxRowsPerUnit: 1, Columns: columns("id"),
		},
	}}
	p.Databases = policy.Databases{
		Main: login(s, "postgres", "m", ""), Shadow: login(s, "shadow", "s", ""),
		AdminMain: admin, AdminShadow: admin,
	}
	err := Setup(context.Background(), p, io.Discard)
	if err == nil || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "its DSN has no password, nor do PGPASSWORD and .pgpass: write one into the DSN") {
		t.Errorf("no password: %q", err)
	}
	p.Databases.Main = login(s, "postgres", "m", "new")
	p.Databases.Shadow = login(s, "shadow", "s", "new")
	if err := Setup(context.Background(), p, io.Discard); err != nil {
		t.Errorf("a password afterwards: %v", err)
	}
	pgservertest.Exec(t, admin, "COMMENT ON ROLE m IS NULL")
	p.Databases.Main = login(s, "postgres", "m", "other")
	err = Setup(context.Background(), p, io.Discard)
	if err == nil ||
		!strings.HasSuffix(
			err.Error(), "a role that existed before setup keeps its password and its rights: change the DSN, or the role") {
		t.Errorf("another password: %q", err)
	}
}
