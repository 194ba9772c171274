package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// calibrated is a plan with a mechanism for each release: what EXPLAIN prints and what the ledger charges.
type calibrated struct {
	plan    *rewrite.Plan
	epsilon float64
	blocks  []calibratedBlock
	charge  ledger.Charge
}

// calibratedBlock holds the mechanisms of one release block, in the order of its releases.
type calibratedBlock struct {
	selection *mechanism.Prepared // nil with declared keys
	releases  []*mechanism.Prepared
}

// statementBudget holds what one statement may cost.
type statementBudget struct {
	epsilon        float64
	delta          float64 // of the statement's noise; 0 under pure accounting
	selectionDelta float64 // of each partition selection
}

// calibrate chooses a mechanism for each release of the plan within what the statement may cost.
func (c *call) calibrate(plan *rewrite.Plan) (*calibrated, error) {
	budget, err := c.budget(plan)
	if err != nil {
		return nil, err
	}
	p, err := shareBudget(plan, budget)
	var own *pgconn.PgError
	if errors.As(err, &own) {
		return nil, err
	}
	if err != nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "no mechanism answers this within the rules: "+err.Error(),
			pgerr.Hint("Ask for fewer aggregates or raise dpproxy.epsilon; if the mechanism is at fault, the administrator can change it in the policy."))
	}
	if p.epsilon > plan.EpsilonMax {
		return nil, pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("this statement would cost epsilon %s; at most %s is allowed", number(p.epsilon), number(plan.EpsilonMax)),
			pgerr.Hint("SET dpproxy.epsilon to a smaller value, or ask for a wider dpproxy.margin."))
	}
	p.charge.Query, p.charge.Policy = c.sql, c.state.policy.Version
	return p, nil
}

// budget takes what the statement may cost from SET dpproxy.epsilon or dpproxy.margin; without them, from the policy.
func (c *call) budget(plan *rewrite.Plan) (statementBudget, error) {
	p := c.state.policy
	b := statementBudget{epsilon: plan.Epsilon}
	if p.Accounting.Method == policy.RDP {
		b.delta = p.Accounting.Delta
		b.selectionDelta = ledger.ConfigOf(p).SelectionDelta(c.scope.Analyst)
	}
	if set := c.scope.Settings.Epsilon(); set > 0 {
		b.epsilon = set
	}
	if text := c.scope.Settings.Margin(); text != "" {
		wanted, err := parseMargin(text)
		if err != nil {
			return b, err
		}
		if b.epsilon, err = wanted.epsilonFor(plan, b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// shareRounding bounds the relative error of adding up the shares of a statement. Every calibration errs on the private side
// by 1e-9, far more than that.
const shareRounding = 1e-12

// shareBudget shares b over the plan's releases by their weights (docs/privacy.md P18) and calibrates each.
func shareBudget(plan *rewrite.Plan, b statementBudget) (*calibrated, error) {
	p := &calibrated{plan: plan, epsilon: b.epsilon, charge: ledger.Charge{Fingerprint: plan.Fingerprint}}
	for i := range plan.Blocks {
		if err := p.addBlock(&plan.Blocks[i], b); err != nil {
			return nil, err
		}
	}
	// Shares of ε need not add up to ε in floating point; a statement costs exactly its ε.
	if math.Abs(p.charge.Curve.Pure-p.epsilon) <= shareRounding*p.epsilon {
		p.charge.Curve.Pure = p.epsilon
	}
	p.charge.Epsilon = p.epsilon
	return p, nil
}

// addBlock calibrates the releases of one block within its share of b.
func (p *calibrated) addBlock(block *rewrite.Block, b statementBudget) error {
	weights := 0
	for _, r := range block.Releases {
		weights += r.Weight
	}
	var out calibratedBlock
	selection := 0.0 // share of the block's ε
	if block.Select != nil {
		selection = float64(block.Select.Weight) / float64(weights+block.Select.Weight)
		prepared, err := mechanism.Prepare(*block.Select, mechanism.Guarantee{Epsilon: b.epsilon * block.Epsilon * selection, Delta: b.selectionDelta})
		if err != nil {
			return fmt.Errorf("partition selection: %w", err)
		}
		out.selection = prepared
		p.charge.Curve = p.charge.Curve.Add(prepared.Curve())
		p.charge.SelectionDelta += b.selectionDelta
	}
	if len(block.Releases) > 0 {
		share := block.Epsilon * (1 - selection)
		prepared, extra, err := prepareReleases(block.Releases, mechanism.Guarantee{Epsilon: b.epsilon * share, Delta: b.delta * share}, p.plan.EpsilonMax)
		if err != nil {
			return err
		}
		out.releases = prepared
		p.epsilon += extra
		for _, r := range prepared {
			p.charge.Curve = p.charge.Curve.Add(r.Curve())
		}
	}
	p.blocks = append(p.blocks, out)
	return nil
}

// releases says whether the plan releases anything: a filter that nothing satisfies leaves nothing to release.
func (p *calibrated) releases() bool {
	for _, b := range p.plan.Blocks {
		if len(b.Releases) > 0 || b.Select != nil {
			return true
		}
	}
	return false
}
