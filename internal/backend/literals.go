package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkLiterals has the shadow read every value of a domain as its column's type: the policy's own checks know no types.
// Nothing but the policy is looked at.
func (b *Backend) checkLiterals(ctx context.Context, s *rewrite.Schema, f *Findings) error {
	for _, t := range b.policy.Tables {
		for _, c := range t.Columns {
			column := s.Relations[t.Name].Column(c.Name)
			if column == nil {
				continue
			}
			path := fmt.Sprintf("tables.%s.columns.%s", t.Name, c.Name)
			if err := b.checkDomain(ctx, s, f, path, c, column); err != nil {
				return err
			}
		}
	}
	return nil
}

// literal has the shadow read a value as a type; PostgreSQL's objection becomes a problem.
func (b *Backend) literal(ctx context.Context, f *Findings, path, typeName, value string) (bool, error) {
	rows, err := b.Shadow(ctx, Request{SQL: "SELECT CAST($1 AS " + typeName + ")", Parameters: [][]byte{[]byte(value)}, Types: []uint32{textOID}})
	if err == nil {
		err = rows.each(func([][]byte) {})
	}
	return f.objection(path, err)
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
