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

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

const password = "questions"

// world is a throw-away PostgreSQL with data and a proxy in front of it.
type world struct {
	postgres *pgserver.Server
	proxy    *server.Server
	direct   *pgx.Conn // the superuser's, to PostgreSQL itself
	proxied  *pgx.Conn // an analyst's, through the proxy
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
	if w.proxy, err = server.Start(ctx, rules, log); err != nil {
		return nil, err
	}
	w.proxied, err = pgx.Connect(ctx, fmt.Sprintf("postgres://analyst:%s@%s/%s?sslmode=disable", password, w.proxy.Addr(),
		name))
	return w, err
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
	for _, conn := range []*pgx.Conn{w.proxied, w.direct} {
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
