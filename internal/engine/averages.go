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
// first all but these sums, with counts that tell how many rows there are; then what the margin needs (laterparts.go,
// docs/privacy.md P18a).

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
func halved(g mechanism.Guarantee) mechanism.Guarantee { return parted(g, .5) }

// parted is a part of what may be spent.
func parted(g mechanism.Guarantee, part float64) mechanism.Guarantee {
	g.Epsilon *= part
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

// reach is what is known of a group: how many rows it has, and how large its average is and may be, in steps of the sum
// per row.
type reach struct {
	group        int
	rows         int64
	likely, most float64
}

// anywhere is that of which only the rows are known.
func (w wantedAverage) anywhere(rows int64) reach { return reach{rows: rows, most: w.end()} }

// end is the greatest size of an average.
func (w wantedAverage) end() float64 {
	return math.Max(math.Abs(float64(w.sum.PerRow.Lo)), math.Abs(float64(w.sum.PerRow.Hi)))
}

// keeps says of a mechanism of the sum and one of the count whether the margin is kept in a group. If it is, it is in
// one with more rows or a smaller average.
func (w wantedAverage) keeps(sum, count *mechanism.Prepared) func(reach) bool {
	z, rows := mechanism.PairMargins(sum, count, 0, mechanism.Wrong)
	return func(g reach) bool {
		return g.rows > 0 && estimate.WidestAverage(w.sum.PerRow, g.rows, g.most, z, rows) <= w.margin
	}
}

// ofCount is what the count alone adds to the margin.
func (w wantedAverage) ofCount(g reach, sum, count *mechanism.Prepared) float64 {
	_, rows := mechanism.PairMargins(sum, count, 0, mechanism.Wrong)
	return estimate.WidestAverage(w.sum.PerRow, g.rows, g.most, 0, rows)
}

// mostRows bounds the rows of a group.
const mostRows = 1 << 60

// within gives a sum that costs so much, and says whether it keeps the margin in a group beside a count that does: in
// none where there is none.
func (w wantedAverage) within(count mechanism.Release, g mechanism.Guarantee) (*mechanism.Prepared, func(reach) bool) {
	rows, err := mechanism.Prepare(unjoined(count), g)
	if err != nil {
		return nil, func(reach) bool { return false }
	}
	sum, err := mechanism.Prepare(unjoined(w.sum), g)
	if err != nil {
		return nil, func(reach) bool { return false }
	}
	return sum, w.keeps(sum, rows)
}

// leastRows is the least number of rows for which count and sum keep the margin if each costs half of the most; 0:
// there is none.
func (w wantedAverage) leastRows(count mechanism.Release, most mechanism.Guarantee) int64 {
	_, kept := w.within(count, halved(most))
	low, high := int64(0), min(count.Range[len(count.Range)-1].Hi, mostRows)
	if !kept(w.anywhere(high)) {
		return 0
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; kept(w.anywhere(middle)) {
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
