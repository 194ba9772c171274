package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkLiterals has the shadow read every bound and value of the policy as its column's type: the policy's own checks
// know no types. Nothing but the policy is looked at.
func (b *Backend) checkLiterals(ctx context.Context, s *rewrite.Schema, f *Findings) error {
	for _, t := range b.policy.Tables {
		for _, c := range t.Columns {
			column := s.Relations[t.Name].Column(c.Name)
			if column == nil {
				continue
			}
			path := fmt.Sprintf("tables.%s.columns.%s", t.Name, c.Name)
			for _, r := range ranges(c) {
				if err := b.checkRange(ctx, f, path+r.key, column.TypeName, r.bounds); err != nil {
					return err
				}
			}
			if err := b.checkDomain(ctx, s, f, path, c, column); err != nil {
				return err
			}
		}
	}
	return nil
}

type keyedBounds struct {
	key    string
	bounds policy.Bounds
}

func ranges(c *policy.Column) []keyedBounds {
	var all []keyedBounds
	if c.Bounds != nil {
		all = append(all, keyedBounds{".bounds", *c.Bounds})
	}
	for _, v := range c.Valid {
		all = append(all, keyedBounds{".valid", v})
	}
	return all
}

func (b *Backend) checkRange(ctx context.Context, f *Findings, path, typeName string, bounds policy.Bounds) error {
	for _, end := range []string{bounds.Lo, bounds.Hi} {
		if ok, err := b.literal(ctx, f, path, "SELECT CAST($1 AS "+bare(typeName)+")", end); !ok || err != nil {
			return err
		}
	}
	_, err := b.literal(ctx, f, path, "SELECT 1 / (CAST($1 AS "+bare(typeName)+") <= CAST($2 AS "+bare(typeName)+"))::int", bounds.Lo, bounds.Hi)
	return err
}

// literal runs a check; PostgreSQL's objection becomes a problem.
func (b *Backend) literal(ctx context.Context, f *Findings, path, sql string, values ...string) (bool, error) {
	r := Request{SQL: sql}
	for _, v := range values {
		r.Parameters, r.Types = append(r.Parameters, []byte(v)), append(r.Types, textOID)
	}
	rows, err := b.Shadow(ctx, r)
	if err == nil {
		err = rows.each(func([][]byte) {})
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == divisionByZero {
		f.problem("%s: lower %s is above upper %s", path, values[0], values[1])
		return false, nil
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
	divisionByZero    = "22012"
	cannotCoerce      = "42846"
	undefinedFunction = "42883"
)

// bare is a type without length and precision: a bound of 1000 is fine for numeric(5,2), whose values stay below it. A
// quoted name of a user's type may hold a parenthesis, but no such type has bounds.
func bare(typeName string) string {
	for i, r := range typeName {
		if r == '(' {
			// timestamp(3) with time zone keeps what follows the parenthesis.
			for j := i; j < len(typeName); j++ {
				if typeName[j] == ')' {
					return typeName[:i] + typeName[j+1:]
				}
			}
		}
	}
	return typeName
}
