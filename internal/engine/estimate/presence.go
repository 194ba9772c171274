package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// find says of each group of a block whether it is shown: where released values tell it from an empty one
// (docs/privacy.md P17a). They are as they were drawn: the noise of one group is independent of that of others. Those
// within groups of another block that are not shown are not, nor do the others have to stand out among them.
func (a *adding) find(block int) []bool {
	if a.shown[block] != nil {
		return a.shown[block]
	}
	b, groups := &a.Plan.Blocks[block], a.Blocks[block].Keys.Len()
	shown := slices.Repeat([]bool{true}, groups)
	a.shown[block] = shown
	if !b.DropsEmpty {
		return shown
	}
	for _, l := range a.levels {
		if l.Block != block {
			continue
		}
		within := a.find(l.Of)
		for g, of := range l.group {
			shown[g] = of < 0 || within[of]
		}
	}
	chance := make([]float64, groups)
	var family []float64
	for g := range shown {
		if shown[g] {
			chance[g] = a.emptyChance(block, g)
			family = append(family, chance[g])
		}
	}
	most, found := discovered(family, a.Wrong()), 0
	for g := range shown {
		if shown[g] = shown[g] && chance[g] <= most; shown[g] {
			found++
		}
	}
	a.share[block] = float64(found) / float64(max(1, len(family)))
	return shown
}

// chosen is the share of the groups of a block that values choose, by presence and by LIMIT behind an order by an
// aggregate; 0: they choose none. Where they choose in another way it is that of one group of all that are chosen so.
func (a *adding) chosen(block, shown int) float64 {
	if a.Plan.Blocks[block].Chosen {
		all := 0
		for i, r := range a.Blocks {
			if a.Plan.Blocks[i].Chosen {
				all += r.Whole().Keys.Len()
			}
		}
		return 1 / float64(max(1, all))
	}
	share := a.share[block]
	if limit := a.Plan.Blocks[block].Limit; 0 < limit && limit < shown {
		share = cmp.Or(share, 1) * float64(limit) / float64(shown)
	}
	return share
}

// emptyChance is how likely it is that a group without rows is given values that are as far from 0 as these: where
// several say that there are rows, so many times the least chance of one, which holds however their noises depend on
// each other.
func (a *adding) emptyChance(block, g int) float64 {
	least, exists := 1.0, a.Plan.Blocks[block].Exists
	for _, i := range exists {
		least = math.Min(least, a.Mechanisms[block].Releases[i].EmptyTail(a.Blocks[block].Values[i][g])*float64(len(exists)))
	}
	return least
}

// discovered is the greatest of these chances that still tells a group from empty ones (Benjamini and Hochberg 1995);
// −1: none does.
func discovered(family []float64, share float64) float64 {
	slices.Sort(family)
	for k := len(family); k > 0; k-- {
		if chance := family[k-1]; chance <= share*float64(k)/float64(len(family)) {
			return chance
		}
	}
	return -1
}

// NotShown says how many groups of an answer are not shown; empty: all are.
func (a *Answer) NotShown() string {
	all, left := 0, 0
	for i, b := range a.Plan.Blocks {
		if b.DropsEmpty && len(b.KeyTypes) > 0 && !b.Compared {
			n := a.Blocks[i].Whole().Keys.Len()
			all, left = all+n, left+n-a.Blocks[i].Keys.Len()
		}
	}
	const keep = "SET dpproxy.empty_groups = keep shows all."
	switch left {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 of %d groups is not shown: it cannot be told from an empty one. "+keep, all)
	}
	return fmt.Sprintf("%d of %d groups are not shown: they cannot be told from empty ones. "+keep, left, all)
}
