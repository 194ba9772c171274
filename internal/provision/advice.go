package provision

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// adviseUnits names unit columns of one kind that statements cannot join: rewrite refuses such joins.
func adviseUnits(s *rewrite.Schema, f *Findings) {
	first := map[string]*policy.Table{}
	for _, t := range s.Policy.Tables {
		if t.Unit == nil || t.Unit.Via != nil {
			continue
		}
		other := first[t.Unit.Name]
		if other == nil {
			first[t.Unit.Name] = t
			continue
		}
		a, b := s.Relations[other.Name].Column(other.Unit.Column), s.Relations[t.Name].Column(t.Unit.Column)
		if !s.Equality(a).Same(s.Equality(b)) {
			f.advise(
				"tables.%s.privacy_unit.column: %s is %s and %s.%s is %s: joins of the two tables are refused until both columns have one type and collation",
				t.Name, t.Unit.Column, introspect.Typed(s, t.Name, t.Unit.Column), other.Name, other.Unit.Column,
				introspect.Typed(s, other.Name, other.Unit.Column))
		}
	}
}

// adviseIndexes names indexes that make measures cheaper, or prove what the policy declares.
func (c *liveCheck) adviseIndexes(ctx context.Context) error {
	indexed, err := c.indexed(ctx)
	if err != nil {
		return err
	}
	for _, t := range c.policy.Tables {
		r := c.schema.Relations[t.Name]
		if t.Unit == nil || r == nil {
			continue
		}
		if r.Kind == 'f' {
			c.found.advise(
				"tables.%s is a foreign table: main knows neither indexes nor row-level security of the server that holds its rows; make sure that main's role is mapped to one that reads all of them", t.Name)
			continue
		}
		column := t.Unit.Column
		if t.Unit.Via != nil {
			column = t.Unit.Via.Column
		}
		if t.MaxRowsPerUnit == 1 && t.Unit.Via == nil && !provesOne(r, column) {
			c.found.advise(
				"tables.%s: max_rows_per_unit is 1, but no unique index on %s proves it, so every query groups by it: CREATE UNIQUE INDEX ON %s (%s)",
				t.Name, column, identifier(t.Name.Schema, t.Name.Relation), identifier(column))
			continue
		}
		if !indexed[policy.ColumnOf{Table: t.Name, Column: column}] {
			c.found.advise("tables.%s: no index begins with %s, by which joins reach the privacy unit: CREATE INDEX ON %s (%s)",
				t.Name, column, identifier(t.Name.Schema, t.Name.Relation), identifier(column))
		}
	}
	return nil
}

func provesOne(r *rewrite.Relation, column string) bool {
	for _, u := range r.Unique {
		if len(u) == 1 && u[0] == column {
			return true
		}
	}
	return false
}

// indexedSQL: columns with which an index of a table begins, of tables $1, $2.
const indexedSQL = `SELECT DISTINCT w.schema, w.relation, a.attname
  FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) w(schema, relation)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relation
  JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisvalid
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]`

// indexed finds out with which columns indexes of main's tables begin.
func (c *liveCheck) indexed(ctx context.Context) (map[policy.ColumnOf]bool, error) {
	found := map[policy.ColumnOf]bool{}
	schemas, relations := split(introspect.RelationNames(c.policy))
	err := c.main.each(ctx, indexedSQL, func(rows pgx.Rows) error {
		var column policy.ColumnOf
		err := rows.Scan(&column.Table.Schema, &column.Table.Relation, &column.Column)
		found[column] = true
		return err
	}, schemas, relations)
	return found, err
}
