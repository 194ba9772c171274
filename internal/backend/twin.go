package backend

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Synthetic runs a statement on the synthetic twin, as Public does on public tables.
func (b *Backend) Synthetic(ctx context.Context, r Request) (*Rows, error) {
	if b.twin == nil {
		return nil, b.policy.MissingDSN("synthetic")
	}
	return b.twin.read(ctx, r, b.pins(reading, r.Settings))
}

// Copied reads public tables for the twin. The statement is dpproxy's own, so it may take as long as it takes.
func (b *Backend) Copied(ctx context.Context, sql string) (*Rows, error) {
	if b.public == nil {
		return nil, b.policy.MissingDSN("public")
	}
	return b.public.rows(ctx, Request{SQL: sql}, b.pins(measuring, Settings{}))
}

// Drawn reports whether the twin has a row of any private table: it has none before they are drawn.
func (b *Backend) Drawn(ctx context.Context) (drawn bool, err error) {
	parts := []string{"false"}
	for _, t := range b.policy.Tables {
		if !t.Public {
			parts = append(parts, "EXISTS (SELECT FROM "+pgx.Identifier{t.Name.Schema, t.Name.Relation}.Sanitize()+")")
		}
	}
	rows, err := b.Synthetic(ctx, Request{SQL: "SELECT " + strings.Join(parts, " OR "), Repeats: true})
	if err != nil {
		return false, err
	}
	err = rows.Each(func(row [][]byte) { drawn = string(row[0]) == "t" })
	return drawn, err
}
