package gate

import (
	"errors"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Mechanisms are those of one block, in the order of its releases.
type Mechanisms struct {
	Selection *mechanism.Prepared       // nil with declared keys, and where a released count decides
	Threshold *mechanism.CountThreshold // of that count, which is release By
	By        int
	Releases  []*mechanism.Prepared
	Later     map[int]bool // releases that are not charged yet
}

// Released is one block after its noise: the analyst may see everything in it.
type Released struct {
	Keys   rewrite.Keys // of the groups, in the order in which they are shown
	Values [][]int64    // [release][group], grid steps
	// what no range has bounded of Values (mechanism.Prepared.Plain); nil of a release: they themselves
	Plain [][]int64
}

// draw releases a block, in a fixed order: the selection, the joint noise of each group, the families of quantiles, the
// chains, then one draw for each other release, of all groups or of each. Where a count decides which groups are shown,
// what was drawn for others is seen by nobody. It gives the exact integers of the groups that are shown, too, and
// leaves out the sums that are not charged yet.
func (b Mechanisms) draw(src *mechanism.Source, k *rewrite.Block, m Exact) (Released, Exact, error) {
	releases := k.Releases
	if b.Selection != nil {
		var selected []int
		for g := range m.keys.Len() {
			if b.Selection.Select(src, m.units[g]) {
				selected = append(selected, g)
			}
		}
		m = m.of(selected)
	}
	groups := m.keys.Len()
	out := Released{Keys: m.keys, Values: make([][]int64, len(releases)), Plain: make([][]int64, len(releases))}
	for i := range releases {
		out.Values[i] = make([]int64, groups)
		if b.Releases[i].Plain() {
			out.Plain[i] = make([]int64, groups)
		}
	}
	noise := b.jointNoise(src, groups)
	b.drawFamilies(src, releases, m, out)
	if err := b.drawChains(src, releases, m, out); err != nil {
		return Released{}, Exact{}, err
	}
	for _, i := range drawOrder(releases) {
		cube, coordinate := b.Releases[i].Joint()
		switch {
		case releases[i].InFamily(), releases[i].InChain(), b.Later[i]:
		case b.Releases[i].Running():
			if len(k.Running) != groups {
				return Released{}, Exact{}, errors.New("running totals of other groups")
			}
			noise, err := b.Releases[i].DrawRunning(src, k.Running)
			if err != nil {
				return Released{}, Exact{}, err
			}
			for g, d := range noise {
				out.take(i, g)(b.Releases[i].BoundPlain(m.exact[i][g], d, 0))
			}
		case cube != nil:
			for g := range groups {
				out.take(i, g)(b.Releases[i].BoundPlain(m.exact[i][g], noise[cube][g*cube.Dimension()+coordinate],
					out.CountOf(releases[i], g)))
			}
		default:
			b.drawRelease(src, releases, i, m, out)
		}
	}
	out.keepOrder(releases)
	if b.Threshold == nil {
		return out, m, nil
	}
	var shown []int
	for g, count := range out.Values[b.By] {
		if m.exact[b.By][g] > 0 && count >= b.Threshold.Least {
			shown = append(shown, g)
		}
	}
	return out.Of(shown), m.of(shown), nil
}

// drawRelease draws a release whose noise is its own, for each group.
func (b Mechanisms) drawRelease(src *mechanism.Source, releases []mechanism.Release, i int, m Exact, out Released) {
	prepared := b.Releases[i]
	for g := range m.keys.Len() {
		switch {
		case releases[i].End != 0:
			out.Values[i][g] = prepared.DrawEnd(src, m.histograms[i][g], out.Values[releases[i].CountRef][g])
		case releases[i].Kind == mechanism.Quantile:
			out.Values[i][g] = prepared.DrawQuantile(src, m.histograms[i][g])
		default:
			out.take(i, g)(prepared.DrawPlain(src, m.exact[i][g], out.CountOf(releases[i], g)))
		}
	}
}

// take puts what was drawn of one release and group into the answer.
func (r Released) take(release, g int) func(z, plain int64) {
	return func(z, plain int64) {
		r.Values[release][g] = z
		if r.Plain[release] != nil {
			r.Plain[release][g] = plain
		}
	}
}

// drawFamilies draws the quantiles that are drawn together.
func (b Mechanisms) drawFamilies(src *mechanism.Source, releases []mechanism.Release, m Exact, out Released) {
	for _, members := range mechanism.Families(releases) {
		for g := range m.keys.Len() {
			values := mechanism.DrawFamily(src, releases, members, b.Releases, m.histograms[members[0]][g])
			for k, i := range members {
				out.Values[i][g] = values[k]
			}
		}
	}
}

// drawChains draws the counts of which each counts what the one before it does, and more.
func (b Mechanisms) drawChains(src *mechanism.Source, releases []mechanism.Release, m Exact, out Released) error {
	for _, members := range mechanism.Chains(releases) {
		chain, exact := make([]*mechanism.Prepared, len(members)), make([]int64, len(members))
		for k, i := range members {
			chain[k] = b.Releases[i]
		}
		for g := range m.keys.Len() {
			for k, i := range members {
				exact[k] = m.exact[i][g]
			}
			z, plain, err := mechanism.DrawChain(src, chain, exact)
			if err != nil {
				return err
			}
			for k, i := range members {
				out.take(i, g)(z[k], plain[k])
			}
		}
	}
	return nil
}

// keepOrder moves the least and the greatest value of a column to the quantiles of it that are further out: noise may
// have put them inside.
func (r Released) keepOrder(releases []mechanism.Release) {
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
func (b Mechanisms) jointNoise(src *mechanism.Source, groups int) map[*mechanism.Cube][]int64 {
	var out map[*mechanism.Cube][]int64
	for _, prepared := range b.Releases {
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

// CountOf returns the released count that the range of a chained sum follows from; 0 for other releases.
func (r Released) CountOf(release mechanism.Release, g int) int64 {
	if release.Kind != mechanism.SumGivenCount {
		return 0
	}
	return r.Values[release.CountRef][g]
}

// Of takes groups in this order.
func (r Released) Of(groups []int) Released {
	out := Released{Keys: schema.KeyPart{Of: r.Keys, Groups: groups}, Values: make([][]int64, len(r.Values))}
	for i, values := range r.Values {
		out.Values[i] = pick(values, groups)
	}
	for _, values := range r.Plain {
		out.Plain = append(out.Plain, pick(values, groups))
	}
	return out
}
