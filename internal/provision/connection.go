package provision

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// connection asks one database of the policy for its catalogs.
type connection struct {
	name string // key in the policy's databases: main, shadow, public
	conn *pgx.Conn
}

// each runs a query over catalogs and calls scan for every row.
func (c *connection) each(ctx context.Context, sql string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("databases.%s: %w", c.name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("databases.%s: %w", c.name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("databases.%s: %w", c.name, err)
	}
	return nil
}

// strings runs a query over catalogs that returns one column of text.
func (c *connection) strings(ctx context.Context, sql string, args ...any) ([]string, error) {
	var all []string
	err := c.each(ctx, sql, func(rows pgx.Rows) error {
		var s string
		err := rows.Scan(&s)
		all = append(all, s)
		return err
	}, args...)
	return all, err
}

// split makes two lists of names, as one query for all of them takes them.
func split(names []policy.Name) (schemas, relations []string) {
	for _, n := range names {
		schemas, relations = append(schemas, n.Schema), append(relations, n.Relation)
	}
	return schemas, relations
}
