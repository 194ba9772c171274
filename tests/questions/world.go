package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/internal/synthetic"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

const password = "questions"

// world is a throw-away PostgreSQL with data and a proxy in front of it.
type world struct {
	postgres *pgserver.Server
	proxy    *server.Server
	direct   *pgx.Conn // the superuser's, to PostgreSQL itself
	proxied  *pgx.Conn // an analyst's, through the proxy, who is refused rows

	// The same analyst's: one who tries everything on the twin, and one who asks the data, and the twin for rows.
	trying, shown *pgx.Conn
}

func start(ctx context.Context, name string) (_ *world, err error) {
	w := &world{}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	if w.postgres, err = pgserver.Start(ctx, pgserver.Options{Settings: map[string]string{"jit": "off", "fsync": "off"}}); err != nil {
		return nil, err
	}
	if err := w.load(ctx, name); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	rules, err := w.policy(name)
	if err != nil {
		return nil, err
	}
	if err := provision.Setup(ctx, rules, io.Discard); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := synthesize(ctx, rules, log); err != nil {
		return nil, fmt.Errorf("synthesize: %w", err)
	}
	if w.proxy, err = server.Start(ctx, rules, log); err != nil {
		return nil, err
	}
	for setting, conn := range map[string]**pgx.Conn{
		"rows%3Drefuse": &w.proxied, "source%3Dsynthetic": &w.trying, "rows%3Dsynthetic": &w.shown,
	} {
		if *conn, err = pgx.Connect(ctx, fmt.Sprintf("postgres://analyst:%s@%s/%s?sslmode=disable&options=-c%%20dpproxy.%s",
			password, w.proxy.Addr(), name, setting)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// synthesize fills the twin.
func synthesize(ctx context.Context, rules *policy.Policy, log *slog.Logger) error {
	l, err := admin.OpenAccount(ctx, rules.Ledger, policy.SyntheticAccount, ledger.ConfigOf(rules))
	if err != nil {
		return err
	}
	defer l.Close()
	_, err = synthetic.Run(ctx, rules, l, synthetic.Options{Budget: *rules.Synthetic, Seed: 1},
		synthetic.Database{DSN: rules.Databases.Synthesize}, log)
	return err
}

// load makes the database, and connects to it.
func (w *world) load(ctx context.Context, name string) error {
	admin, err := pgx.Connect(ctx, w.postgres.DSN("postgres", pgserver.Superuser))
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	schema, err := files.ReadFile(path.Join(name, "schema.sql"))
	if err != nil {
		return err
	}
	if w.direct, err = pgx.Connect(ctx, w.postgres.DSN(name, pgserver.Superuser)); err != nil {
		return err
	}
	if _, err := w.direct.PgConn().Exec(ctx, string(schema)).ReadAll(); err != nil {
		return err
	}
	_, err = w.direct.Exec(ctx, "ANALYZE")
	return err
}

// policy writes the world's policy where the proxy reads it from.
func (w *world) policy(name string) (*policy.Policy, error) {
	text, err := files.ReadFile(path.Join(name, "policy.yaml"))
	if err != nil {
		return nil, err
	}
	secret, err := verifier.New(password)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(w.postgres.Folder(), "policy.yaml")
	full := strings.NewReplacer("@VERIFIER@", secret,
		"${QUESTIONS_MAIN}", w.postgres.DSN(name, "questions_main"), "${QUESTIONS_SHADOW}",
		w.postgres.DSN(name+"_shadow", "questions_shadow"),
		"${QUESTIONS_PUBLIC}", w.postgres.DSN(name, "questions_public"), "${QUESTIONS_ADMIN}",
		w.postgres.DSN(name, pgserver.Superuser)).Replace(string(text))
	if err := os.WriteFile(file, []byte(full), 0o600); err != nil {
		return nil, err
	}
	return policy.Load(file)
}

func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, conn := range []*pgx.Conn{w.proxied, w.trying, w.shown, w.direct} {
		if conn != nil {
			_ = conn.Close(ctx)
		}
	}
	if w.proxy != nil {
		_ = w.proxy.Shutdown(ctx)
	}
	if w.postgres != nil {
		w.postgres.Stop()
	}
}
