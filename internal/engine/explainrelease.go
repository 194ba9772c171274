package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// priceInfo says what a statement's releases share, or what one of them has of it.
type priceInfo struct {
	Epsilon    float64 `json:"epsilon,omitempty"`    // pure; 0: Divergence is shared
	Divergence float64 `json:"divergence,omitempty"` // Rényi divergence of Order
	Order      float64 `json:"order,omitempty"`
	AtMost     bool    `json:"at_most,omitempty"`    // what is released first decides how much it is
	Statements int     `json:"statements,omitempty"` // of a statement: how many such statements the whole budget holds
	AtLeast    bool    `json:"at_least,omitempty"`   // Statements are: each may cost less
}

type releaseInfo struct {
	Name        string          `json:"name"`
	Kind        mechanism.Kind  `json:"kind"`
	Price       priceInfo       `json:"price"`
	Sensitivity float64         `json:"sensitivity"`     // of one group, in the value's own units
	Total       float64         `json:"total"`           // of all groups together
	Groups      int             `json:"groups_per_unit"` // the most that one unit moves
	Range       string          `json:"valid_range"`
	Grid        float64         `json:"grid,omitempty"` // the numbers that are added up are multiples of it; 0: whole numbers
	Mechanism   string          `json:"mechanism"`
	Geometry    string          `json:"geometry,omitempty"` // the norm in which the mechanism measures what one unit moves
	Scale       float64         `json:"scale"`
	Margin      *float64        `json:"margin,omitempty"`        // nil: depends on a released count, or there is none
	Wanted      float64         `json:"wanted_margin,omitempty"` // of the average, where its count is large enough; Price is the most that it costs then
	Unit        string          `json:"unit,omitempty"`          // microseconds or days: of times and dates, whose numbers here count those; empty: the value's own
	Candidates  []candidateInfo `json:"candidates,omitempty"`
	Density     *densityInfo    `json:"density,omitempty"` // nil: it depends on rows or a released count, or the range has gaps

	unit    estimate.Unit
	step    float64 // what a step of the candidates' errors is, in the value's own units
	ofSum   float64 // a sum given its count: 95 % margin of it
	none    bool    // no answer has a margin of it
	divides bool    // it is a count that averages are divided by, and not shown
}

// candidateInfo is a mechanism that was considered, at the price of the statement.
type candidateInfo struct {
	mechanism.Candidate
	Price priceInfo `json:"price"`
}

// describePrice describes what the statement's releases share.
func describePrice(p *calibrated) *priceInfo {
	whole := p.price
	if p.chargedInParts() {
		whole = p.later.price
	}
	info := p.statement(whole.Epsilon)
	info.AtMost = info.AtLeast
	return &info
}

// statement describes an amount that is spent in a statement.
func (p *calibrated) statement(amount float64) priceInfo {
	info := p.price.info(amount)
	info.Statements, info.AtLeast = p.fits, p.chargedInParts()
	return info
}

// info describes an amount of what the price is paid in.
func (p price) info(amount float64) priceInfo {
	if p.order == accounting.Infinite {
		return priceInfo{Epsilon: amount}
	}
	return priceInfo{Divergence: amount, Order: p.Order}
}

func (p priceInfo) String() string {
	text := "epsilon " + estimate.Number(p.Epsilon)
	if p.Order != 0 {
		text = fmt.Sprintf("divergence %s of order %s", estimate.Number(p.Divergence), estimate.Number(p.Order))
	}
	if p.AtMost {
		return "at most " + text
	}
	return text
}

// describeSelection describes the partition selection of a block.
func describeSelection(c *calibrated, block int) releaseInfo {
	b := c.Mechanisms[block]
	info := describeCharged(*c.Plan.Blocks[block].Select)
	half, always, _ := selects(b)
	decides := ""
	if b.Selection != nil {
		info.Price = c.price.info(b.Selection.Epsilon())
	} else {
		info.Price = c.price.info(0)
		decides = fmt.Sprintf("by the released value of %s, with no noise of its own; ", c.Plan.Blocks[block].Releases[b.By].Name)
	}
	info.Mechanism = fmt.Sprintf("partition selection: %sa group appears with probability 1/2 or more from %d units on, and but for a chance below 1e-9 from %d on", decides, half, always)
	return info
}

