package rewrite

import (
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// publicAggregate adds an aggregate over public rows that stand beside private ones: one that cannot overflow, since whether it is
// computed at all may depend on private rows.
func (b *builder) publicAggregate(d *derived, c *call, name string, _, _ bool) error {
	x := &expr.Column{Name: c.text, Type: c.typ, Typmod: -1, TypeName: typeName(c.typ), Nullable: true, Enforced: true, Scale: -1, DeterministicCollation: true}
	arg := query.Scalar(query.Raw("*"))
	if !c.star {
		e := c.args[0]
		var err error
		if arg, err = spelledAlike(e.SQL(), e.AsColumn(nil, e.Text())); err != nil {
			return err
		}
		if c.distinct {
			arg = query.F("DISTINCT {}", arg)
		}
	}
	switch c.name {
	case "count":
		x.Nullable, x.Bounds, x.Scale = false, expr.Interval{Lo: new(big.Rat)}, 0
	case "min", "max":
		x, sql, err := unitPick(c, true, rowsOf{where: c.condition()})
		if err == nil {
			d.addColumn(x, sql, name, false)
		}
		return err
	case "sum", "avg":
		if t := baseType(c.args[0]); !schema.IsInteger(t) && (t != pgtype.NumericOID || c.args[0].Typmod() < 0) {
			return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s over a public table may overflow", c.text), pgerr.Hint("Cast its argument to an integer or to numeric(p,s)."))
		}
	case "bool_and", "bool_or":
	default:
		return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s over a public table cannot stand beside private rows", c.name), pgerr.Hint("Use count, sum, avg, min, max, bool_and or bool_or there."))
	}
	call := func(name string) query.Scalar {
		return query.Aggregate{Call: query.F("{}({})", name, arg), Where: c.condition()}
	}
	sql := call(c.name)
	if c.name == "avg" {
		sql = query.F("({})::pg_catalog.numeric / NULLIF({}, 0)", call("sum"), call("count"))
	}
	d.addColumn(x, sql, name, false)
	return nil
}
