package synthetic

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// public are the public tables of a policy. Their rows are read while they are written. With keep, those of a table
// that has rows stay.
func (p *plan) public(ctx context.Context, of *policy.Policy, b *backend.Backend, keep bool) []Rows {
	var list []Rows
	for _, t := range of.Tables {
		r := p.schema.Relations[t.Name]
		if r == nil || !t.Public {
			continue
		}
		rows := Rows{Table: t.Name, Public: true, Keep: keep}
		values := make([]string, len(r.Columns))
		for i, c := range r.Columns {
			rows.Columns = append(rows.Columns, c.Name)
			if values[i] = quoted(c.Name); !c.NotNull && p.refersToPrivate(r, c.Name) {
				values[i] = "NULL"
			}
		}
		rows.All = read(ctx, b, "SELECT "+strings.Join(values, ", ")+" FROM "+quoted(t.Name.Schema, t.Name.Relation))
		list = append(list, rows)
	}
	return list
}

// refersToPrivate reports whether a column refers to rows that the twin does not have.
func (p *plan) refersToPrivate(r *rewrite.Relation, column string) bool {
	return slices.ContainsFunc(r.Foreign, func(k rewrite.ForeignKey) bool {
		return k.Column == column && p.byName[k.References] != nil
	})
}

// mostKeys is how many keys of a public table rows refer to.
const mostKeys = "100000"

// readKeys reads what columns of the tables refer to in public ones.
func (p *plan) readKeys(ctx context.Context, b *backend.Backend) error {
	p.keys = map[policy.ColumnOf][][]byte{}
	for _, t := range p.tables {
		if t.relation == nil {
			continue
		}
		for _, c := range t.relation.Columns {
			key, ok := p.publicKey(t, c.Name)
			if !ok || p.keys[key] != nil {
				continue
			}
			column := quoted(key.Column)
			for row, err := range read(ctx, b, "SELECT "+column+" FROM "+quoted(key.Table.Schema, key.Table.Relation)+
				" WHERE "+column+" IS NOT NULL LIMIT "+mostKeys) {
				if err != nil {
					return err
				}
				p.keys[key] = append(p.keys[key], slices.Clone(row[0]))
			}
		}
	}
	return nil
}

// read asks the connection that reads public tables.
func read(ctx context.Context, b *backend.Backend, sql string) func(yield func([][]byte, error) bool) {
	return func(yield func([][]byte, error) bool) {
		rows, err := b.Copied(ctx, sql)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for {
			row, err := rows.Next()
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}
