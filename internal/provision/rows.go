package provision

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// maybeRowsSQL: numbers, from 1, of those of the relations $1, $2 of a shadow that may have rows: tables with a page,
// and whatever is no plain table by itself.
const maybeRowsSQL = `SELECT w.at FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY w(schema, relation, at)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relation
  WHERE c.relkind <> 'r' OR c.relhassubclass OR pg_catalog.pg_relation_size(c.oid) > 0
  ORDER BY w.at`

// rowsAmong returns those of a shadow's relations that have rows.
func rowsAmong(ctx context.Context, conn *pgx.Conn, names []policy.Name) (found []policy.Name, err error) {
	schemas, relations := split(names)
	maybe, err := numbers(ctx, conn, maybeRowsSQL, schemas, relations)
	if err != nil || len(maybe) == 0 {
		return nil, err
	}
	asked := make([]string, len(maybe))
	for i, n := range maybe {
		asked[i] = fmt.Sprintf("SELECT %d::bigint WHERE EXISTS (SELECT FROM %s)", n,
			identifier(names[n-1].Schema, names[n-1].Relation))
	}
	have, err := numbers(ctx, conn, strings.Join(asked, " UNION ALL "))
	for _, n := range have {
		found = append(found, names[n-1])
	}
	return found, err
}

func numbers(ctx context.Context, conn *pgx.Conn, sql string, args ...any) ([]int64, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
