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
	conn, c, err := open(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	config := conn.Config()
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

// open connects to a database and reads its schema.
func open(ctx context.Context, dsn string) (*pgx.Conn, *catalog, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	c, err := read(ctx, conn)
	if err == nil && len(c.tables) == 0 {
		err = fmt.Errorf("database %s has no table that %s may see", conn.Config().Database, conn.Config().User)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, nil, err
	}
	return conn, c, nil
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
