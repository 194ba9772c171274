package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// calibrated is a plan with a mechanism for each release: what EXPLAIN prints and what the ledger charges.
type calibrated struct {
	estimate.Statement
	epsilon float64 // nominal
	price   price   // what the releases share; those with a margin of their own cost what that needs
	share   float64 // of the analyst's whole budget that the price of the nominal ε takes
	fits    int     // how many such statements the whole budget holds: of one that is charged in parts, at least
	loss    float64 // what to compare ways to pay by
	// wanted are the margins that averages of each block have to keep, in steps per row, by the sum that is charged once
	// the counts are released.
	wanted []map[int]float64
	charge ledger.Charge
	other  *calibrated // the way to pay that was not taken; nil: there is none
	look   *look       // it is charged for a first look; nil: for all of its answer

	certificate *gate.Certificate // of the plan's queries for main

	budget statementBudget // that it was calibrated for
	later  later
}

// selects gives the number of units from which on a group is shown with probability ½ or more, and from which on but
// for a chance below 1e-9, if they are in no other. false: the groups are declared.
func selects(b gate.Mechanisms) (half, always int64, ok bool) {
	switch {
	case b.Selection != nil:
		half, always = b.Selection.SelectThreshold()
		return half, always, true
	case b.Threshold != nil:
		return b.Threshold.Least, b.Threshold.Always, true
	}
	return 0, 0, false
}

// calibrate chooses a mechanism for each release of the plan within what the statement may cost.
func (c *call) calibrate(ctx context.Context, plan *rewrite.Plan) (*calibrated, error) {
	budget, err := c.budget(ctx, plan)
	var p *calibrated
	if err == nil {
		p, err = shareBudget(ctx, plan, budget)
	}
	var own *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &own):
		return nil, err
	case err != nil:
		return nil, refusal.New(refusal.NoMechanism, "no mechanism answers this within the rules: "+err.Error(),
			pgerr.Hint(
				"Ask for fewer aggregates or raise dpproxy.epsilon; if the mechanism is at fault, the administrator can change it in the policy."))
	}
	if err := p.checkThreshold(); err != nil {
		return nil, err
	}
	if p.epsilon > plan.EpsilonMax {
		return nil, pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("this statement would cost epsilon %s; at most %s is allowed", estimate.Number(p.epsilon),
				estimate.Number(plan.EpsilonMax)),
			pgerr.Hint("SET dpproxy.epsilon to a smaller value, or ask for a wider dpproxy.margin."))
	}
	p = c.lookFirst(ctx, p)
	p.charge.Query, p.charge.Policy = c.sql, c.state.policy.Version
	p.certificate = gate.New(c.state.schema, plan)
	return p, nil
}

// budget takes what the statement may cost from SET dpproxy.epsilon or dpproxy.margin; without them, from the policy.
func (c *call) budget(ctx context.Context, plan *rewrite.Plan) (statementBudget, error) {
	b := c.state.budgets[c.state.budgetKey(c.scope.Analyst)]
	b.epsilon, b.most = plan.Epsilon, plan.EpsilonMax
	if set := c.scope.Settings.Epsilon(); set > 0 {
		b.epsilon = set
	}
	if text := c.scope.Settings.Margin(); text != "" {
		wanted, err := parseMargin(text)
		if err != nil {
			return b, err
		}
		return wanted.budgetFor(ctx, plan, b)
	}
	return b, nil
}

// shareBudget shares b over the plan's releases by their weights (docs/privacy.md P18) and calibrates each. Of the ways
// to pay it takes the one with the least expected error, and order ∞ where that is the cheapest and the other gains
// little.
func shareBudget(ctx context.Context, plan *rewrite.Plan, b statementBudget) (*calibrated, error) {
	ways, err := prepareWays(ctx, plan, b)
	if err != nil {
		return nil, err
	}
	for _, p := range ways {
		p.settle(b)
	}
	if len(ways) == 1 {
		return ways[0], nil
	}
	best, other, enough := ways[0], ways[1], 1-lossRounding
	if best.price.order == accounting.Infinite {
		enough = worthNoPure * worthNoPure
	}
	for _, way := range ways[1:] {
		if way.loss < best.loss*enough {
			best, other, enough = way, ways[0], 1-lossRounding
		}
	}
	best.other = other
	return best, nil
}

