// Package packages_test installs, starts, upgrades and removes the packages on a copy of this machine. systemd itself
// does not run there: what it would do by the unit, the test does by the unit, and systemd-analyze reads the file.
package packages_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

const (
	unit  = "/usr/lib/systemd/system/dpproxy.service"
	twin  = "/usr/lib/systemd/system/dpproxy-synthesize.service"
	timer = "/usr/lib/systemd/system/dpproxy-synthesize.timer"
)

// manager is how packages of one kind are handled.
type manager struct {
	name, suffix    string
	install, remove []string
}

var managers = []manager{
	{"dpkg", ".deb", []string{"dpkg", "--install"}, []string{"dpkg", "--remove", "dpproxy"}},
	// This machine's other packages are not RPM's: it knows of none that these could need.
	{"rpm", ".rpm", []string{"rpm", "--upgrade", "--nodeps"}, []string{"rpm", "--erase", "dpproxy"}},
}

func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all builds and installs them")
	}
	older, newer := build(t, "1.0.0"), build(t, "1.0.1")
	for _, by := range managers {
		t.Run(by.name, func(t *testing.T) {
			m := newMachine(t)
			m.run(append(by.install, older+by.suffix)...)
			m.looksInstalled()
			m.strangersProtocol()
			dsn := m.configure()
			service := m.start(unit)
			before := m.ask(dsn, service)
			spent := m.run("dpproxy", "budget", "show", "--policy", "/etc/dpproxy/policy.yaml")
			if !strings.Contains(spent, "alice") {
				t.Errorf("budget show: %s", spent)
			}
			m.stop(service) // as systemctl try-restart does, after the new files are there
			m.run(append(by.install, newer+by.suffix)...)
			service = m.start(unit)
			if after := m.ask(dsn, service); after != before {
				t.Errorf("the same question after the upgrade: %s, before: %s", after, before)
			}
			if after := m.run("dpproxy", "budget", "show", "--policy", "/etc/dpproxy/policy.yaml"); after != spent {
				t.Errorf("after the upgrade:\n%s\nbefore:\n%s", after, spent)
			}
			m.stop(service)
			m.run(by.remove...)
			if !m.fails("test", "-e", "/usr/bin/dpproxy") || !m.fails("test", "-e", unit) {
				t.Error("the program or its unit is still there")
			}
			m.run("test", "-s", "/var/lib/dpproxy/dpproxy.ledger")
			m.run("test", "-s", "/etc/dpproxy/policy.yaml")
		})
	}
}

// build makes the packages of a version, and says where they are, without their suffix.
func build(t *testing.T, version string) string {
	t.Helper()
	cmd := exec.Command("../../packaging/build.sh")
	cmd.Env = append(os.Environ(), "VERSION="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("packaging/build.sh: %v\n%s", err, out)
	}
	dir := t.TempDir()
	for _, by := range managers {
		built, err := filepath.Glob("../../dist/*" + by.suffix)
		if err != nil || len(built) != 1 {
			t.Fatalf("dist has %v, %v", built, err)
		}
		data, err := os.ReadFile(built[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "dpproxy"+by.suffix), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "dpproxy")
}

// looksInstalled holds what a package brings against what administrators look for.
func (m *machine) looksInstalled() {
	m.Helper()
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"dpproxy", "--version"}, "dpproxy "},
		{[]string{"sh", "-c", "COMP_LINE='dpproxy budget sh' dpproxy"}, "show"},
		{[]string{"sh", "-c", "zcat /usr/share/man/man1/dpproxy.1.gz"}, "budget verify"},
		{[]string{"stat", "-c", "%a %U %G", "/etc/dpproxy"}, "750 root dpproxy"},
		{[]string{"sh", "-c", "systemd-analyze --man=no verify " + unit + " " + twin + " " + timer + " && echo good"}, "good"},
		{
			[]string{
				"sh", "-c", "systemd-analyze security --offline=true --threshold=20 " + unit + " " + twin + " >/dev/null && echo safe",
			},
			"safe",
		},
		{[]string{"dpproxy", "check", "--policy", "/usr/share/doc/dpproxy/policy.example.yaml"}, "ok"},
	} {
		if got := m.run(c.command...); !strings.Contains(got, c.want) {
			m.Errorf("%v: %s, want %s", c.command, got, c.want)
		}
	}
}

