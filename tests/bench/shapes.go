package main

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/tests/redteam/relay"
)

// Queries as an analyst writes them, and for each what somebody would write by hand who measures it as dpproxy does:
// the same integers of the same groups, clamped row by row, bounded unit by unit, and safe from overflow. Columns are
// those of the measure query.
//
//go:embed tpch/queries/*.sql tpch/hand/*.sql
var queries embed.FS

// shape is one query of the list.
type shape struct {
	name  string
	sql   string // the analyst's
	plain string // what it is held against: itself, or the query over the plain tables
	hand  string // empty: nobody has written one
}

// shapes reads the list.
func shapes() ([]shape, error) {
	files, err := queries.ReadDir("tpch/queries")
	if err != nil {
		return nil, err
	}
	list := make([]shape, len(files))
	for i, file := range files {
		s := shape{name: strings.TrimSuffix(file.Name(), ".sql")}
		if s.sql, err = shapeText("queries", s.name); err != nil {
			return nil, err
		}
		s.plain = s.sql
		if original, stored := strings.CutSuffix(s.name, "_stored"); stored {
			if s.plain, err = shapeText("queries", original); err != nil {
				return nil, err
			}
		}
		if s.hand, err = shapeText("hand", s.name); err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

func shapeText(folder, name string) (string, error) {
	text, err := queries.ReadFile(path.Join("tpch", folder, name+".sql"))
	return string(text), err
}

// measureOf has the proxy answer a statement, and gives the measure query that it asked main.
func (h *harness) measureOf(ctx context.Context, proxied *pgx.Conn, sql string) (relay.Query, error) {
	if _, err := h.relay.Take(); err != nil {
		return relay.Query{}, err
	}
	_, failed := repeat(ctx, proxied, sql, 1) // as where a released number is 0, and divides
	asked, err := h.relay.Take()
	if err != nil {
		return relay.Query{}, err
	}
	// What is checked before the charge comes first; the transaction that measures ends with the measure query.
	for i := len(asked) - 1; i > 0; i-- {
		if asked[i].SQL == "COMMIT" {
			return asked[i-1], nil
		}
	}
	return relay.Query{}, fmt.Errorf("main was not asked: %w", failed)
}

// again runs a query that was recorded.
func again(ctx context.Context, conn *pgx.Conn, q relay.Query) *pgconn.Result {
	return conn.PgConn().ExecParams(ctx, q.SQL, q.Values, q.Types, q.Formats, nil).Read()
}
