package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// laterParts are what is charged behind the first charge, in order. Each follows from what was released before: how
// much noise of the count an average bears hangs on how large it is, so coarse sums come before better counts.
var laterParts = []func(p *calibrated, answer []released, from int, bought []nextPart) nextPart{
	(*calibrated).coarseSums, (*calibrated).betterCounts, (*calibrated).sums,
}

// eachWanted visits the wanted sums of the blocks behind from that have rows.
func (p *calibrated) eachWanted(answer []released, from int, visit func(block int, w wantedSum)) {
	for i := from; i < len(answer); i++ {
		for j, margin := range p.wanted[i] {
			r := p.Plan.Blocks[i].Releases[j]
			with := p.Mechanisms[i].Releases
			w := wantedSum{wantedAverage{unjoined(r), margin}, j, answer[i], with[j], with[r.CountRef]}
			if anyRow(w.counts()) {
				visit(i, w)
			}
		}
	}
}

// wantedSum is a wanted average as it stands: the sum and the count that are drawn, and with what.
type wantedSum struct {
	wantedAverage
	release      int
	answer       released
	drawn, count *mechanism.Prepared
}

func (w wantedSum) counts() []int64 { return w.answer.Values[w.sum.CountRef] }

// groups are those of released counts, with averages of any size.
func (w wantedSum) groups() []reach {
	out := make([]reach, len(w.counts()))
	for g, n := range w.counts() {
		out[g] = w.anywhere(n)
		out[g].group = g
	}
	return out
}

// released is a group with its average as it is released.
func (w wantedSum) released(g reach) reach {
	g.most = math.Abs(float64(w.answer.Values[w.release][g.group])) / float64(g.rows)
	return g
}

// told are the groups with sizes that their averages are not released beyond, as a coarse sum says: few of them are
// larger. Without one they are paid for as those of the greatest size.
func (w wantedSum) told(coarse *mechanism.Prepared) []reach {
	out := w.groups()
	for g, n := range w.counts() {
		switch {
		case coarse == nil:
			out[g].likely = out[g].most
		case n > 0:
			z := math.Abs(float64(w.answer.Values[w.release][g]))
			out[g].likely = math.Min(out[g].most, z/float64(n))
			out[g].most = math.Min(out[g].most, (z+coarse.ErrorQuantile(1-2*beyondCoarse))/float64(n))
		}
	}
	return out
}

// fewest takes as few rows as the groups may have.
func fewest(groups []reach, count *mechanism.Prepared) []reach {
	groups = slices.Clone(groups)
	for g, r := range groups {
		groups[g].rows -= min(r.rows/2, int64(count.PlannedMargin()))
	}
	return groups
}

// sure leaves out groups of which something would not hold with the fewest rows that they may have, unless it would of
// none: what is paid for them may be in vain.
func sure(groups []reach, count *mechanism.Prepared, holds func(reach) bool) []reach {
	left := of(groups, func(g reach) bool { return holds(fewest([]reach{g}, count)[0]) })
	if len(left) == 0 {
		return groups
	}
	return left
}

// of are the groups of which something holds.
func of(groups []reach, holds func(reach) bool) []reach {
	return slices.DeleteFunc(slices.Clone(groups), func(g reach) bool { return !holds(g) })
}

// all says whether something holds of each group.
func all(groups []reach, holds func(reach) bool) bool {
	return !slices.ContainsFunc(groups, func(g reach) bool { return !holds(g) })
}

const (
	// beyondCoarse is how many averages are larger than a coarse sum says.
	beyondCoarse = .001
	// coarseTells is how far that may be off, as a part of the greatest size of an average.
	coarseTells = 1. / 8
	// coarseCosts is the part of the most that a coarse sum may cost.
	coarseCosts = 1. / 16
	// countIsEnough is how much of a margin a count may take up. At .9 the sum costs 2.3 times what it would beside an
	// exact count; beside a better count, which costs as much as it, 1.4 times, and both 2.8 times.
	countIsEnough = .9
	// paysFor bounds the margin that is paid for, over the one that an average of the likely size has.
	paysFor = 1.1
)

