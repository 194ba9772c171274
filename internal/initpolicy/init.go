package initpolicy

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/verifier"
)

// Print connects to a database and returns a policy for it.
func Print(ctx context.Context, dsn string, o Options) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	c, err := read(ctx, conn)
	if err != nil {
		return "", err
	}
	if len(c.tables) == 0 {
		return "", fmt.Errorf("database %s has no table that %s may see", config.Database, config.User)
	}
	p, err := newPlan(c, o)
	if err != nil {
		return "", err
	}
	d := &document{
		plan: p, Options: o, database: config.Database, main: address(config, config.Database),
		shadow: address(config, config.Database+"_shadow"),
	}
	if d.Verifier == "" {
		// A password that nobody knows keeps the file valid, and everybody out until it is replaced.
		if d.Verifier, err = verifier.New(rand.Text()); err != nil {
			return "", err
		}
	}
	printed := d.print()
	views, err := d.viewsOf(ctx, conn, printed)
	return printed + views, err
}

// address returns a DSN without user and password.
func address(config *pgx.ConnConfig, database string) string {
	if strings.HasPrefix(config.Host, "/") { // a Unix socket's folder
		return fmt.Sprintf("postgres:///%s?host=%s&port=%d", url.PathEscape(database), url.QueryEscape(config.Host),
			config.Port)
	}
	host := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	return (&url.URL{Scheme: "postgres", Host: host, Path: "/" + database}).String()
}
