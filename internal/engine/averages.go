package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// An average is as far off as its sum and its count, divided by the rows that were released. So a statement whose
// averages have to keep a margin is charged in parts, each of which follows from what was released for those before:
// first all but these sums, with counts that tell how many rows there are; then better counts, where the margin needs
// them; then the sums (docs/privacy.md P18a).

// wantedAverages finds the sums of a block that are charged in this way, and the margins that their averages have to
// keep, in steps per row.
func (b statementBudget) wantedAverages(block *rewrite.Block) map[int]float64 {
	wanted := map[int]float64{}
	for j, r := range block.Releases {
		margin := r.RowMargin
		if margin == 0 && b.margin != nil && averages(block, j) {
			margin = b.margin.perRow(r)
		}
		if margin > 0 && r.PerRow.Lo < r.PerRow.Hi { // else the sum follows from the count
			wanted[j] = margin
		}
	}
	return wanted
}

// averages says whether a release is the sum of averages, and of nothing else.
func averages(block *rewrite.Block, release int) bool {
	found := false
	for _, c := range block.Columns {
		if !slices.Contains(c.Releases, release) {
			continue
		}
		if !c.Average || len(c.Releases) != 2 || c.Releases[0] != release ||
			block.Releases[release].CountRef != c.Releases[1] {
			return false
		}
		found = true
	}
	return found && block.Releases[release].Kind == mechanism.SumGivenCount
}

// divides says whether a release is a count that averages are divided by, and nothing else: it is not shown, nor says
// which groups there are.
func divides(block *rewrite.Block, release int) bool {
	used := slices.Contains(block.Exists, release) || block.SelectBy == release+1 || block.Releases[release].Margin > 0
	return !used && !slices.ContainsFunc(block.Columns, func(c rewrite.Column) bool {
		return slices.Contains(c.Releases, release) && !c.Average
	})
}

// unjoined is a release whose noise is its own, and none that it shares with others.
func unjoined(r mechanism.Release) mechanism.Release {
	r.Row = 0
	return r
}

// halved is half of what may be spent: an average is as far off as its count and its sum at the least cost where both
// cost the same.
func halved(g mechanism.Guarantee) mechanism.Guarantee {
	g.Epsilon /= 2
	return g
}

// later is what is charged behind the first charge of a statement.
type later struct {
	price   price   // of the whole statement at the most that it may cost
	sums    weights // of the wanted sums
	whole   weights // of all releases
	ordered price   // that all releases share without a margin
	most    float64 // nominal ε of price
}

// laterOf says how much the sums of a plan may cost.
func (p price) laterOf(plan *rewrite.Plan, b statementBudget) later {
	sums := &rewrite.Plan{Blocks: make([]rewrite.Block, len(plan.Blocks))}
	for i := range plan.Blocks {
		for j := range b.wantedAverages(&plan.Blocks[i]) {
			sums.Blocks[i].Releases = append(sums.Blocks[i].Releases, plan.Blocks[i].Releases[j])
		}
	}
	return later{price: b.priceAt(b.most, p.order), sums: weigh(sums), whole: weigh(plan), ordered: p, most: b.most}
}

// mostOf is the most that a sum and its count may cost, beside what is paid.
func (l later) mostOf(sum mechanism.Release, paid float64) mechanism.Guarantee {
	rest := l.price
	rest.Epsilon -= paid
	return rest.divide(l.sums.of(sum), l.sums.total)
}

// part is what a release has of the price without a margin.
func (l later) part(r mechanism.Release) mechanism.Guarantee {
	return l.ordered.divide(l.whole.of(r), l.whole.total)
}

// wantedAverage is an average that has to keep a margin, in steps of its sum per row.
type wantedAverage struct {
	sum    mechanism.Release
	margin float64
}

// keeps says of a mechanism of the sum and one of the count whether the margin is kept in a group of so many rows. If
// it is, it is in a larger one.
func (w wantedAverage) keeps(sum, count *mechanism.Prepared) func(n int64) bool {
	z, rows := mechanism.PairMargins(sum, count, 0, mechanism.Wrong)
	return func(n int64) bool { return n > 0 && estimate.WidestAverage(w.sum.PerRow, n, z, rows) <= w.margin }
}

