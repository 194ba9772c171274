package provision

import (
	"context"
	_ "embed"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

//go:embed sql/commented.sql
var commentedSQL string

// adviseComments names what main's comments say of the policy's tables and columns and the policy says differently, or
// not. The policy counts.
func (c *liveCheck) adviseComments(ctx context.Context) error {
	return c.main.each(ctx, commentedSQL, func(rows pgx.Rows) error {
		var name policy.Name
		var column, comment string
		if err := rows.Scan(&name.Schema, &name.Relation, &column, &comment); err != nil {
			return err
		}
		t := c.policy.Table(name)
		if t == nil || t.Public {
			return nil
		}
		if column == "" {
			c.compareTable(t, comment)
		} else if own := t.Column(column); own != nil {
			c.compareColumn(t, own, comment)
		}
		return nil
	})
}

func (c *liveCheck) compareTable(t *policy.Table, comment string) {
	text, said, err := policy.TableComment(comment)
	if err != nil {
		c.found.advise("tables.%s: main's comment cannot be read: %s", t.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	unit := said.Unit != nil && (said.Unit.Name != t.Unit.Name || said.Unit.Column != t.Unit.Column)
	rows := said.MaxRowsPerUnit != 0 && said.MaxRowsPerUnit != t.MaxRowsPerUnit
	if unit || rows || said.MaxRows != 0 && said.MaxRows != t.MaxRows {
		c.found.advise("tables.%s: main's comment says %s, and the policy does not", t.Name, text)
	}
}

// compareColumn compares the keys that the comment has.
func (c *liveCheck) compareColumn(t *policy.Table, own *policy.Column, comment string) {
	text, said, err := policy.ColumnComment(comment)
	if err != nil {
		c.found.advise("tables.%s.columns.%s: main's comment cannot be read: %s", t.Name, own.Name,
			strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	differs := func(said, own any) bool {
		return !reflect.ValueOf(said).IsNil() && !reflect.DeepEqual(said, own)
	}
	if differs(said.Bounds, own.Bounds) || differs(said.Values, own.Values) || differs(said.Valid, own.Valid) ||
		differs(said.PerUnit, own.PerUnit) || differs(said.Grid, own.Grid) ||
		differs(said.MaxRowsPerGroup, own.MaxRowsPerGroup) {
		c.found.advise("tables.%s.columns.%s: main's comment says %s, and the policy does not", t.Name, own.Name, text)
	}
}
