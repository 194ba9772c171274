package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

var nullRules = []rule{
	{names: "num_nulls num_nonnulls", total: "always", build: countNulls},
}

// countNulls builds num_nulls and num_nonnulls, which take operands of any type.
func countNulls(_ *builder, args []*Expr, text string, loc int) (*Expr, error) {
	c := &call{args: args, loc: loc, text: text, tmpl: "pg_catalog.num_nulls("}
	if strings.HasPrefix(text, "num_nonnulls(") {
		c.tmpl = "pg_catalog.num_nonnulls("
	}
	if len(args) == 0 {
		return nil, Refuse(loc, text+" needs an argument", "")
	}
	for i := range args {
		if i > 0 {
			c.tmpl += ", "
		}
		c.tmpl += fmt.Sprintf("{%d}", i)
	}
	c.tmpl += ")"
	e := c.result(pgtype.Int4OID)
	e.nullable, e.bounds = false, bounds.Between(0, int64(len(args)))
	return e, nil
}
