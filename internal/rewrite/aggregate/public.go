package aggregate

import (
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// AddPublicAggregate adds an aggregate over public rows in a query that also reads private ones. It takes those that
// cannot overflow, since private rows may decide whether the aggregate is computed at all.
func AddPublicAggregate(_ *relation.Base, d *relation.Derived, c *Call, name string, _, _ bool) error {
	x := &expr.Column{
		Name: c.Text, Type: c.Type, Typmod: -1, TypeName: schema.TypeName(c.Type), Nullable: true,
		Enforced: true, Scale: -1, DeterministicCollation: true,
	}
	arg := query.Scalar(query.Raw("*"))
	if !c.Star {
		e := c.Args[0]
		var err error
		if arg, err = relation.CanonicalText(e.SQL(), e.AsColumn(nil, e.Text())); err != nil {
			return err
		}
		if c.Distinct {
			arg = query.F("DISTINCT {}", arg)
		}
	}
	switch c.Name {
	case "count":
		x.Nullable, x.Bounds, x.Scale = false, bounds.Interval{Lo: new(big.Rat)}, 0
	case "min", "max", "mode":
		x, sql, err := unitPick(c, true, rowsOf{where: c.Condition()})
		if err == nil {
			d.AddColumn(x, sql, name, false)
		}
		return err
	case "sum", "avg":
		if t := BaseType(c.Args[0]); !pgresolve.IsInt(t) && (t != pgtype.NumericOID || c.Args[0].Typmod() < 0) {
			return refusal.New(refusal.PublicAggregate, fmt.Sprintf("%s over a public table may overflow", c.Text),
				pgerr.Hint("Cast its argument to an integer or to numeric(p,s)."))
		}
	case "bool_and", "bool_or":
	default:
		return refusal.New(refusal.PublicAggregate, fmt.Sprintf("%s over a public table cannot be combined with private rows",
			c.Name), pgerr.Hint("Use count, sum, avg, min, max, bool_and or bool_or there."))
	}
	call := func(name string) query.Scalar {
		return query.Aggregate{Call: query.F("{}({})", name, arg), Where: c.Condition()}
	}
	sql := call(c.Name)
	if c.Name == "avg" {
		sql = query.F("({})::pg_catalog.numeric / NULLIF({}, 0)", call("sum"), call("count"))
	}
	d.AddColumn(x, sql, name, false)
	return nil
}