// describeRelease describes one release of a block with its mechanism, and those that were considered.
func describeRelease(c *calibrated, block, release int) releaseInfo {
	info := describeNoise(c, block, release)
	if info.Scale == 0 {
		return info
	}
	for _, way := range []*calibrated{c, c.other} {
		if way == nil {
			continue
		}
		for _, candidate := range way.Mechanisms[block].Releases[release].Candidates() {
			candidate.Chosen = candidate.Chosen && way == c
			price := way.statement(way.Mechanisms[block].Releases[release].Epsilon())
			info.Candidates = append(info.Candidates, candidateInfo{candidate, price})
		}
	}
	return info
}

// describeNoise describes one release of a block with its mechanism.
func describeNoise(c *calibrated, block, release int) releaseInfo {
	r, p := c.Plan.Blocks[block].Releases[release], c.Mechanisms[block].Releases[release]
	info := describeCharged(r)
	info.unit, info.step = estimate.UnitOf(&c.Plan.Blocks[block], release), estimate.Step(r)
	info.Range, info.Unit = rangeText(r, info.unit), info.unit.Counts()
	paid, joint := p.Jointly()
	if !joint {
		paid = p.Epsilon()
	}
	info.Price = c.price.info(paid)
	info.divides = r.Kind == mechanism.Scalar && divides(&c.Plan.Blocks[block], release)
	if margin := c.wanted[block][release]; margin > 0 {
		info.Price = c.price.info(c.mostOfSum(block, release).Epsilon)
		info.Price.AtMost = true
		info.Mechanism, info.Wanted = "the least noise that keeps the margin of the average, chosen once its count is released", margin*info.step
		return info
	}
	noise := c.Noise(block, release)
	info.Mechanism, info.Geometry, info.Scale, info.Margin = noise.Mechanism, noise.Geometry, noise.Scale, noise.Margin
	info.ofSum, info.none = noise.OfSum, noise.None
	return info
}

// describeCharged describes what one unit moves.
func describeCharged(r mechanism.Release) releaseInfo {
	step := estimate.Step(r)
	if r.Kind == mechanism.Quantile { // what moves is a rank
		step = 1
	}
	return releaseInfo{
		Name: r.Name, Kind: r.Kind, Sensitivity: float64(r.Sensitivity) * step, Total: totalOf(r) * step, Groups: max(r.Groups, 1), Range: rangeText(r, estimate.Unit{}), Grid: gridOf(r),
	}
}

// gridOf is what the numbers of a release are multiples of; 0 for whole numbers.
func gridOf(r mechanism.Release) float64 {
	grid := estimate.Step(r)
	if grid == 1 { // whole numbers, or a moment's, which have units of their own
		return 0
	}
	if r.Kind == mechanism.SumGivenCount { // of 2x − 2c (docs/privacy.md P13)
		grid *= 2
	}
	if grid == 1 {
		return 0
	}
	return grid
}

// rangeText prints the valid range in the value's own units.
func rangeText(r mechanism.Release, u estimate.Unit) string {
	step := estimate.Step(r)
	if r.Kind == mechanism.Selection {
		return "groups with enough units"
	}
	end := func(z int64) string {
		switch z {
		case mechanism.NoLower:
			return "-∞"
		case mechanism.NoUpper:
			return "∞"
		}
		return u.Value(r.Grid.Origin + step*float64(z))
	}
	if r.Kind == mechanism.SumGivenCount {
		return fmt.Sprintf("[n·%s, n·%s], n the released count", u.Difference(step*float64(r.PerRow.Lo)), u.Difference(step*float64(r.PerRow.Hi)))
	}
	text := ""
	for i, v := range r.Range {
		if i > 0 {
			text += " ∪ "
		}
		text += "[" + end(v.Lo) + ", " + end(v.Hi) + "]"
	}
	return text
}
