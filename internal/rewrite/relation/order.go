package relation

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TotalOrder orders the rows of one unit so that the rows that it leaves equal are alike in every column that can be
// named: a key of the rows, with what main has to prove of it, or all columns (docs/privacy.md P8c). work is what
// ordering by all columns adds for a row.
func (r *Relation) TotalOrder() (order []query.Scalar, proofs []schema.Proof, work expr.Work, err error) {
	if r.Order != nil {
		return r.Order, r.OrderProofs, expr.Work{}, nil
	}
	for _, c := range r.Columns {
		key, err := spelling(c)
		if err != nil {
			return nil, nil, expr.Work{}, err
		}
		order, work = append(order, key), work.Plus(c.Value.Work).Plus(expr.Work{Row: WindowSteps})
		if c.Value.InBounds != nil { // keys above read it
			order, work = append(order, c.Value.InBounds), work.Plus(expr.Work{Row: WindowSteps})
		}
	}
	return order, nil, work, nil
}

// spelling prints what two values of a column have in common only if no expression can tell them apart: equal values
// may be written differently, as 1.0 and 1.00 are, or 30 days and a month.
func spelling(c *Column) (query.Scalar, error) {
	x := c.Value
	base, typmod := x.Type, x.Typmod
	if x.Base != 0 {
		base, typmod = x.Base, x.BaseTypmod
	}
	switch {
	case pgresolve.IsInt(base), len(x.EnumLabels) > 0:
		return x.Ref, nil
	case pgresolve.IsTime(base) && base != pgtype.IntervalOID:
		return x.Ref, nil
	case base == pgtype.IntervalOID: // one of 2^31 hours has no text before PostgreSQL 15
		return query.F(`pg_catalog.interval_send({})`, x.Ref), nil
	case base == pgtype.BoolOID, base == pgtype.UUIDOID:
		return x.Ref, nil
	// its blanks at the end are no part of its text, and octet_length counts them
	case base == pgtype.BPCharOID && typmod < 0:
		return nil, refusal.New(refusal.RowOrder, fmt.Sprintf(
			"these rows have no known key, and values of %s that look alike may differ in blanks", nameOf(c)),
			pgerr.Hint("Cast the column to text in a subquery, or ask the administrator for a primary key on the table."))
	}
	return query.F(`({})::pg_catalog.text COLLATE pg_catalog."C"`, x.Ref), nil
}

// nameOf names a column for an analyst. One that a subquery does not select has no name there.
func nameOf(c *Column) string {
	if c.Name == "" {
		return "a column that is not selected"
	}
	return fmt.Sprintf("%q", c.Name)
}
