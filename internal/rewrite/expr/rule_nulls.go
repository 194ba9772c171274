package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

var nullRules = []rule{
	{names: "num_nulls num_nonnulls", total: "always", build: countNulls},
}

// countNulls builds num_nulls and num_nonnulls, which take operands of any type.
func countNulls(c *call, name string) (*Expr, error) {
	if len(c.args) == 0 {
		return nil, Refuse(refusal.Function, c.loc, c.text+" needs an argument", "")
	}
	c.tmpl = functionTemplate(name, len(c.args))
	e := c.result(pgtype.Int4OID)
	e.nullable, e.nullBefore, e.bounds = false, false, bounds.Between(0, int64(len(c.args)))
	return e, nil
}
