package provision

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// declared are the values of a column, as the policy or a public table lists them.
type declared struct {
	path   string
	column *rewrite.RelationColumn
	values []string
}

// checkDomains has the shadow read every value of a domain as its column's type: the policy's checks know no types.
// Columns of one type are one question. Nothing but the policy is looked at.
func (c *liveCheck) checkDomains(ctx context.Context) error {
	var types []string
	of := map[string][]declared{}
	for _, t := range c.policy.Tables {
		for _, listed := range t.Columns {
			if listed.ValuesFrom == nil && listed.Values == nil {
				continue
			}
			column := c.schema.Relations[t.Name].Column(listed.Name)
			if column == nil {
				continue
			}
			path := fmt.Sprintf("tables.%s.columns.%s", t.Name, listed.Name)
			d, err := c.declared(ctx, path, listed, column)
			if err != nil {
				return err
			}
			if name := column.TypeName + introspect.Collate(column); d != nil {
				if of[name] == nil {
					types = append(types, name)
				}
				of[name] = append(of[name], *d)
			}
		}
	}
	for _, name := range types {
		if err := c.checkValues(ctx, of[name]); err != nil {
			return err
		}
	}
	return nil
}

// declared finds the values of a domain, which have to be different in the column: a row would else belong to the
// groups of several. nil: there is nothing to ask the shadow.
func (c *liveCheck) declared(ctx context.Context, path string, listed *policy.Column, column *rewrite.RelationColumn) (
	*declared, error,
) {
	from, key := listed.ValuesFrom, "values"
	if from != nil {
		key = "values_from"
	}
	path += "." + key
	if !c.schema.Equality(column).Deterministic {
		c.found.problem(
			"%s: the column's collation %s is not deterministic, so one row may equal several values: give the column a deterministic collation, or leave %s out", path, column.Collation, key)
		return nil, nil
	}
	if from == nil {
		return &declared{path, column, listed.Values}, nil
	}
	source := publicColumn(c.schema, *from)
	if source == nil {
		c.found.problem("%s: %s.%s is no column of a public table in the policy", path, from.Table, from.Column)
		return nil, nil
	}
	values, err := c.backend.Distinct(ctx, *from, source.Type, backend.Settings{})
	if err != nil {
		return nil, err
	}
	if len(values) > rewrite.MostListed {
		c.found.problem("%s: %s.%s has more than %d different values: group by a coarser column, or leave %s out", path,
			from.Table, from.Column, rewrite.MostListed, key)
		return nil, nil
	}
	if c.schema.Equality(column).Same(c.schema.Equality(source)) {
		return nil, nil // what is distinct there is distinct here
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return &declared{path, column, texts}, nil
}

// checkValues has the shadow read the values of columns of one type, and compare those of each. Where it objects, each
// is asked by itself.
func (c *liveCheck) checkValues(ctx context.Context, list []declared) error {
	var numbers []int32
	var values []string
	for i, d := range list {
		for _, v := range d.values {
			numbers, values = append(numbers, int32(i)), append(values, v)
		}
	}
	ofColumns, err := pgtype.NewMap().Encode(pgtype.Int4ArrayOID, pgtype.TextFormatCode, numbers, nil)
	if err != nil {
		return err
	}
	texts, err := pgtype.NewMap().Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, values, nil)
	if err != nil {
		return err
	}
	rows, err := c.backend.Shadow(ctx, backend.Request{
		SQL:        equalValuesSQL(list[0].column),
		Parameters: [][]byte{ofColumns, texts}, Types: []uint32{pgtype.Int4ArrayOID, pgtype.TextArrayOID},
	})
	if err == nil {
		err = rows.Each(func(row [][]byte) {
			if i, malformed := strconv.Atoi(string(row[0])); malformed == nil {
				c.found.problem("%s: %q and %q are equal as %s: keep one of them", list[i].path, row[1], row[2],
					list[i].column.TypeName)
			}
		})
	}
	if err == nil || len(list) == 1 {
		return c.found.objection(list[0].path, err)
	}
	for i := range list {
		if err := c.checkValues(ctx, list[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// publicColumn finds a column of a public table; nil when there is none in the policy.
func publicColumn(s *rewrite.Schema, c policy.ColumnOf) *rewrite.RelationColumn {
	t := s.Policy.Table(c.Table)
	if t == nil || !t.Public {
		return nil
	}
	return s.Relations[c.Table].Column(c.Column)
}

// equalValuesSQL finds pairs of values ($2) of a column ($1) that are one value in it.
func equalValuesSQL(c *rewrite.RelationColumn) string {
	return "WITH list AS MATERIALIZED (SELECT u.c, u.v, u.at, CAST(u.v AS " + c.TypeName + ")" + introspect.Collate(c) +
		" AS x\n" +
		"FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY u(c, v, at))\n" +
		"SELECT a.c, a.v, b.v FROM list a JOIN list b ON a.c = b.c AND a.x = b.x AND a.at < b.at ORDER BY a.at, b.at"
}

// objection makes a problem of what PostgreSQL says against values of the policy. Any other error stays one.
func (f *Findings) objection(path string, err error) error {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && e.Code[:2] == dataException:
		f.problem("%s: %s", path, e.Message)
		return nil
	case errors.As(err, &e) && (e.Code == cannotCoerce || e.Code == undefinedFunction):
		f.problem("%s: a column of this type takes no such key", path)
		return nil
	}
	return err
}

// SQLSTATEs that a check of a literal may end in.
const (
	dataException     = "22"
	cannotCoerce      = "42846"
	undefinedFunction = "42883"
)
