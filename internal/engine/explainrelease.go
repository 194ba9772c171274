package engine

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// priceInfo says what a statement's releases share, or what one of them has of it.
type priceInfo struct {
	Epsilon    float64 `json:"epsilon,omitempty"`    // pure; 0: Divergence or Square is shared
	Divergence float64 `json:"divergence,omitempty"` // Rényi divergence of Order
	Order      float64 `json:"order,omitempty"`
	Square     float64 `json:"mu_squared,omitempty"` // of Gaussian differential privacy
	AtMost     bool    `json:"at_most,omitempty"`    // what is released first decides how much it is
	Statements int     `json:"statements,omitempty"` // of a statement: how many such statements the whole budget holds
	AtLeast    bool    `json:"at_least,omitempty"`   // Statements are: each may cost less
}

type releaseInfo struct {
	Name        string         `json:"name"`
	Kind        mechanism.Kind `json:"kind"`
	Price       priceInfo      `json:"price"`
	Sensitivity float64        `json:"sensitivity"`     // of one group, in the value's own units
	Total       float64        `json:"total"`           // of all groups together
	Groups      int            `json:"groups_per_unit"` // the most that one unit moves
	Range       string         `json:"valid_range"`
	// the numbers that are added up are multiples of it; 0: whole numbers
	Grid float64 `json:"grid,omitempty"`
	estimate.Noise
	// of the average, where its count is large enough; Price is the most that it costs then
	Wanted float64 `json:"wanted_margin,omitempty"`
	// nil: no sum is made of it and of its count
	Sum *sumInfo `json:"sum,omitempty"`
	// microseconds or days: of times and dates, whose numbers here count those; empty: the value's own
	Unit       string          `json:"unit,omitempty"`
	Candidates []candidateInfo `json:"candidates,omitempty"`
	// nil: it depends on rows or a released count, or the range has gaps
	Density *densityInfo `json:"density,omitempty"`

	unit    estimate.Unit
	step    float64 // what a step of the candidates' errors is, in the value's own units
	divides bool    // it is a count that averages are divided by, and not shown
}

// sumInfo is a sum that is made of a release and of its count, beside the average or without one.
type sumInfo struct {
	Name   string  `json:"name"`
	Margin float64 `json:"margin"` // 95%, in its own units, before anything that is left out
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
	switch p.order {
	case accounting.Infinite:
		return priceInfo{Epsilon: amount}
	case gdp:
		return priceInfo{Square: amount}
	}
	return priceInfo{Divergence: amount, Order: p.Order}
}

