package rewrite_test

import (
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Plans that a fault cannot make wrong have no place for it. What says so is proven, and never a share of what is
// found.

// groups is how many there are; 0 where they are selected.
func groups(b *probed) int {
	if b.block.Keys == nil {
		return 0
	}
	return b.block.Keys.Len()
}

// boundByRows reports whether what bounds a unit's rows over the whole answer, behind the join with the groups, bounds
// all that the plan declares, however many rows the unit has there (docs/privacy.md P11): a unit may be in as many
// groups as it may have rows, or as there are, when each is there so many times.
func boundByRows(b *probed, times int) bool {
	for _, r := range b.block.Releases {
		if r.Row == 0 || int64(r.Groups) < r.Total/r.Row && (groups(b) == 0 || r.Groups < times*groups(b)) {
			return false
		}
	}
	return hasNode(b, func(x query.Scalar) bool { r, ok := x.(query.UnitRows); return ok && r.All != nil })
}

// joinsEveryGroup is for plans where a unit may not be in every group that there is, or where the order of its rows in
// one group matters: what counts rows alone counts as many of them in any order.
func joinsEveryGroup(b *probed) bool {
	shares := hasNode(b, func(x query.Scalar) bool { _, ok := x.(query.UnitShare); return ok })
	all := !slices.ContainsFunc(b.block.Releases, func(r mechanism.Release) bool { return r.Groups < groups(b) })
	return (shares || !all || !boundByRows(b, 1)) && nodes(query.Map{Source: everyGroup})(b)
}

// ranks is for plans that rank rows of which a unit can have several: where each counts once by the unit itself, it has
// one.
func ranks(change func(*probed) bool) func(*probed) bool {
	return func(b *probed) bool {
		picks, own := 0, 0
		look := query.Map{Query: func(q query.Query) query.Query {
			if s, ok := q.(*query.Select); ok {
				unit := slices.IndexFunc(s.Outputs, func(o query.Output) bool { return o.Name == "u" })
				for _, o := range s.Outputs {
					if p, ok := o.X.(query.Pick); ok && !p.Groups {
						picks++
					}
					if unit >= 0 && o.Name == "v" && query.Equal(o.X, s.Outputs[unit].X) {
						own++
					}
				}
			}
			return q
		}}
		for _, tree := range b.trees {
			look.OfQuery(tree)
		}
		return (picks == 0 || own < picks) && change(b)
	}
}

// grouped is for plans with several groups, or with sums that can be negative: elsewhere a choice of so many rows of
// all units leaves their sum where that of one unit's is.
func grouped(change func(*probed) bool) func(*probed) bool {
	return func(b *probed) bool {
		negative := slices.ContainsFunc(b.block.Releases, func(r mechanism.Release) bool {
			return r.PerRow.Lo < 0 || len(r.Range) > 0 && r.Range[0].Lo < 0
		})
		return (negative || groups(b) != 1) && change(b)
	}
}

// values is for plans that release more than counts of rows: a row counts once, whatever is in it.
func values(change func(*probed) bool) func(*probed) bool {
	return func(b *probed) bool { return !onlyCounts(b) && change(b) }
}

// counts is for the other plans.
func counts(change func(*probed) bool) func(*probed) bool {
	return func(b *probed) bool { return onlyCounts(b) && change(b) }
}

func onlyCounts(b *probed) bool {
	return !slices.ContainsFunc(b.block.Releases, func(r mechanism.Release) bool {
		return !strings.HasPrefix(r.Name, "count(")
	})
}