// ofCount is what the count alone adds to the margin.
func (w wantedAverage) ofCount(n int64, sum, count *mechanism.Prepared) float64 {
	_, rows := mechanism.PairMargins(sum, count, 0, mechanism.Wrong)
	return estimate.WidestAverage(w.sum.PerRow, n, 0, rows)
}

// mostRows bounds the rows of a group.
const mostRows = 1 << 60

// leastRows is the least number of rows for which count and sum keep the margin if each costs half of the most; 0:
// there is none.
func (w wantedAverage) leastRows(count mechanism.Release, most mechanism.Guarantee) int64 {
	rows, err := mechanism.Prepare(unjoined(count), halved(most))
	if err != nil {
		return 0
	}
	sum, err := mechanism.Prepare(unjoined(w.sum), halved(most))
	if err != nil {
		return 0
	}
	kept := w.keeps(sum, rows)
	low, high := int64(0), min(count.Range[len(count.Range)-1].Hi, mostRows)
	if !kept(high) {
		return 0
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; kept(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// tellsRows says how far off, as a part of the least rows for which a margin can be had, a first count may be: it tells
// which groups have that many, and how many rows the smallest of them has.
const tellsRows = 5

// prepareFirst gives a sum its part of the price, in case its margin cannot be had, and a count that is there for
// averages alone the least with which it tells the rows, at most its part. nil: the release is none of these.
func (l later) prepareFirst(block *rewrite.Block, wanted map[int]float64, release int) (*mechanism.Prepared, error) {
	r := block.Releases[release]
	if wanted[release] > 0 {
		return mechanism.Prepare(unjoined(r), l.part(r))
	}
	least := int64(math.MaxInt64)
	for j, margin := range wanted {
		if sum := block.Releases[j]; sum.CountRef == release {
			rows := wantedAverage{sum, margin}.leastRows(r, l.mostOf(sum, 0))
			if rows == 0 {
				return nil, tooNarrow(fmt.Sprintf("%s for %s", estimate.Number(margin*estimate.Step(sum)), sum.Name), l.most, "")
			}
			least = min(least, rows)
		}
	}
	if least == math.MaxInt64 || !divides(block, release) {
		return nil, nil
	}
	g, ok, err := mechanism.LeastGuarantee(unjoined(r), l.part(r), func(p *mechanism.Prepared) bool {
		return p.PlannedMargin() <= float64(least)/tellsRows
	})
	if err != nil || !ok {
		g = l.part(r)
	}
	return mechanism.Prepare(unjoined(r), g)
}

// smallest is the smallest of the counts of which something holds; 0: it holds of none. It holds of all larger ones.
func smallest(counts []int64, holds func(n int64) bool) int64 {
	found := int64(0)
	for _, n := range counts {
		if (found == 0 || n < found) && holds(n) {
			found = n
		}
	}
	return found
}

// countIsEnough is how much of a margin a count may take up. At .9 the sum costs 2.3 times what it would beside an
// exact count; beside a better count, which costs as much as it, 1.4 times, and both 2.8 times.
const countIsEnough = .9

// betterCount is the least noise of a count with which averages keep their margins in all groups in which they can, or
// the part that it has without a margin where they can in none; nil: it is good enough.
func (p *calibrated) betterCount(block, release int, counts []int64) *mechanism.Prepared {
	r, first := unjoined(p.Plan.Blocks[block].Releases[release]), p.Mechanisms[block].Releases[release]
	most := p.mostOfCount(block, release)
	finest, err := mechanism.Prepare(r, most)
	if err != nil {
		return nil
	}
	var needs []func(count *mechanism.Prepared) bool
	can := false
	for j, margin := range p.wanted[block] {
		w := wantedAverage{p.Plan.Blocks[block].Releases[j], margin}
		sum, err := mechanism.Prepare(unjoined(w.sum), halved(p.mostOfSum(block, j)))
		if err != nil || w.sum.CountRef != release {
			continue
		}
		n := smallest(counts, w.keeps(sum, finest))
		can = can || n > 0
		if n > 0 && w.ofCount(n, sum, first) > countIsEnough*margin {
			n -= min(n/2, int64(first.PlannedMargin())) // as few as there may be
			needs = append(needs, func(count *mechanism.Prepared) bool { return w.ofCount(n, sum, count) <= margin/math.Sqrt2 })
		}
	}
	if !can && first.Epsilon() < p.later.part(r).Epsilon {
		return prepareAtMost(r, p.later.part(r), most)
	}
	if needs == nil {
		return nil
	}
	g, ok, err := mechanism.LeastGuarantee(r, most, func(count *mechanism.Prepared) bool {
		return !slices.ContainsFunc(needs, func(met func(*mechanism.Prepared) bool) bool { return !met(count) })
	})
	if err != nil || !ok {
		return finest
	}
	return prepareAtMost(r, g, most)
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

// sumWithin spends the least on a sum with which its averages keep their margin in all groups in which they can for the
// most that it may cost. Where they can in none it has its part, as without a margin.
func (p *calibrated) sumWithin(block, release int, counts []int64, most mechanism.Guarantee) *mechanism.Prepared {
	b, r := p.Mechanisms[block], unjoined(p.Plan.Blocks[block].Releases[release])
	w, count := wantedAverage{r, p.wanted[block][release]}, b.Releases[r.CountRef]
	if finest, err := mechanism.Prepare(r, most); err == nil {
		if n := smallest(counts, w.keeps(finest, count)); n > 0 {
			g, ok, err := mechanism.LeastGuarantee(r, most, func(sum *mechanism.Prepared) bool { return w.keeps(sum, count)(n) })
			if sum := prepareAtMost(r, g, most); err == nil && ok && sum != nil {
				return sum
			}
		}
	}
	if sum := prepareAtMost(r, p.later.part(r), most); sum != nil {
		return sum
	}
	return b.Releases[release]
}

// mostOfSum is the most that a sum and a better count for it may cost: its part of what the first charge leaves.
func (p *calibrated) mostOfSum(block, release int) mechanism.Guarantee {
	return p.later.mostOf(p.Plan.Blocks[block].Releases[release],
		p.budget.priceAt(p.charge.Epsilon, p.price.order).Epsilon)
}

// mostOfCount is the most that a better count may cost: half of what its sums may.
func (p *calibrated) mostOfCount(block, release int) mechanism.Guarantee {
	most := mechanism.Guarantee{Order: p.price.Order}
	for j := range p.wanted[block] {
		if p.Plan.Blocks[block].Releases[j].CountRef == release {
			most.Epsilon += p.mostOfSum(block, j).Epsilon / 2
		}
	}
	return most
}

// mostCharge is the most that all parts may cost together: at the order of the price, as nothing is known of it at
// others.
func (p *calibrated) mostCharge() ledger.Charge {
	if p.look != nil {
		c := p.look.whole.charge
		c.SelectionDelta += p.charge.SelectionDelta
		return c
	}
	c := p.charge
	c.Epsilon, c.Curve = p.later.most, mechanism.Curve{Pure: p.later.price.Epsilon}
	if p.price.order != accounting.Infinite {
		c.Curve = mechanism.Curve{Pure: math.Inf(1), Renyi: slices.Repeat([]float64{math.Inf(1)}, len(mechanism.Orders))}
		c.Curve.Renyi[p.price.order] = p.later.price.Epsilon
	}
	return c
}

// ofAverages says how the sums of averages are charged; empty where they are charged with the rest.
func (p *calibrated) ofAverages() string {
	if !p.chargedInParts() {
		return ""
	}
	rest := p.later.price.Epsilon - p.budget.priceAt(p.charge.Epsilon, p.price.order).Epsilon
	return fmt.Sprintf(
		"their sums, and better counts where the margins need them, are charged once the counts are released: at most %s",
		p.price.info(rest))
}
