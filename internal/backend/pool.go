package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

const (
	// connectTimeout bounds one attempt to connect, authentication included.
	connectTimeout = 10 * time.Second
	// lifetime after which a connection is replaced, so that a failover or a changed role reaches every pool in time.
	lifetime = time.Hour
	// cancelGrace is how long a backend may take to obey a cancel request before its connection is closed.
	cancelGrace = 10 * time.Second
	// maxMessage bounds one message of a backend, bytes: a row of that size would exhaust us, not it.
	maxMessage = 64 << 20
)

// pool is one database's connections.
type pool struct {
	name string // key in the policy's databases: main, shadow, public, synthetic
	pool *pgxpool.Pool
	wait time.Duration // for a free connection; 0 means no limit
	log  *slog.Logger
	seen *seen
}

func openPool(ctx context.Context, name, dsn string, limit int, wait time.Duration, log *slog.Logger) (*pool, error) {
	config, err := poolConfig(name, dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(min(max(limit, 1), math.MaxInt32))
	opened, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("databases.%s: %w", name, err)
	}
	if err := opened.Ping(ctx); err != nil {
		opened.Close()
		return nil, cannotConnect(name, config.ConnConfig, err)
	}
	return &pool{name: name, pool: opened, wait: wait, log: log, seen: newSeen()}, nil
}

func poolConfig(name, dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("databases.%s: %w", name, err)
	}
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = lifetime, lifetime/10
	config.HealthCheckPeriod = 30 * time.Second
	config.AfterConnect = remember
	prepareConnection(config.ConnConfig)
	return config, nil
}

func prepareConnection(c *pgx.ConnConfig) {
	c.ConnectTimeout = connectTimeout
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "dpproxy"
	}
	c.MaxProtocolMessageBodyLen = maxMessage
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // leaves no prepared statement behind
	c.BuildContextWatcherHandler = cancelRequests
}

// cancelRequests stops statements whose context ends. pgconn's default closes the connection; a cancel request keeps
// it.
func cancelRequests(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelGrace}
}

// Connect opens a connection of its own, outside the pools: for provisioning. name is its key in the policy's
// databases; database replaces the one that the DSN names, unless it is empty. What fails to connect is a
// *ConnectError.
func Connect(ctx context.Context, name, dsn, database string) (*pgx.Conn, error) {
	pool, err := poolConfig(name, dsn)
	if err != nil {
		return nil, err
	}
	config := pool.ConnConfig
	if database != "" {
		config.Database = database
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, cannotConnect(name, config, err)
	}
	return conn, nil
}

// ConnectError is a database that cannot be reached, and what to do about it, on one line. pgconn's own text names
// host, user and database and no password.
type ConnectError struct {
	Advice string
	name   string // key in the policy's databases
	config *pgx.ConnConfig
	err    error
}

func cannotConnect(name string, c *pgx.ConnConfig, err error) error {
	e := &ConnectError{name: name, config: c, err: err, Advice: "is the server running, and is the DSN right?"}
	var pgError *pgconn.PgError
	if errors.As(err, &pgError) {
		switch {
		case e.LacksPassword():
			e.Advice = "its DSN has no password, nor do PGPASSWORD and .pgpass: " + writePassword
		case pgError.Code == pgerr.InvalidPassword, pgError.Code == pgerr.InvalidAuthorization,
			pgError.Code == pgerr.InvalidCatalogName:
			e.Advice = "run dpproxy setup, which makes the roles and the shadow database that the DSNs name"
		}
	}
	return e
}

const writePassword = "write one into the DSN, best as ${NAME}, and run dpproxy setup, which gives it to the role"

func (e *ConnectError) Error() string {
	reason := strings.Join(strings.Fields(e.err.Error()), " ")
	var pgError *pgconn.PgError
	if errors.As(e.err, &pgError) {
		reason = pgError.Error() // without the attempts before it
	}
	return fmt.Sprintf("databases.%s: cannot connect to %s as %s: %s: %s", e.name, e.config.Database, e.config.User,
		reason, e.Advice)
}

func (e *ConnectError) Unwrap() error { return e.err }

// LacksPassword reports whether the server wanted a password and none was known.
func (e *ConnectError) LacksPassword() bool {
	var pgError *pgconn.PgError
	return errors.As(e.err, &pgError) && pgError.Code == pgerr.InvalidPassword && e.config.Password == ""
}

// acquire waits for a free connection. Its errors are for the client: 53300 after the wait, 57P03 when the database
// cannot be reached.
func (p *pool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	waiting := ctx
	if p.wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, p.wait)
		defer cancel()
	}
	conn, err := p.pool.Acquire(waiting)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case waiting.Err() != nil:
		return nil, pgerr.New(pgerr.TooManyConnections, "no connection to the "+p.name+" database became free in time",
			pgerr.Hint("Try again; if this happens often, tell the administrator: the policy's pool bounds connections."))
	}
	return nil, p.unreachable(err)
}
