package saved

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// connections is how many a proxy opens for saved questions.
const connections = 2

// table is dpproxy_ledger.question, which the setup of a shared ledger makes.
type table struct{ pool *pgxpool.Pool }

func openTable(ctx context.Context, dsn string) (lists, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	config.ConnConfig.RuntimeParams["application_name"] = "dpproxy saved questions"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return table{pool}, nil
}

func (t table) get(ctx context.Context, o Owner) (text []byte, err error) {
	err = t.pool.QueryRow(ctx, "SELECT list FROM dpproxy_ledger.question WHERE database = $1 AND analyst = $2", o.Database,
		o.Analyst).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return text, missing(err)
}

func (t table) swap(ctx context.Context, o Owner, old, fresh []byte) (bool, error) {
	done, err := t.pool.Exec(ctx, `INSERT INTO dpproxy_ledger.question AS q VALUES ($1, $2, $3)
		ON CONFLICT (database, analyst) DO UPDATE SET list = excluded.list WHERE q.list = $4`, o.Database, o.Analyst,
		fresh, old)
	return done.RowsAffected() == 1, missing(err)
}

// missing says what to do where the ledger was set up by an earlier version.
func missing(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "42P01" {
		return pgerr.New(pgerr.ObjectNotInState, "questions cannot be saved here yet",
			pgerr.Hint("The administrator runs dpproxy setup once more: the ledger's schema has a table for them."))
	}
	return err
}

func (t table) close() error {
	t.pool.Close()
	return nil
}
