package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// ranked is a group in the order of an aggregate: its value, and how far it may be off.
type ranked struct{ value, margin float64 }

// mostPlaces bounds the places of which is said whether they are certain.
const mostPlaces = 1000

// order says how many of the first places of an answer are certain, where it is sorted by an aggregate; empty: all that
// are shown are, or it is not known (docs/mechanisms.md, section 18).
func (p *calibrated) order(answer []released) string {
	for i := range p.plan.Blocks {
		o := p.plan.Blocks[i].Order
		if o == nil {
			continue
		}
		list := p.ranking(i, p.plan.Blocks[i].Columns[o.Column], answer[i], o.Descending)
		shown := len(list)
		if o.Limit > 0 {
			shown = min(shown, o.Limit)
		}
		switch sure := certain(list); {
		case sure >= shown, shown == len(list) && sure == shown-1: // the last place follows from the others
		case sure == 0:
			return fmt.Sprintf("Places 1 to %d are within the noise.", shown)
		case shown == sure+1:
			return fmt.Sprintf("%s, place %d is within the noise.", firstPlaces(sure), shown)
		default:
			return fmt.Sprintf("%s, places %d to %d are within the noise.", firstPlaces(sure), sure+1, shown)
		}
	}
	return ""
}

func firstPlaces(n int) string {
	if n == 1 {
		return "The first place is certain"
	}
	return fmt.Sprintf("The first %d places are certain", n)
}

// ranking lists the groups in the order of an aggregate; empty where one has no value or no margin.
func (p *calibrated) ranking(block int, c rewrite.Column, r released, descending bool) []ranked {
	if c.Choice || c.Type == pgtype.BoolOID {
		return nil
	}
	r.share = 0 // places are held to a probability of their own
	var list []ranked
	for g := range r.Keys.Len() {
		i, ok := p.interval(block, c, r, g)
		value, by := p.steps(block, c, r, g)
		if !ok || by <= 0 {
			return nil
		}
		if descending {
			value = -value
		}
		list = append(list, ranked{value, math.Max(i.below, i.above) / by})
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.value, b.value) })
	return list
}

// certain is how many of the first places are further from all that follow than by the margin of the difference. It
// ends at the first that is not: so it says more than is true as seldom as one comparison errs.
func certain(list []ranked) int {
	for i, a := range list[:min(len(list), mostPlaces)] {
		if slices.ContainsFunc(list[i+1:], func(b ranked) bool { return b.value-a.value <= math.Hypot(a.margin, b.margin) }) {
			return i
		}
	}
	return min(len(list), mostPlaces)
}
