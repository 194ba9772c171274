package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkDomains has the shadow read every value of a domain as its column's type: the policy's checks know no types.
// Nothing but the policy is looked at.
func (c *liveCheck) checkDomains(ctx context.Context) error {
	for _, t := range c.policy.Tables {
		for _, listed := range t.Columns {
			column := c.schema.Relations[t.Name].Column(listed.Name)
			if column == nil {
				continue
			}
			path := fmt.Sprintf("tables.%s.columns.%s", t.Name, listed.Name)
			if err := c.checkDomain(ctx, path, listed, column); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDomain makes sure that the values of a domain are different in the column: a row would else belong to the groups of
// several.
func (c *liveCheck) checkDomain(ctx context.Context, path string, listed *policy.Column, column *rewrite.RelationColumn) error {
	from, key := listed.ValuesFrom, "values"
	if from != nil {
		key = "values_from"
	} else if listed.Values == nil {
		return nil
	}
	path += "." + key
	if !c.schema.Equality(column).Deterministic {
		c.found.problem("%s: the column's collation %s is not deterministic, so one row may equal several values: give the column a deterministic collation, or leave %s out", path, column.Collation, key)
		return nil
	}
	if from == nil {
		return c.checkValues(ctx, path, column, listed.Values)
	}
	source := publicColumn(c.schema, *from)
	if source == nil {
		c.found.problem("%s: %s.%s is no column of a public table in the policy", path, from.Table, from.Column)
		return nil
	}
	values, err := c.backend.Distinct(ctx, *from, source.Type, backend.Settings{})
	if err != nil {
		return err
	}
	if len(values) > rewrite.MostListed {
		c.found.problem("%s: %s.%s has more than %d different values: group by a coarser column, or leave %s out", path, from.Table, from.Column, rewrite.MostListed, key)
		return nil
	}
	if c.schema.Equality(column).Same(c.schema.Equality(source)) {
		return nil // what is distinct there is distinct here
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return c.checkValues(ctx, path, column, texts)
}

// checkValues has the shadow read every value as the column's type, and compare them.
func (c *liveCheck) checkValues(ctx context.Context, path string, column *rewrite.RelationColumn, values []string) error {
	for _, v := range values {
		if ok, err := c.literal(ctx, path, column.TypeName, v); !ok || err != nil {
			return err
		}
	}
	list, err := pgtype.NewMap().Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, values, nil)
	if err != nil {
		return err
	}
	rows, err := c.backend.Shadow(ctx, backend.Request{SQL: equalValuesSQL(column), Parameters: [][]byte{list}, Types: []uint32{pgtype.TextArrayOID}})
	if err == nil {
		err = rows.Each(func(row [][]byte) {
			c.found.problem("%s: %q and %q are equal as %s: keep one of them", path, row[0], row[1], column.TypeName)
		})
	}
	_, err = c.found.objection(path, err)
	return err
}

// publicColumn finds a column of a public table; nil when there is none in the policy.
func publicColumn(s *rewrite.Schema, c policy.ColumnOf) *rewrite.RelationColumn {
	t := s.Policy.Table(c.Table)
	if t == nil || !t.Public {
		return nil
	}
	return s.Relations[c.Table].Column(c.Column)
}

// equalValuesSQL finds pairs in a list of texts that are one value of the column.
func equalValuesSQL(c *rewrite.RelationColumn) string {
	const list = "pg_catalog.unnest($1) WITH ORDINALITY"
	value := func(alias string) string {
		return "CAST(" + alias + ".v AS " + c.TypeName + ")" + introspect.Collate(c)
	}
	return "SELECT x.v, y.v FROM " + list + " x(v, at) JOIN " + list + " y(v, at) ON x.at < y.at AND " + value("x") + " = " + value("y") + " ORDER BY x.at, y.at"
}

// literal has the shadow read a value as a type; PostgreSQL's objection becomes a problem.
func (c *liveCheck) literal(ctx context.Context, path, typeName, value string) (bool, error) {
	rows, err := c.backend.Shadow(ctx, backend.Request{SQL: "SELECT CAST($1 AS " + typeName + ")", Parameters: [][]byte{[]byte(value)}, Types: []uint32{pgtype.TextOID}})
	if err == nil {
		err = rows.Each(func([][]byte) {})
	}
	return c.found.objection(path, err)
}

// objection makes a problem of what PostgreSQL says against values of the policy. Any other error stays one.
func (f *Findings) objection(path string, err error) (ok bool, _ error) {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &e) && e.Code[:2] == dataException:
		f.problem("%s: %s", path, e.Message)
		return false, nil
	case errors.As(err, &e) && (e.Code == cannotCoerce || e.Code == undefinedFunction):
		f.problem("%s: a column of this type takes no such key", path)
		return false, nil
	}
	return false, err
}

// SQLSTATEs that a check of a literal may end in.
const (
	dataException     = "22"
	cannotCoerce      = "42846"
	undefinedFunction = "42883"
)
