package provision

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// unreadableSQL: columns of tables $1, $2 that the connection's role may not select.
const unreadableSQL = `SELECT w.schema, w.relation, a.attname
  FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) WITH ORDINALITY w(schema, relation, at)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relation
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE NOT (pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT'))
  ORDER BY w.at, a.attnum`

// checkReadable makes sure that public can read the columns of its tables. What main can read is part of its schema.
func (c *liveCheck) checkReadable(ctx context.Context) error {
	var names []policy.Name
	listed := map[policy.Name]*policy.Table{}
	for _, t := range c.policy.Tables {
		if t.Public {
			names, listed[t.Name] = append(names, t.Name), t
		}
	}
	if len(names) == 0 {
		return nil
	}
	schemas, relations := split(names)
	missing := map[policy.Name][]string{}
	err := c.public.each(ctx, unreadableSQL, func(rows pgx.Rows) error {
		var name policy.Name
		var column string
		err := rows.Scan(&name.Schema, &name.Relation, &column)
		if t := listed[name]; err == nil && (t.Columns == nil || t.Column(column) != nil) {
			missing[name] = append(missing[name], identifier(column))
		}
		return err
	}, schemas, relations)
	if err != nil {
		return err
	}
	for _, name := range names {
		if columns := missing[name]; len(columns) > 0 {
			c.found.problem("databases.public: its role may not read %s (%s): run dpproxy setup, or GRANT SELECT",
				identifier(name.Schema, name.Relation), strings.Join(columns, ", "))
		}
	}
	return nil
}
