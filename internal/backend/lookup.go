package backend

import (
	"context"
	"errors"
	"io"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Distinct returns the distinct non-NULL values of a public column as text, ordered by the column (PRIVACY.md 12).
func (b *Backend) Distinct(ctx context.Context, c policy.ColumnOf, s Settings) ([]string, error) {
	column, table := identifier(c.Column), identifier(c.Table.Schema, c.Table.Relation)
	rows, err := b.Public(ctx, Request{
		SQL:      "SELECT k::text FROM (SELECT DISTINCT " + column + " AS k FROM " + table + " WHERE " + column + " IS NOT NULL) d ORDER BY k",
		Settings: s,
	})
	if err != nil {
		return nil, err
	}
	var values []string
	err = rows.each(func(row [][]byte) { values = append(values, string(row[0])) })
	return values, err
}

// Text runs a query on the shadow with its parameters in text form and returns all its rows as text; nil is NULL.
func (b *Backend) Text(ctx context.Context, q rewrite.SQL, s Settings) ([][]*string, error) {
	r := Request{SQL: q.Text, Settings: s, Parameters: make([][]byte, len(q.Parameters)), Types: make([]uint32, len(q.Parameters))}
	for i, p := range q.Parameters {
		r.Types[i] = p.Type
		if p.Value != nil {
			r.Parameters[i] = []byte(*p.Value)
		}
	}
	rows, err := b.Shadow(ctx, r)
	if err != nil {
		return nil, err
	}
	var all [][]*string
	err = rows.each(func(row [][]byte) {
		texts := make([]*string, len(row))
		for i, v := range row {
			if v != nil {
				s := string(v)
				texts[i] = &s
			}
		}
		all = append(all, texts)
	})
	return all, err
}

// each reads all rows.
func (r *Rows) each(f func([][]byte)) error {
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f(row)
	}
}
