package engine

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Which groups an answer has: what PostgreSQL has, as far as released values say it.

// groups is how many groups a block has; 0 under partition selection.
func groups(b *rewrite.Block) int {
	if b.Keys == nil {
		return 0
	}
	return b.Keys.Len()
}

// emptyGroups says what happens to groups of declared keys that have no rows; empty where there are none.
func emptyGroups(plan *rewrite.Plan) string {
	declared := func(b rewrite.Block) bool { return b.Keys != nil && len(b.KeyTypes) > 0 }
	switch {
	case slices.ContainsFunc(plan.Blocks, func(b rewrite.Block) bool { return declared(b) && b.DropsEmpty }):
		return "dropped"
	case slices.ContainsFunc(plan.Blocks, declared):
		return "kept"
	}
	return ""
}

// threshold is the greatest number of units below which a group of a partition selection is not shown more often than it is, and the kind
// of unit; 0 where there is no selection.
func (p *calibrated) threshold() (units int64, unit string) {
	for i, block := range p.Mechanisms {
		if half, _, ok := selects(block); ok && half > units {
			units, unit = half, p.Plan.Blocks[i].Unit
		}
	}
	return units, unit
}

// groupHints says which groups an answer has that PostgreSQL does not have, or lacks. It follows from the plan alone.
func (p *calibrated) groupHints() []string {
	var hints []string
	if units, unit := p.threshold(); units > 0 {
		hints = append(hints, fmt.Sprintf("Groups of fewer than about %d units (%s) are not shown: the keys have no declared values, so partition selection decides. "+
			"Group by columns with declared values, or ask the administrator to declare them (values).", units, unit))
	}
	if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Compared }) {
		hints = append(hints, "EXISTS and IN hold where released numbers of rows can be told from that of none, which is wrong in 5% at most.")
	}
	if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Chosen }) {
		hint := "Released values choose which groups are shown: those near a limit may be shown, or not, by the noise alone."
		if slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool { return b.Chosen && len(b.KeyTypes) > 0 }) {
			hint += " Margins are wider, such that those of all groups hold together in 95%."
		}
		hints = append(hints, hint)
	}
	unread := func(b rewrite.Block) bool {
		return b.Keys != nil && len(b.KeyTypes) > 0 && !b.DropsEmpty && len(b.Releases) == 0
	}
	if slices.ContainsFunc(p.Plan.Blocks, unread) {
		hints = append(hints, "No private row was read: the groups are the declared values of the keys, whether or not a row has them.")
	}
	return hints
}

// checkThreshold refuses a partition selection that shows no group, even if all rows were in one: nobody wants to pay for that.
func (p *calibrated) checkThreshold() error {
	for i, block := range p.Mechanisms {
		most := p.Plan.Blocks[i].MostRows
		if half, _, ok := selects(block); ok && most > 0 && half > most {
			return refusal.New(refusal.SmallGroups,
				fmt.Sprintf("the answer would be empty: groups of fewer than about %d units (%s) are not shown, and there are at most %d rows", half, p.Plan.Blocks[i].Unit, most),
				pgerr.Hint("Group by columns with declared values, raise dpproxy.epsilon, or ask the administrator to declare the values of the keys (values). Nothing was charged."))
		}
	}
	return nil
}