// prepareWays calibrates the releases of a plan for each way to pay that can answer it, in the order of their prices.
// If none can, it says why the first cannot. Where ctx ends it says that, whatever ways it has: what is chosen is kept
// for others.
func prepareWays(ctx context.Context, plan *rewrite.Plan, b statementBudget) (ways []*calibrated, first error) {
	for _, price := range b.prices(b.epsilon) {
		p, err := price.calibrate(ctx, plan, b)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			ways = append(ways, p)
		case first == nil:
			first = err
		}
	}
	if ways != nil {
		return ways, nil
	}
	return nil, first
}

const (
	// worthNoPure is how small the error of noise without a pure ε must be against that of noise with one, where that is
	// paid at order ∞. A single statement without a pure ε ends the use of order ∞ for its period, and has to pay for
	// converting another order first: what is left falls by several times its ε. A gain of a few percent is not worth
	// that.
	worthNoPure = .9
	// lossRounding bounds the relative difference of two losses that count as equal.
	lossRounding = 1e-9
	// shareRounding bounds the relative error of adding up the shares of a statement. Every calibration errs on the
	// private side by 1e-9, far more than that.
	shareRounding = 1e-12
)

// calibrate calibrates the releases of a plan for one way to pay. It is an error if they do not keep dpproxy.margin.
func (p price) calibrate(ctx context.Context, plan *rewrite.Plan, b statementBudget) (*calibrated, error) {
	out := &calibrated{
		Statement: estimate.Statement{Plan: plan}, epsilon: b.epsilon, price: p, budget: b,
		later: p.laterOf(plan, b),
	}
	for i := range plan.Blocks {
		wanted := b.wantedAverages(&plan.Blocks[i])
		block, err := p.calibrateBlock(ctx, plan, i, wanted, out.later, b)
		if err != nil {
			return nil, err
		}
		out.Mechanisms, out.wanted = append(out.Mechanisms, block), append(out.wanted, wanted)
	}
	if b.margin != nil {
		if least := out.least(ctx, *b.margin); least > b.margin.value {
			return nil, tooNarrow(b.margin.text, b.most, b.margin.print(least))
		}
	}
	return out, nil
}

// settle finds out what the statement costs. One whose releases have margins of their own costs what they need; any
// other costs what was asked.
func (p *calibrated) settle(b statementBudget) {
	p.charge = p.composed(func(int, int) bool { return true })
	paid := p.price.paidBy(p.charge.Curve)
	if p.ownMargins() || paid > p.price.Epsilon*(1+shareRounding) {
		p.epsilon = b.nominal(paid, p.price.order)
	}
	p.charge = costing(p.epsilon, p.charge)
	p.share = b.share(p.epsilon, p.price.order)
	p.fits, p.loss = b.holds(p.charge), p.expectedLoss(b)
	if p.chargedInParts() {
		p.fits = b.fits(p.later.price.Epsilon/b.room.At(p.price.order), p.charge.SelectionDelta)
		p.charge = p.partOf(p.first)
	}
}

// costing gives a charge its nominal ε. Shares of ε need not add up to ε in floating point; what pays ε costs exactly
// its ε.
func costing(epsilon float64, c ledger.Charge) ledger.Charge {
	if math.Abs(c.Curve.Pure-epsilon) <= shareRounding*epsilon {
		c.Curve.Pure = epsilon
	}
	c.Epsilon = epsilon
	return c
}

// bytes is about how much memory the statement takes with its plan.
func (p *calibrated) bytes() int {
	n := p.Plan.Bytes() + p.tables()
	if p.other != nil {
		n += p.other.tables()
	}
	if p.look != nil {
		n += p.look.whole.tables()
	}
	return n
}

func (p *calibrated) tables() (n int) {
	for _, b := range p.Mechanisms {
		if b.Selection != nil {
			n += b.Selection.Bytes()
		}
		for _, r := range b.Releases {
			n += releaseBytes + r.Bytes()
		}
	}
	return n
}

// ownMargins says whether a release has a margin of its own.
func (p *calibrated) ownMargins() bool {
	for _, block := range p.Plan.Blocks {
		for _, r := range block.Releases {
			if r.Margin > 0 {
				return true
			}
		}
	}
	return false
}

