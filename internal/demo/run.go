package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/policies"
)

// Options of a demo. The zero value is that of `dpproxy demo`.
type Options struct {
	Check    bool   // run the queries, look at the answers, end: the exit status is the verdict
	Install  bool   // install PostgreSQL with the system's package manager if it is missing
	Console  string // address of the console; empty: 127.0.0.1:6480, or a free port if that is taken
	Listen   string // empty: the policy's address, or a free port on it if that is taken
	Patients int    // 0: Patients
	// Synthesize draws one table of the twin that setup has made, for an ε, and what it refers to. It is a parameter, as
	// its package is tested on this package's data.
	Synthesize func(ctx context.Context, p *policy.Policy, table string, epsilon float64) error
}

const (
	// analyst and password are those of policies/clinic.yaml.
	analyst  = "alice"
	password = "demo"
	// application is who is shown rows that are nobody's.
	application = "bob"
	database    = "clinic"
	// listenAddress is that of policies/clinic.yaml.
	listenAddress = "127.0.0.1:6432"
	// consoleAddress is the console's usual one.
	consoleAddress = "127.0.0.1:6480"
	// stopTime is how long sessions may go on after Ctrl-C.
	stopTime = 2 * time.Second
)

// Run starts everything, shows a few queries with their answers on out, and goes on until ctx ends. What happens on the
// way is written to progress. Nothing is left behind.
func Run(ctx context.Context, o Options, out, progress io.Writer) error {
	d := &demo{options: o, out: out, progress: progress}
	defer d.stop()
	for _, step := range []func(context.Context) error{
		d.startPostgres, d.load, d.writePolicy, d.synthesize, d.serve, d.show,
	} {
		if err := step(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C while starting
			}
			return err
		}
	}
	if o.Check {
		return d.check(ctx)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.proxy.Failed():
		return err
	}
}

type demo struct {
	options       Options
	out, progress io.Writer

	postgres *pgserver.Server
	policy   *policy.Policy
	proxy    *server.Server
	answers  []answer // to queries, and to preview
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.progress, "dpproxy: demo: "+format+"\n", args...)
}

func (d *demo) stop() {
	if d.proxy != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		_ = d.proxy.Shutdown(ctx) // late sessions are closed: the demo is over
		cancel()
	}
	if d.postgres != nil {
		d.postgres.Stop()
	}
}

func (d *demo) startPostgres(ctx context.Context) (err error) {
	o := pgserver.Options{Password: rand.Text(), Settings: map[string]string{"unix_socket_permissions": "0700"}}
	d.postgres, err = pgserver.Start(ctx, o)
	if errors.Is(err, pgserver.ErrNoServer) && d.options.Install {
		d.say("PostgreSQL is missing here, installing it")
		if err := pgserver.Install(ctx, d.progress); err != nil {
			return err
		}
		d.postgres, err = pgserver.Start(ctx, o)
	}
	if err == nil {
		d.say("a PostgreSQL of its own runs on port %d", d.postgres.Port)
	}
	return err
}

func (d *demo) load(ctx context.Context) error {
	started := time.Now()
	if err := d.sql(ctx, "postgres", "CREATE DATABASE "+database); err != nil {
		return err
	}
	if err := Load(ctx, d.postgres.DSN(database, pgserver.Superuser), d.options.Patients); err != nil {
		return err
	}
	d.say("patients, visits and laboratory results loaded in %.1f s", time.Since(started).Seconds())
	return nil
}

// writePolicy fills the clinic's policy in, and runs what `dpproxy setup` runs.
func (d *demo) writePolicy(ctx context.Context) (err error) {
	// In the server's folder, so that passwords and ledger go with it however this process ends.
	dir := filepath.Join(d.postgres.Folder(), "proxy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	role := func(db, role string) string {
		return strings.Replace(d.postgres.DSN(db, role), "@", ":"+rand.Text()+"@", 1)
	}
	listen := d.address(d.options.Listen, listenAddress)
	text := strings.NewReplacer(
		"${DPPROXY_MAIN_DSN}", role(database, "dpproxy_main"),
		"${DPPROXY_SHADOW_DSN}", role(database+"_shadow", "dpproxy_shadow"),
		"${DPPROXY_PUBLIC_DSN}", role(database, "dpproxy_public"),
		"${DPPROXY_ADMIN_DSN}", d.postgres.DSN(database, pgserver.Superuser),
		"ledger:", "# What drawing rows that are nobody's may spend.\nsynthetic: {epsilon: 3, delta: 1e-6}\n\nledger:",
		"  "+application+":\n", "  "+application+":\n    rows: synthetic\n",
		"listen: "+listenAddress, "listen: "+listen+"\nconsole: {listen: "+d.address(d.options.Console, consoleAddress)+"}",
	).Replace(policies.Clinic)
	file := filepath.Join(dir, "clinic.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if d.policy, err = policy.Load(file); err != nil {
		return err
	}
	if err := provision.Setup(ctx, d.policy, io.Discard); err != nil {
		return err
	}
	d.say("roles and shadow database made; the policy is %s", file)
	return nil
}

// synthesize draws the patients of the twin. All tables take a minute, and the demo is to be there sooner.
func (d *demo) synthesize(ctx context.Context) error {
	started := time.Now()
	if err := d.options.Synthesize(ctx, d.policy, "patients", 1); err != nil {
		return err
	}
	d.say("patients that are nobody's drawn in %.1f s; for all tables: dpproxy synthesize --policy %s --epsilon 2",
		time.Since(started).Seconds(), d.policy.File)
	return nil
}

// address chooses where to listen: as asked for, else as usual, else on a free port.
func (d *demo) address(asked, usual string) string {
	if asked != "" {
		return asked
	}
	l, err := net.Listen("tcp", usual)
	if err != nil {
		d.say("%s is taken, so a free port takes its place", usual)
		return "127.0.0.1:0"
	}
	_ = l.Close() // a listener without connections
	return usual
}

func (d *demo) serve(ctx context.Context) (err error) {
	log := slog.New(slog.NewTextHandler(d.progress, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d.proxy, err = server.Start(ctx, d.policy, log)
	return err
}
