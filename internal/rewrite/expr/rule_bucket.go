package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var bucketRules = []rule{
	{
		names: "width_bucket", args: "float8,float8,float8,int4 numeric,numeric,numeric,int4",
		total: "bounded operand, constant limits that differ, a constant count > 0", bounded: true, cost: cost{steps: 30},
		apply: widthBucket,
	},
	{names: "width_bucket", total: "constant ascending thresholds", build: thresholds},
}

// widthBucket raises on NaN, on equal limits and on a count below 1.
func widthBucket(c *call, e *Expr) error {
	for _, a := range c.args[1:] {
		if b := a.bounds; b.Lo.Cmp(b.Hi) != 0 {
			return c.refuse(refusal.ConstantNeeded, a.Text()+" is not a constant", "write constant limits and a constant count")
		}
	}
	lo, hi, n := c.args[1].bounds, c.args[2].bounds, c.args[3].bounds
	if lo.Lo.Cmp(hi.Lo) == 0 || n.Lo.Sign() <= 0 || n.Lo.Cmp(rat(1<<30)) > 0 {
		return c.refuse(refusal.ArgumentRange, "the limits must differ and the count be above 0", "")
	}
	// hi − lo must not overflow
	if limit := bounds.Pow10(300); pgresolve.IsFloat(c.args[1].typ) && lo.Hull(hi).Abs().Hi.Cmp(limit) > 0 {
		return c.refuse(refusal.ArgumentRange, "the limits are too large", "")
	}
	e.bounds = bounds.New(bounds.Zero, add(n.Lo, bounds.One))
	return nil
}

var thresholdsTemplate = functionTemplate("width_bucket", 2)

// thresholds builds width_bucket(value, thresholds) for a constant array in ascending order: total for any value, NaN
// included.
func thresholds(c *call, _ string) (*Expr, error) {
	if len(c.args) != 2 {
		return nil, nil
	}
	x, array := c.args[0], c.args[1]
	list := pgresolve.ElementType(array.typ)
	if list == nil || array.value == nil {
		return nil, c.refuse(refusal.ConstantNeeded, "its thresholds are not a constant array",
			"write width_bucket(x, ARRAY[0, 18, 65])")
	}
	oid, ok := pgresolve.CommonType([]uint32{x.baseType(), list.OID})
	if !ok || !pgresolve.IsNumber(oid) && !pgresolve.IsTime(oid) || oid == pgtype.IntervalOID {
		return nil, c.refuse(refusal.Types, "its operand and its thresholds have no common type", "")
	}
	x, err := c.b.coerce(x, oid, x)
	if err != nil {
		return nil, err
	}
	items, provisional := array.value.items, array.provisional
	switch {
	case list.OID == oid:
	case provisional:
		d := &call{args: []*Expr{array}, loc: c.loc, text: array.Text(), tmpl: "({0})::" +
			pgresolve.Qualified(pgresolve.LookupType(oid).Array, -1)}
		array = d.result(pgresolve.LookupType(oid).Array)
	default: // a cast of the array would prove nothing of its items
		if array, err = c.b.arrayFrom(items, oid, c.loc); err != nil {
			return nil, err
		}
	}
	c.args, c.tmpl = []*Expr{x.Read(), array}, thresholdsTemplate
	e := c.result(pgtype.Int4OID)
	if provisional {
		return e, nil
	}
	e.bounds = bounds.Between(0, int64(len(items)))
	return e, c.ascending(items)
}

// ascending refuses thresholds that width_bucket does not take, or that are too many.
func (c *call) ascending(items []*Expr) error {
	for i, item := range items {
		if item.value == nil || !item.bounds.Finite() || i > 0 && items[i-1].bounds.Hi.Cmp(item.bounds.Lo) > 0 {
			return c.refuse(refusal.ConstantNeeded, "its thresholds are not ascending constants", "")
		}
	}
	if len(items) == 0 || len(items) > 10000 {
		return c.refuse(refusal.ArgumentRange, fmt.Sprintf("it has %d thresholds", len(items)), "")
	}
	return nil
}