// calibrateBlock calibrates the releases of one block, each for its weight's part of the price.
func (p price) calibrateBlock(ctx context.Context, plan *rewrite.Plan, at int, wanted map[int]float64, l later,
	b statementBudget,
) (out gate.Mechanisms, err error) {
	block, delta := &plan.Blocks[at], b.deltaOf(plan, p)
	if block.Select != nil && block.SelectBy == 0 {
		g := p.divide(max(block.Select.Weight, 1), l.whole.total)
		g.Delta = delta
		if out.Selection, err = mechanism.Prepare(*block.Select, g); err != nil {
			return out, fmt.Errorf("partition selection: %w", err)
		}
	}
	out.Later = map[int]bool{}
	for sum := range wanted {
		out.Later[sum] = true
	}
	if out.Releases, err = p.calibrateReleases(ctx, block, wanted, l, b); err != nil || block.SelectBy == 0 {
		return out, err
	}
	out.By = block.SelectBy - 1
	threshold, err := out.Releases[out.By].CountThreshold(delta)
	out.Threshold = &threshold
	return out, err
}

// composed returns the charge for selections and some releases together; a selection, which is release −1 of its block,
// has a δ of its own.
func (p *calibrated) composed(of func(block, release int) bool) ledger.Charge {
	charge := ledger.Charge{Fingerprint: p.Plan.Fingerprint, Method: p.budget.method}
	var releases []mechanism.Release
	var prepared []*mechanism.Prepared
	for _, it := range p.items(of) {
		block, r := &p.Plan.Blocks[it.Block], p.Plan.Blocks[it.Block].Select
		if it.Release == gate.Selection {
			charge.SelectionDelta += p.budget.deltaOf(p.Plan, p.price)
		} else {
			r = &block.Releases[it.Release]
		}
		if it.Mechanism != nil {
			releases, prepared = append(releases, *r), append(prepared, it.Mechanism)
		}
	}
	charge.Curve = mechanism.Compose(releases, prepared)
	return charge
}

// items are the mechanisms of some releases.
func (p *calibrated) items(of func(block, release int) bool) (list []gate.Item) {
	for i, block := range p.Mechanisms {
		if p.Plan.Blocks[i].Select != nil && of(i, gate.Selection) {
			list = append(list, gate.Item{Block: i, Release: gate.Selection, Mechanism: block.Selection})
		}
		for j, prepared := range block.Releases {
			if of(i, j) {
				list = append(list, gate.Item{Block: i, Release: j, Mechanism: prepared})
			}
		}
	}
	return list
}

// expectedLoss compares ways to pay: the sum of the expected squared errors of all releases, each in units of its
// sensitivity, times the part of the budget that the statement takes, because an error falls with the root of that.
// Ranks count as Laplace noise of their pure ε would, and a selection as the Laplace noise that has its threshold.
func (p *calibrated) expectedLoss(b statementBudget) float64 {
	sum := 0.0
	for i, block := range p.Plan.Blocks {
		if half, _, ok := selects(p.Mechanisms[i]); ok {
			e := math.Sqrt2 * float64(half) / math.Log(1/b.deltaOf(p.Plan, p.price))
			sum += e * e
		}
		for j, r := range block.Releases {
			e := errorOf(r, p.Mechanisms[i].Releases[j]) / math.Max(float64(r.Sensitivity), 1)
			sum += e * e
		}
	}
	return sum * p.share
}

// errorOf is the expected error of a release, in grid steps, of a quantile in ranks.
func errorOf(r mechanism.Release, prepared *mechanism.Prepared) float64 {
	if r.Kind == mechanism.Quantile {
		return math.Sqrt2 * totalOf(r) / prepared.Curve().Pure
	}
	return prepared.Chosen().RMSEAverage
}

// totalOf is how far one unit moves a release over all groups together, in grid steps.
func totalOf(r mechanism.Release) float64 {
	if r.Total > 0 {
		return float64(r.Total)
	}
	return float64(r.Sensitivity) * float64(max(r.Groups, 1))
}

// releases says whether the plan releases anything: a filter that nothing satisfies leaves nothing to release.
func (p *calibrated) releases() bool {
	for _, b := range p.Plan.Blocks {
		if len(b.Releases) > 0 || b.Select != nil {
			return true
		}
	}
	return false
}
