package provision

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// unreadableSQL: columns of a table ($1, $2) that the connection's role may not select; of $3 only, unless it is NULL.
const unreadableSQL = `SELECT a.attname::text FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped AND ($3::text[] IS NULL OR a.attname = ANY ($3::text[]))
    AND NOT (pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
  ORDER BY a.attnum`

// checkReadable makes sure that public can read the columns of its tables. What main can read is part of its schema.
func (c *liveCheck) checkReadable(ctx context.Context) error {
	for _, t := range c.policy.Tables {
		if !t.Public {
			continue
		}
		if err := c.public.checkReadable(ctx, t, c.found); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) checkReadable(ctx context.Context, t *policy.Table, f *Findings) error {
	var listed []string
	for _, column := range t.Columns {
		listed = append(listed, column.Name)
	}
	var missing []string
	err := c.each(ctx, unreadableSQL, func(rows pgx.Rows) error {
		var name string
		err := rows.Scan(&name)
		missing = append(missing, identifier(name))
		return err
	}, t.Name.Schema, t.Name.Relation, listed)
	if err != nil || len(missing) == 0 {
		return err
	}
	f.problem("databases.%s: its role may not read %s (%s): run dpproxy setup, or GRANT SELECT", c.name, identifier(t.Name.Schema, t.Name.Relation), strings.Join(missing, ", "))
	return nil
}
