package engine

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
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

	unit  unit
	step  float64 // what a step of the candidates' errors is, in the value's own units
	ofSum float64 // a sum given its count: 95 % margin of it
	none  bool    // no answer has a margin of it

	divides bool // it is a count that averages are divided by, and not shown
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
	text := "epsilon " + number(p.Epsilon)
	if p.Order != 0 {
		text = fmt.Sprintf("divergence %s of order %s", number(p.Divergence), number(p.Order))
	}
	if p.AtMost {
		return "at most " + text
	}
	return text
}

// describeSelection describes the partition selection of a block.
func describeSelection(c *calibrated, block int) releaseInfo {
	b := c.blocks[block]
	info := describeCharged(*c.plan.Blocks[block].Select)
	half, always, _ := b.selects()
	decides := ""
	if b.selection != nil {
		info.Price = c.price.info(b.selection.Epsilon())
	} else {
		info.Price = c.price.info(0)
		decides = fmt.Sprintf("by the released value of %s, with no noise of its own; ", c.plan.Blocks[block].Releases[b.by].Name)
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
		for _, candidate := range way.blocks[block].releases[release].Candidates() {
			candidate.Chosen = candidate.Chosen && way == c
			price := way.statement(way.blocks[block].releases[release].Epsilon())
			info.Candidates = append(info.Candidates, candidateInfo{candidate, price})
		}
	}
	return info
}

// describeNoise describes one release of a block with its mechanism.
func describeNoise(c *calibrated, block, release int) releaseInfo {
	r, p := c.plan.Blocks[block].Releases[release], c.blocks[block].releases[release]
	info := describeCharged(r)
	info.unit, info.step = unitOf(&c.plan.Blocks[block], release), stepOf(r)
	info.Range, info.Unit = rangeText(r, info.unit), info.unit.counts()
	info.Price = c.price.info(p.Epsilon())
	info.divides = r.Kind == mechanism.Scalar && divides(&c.plan.Blocks[block], release)
	if r.Kind == mechanism.Quantile {
		info.Mechanism, info.Geometry = "exponential mechanism on ranks", "L1"
		n := mechanism.Together(c.plan.Blocks[block].Releases, release)
		if epsilon, joint := p.Jointly(); joint {
			info.Price = c.price.info(epsilon)
			info.Mechanism += fmt.Sprintf(", jointly for %d quantiles", n)
		} else if n > 1 {
			info.Mechanism += fmt.Sprintf(", by halving for %d quantiles on %d levels", n, mechanism.Levels(n))
		}
		return info
	}
	if margin := c.blocks[block].wanted[release]; margin > 0 {
		info.Price = c.price.info(c.mostOfSum(block, release).Epsilon)
		info.Price.AtMost = true
		info.Mechanism, info.Wanted = "the least noise that keeps the margin of the average, chosen once its count is released", margin*stepOf(r)
		return info
	}
	chosen := p.Chosen()
	info.Mechanism, info.Scale = string(chosen.Noise)+" "+string(chosen.Bounding), chosen.Scale*stepOf(r)
	switch cube, _ := p.Joint(); {
	case cube != nil:
		info.Mechanism, info.Geometry = fmt.Sprintf("%s, joint for %d releases", info.Mechanism, cube.Dimension()), "L∞"
	case chosen.Noise == mechanism.Gaussian:
		info.Geometry = "L2"
	default:
		info.Geometry = "L1"
	}
	info.none = marginless(&c.plan.Blocks[block], release)
	switch margin := p.PlannedMargin() * stepOf(r); {
	case info.none:
	case r.Kind == mechanism.Scalar:
		info.Margin = &margin
	default:
		info.ofSum = margin
	}
	return info
}

// marginless says that no answer has a margin of the aggregates of which a release is the first.
func marginless(b *rewrite.Block, release int) bool {
	with := func(c rewrite.Column) bool {
		return c.Type != pgtype.BoolOID && (c.Cut == nil || c.Cut.Share != nil) && (len(c.Releases) > 1 || !anyBeyond(b.Releases[release], c))
	}
	of := slices.DeleteFunc(slices.Clone(b.Columns), func(c rewrite.Column) bool { return len(c.Releases) == 0 || c.Releases[0] != release })
	return b.Uncovered || len(of) > 0 && !slices.ContainsFunc(of, with)
}

// describeCharged describes what one unit moves.
func describeCharged(r mechanism.Release) releaseInfo {
	step := stepOf(r)
	if r.Kind == mechanism.Quantile { // what moves is a rank
		step = 1
	}
	return releaseInfo{
		Name: r.Name, Kind: r.Kind, Sensitivity: float64(r.Sensitivity) * step, Total: totalOf(r) * step, Groups: max(r.Groups, 1), Range: rangeText(r, unit{}), Grid: gridOf(r),
	}
}

// gridOf is what the numbers of a release are multiples of; 0 for whole numbers.
func gridOf(r mechanism.Release) float64 {
	grid := stepOf(r)
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

// stepOf is how large one grid step is, in the value's own units.
func stepOf(r mechanism.Release) float64 {
	if r.Grid.Step == 0 {
		return 1
	}
	return r.Grid.Step
}

// rangeText prints the valid range in the value's own units.
func rangeText(r mechanism.Release, u unit) string {
	step := stepOf(r)
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
		return u.value(r.Grid.Origin + step*float64(z))
	}
	if r.Kind == mechanism.SumGivenCount {
		return fmt.Sprintf("[n·%s, n·%s], n the released count", u.difference(step*float64(r.PerRow.Lo)), u.difference(step*float64(r.PerRow.Hi)))
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
