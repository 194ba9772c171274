package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Sums over groups in windows (docs/privacy.md P20c): PostgreSQL adds up what was drawn of all groups before it was kept
// within its range. The noise of each is the same, and independent of that of the others.

// overShown says that aggregates of groups read those that are shown alone; empty: none does.
func (p *calibrated) overShown(answer []released) string {
	unknown := p.plan.OverShown
	for i, b := range p.plan.Blocks {
		unknown = unknown || slices.ContainsFunc(b.Windows, func(w rewrite.Window) bool {
			return !w.Adds || !p.adds(i, w.Column, answer[i].all())
		})
	}
	if !unknown {
		return ""
	}
	return "An aggregate of groups reads those that are shown: it has no margin, and no interval."
}

// all has the groups that are not shown, too.
func (r released) all() released {
	if r.whole == nil {
		return r
	}
	return *r.whole
}

// shownOfAll says of each of all groups whether it is shown.
func (r released) shownOfAll() []bool {
	shown := slices.Repeat([]bool{r.whole == nil}, r.all().Keys.Len())
	for _, g := range r.shown {
		shown[g] = true
	}
	return shown
}

// adds says that it is known what was drawn of an aggregate before it was kept within its range.
func (p *calibrated) adds(block int, c rewrite.Column, r released) bool {
	release := c.Releases[0]
	return p.blocks[block].releases[release].Plain() && release < len(r.Plain) && r.Plain[release] != nil
}

// rootRounding is how far the root of a number of groups may be rounded: PostgreSQL takes four digits behind the point.
const rootRounding = 1e-4

// summed says how far a sum over groups may be off: by margin times the root of their number, and a share of the sum for
// what is left out. false: nobody knows.
func (p *calibrated) summed(block int, c rewrite.Column, r released) (margin, share float64, ok bool) {
	cut := c.Cut != nil && (c.Cut.Share == nil || *c.Cut.Share > 0)
	b := &p.plan.Blocks[block]
	first := b.Releases[c.Releases[0]]
	if cut || b.Uncovered || anyBeyond(first, c) || !p.adds(block, c, r) {
		return 0, 0, false
	}
	share = leftOutShare(b, first, c)
	wrong := p.wrongShare()
	if 0 < r.share && r.share < 1 { // values of other groups say of a row whether it is shown
		wrong /= float64(max(1, r.Keys.Len()))
	}
	margin = p.blocks[block].releases[c.Releases[0]].SumMargin(wrong) * first.Grid.Step
	return roundedUp(margin * (1 + rootRounding)), share / (1 - share), true
}

// summedArg encodes one of the two; nil: NULL.
func (p *calibrated) summedArg(arg rewrite.FinishArg, block released) []byte {
	margin, share, ok := p.summed(arg.Block, *arg.Column, block)
	if !ok {
		return nil
	}
	if arg.Derived == rewrite.DerivedShare {
		margin = share
	}
	return strconv.AppendFloat(nil, margin, 'g', -1, 64)
}

// ofWindow is the figure of a window over the groups of a block: from the least to the widest that it can have.
func (p *calibrated) ofWindow(of *rewrite.Formula, answer []released) figure {
	w, r := p.plan.Blocks[of.Block].Windows[of.Column], answer[of.Block].all()
	f := figure{typ: w.Column.Type, of: of, margin: margin{groups: answer[of.Block].Keys.Len()}}
	one, share, ok := p.summed(of.Block, w.Column, r)
	if !ok || !w.Adds {
		f.without = f.groups
		return f
	}
	fewest, largest := partitions(r.Keys, w.Partition)
	if !w.Whole {
		fewest = min(1, largest)
	}
	sum, release := 0.0, w.Column.Releases[0]
	for _, z := range r.Plain[release] {
		sum += math.Abs(float64(z))
	}
	f.known = f.groups
	leftOut := share * sum * p.plan.Blocks[of.Block].Releases[release].Grid.Step
	f.least, f.most = one*math.Sqrt(float64(fewest)), one*math.Sqrt(float64(largest))+leftOut
	return f
}

// partitions is how many groups the smallest and the largest set of groups with the same keys have.
func partitions(keys rewrite.Keys, columns []int) (fewest, largest int) {
	sizes := map[string]int{}
	var name []byte
	for g := range keys.Len() {
		name = name[:0]
		for _, column := range columns {
			name = rewrite.AppendKeyValue(name, keys, g, column)
		}
		sizes[string(name)]++
	}
	for _, n := range sizes {
		if largest = max(largest, n); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest, largest
}