// bears is how much of a margin a count may take up at an average's greatest size: at most most, and so much that an
// average of the likely size has a margin of that over paysFor or more.
func (g reach) bears(most float64) float64 {
	if g.likely == g.most {
		return most
	}
	known := g.likely / g.most
	return math.Min(most, math.Sqrt((1-1/(paysFor*paysFor))/(1-known*known)))
}

// enough says whether a count is good enough for a group.
func (w wantedAverage) enough(sum, count *mechanism.Prepared, most float64) func(reach) bool {
	return func(g reach) bool { return w.ofCount(g, sum, count) <= g.bears(most)*w.margin }
}

// coarseSums are sums that say how large averages are, where their counts would not be good enough for all that these
// may be and all that follows is had for what is left.
func (p *calibrated) coarseSums(answer []released, from int, bought []nextPart) nextPart {
	part := nextPart{}
	p.eachWanted(answer, from, func(block int, w wantedSum) {
		most := p.mostOfSum(block, w.release, bought)
		count := p.countOf([2]int{block, w.sum.CountRef})
		sum, kept := w.within(count, halved(most))
		_, keptByParts := w.within(count, parted(most, (1-coarseCosts)/2))
		had := of(w.groups(), kept)
		if len(had) == 0 || all(had, w.enough(sum, w.count, countIsEnough)) || !all(fewest(had, w.count), keptByParts) {
			return
		}
		n := slices.MinFunc(had, func(a, b reach) int { return cmp.Compare(a.rows, b.rows) }).rows
		g, ok, err := mechanism.LeastGuarantee(w.sum, parted(most, coarseCosts), func(sum *mechanism.Prepared) bool {
			return sum.ErrorQuantile(1-2*beyondCoarse) <= coarseTells*w.end()*float64(n)
		})
		if coarse := prepareAtMost(w.sum, g, most); err == nil && ok && coarse != nil {
			part[[2]int{block, w.release}] = nextDraw{Prepared: coarse}
		}
	})
	return part
}

// betterCounts cost the least with which averages keep their margins in all groups in which they can, or the part that
// they have without a margin where they can in none. Counts that are good enough have none.
func (p *calibrated) betterCounts(answer []released, from int, bought []nextPart) nextPart {
	part, needs := nextPart{}, map[[2]int][]func(count *mechanism.Prepared) bool{}
	can := map[[2]int]bool{}
	p.eachWanted(answer, from, func(block int, w wantedSum) {
		at := [2]int{block, w.sum.CountRef}
		sum, err := mechanism.Prepare(w.sum, halved(p.mostOfSum(block, w.release, bought)))
		finest, err2 := mechanism.Prepare(p.countOf(at), p.mostOfCount(at, bought))
		var groups []reach
		if err == nil && err2 == nil {
			groups = sure(of(w.told(bought[0][[2]int{block, w.release}].Prepared), w.keeps(sum, finest)), w.count,
				w.keeps(sum, finest))
		}
		can[at] = can[at] || len(groups) > 0
		if all(groups, w.enough(sum, w.count, countIsEnough)) {
			return
		}
		groups = fewest(groups, w.count)
		needs[at] = append(needs[at], func(count *mechanism.Prepared) bool {
			return all(groups, w.enough(sum, count, 1/math.Sqrt2))
		})
	})
	for at, can := range can {
		r, most, own := p.countOf(at), p.mostOfCount(at, bought), p.later.part(p.countOf(at))
		var better *mechanism.Prepared
		switch first := p.Mechanisms[at[0]].Releases[at[1]]; {
		case !can && first.Epsilon() < own.Epsilon:
			better = prepareAtMost(r, own, most)
		case needs[at] != nil:
			g, ok, err := mechanism.LeastGuarantee(r, most, func(count *mechanism.Prepared) bool {
				return !slices.ContainsFunc(needs[at], func(met func(*mechanism.Prepared) bool) bool { return !met(count) })
			})
			if err != nil || !ok {
				g = most
			}
			better = prepareAtMost(r, g, most)
		}
		if better != nil {
			part[at] = nextDraw{Prepared: better}
		}
	}
	return part
}

