package estimate

import (
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Sums over groups in windows (docs/privacy.md P20c): PostgreSQL adds up what was drawn of all groups before it was
// kept within its range. The noise of each is the same, and independent of that of the others, or that of all of them
// is made for such sums (P20d).

// OverShown says that aggregates of groups read those that are shown alone; empty: none does.
func (a *Answer) OverShown() string {
	unknown := a.Plan.OverShown
	for i, b := range a.Plan.Blocks {
		unknown = unknown || slices.ContainsFunc(b.Windows, func(w rewrite.Window) bool {
			return !w.Adds || !a.Adds(i, w.Column, a.Blocks[i].Whole())
		})
	}
	if !unknown {
		return ""
	}
	return "An aggregate of groups reads those that are shown: it has no margin, and no interval."
}

// Adds says that it is known what was drawn of an aggregate before it was kept within its range.
func (s *Statement) Adds(block int, c rewrite.Column, r Block) bool {
	release := c.Releases[0]
	return s.Mechanisms[block].Releases[release].Plain() && release < len(r.Plain) && r.Plain[release] != nil
}

// rootRounding is how far the root of a number of groups may be rounded: PostgreSQL takes four digits behind the point.
const rootRounding = 1e-4

// Summed says how far a sum over groups may be off: by the root of their number times its margin, which is that of the
// first where they are Running, and by a share of the sum for what is left out. false: nobody knows.
func (s *Statement) Summed(block int, c rewrite.Column, r Block) (margin func(groups int) float64, share float64,
	ok bool,
) {
	cut := c.Cut != nil && (c.Cut.Share == nil || *c.Cut.Share > 0)
	b := &s.Plan.Blocks[block]
	first := b.Releases[c.Releases[0]]
	if cut || b.Uncovered || anyBeyond(first, c) || !s.Adds(block, c, r) {
		return nil, 0, false
	}
	share = leftOutShare(b, first, c)
	wrong := s.Wrong()
	if 0 < r.chosen && r.chosen < 1 { // values of other groups say of a row whether it is shown
		wrong /= float64(max(1, r.Keys.Len()))
	}
	of := s.Mechanisms[block].Releases[c.Releases[0]]
	return func(groups int) float64 {
		each := of.SumMargin(groups, wrong) / math.Sqrt(float64(groups))
		return RoundedUp(each * first.Grid.Step * (1 + rootRounding))
	}, share / (1 - share), true
}

// SumMargins are Summed's, for each group that of the groups up to it, falling: PostgreSQL takes the least. nil: nobody
// knows.
func (s *Statement) SumMargins(block int, c rewrite.Column, r Block) []float64 {
	margin, _, ok := s.Summed(block, c, r)
	if !ok {
		return nil
	}
	of := c.Releases[0]
	if !s.Mechanisms[block].Releases[of].Running() {
		return slices.Repeat([]float64{margin(1)}, r.Keys.Len())
	}
	each, out := make([]float64, s.Plan.Blocks[block].Releases[of].Running), make([]float64, r.Keys.Len())
	for k := len(each); k > 0; k-- {
		each[k-1] = max(margin(k), each[min(k, len(each)-1)])
	}
	for i, g := range s.Plan.Blocks[block].Running {
		out[g] = each[i%len(each)]
	}
	return out
}

// window is the margin of a window over the groups of a block: from the least to the widest that it can have.
func (a *Answer) window(of *rewrite.Formula) Margin {
	w, r := a.Plan.Blocks[of.Block].Windows[of.Column], a.Blocks[of.Block].Whole()
	m := Margin{Groups: a.Blocks[of.Block].Keys.Len()}
	margin, share, ok := a.Summed(of.Block, w.Column, r)
	if !ok || !w.Adds {
		m.without = m.Groups
		return m
	}
	fewest, largest := partitions(r.Keys, w.Partition)
	if !w.Whole {
		fewest = min(1, largest)
	}
	sum, release := 0.0, w.Column.Releases[0]
	for _, z := range r.Plain[release] {
		sum += math.Abs(float64(z))
	}
	m.Known = m.Groups
	leftOut := share * sum * a.Plan.Blocks[of.Block].Releases[release].Grid.Step
	m.Least = margin(fewest) * math.Sqrt(float64(fewest))
	m.Most = margin(largest)*math.Sqrt(float64(largest)) + leftOut
	return m
}

// partitions is how many groups the smallest and the largest set of groups with the same keys have.
func partitions(keys rewrite.Keys, columns []int) (fewest, largest int) {
	sizes := map[string]int{}
	for g := range keys.Len() {
		sizes[keyName(keys, g, columns)]++
	}
	for _, n := range sizes {
		if largest = max(largest, n); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest, largest
}

// keyName names some columns of a key.
func keyName(keys rewrite.Keys, g int, columns []int) string {
	var name []byte
	for _, column := range columns {
		name = rewrite.AppendKeyValue(name, keys, g, column)
	}
	return string(name)
}
