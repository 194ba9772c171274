package release

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// Planner plans release blocks with what one planning knows.
type Planner struct{ *relation.Base }

// measured gives the integer form of an argument of a block's aggregate, and notes where the policy bounds its sum per unit: not that of
// distinct values.
func (b *Planner) measured(k *Block, c *aggregate.Call, e *expr.Expr) (*aggregate.Argument, error) {
	a, err := aggregate.NewArgument(b.Base, k.Source, e)
	if err == nil && c.Values() != nil {
		a.PerUnit = nil
	}
	if err == nil && a.PerUnit != nil {
		k.clamped = true
	}
	return a, err
}
