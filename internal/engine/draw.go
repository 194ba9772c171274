package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// released is one block after its noise: the analyst may see everything in it. Kept answers are lists of these.
type released struct {
	Keys   rewrite.Keys         // of the groups, in the order in which they are shown
	Values [][]int64            // [release][group], grid steps
	plain  [][]int64            // what no range has bounded of Values (mechanism.Prepared.Plain); nil of a release: they themselves
	noisy  [][]int64            // the same as they were drawn, where levels were made to add up; nil: Values are
	whole  *released            // before groups were left out; nil: none was
	shown  []int                // of whole
	chosen map[int]float64      // what releases have that were charged behind the first charge: ε, or divergence
	price  *mechanism.Guarantee // of a kept answer, at which it was drawn; nil: that of the statement
	looked bool                 // of a kept answer: it is that of a first look
	share  float64              // of the groups among which values choose those that are presented; 0: they choose none
}

// sources hands out generators: each is used by one statement at a time.
var sources = sync.Pool{New: func() any { return mechanism.NewSource() }}

// draw releases the blocks behind those of the answer so far, up to one: each block is drawn once, whatever follows. Sums that are charged
// once the counts are released are drawn after that.
func (m *measuring) draw(ctx context.Context, upto int) error {
	from := len(m.answer)
	shown := m.drawCharged(upto)
	if !slices.ContainsFunc(m.blocks[from:upto], func(b calibratedBlock) bool { return len(b.wanted) > 0 }) {
		return nil
	}
	return m.drawParts(ctx, from, shown)
}

// drawCharged draws all but these sums, and gives the integers of the groups that are shown.
func (m *measuring) drawCharged(upto int) (shown []measured) {
	defer m.engine.privately("draw", time.Now())
	source := sources.Get().(*mechanism.Source)
	defer sources.Put(source)
	for i := len(m.answer); i < upto; i++ {
		r, of := m.blocks[i].draw(source, m.plan.Blocks[i].Releases, m.collectors[i].sorted())
		m.answer, shown = append(m.answer, r), append(shown, of)
	}
	return shown
}

// draw releases a block, in a fixed order: the selection, the joint noise of each group, the families of quantiles, then one draw for each
// other release of each group. Where a count decides which groups are shown, what was drawn for others is seen by nobody. It gives the exact
// integers of the groups that are shown, too, and leaves out the sums that are not charged yet.
func (b calibratedBlock) draw(src *mechanism.Source, releases []mechanism.Release, m measured) (released, measured) {
	if b.selection != nil {
		var selected []int
		for g := range m.keys.Len() {
			if b.selection.Select(src, m.units[g]) {
				selected = append(selected, g)
			}
		}
		m = m.of(selected)
	}
	groups := m.keys.Len()
	out := released{Keys: m.keys, Values: make([][]int64, len(releases)), plain: make([][]int64, len(releases)), chosen: map[int]float64{}}
	for i := range releases {
		out.Values[i] = make([]int64, groups)
		if b.releases[i].Plain() {
			out.plain[i] = make([]int64, groups)
		}
	}
	noise := b.jointNoise(src, groups)
	b.drawFamilies(src, releases, m, out)
	for _, i := range drawOrder(releases) {
		cube, coordinate := b.releases[i].Joint()
		switch {
		case releases[i].InFamily(), b.wanted[i] > 0:
		case cube != nil:
			for g := range groups {
				out.take(i, g)(b.releases[i].BoundPlain(m.exact[i][g], noise[cube][g*cube.Dimension()+coordinate], out.countOf(releases[i], g)))
			}
		default:
			b.drawRelease(src, releases, i, m, out)
		}
	}
	out.keepOrder(releases)
	if b.threshold == nil {
		return out, m
	}
	var shown []int
	for g, count := range out.Values[b.by] {
		if m.exact[b.by][g] > 0 && count >= b.threshold.Least {
			shown = append(shown, g)
		}
	}
	return out.of(shown), m.of(shown)
}

// drawRelease draws a release whose noise is its own, for each group.
func (b calibratedBlock) drawRelease(src *mechanism.Source, releases []mechanism.Release, i int, m measured, out released) {
	prepared := b.releases[i]
	for g := range m.keys.Len() {
		switch {
		case releases[i].End != 0:
			out.Values[i][g] = prepared.DrawEnd(src, m.histograms[i][g], out.Values[releases[i].CountRef][g])
		case releases[i].Kind == mechanism.Quantile:
			out.Values[i][g] = prepared.DrawQuantile(src, m.histograms[i][g])
		default:
			out.take(i, g)(prepared.DrawPlain(src, m.exact[i][g], out.countOf(releases[i], g)))
		}
	}
}