func (p priceInfo) String() string {
	text := "epsilon " + estimate.Number(p.Epsilon)
	switch {
	case p.Square != 0:
		text = "mu² " + estimate.Number(p.Square) + " of Gaussian DP"
	case p.Order != 0:
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
	decides, spread := "", c.spread(block)
	if b.Selection != nil {
		info.Price = c.price.info(b.Selection.Epsilon())
	} else {
		info.Price = c.price.info(0)
		decides = fmt.Sprintf("by the released value of %s, with no noise of its own; ",
			c.Plan.Blocks[block].Releases[b.By].Name)
	}
	if spread != "" {
		decides = "units weigh 1/sqrt(their groups); "
	}
	info.Mechanism = fmt.Sprintf(
		"partition selection: %sa group appears with probability 1/2 or more from %d units on%s, and but for a chance below 1e-9 from %d on", decides, half, spread, always)
	return info
}

// describeRelease describes one release of a block with its mechanism, and those that were considered.
func describeRelease(c *calibrated, block, release int) releaseInfo {
	r, p := c.Plan.Blocks[block].Releases[release], c.Mechanisms[block].Releases[release]
	info := describeCharged(r)
	info.unit, info.step = estimate.UnitOf(&c.Plan.Blocks[block], release), estimate.Step(r)
	info.Range, info.Unit = rangeText(r, info.unit), info.unit.Counts()
	info.divides = r.Kind == mechanism.Scalar && divides(&c.Plan.Blocks[block], release)
	if margin := c.wanted[block][release]; margin > 0 {
		info.Price = c.price.info(c.mostOfSum(block, release, nil).Epsilon)
		info.Price.AtMost = true
		info.Mechanism,
			info.Wanted = "the least noise that keeps the margin of the average, chosen once its count is released",
			margin*info.step
		return info
	}
	paid, joint := p.Jointly()
	if !joint {
		paid = p.Epsilon()
	}
	info.Price, info.Noise = c.price.info(paid), c.Noise(block, release)
	info.Sum = describeSum(c, block, release)
	for _, way := range []*calibrated{c, c.other} {
		if way == nil || info.Scale == 0 {
			continue
		}
		p := way.Mechanisms[block].Releases[release]
		for _, candidate := range p.Candidates() {
			candidate.Chosen = candidate.Chosen && way == c
			info.Candidates = append(info.Candidates, candidateInfo{candidate, way.statement(p.Epsilon())})
		}
	}
	return info
}

// describeSum describes a sum z + center·n, as estimate has its margin where the true sum lies within its range.
func describeSum(c *calibrated, block, release int) *sumInfo {
	b, releases := &c.Plan.Blocks[block], c.Mechanisms[block].Releases
	for _, k := range b.Columns {
		if k.Average || k.Parts || k.Moments != nil || len(k.Releases) != 2 || k.Releases[0] != release ||
			estimate.Endless(*b, k) || b.Uncovered {
			continue
		}
		center := float64(k.DoubledCenter)
		z, n := mechanism.PairMargins(releases[release], releases[k.Releases[1]], center, c.Wrong())
		return &sumInfo{k.Name, math.Hypot(z, center*n) * estimate.Step(b.Releases[release])}
	}
	return nil
}

// describeCharged describes what one unit moves.
func describeCharged(r mechanism.Release) releaseInfo {
	step := estimate.Step(r)
	if r.Kind == mechanism.Quantile { // what moves is a rank
		step = 1
	}
	return releaseInfo{
		Name: r.Name, Kind: r.Kind, Sensitivity: float64(r.Sensitivity) * step, Total: totalOf(r) * step,
		Groups: max(r.Groups, 1), Range: rangeText(r, estimate.Unit{}), Grid: gridOf(r),
	}
}

// gridOf is what the numbers of a release are multiples of; 0 for whole numbers.
func gridOf(r mechanism.Release) float64 {
	grid := estimate.Step(r)
	if grid != 1 && r.Kind == mechanism.SumGivenCount { // of 2x − 2c (docs/privacy.md P13)
		grid *= 2
	}
	if grid == 1 { // whole numbers, or a moment's, which have units of their own
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
		return fmt.Sprintf("[n·%s, n·%s], n the released count", u.Difference(step*float64(r.PerRow.Lo)),
			u.Difference(step*float64(r.PerRow.Hi)))
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

// densityInfo is the distribution of a released value over a window of its valid range: a mechanism.Outline in the
// value's own units.
type densityInfo struct {
	Lo     float64      `json:"lo"` // the window's first and last grid point
	Hi     float64      `json:"hi"`
	Points int64        `json:"points"`      // grid points of each weight but the last
	Last   int64        `json:"last_points"` // of the last
	Inside weightsInfo  `json:"inside"`
	End    *weightsInfo `json:"end,omitempty"` // nil: the range has no lower end
}

// weightsInfo are probabilities of parts of the window.
type weightsInfo struct {
	True    float64 `json:"true"`
	Weights []short `json:"weights"`
}

// short is a probability that is printed with three digits, for a figure.
type short float64

func (s short) MarshalJSON() ([]byte, error) {
	if s < 1e-6 { // nothing to be seen
		s = 0
	}
	return strconv.AppendFloat(nil, float64(s), 'g', 3, 64), nil
}

// describeDensity is nil where a release's distribution depends on the rows or on a released count, and where the range
// has gaps.
func describeDensity(c *calibrated, block, release int) *densityInfo {
	r := c.Plan.Blocks[block].Releases[release]
	o := c.Mechanisms[block].Releases[release].Outline()
	if o == nil {
		return nil
	}
	value := func(z int64) float64 { return r.Grid.Origin + estimate.Step(r)*float64(z) }
	weights := func(w mechanism.Weights) weightsInfo {
		info := weightsInfo{True: value(w.True), Weights: make([]short, len(w.Parts))}
		for i, p := range w.Parts {
			info.Weights[i] = short(p)
		}
		return info
	}
	info := &densityInfo{
		Lo: value(o.Window.Lo), Hi: value(o.Window.Hi), Points: o.Points, Last: o.Last,
		Inside: weights(o.Inside),
	}
	if o.End != nil {
		end := weights(*o.End)
		info.End = &end
	}
	return info
}
