package release

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// Planner plans release blocks.
type Planner struct{ *relation.Base }

// measured is the integer form of an argument of a block's aggregate.
func (b *Planner) measured(k *Block, e *expr.Expr) (*aggregate.Argument, error) {
	a, err := aggregate.NewArgument(b.Base, k.Src, e)
	if err == nil && a.PerUnit != nil {
		k.clamped = true
	}
	return a, err
}
