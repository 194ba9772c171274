package release

import (
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// Planner plans release blocks with what one planning knows.
type Planner struct {
	*relation.Base
	Compared bool // the statement asks of the block's count whether there are rows
	Every    bool // it reads every group, also those without rows
	Nests    bool // counts may be chains: nothing asks for a margin of one of them, or for sums of its groups
}

// measured returns the integer form of an argument of a block's aggregate, and notes where the policy bounds its sum
// per unit: not that of distinct values.
func (b *Planner) measured(k *Block, c *aggregate.Call, e *expr.Expr) (*aggregate.Argument, error) {
	a, err := aggregate.NewArgument(b.Base, k.Source, e, func(a *aggregate.Argument) bool { return k.fits(c, a) })
	if err == nil && c.Values() != nil {
		a.PerUnit = nil
	}
	if err == nil && a.PerUnit != nil {
		k.clamped = true
	}
	return a, err
}

// assumedRows is how many rows of a table sums are ready for, where the policy says no max_rows.
const assumedRows = 1 << 30

// fits reports whether the integers that a call needs can be released: what it adds up of one unit, and of all rows.
// Averages, variances and regressions add up differences from a constant between the bounds, quantiles nothing.
func (k *Block) fits(c *aggregate.Call, a *aggregate.Argument) bool {
	row, rows := a.Hi-a.Lo, k.Source.MaxRows
	switch c.Name {
	case "min", "max", "percentile_cont", "percentile_disc":
		return true
	case "sum":
		row = max(bounds.Abs(a.Lo), bounds.Abs(a.Hi))
	}
	if rows == 0 {
		rows = assumedRows
	}
	return a.FitsUnit(k.Source.MaxRowsPerUnit) && bounds.WideMul(row, rows) <= mechanism.MostSteps
}