// take puts what was drawn of one release and group into the answer.
func (r released) take(release, g int) func(z, plain int64) {
	return func(z, plain int64) {
		r.Values[release][g] = z
		if r.plain[release] != nil {
			r.plain[release][g] = plain
		}
	}
}

// of takes groups in this order.
func (r released) of(groups []int) released {
	out := released{Keys: part{r.Keys, groups}, Values: make([][]int64, len(r.Values)), chosen: r.chosen}
	for i, values := range r.Values {
		out.Values[i] = pick(values, groups)
	}
	for _, values := range r.plain {
		out.plain = append(out.plain, pick(values, groups))
	}
	for _, values := range r.noisy {
		out.noisy = append(out.noisy, pick(values, groups))
	}
	return out
}

// copied has values of its own, beside those that were drawn.
func (r released) copied() released {
	out := released{Keys: r.Keys, plain: r.plain, noisy: r.Values, chosen: r.chosen}
	for _, values := range r.Values {
		out.Values = append(out.Values, slices.Clone(values))
	}
	return out
}

// wrong is how often an interval of a group may not hold the truth, so that of the groups that are presented at most 5%
// do not (Benjamini and Yekutieli 2005; docs/privacy.md P17a).
func (p *calibrated) wrong(r released) float64 {
	return cmp.Or(r.share, 1) * p.wrongShare()
}

// wrongShare is how often what is told of an answer may be wrong.
func (p *calibrated) wrongShare() float64 { return mechanism.Wrong * cmp.Or(p.part, 1) }

// drawn is the answer before levels were made to add up.
func (r released) drawn() released {
	if r.noisy == nil {
		return r
	}
	return released{Keys: r.Keys, Values: r.noisy, chosen: r.chosen, share: r.share}
}

// drawFamilies draws the quantiles that are drawn together.
func (b calibratedBlock) drawFamilies(src *mechanism.Source, releases []mechanism.Release, m measured, out released) {
	for _, members := range mechanism.Families(releases) {
		for g := range m.keys.Len() {
			values := mechanism.DrawFamily(src, releases, members, b.releases, m.histograms[members[0]][g])
			for k, i := range members {
				out.Values[i][g] = values[k]
			}
		}
	}
}

// keepOrder moves the least and the greatest value of a column to the quantiles of it that are further out: noise may have put them inside.
func (r released) keepOrder(releases []mechanism.Release) {
	for i, extreme := range releases {
		if extreme.Family == 0 || extreme.InFamily() {
			continue
		}
		for j, q := range releases {
			if q.Family != extreme.Family || !q.InFamily() {
				continue
			}
			for g, z := range r.Values[j] {
				if extreme.Fraction < q.Fraction {
					r.Values[i][g] = min(r.Values[i][g], z)
				} else {
					r.Values[i][g] = max(r.Values[i][g], z)
				}
			}
		}
	}
}

// jointNoise draws one vector for each group from each joint mechanism of the block, one behind the other.
func (b calibratedBlock) jointNoise(src *mechanism.Source, groups int) map[*mechanism.Cube][]int64 {
	var out map[*mechanism.Cube][]int64
	for _, prepared := range b.releases {
		cube, _ := prepared.Joint()
		if cube == nil || out[cube] != nil {
			continue
		}
		d := cube.Dimension()
		vectors := make([]int64, groups*d)
		for g := range groups {
			cube.Draw(src, vectors[g*d:(g+1)*d])
		}
		if out == nil {
			out = map[*mechanism.Cube][]int64{}
		}
		out[cube] = vectors
	}
	return out
}

// drawOrder puts counts and quantiles before the sums and ends that are chained to them.
func drawOrder(releases []mechanism.Release) []int {
	order := make([]int, 0, len(releases))
	for _, chained := range []bool{false, true} {
		for i, r := range releases {
			if (r.Kind == mechanism.SumGivenCount || r.End != 0) == chained {
				order = append(order, i)
			}
		}
	}
	return order
}

// countOf returns the released count that the range of a chained sum follows from; 0 for other releases.
func (r released) countOf(release mechanism.Release, g int) int64 {
	if release.Kind != mechanism.SumGivenCount {
		return 0
	}
	return r.Values[release.CountRef][g]
}
