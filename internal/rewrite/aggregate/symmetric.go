package aggregate

import (
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// newSymmetric types a symmetric aggregate: the sum of x, once for each value of key that is not NULL, in millionths as
// a numeric.
func newSymmetric(b *relation.Base, f *pg_query.FuncCall, x, key *pg_query.Node, sc Scope) (*Call, error) {
	c := &Call{Name: "sum", Location: int(f.Location), Type: pgtype.NumericOID}
	value, err := sc.Expression(x)
	if err != nil {
		return nil, err
	}
	if !pgresolve.IsNumber(BaseType(value)) {
		return nil, b.Refuse(refusal.Aggregate, x, "a symmetric aggregate is one of numbers", "")
	}
	c.Args = append(c.Args, value)
	if c.By, err = sc.Expression(key); err != nil {
		return nil, err
	}
	c.Text = callText(c)
	return c, nil
}
