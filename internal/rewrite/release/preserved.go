package release

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// preservedBlock holds a block over such a join to what the added rows do not change: groups of public rows, and
// aggregates that ignore NULL. Grouped by the key, count(*) is the one more exception: at least 1, for the public row
// itself.
func (b *Planner) preservedBlock(k *Block, calls []*aggregate.Call) error {
	p := k.Source.Preserved
	if p == nil {
		return nil
	}
	for _, g := range k.Keys {
		if p.Reads(g.Expr) {
			return b.RefuseAt(refusal.PublicRowsKept, g.Location(),
				"an outer join that keeps the rows of a public table has to be grouped by columns of that table",
				"Use an inner join.")
		}
	}
	for _, c := range calls {
		if !slices.ContainsFunc(c.Parts(), func(part *aggregate.Call) bool { return !b.ignoresAdded(k, part) }) {
			continue
		}
		return b.RefuseAt(refusal.PublicRowsKept, c.Location,
			fmt.Sprintf("%s also reads the rows of the public table that no private row joins", c.Text),
			"Aggregate columns of the private table, use an inner join, or, for count(*), group by the public table's key without conditions on it.")
	}
	return nil
}

func (b *Planner) ignoresAdded(k *Block, c *aggregate.Call) bool {
	p := k.Source.Preserved
	if c.Filter != nil && b.DropsAdded(p, c.Filter) {
		return true
	}
	for _, x := range c.Args {
		if col := x.Column(); col != nil && p.Has(col) || b.HoldsForAdded(p, query.F("({}) IS NULL", x.SQL()), x) {
			return true
		}
	}
	if !c.Star || c.Filter != nil || p.Key == nil {
		return false
	}
	return slices.ContainsFunc(k.Keys, func(g *Key) bool { return g.Column() != nil && g.Column().Source == any(p.Key) })
}
