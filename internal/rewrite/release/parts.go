package release

import (
	"cmp"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Pair are releases of two blocks, of which one has the keys of the other and more: in each group of the coarser block,
// the release Of is the sum of Release over the groups of the finer one that are part of it.
type Pair struct {
	Release, Of   int
	Doubled       bool  // Σ(2x − 2c): what adds up is Σx
	DoubledCenter int64 // 2c of that
	More, Less    bool  // rows that are in no group of the finer block may add to it, or take from it
}

// PartsOf pairs the releases of a block with those of a coarser one over the same relation that are the same integers
// of fewer, larger groups: counts first, sums given them last. It has to be the same integer that is measured: a unit
// that counts in fewer groups than it has rows in is not the same in both, nor are different values, nor magnitudes
// where those of one sign make up for others.
func (k *Block) PartsOf(coarser *Block) []Pair {
	if k.Selected || k.PicksGroups || coarser.PicksGroups || k.Source.Empty {
		return nil
	}
	var pairs []Pair
	for key, i := range k.index {
		j, ok := coarser.index[key]
		preserved := k.Source.Preserved != nil && key == "count "+query.Key(nil) // which shows a public row without rows as 1
		if !ok || preserved || !k.addsUp(i) || !coarser.addsUp(j) {
			continue
		}
		r, o := k.Releases[i], coarser.Releases[j]
		center, doubled := k.doubledCenter[i]
		if r.Kind == o.Kind && r.PerRow == o.PerRow && r.Grid == o.Grid && center == coarser.doubledCenter[j] {
			p := Pair{Release: i, Of: j, Doubled: doubled, DoubledCenter: center}
			p.More, p.Less = k.rest(i, coarser)
			pairs = append(pairs, p)
		}
	}
	all := slices.Clone(pairs)
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { // of another count
		r, o := k.Releases[p.Release], coarser.Releases[p.Of]
		return r.Kind == mechanism.SumGivenCount && !slices.ContainsFunc(
			all, func(n Pair) bool { return n.Release == r.CountRef && n.Of == o.CountRef })
	})
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Release, b.Release) })
	return pairs
}

// rest reports whether a release of a coarser block may be more or less than the sum of its groups are in this one:
// where rows have other keys than those that are listed, or those of a unit that is over its bounds are rounded.
func (k *Block) rest(release int, coarser *Block) (more, less bool) {
	whole := k.Source.Proven
	for _, d := range k.Domains {
		known := slices.ContainsFunc(coarser.Keys, func(g *Key) bool { return len(d.Keys) == 1 && g.node == d.Keys[0].node })
		inside := slices.ContainsFunc(d.Keys, func(g *Key) bool { return len(g.inside) > 0 })
		whole = whole && (d.Whole && !inside || known)
	}
	if whole {
		return false, false
	}
	m := k.measurement(release)
	if m.row == nil {
		return true, false
	}
	lo, hi := m.row.lo, m.row.hi
	if center, doubled := k.doubledCenter[release]; doubled {
		lo, hi = lo+center, hi+center
	}
	return hi > 0, lo < 0
}

// addsUp reports whether a release of several groups together is the sum of what it is in each, but for how the
// integers of a unit that is over its bounds are rounded.
func (k *Block) addsUp(release int) bool {
	m := k.measurement(release)
	if m == nil || len(k.Releases[release].Range) > 1 {
		return false
	}
	// what is bounded are magnitudes, group by group
	mixed := m.Total && m.lo < 0 && m.Hi > 0 && !(k.Source.Proven && m.byRows)
	return m.Distinct == nil && !(m.Once && k.ManyGroupsPerUnit) && !mixed
}