// sums spend the least with which averages keep their margins in all groups in which they can for the most that a sum
// may cost. Where they can in none it has its part, as without a margin. One that is drawn and keeps them is left.
func (p *calibrated) sums(answer []released, from int, bought []nextPart) nextPart {
	part := nextPart{}
	p.eachWanted(answer, from, func(block int, w wantedSum) {
		at := [2]int{block, w.release}
		coarse, most := bought[0][at], p.mostOfSum(block, w.release, bought)
		told := w.told(coarse.Prepared)
		var can []reach
		if finest, err := mechanism.Prepare(w.sum, most); err == nil {
			can = of(told, w.keeps(finest, w.count))
		}
		kept := w.keeps(w.drawn, w.count)
		switch {
		case len(can) > 0 && coarse.Prepared != nil && all(can, func(g reach) bool { return kept(w.released(g)) }):
			return
		case len(can) > 0:
			g, ok, err := mechanism.LeastGuarantee(w.sum, most, func(sum *mechanism.Prepared) bool {
				return all(can, w.keeps(sum, w.count))
			})
			if sum := prepareAtMost(w.sum, g, most); err == nil && ok && sum != nil {
				if part[at] = (nextDraw{Prepared: sum}); coarse.Prepared != nil {
					part[at] = nextDraw{sum, told}
				}
				return
			}
		}
		sum := prepareAtMost(w.sum, p.later.part(w.sum), most)
		if sum == nil {
			sum = w.drawn
		}
		part[at] = nextDraw{Prepared: sum}
	})
	return part
}

// withinTold moves the released sums of averages that are larger than what they are paid for to that.
func (d nextDraw) withinTold(sums []int64) {
	for _, g := range d.told {
		most := int64(g.most * float64(g.rows))
		sums[g.group] = min(max(sums[g.group], -most), most)
	}
}

// countOf is a count that averages are divided by, with noise of its own.
func (p *calibrated) countOf(at [2]int) mechanism.Release {
	return unjoined(p.Plan.Blocks[at[0]].Releases[at[1]])
}

// prepareAtMost prepares a release at the lesser of two guarantees; nil if it cannot be.
func prepareAtMost(r mechanism.Release, g, most mechanism.Guarantee) *mechanism.Prepared {
	g.Epsilon = math.Min(g.Epsilon, most.Epsilon)
	p, err := mechanism.Prepare(r, g)
	if err != nil {
		return nil
	}
	return p
}

// mostOfSum is the most that a sum and a better count for it may cost: its part of what the first charge leaves,
// without what was bought of it since.
func (p *calibrated) mostOfSum(block, release int, bought []nextPart) mechanism.Guarantee {
	r := p.Plan.Blocks[block].Releases[release]
	most := p.later.mostOf(r, p.budget.priceAt(p.charge.Epsilon, p.price.order).Epsilon)
	for i, part := range bought {
		if count := [2]int{block, r.CountRef}; part[count].Prepared != nil {
			most.Epsilon *= 1 - part[count].Epsilon()/p.mostOfCount(count, bought[:i]).Epsilon/2
		}
		if sum := part[[2]int{block, release}]; sum.Prepared != nil {
			most.Epsilon -= sum.Epsilon()
		}
	}
	return most
}

// mostOfCount is the most that a better count may cost: half of what its sums may.
func (p *calibrated) mostOfCount(at [2]int, bought []nextPart) mechanism.Guarantee {
	most := mechanism.Guarantee{Order: p.price.Order}
	for j := range p.wanted[at[0]] {
		if p.Plan.Blocks[at[0]].Releases[j].CountRef == at[1] {
			most.Epsilon += p.mostOfSum(at[0], j, bought).Epsilon / 2
		}
	}
	return most
}