// strangersProtocol is what somebody types who has installed the package and has a database: init --service, setup, the
// service. The service reads its secrets, writes its ledger, and answers, without a word on owners and modes.
func (m *machine) strangersProtocol() {
	m.Helper()
	server, err := pgserver.Start(m.Context(), pgserver.Options{Password: "owner"})
	if err != nil {
		m.Fatal(err)
	}
	defer server.Stop()
	dsn := fmt.Sprintf("postgres://%s:owner@127.0.0.1:%d/postgres?sslmode=disable", pgserver.Superuser, server.Port)
	pgservertest.Exec(m.T, dsn, "CREATE TABLE patients (id bigint PRIMARY KEY, age int CHECK (age >= 0 AND age <= 120)); "+
		"INSERT INTO patients SELECT n, n % 90 FROM generate_series(1, 1000) n")
	const policy = "/etc/dpproxy/policy.yaml"
	begin := m.command("root:root", "dpproxy", "init", "--service", "--main", dsn, "--analyst", "alice")
	begin.Stdin = strings.NewReader("secret\n")
	if out, err := begin.CombinedOutput(); err != nil || !strings.Contains(string(out), "systemctl enable --now dpproxy") {
		m.Fatalf("init --service: %v\n%s", err, out)
	}
	m.run("sed", "-i", "s/127.0.0.1:6432/127.0.0.1:0/", policy) // this machine's network is the host's
	m.run("env", "DPPROXY_ADMIN_DSN="+dsn, "dpproxy", "setup", "--policy", policy)
	m.run("dpproxy", "profile", "--policy", policy, "--epsilon", "1", "--write")
	service := m.start(unit)
	if count := m.ask("postgres", service); count == "0" {
		m.Errorf("%s patients", count)
	}
	m.run("dpproxy", "profile", "--policy", policy, "--epsilon", "1", "--write")
	m.stop(service)
	m.stop(m.start(unit))
	for path, want := range map[string]string{
		policy: "640 root dpproxy", "/etc/dpproxy/secrets": "750 root dpproxy", "/etc/dpproxy/secrets/main": "640 root dpproxy",
		"/var/lib/dpproxy": "700 dpproxy dpproxy", "/var/lib/dpproxy/dpproxy.ledger": "600 dpproxy dpproxy",
	} {
		if got := m.run("stat", "-c", "%a %U %G", path); got != want {
			m.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if m.command("nobody:nogroup", "cat", "/etc/dpproxy/secrets/main").Run() == nil {
		m.Error("everybody reads the secrets")
	}
	if !m.fails("dpproxy", "init", "--service", "--main", dsn) {
		m.Error("init --service replaces a policy")
	}
	m.run("rm", "-r", policy, "/etc/dpproxy/secrets", "/var/lib/dpproxy")
}

// configure writes a policy for a database of its own, and returns its name.
func (m *machine) configure() string {
	m.Helper()
	server, db := pgservertest.Database(
		m.T,
		"CREATE TABLE patients (id bigint PRIMARY KEY, age int); INSERT INTO patients SELECT n, n % 90 FROM generate_series(1, 1000) n")
	m.Cleanup(func() {
		pgservertest.Exec(m.T, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+
			"_shadow WITH (FORCE)")
	})
	passwd := m.command("root:root", "dpproxy", "passwd")
	passwd.Stdin = strings.NewReader("secret\n")
	verifier, err := passwd.Output()
	if err != nil {
		m.Fatal(err)
	}
	m.write("/etc/dpproxy/policy.yaml", fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, admin: %q}
ledger: file:/var/lib/dpproxy/dpproxy.ledger
accounting: {method: rdp, delta: 1e-6}
analysts:
  alice: {password: %q, budget: {epsilon: 10, delta: 1e-6}}
tables:
  patients: {privacy_unit: {name: patient, column: id}, max_rows_per_unit: 1, columns: {id: {}, age: {bounds: [0, 120]}}}
`, server.DSN(db, "packaged_main"), server.DSN(db+"_shadow", "packaged_shadow"), server.DSN(db, pgserver.Superuser),
		strings.TrimSpace(string(verifier))))
	m.run("chgrp", "dpproxy", "/etc/dpproxy/policy.yaml")
	m.run("install", "-d", "-o", "dpproxy", "-g", "dpproxy", "-m", "0700", "/var/lib/dpproxy") // StateDirectory
	m.run("dpproxy", "setup", "--policy", "/etc/dpproxy/policy.yaml")
	return db
}

// ask asks as an analyst.
func (m *machine) ask(db string, s *service) (count string) {
	m.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "postgres://alice:secret@"+s.addr+"/"+db+"?sslmode=disable")
	if err != nil {
		m.Fatalf("%v\n%s", err, s.log.String())
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SELECT count(*)::text FROM patients WHERE age > 30").Scan(&count); err != nil {
		m.Fatalf("%v\n%s", err, s.log.String())
	}
	return count
}

func TestMain(m *testing.M) {
	code := m.Run()
	pgservertest.Stop()
	os.Exit(code)
}
