package engine

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// priced is a plan with a mechanism for each release: what EXPLAIN prints and what the ledger charges.
type priced struct {
	plan    *rewrite.Plan
	epsilon float64
	blocks  []pricedBlock
	charge  ledger.Charge
}

// pricedBlock holds the mechanisms of one release block, in the order of its releases.
type pricedBlock struct {
	selection *mechanism.Prepared // nil with declared keys
	releases  []*mechanism.Prepared
}

// allowance is what one statement may cost.
type allowance struct {
	epsilon        float64
	delta          float64 // of the statement's noise; 0 under pure accounting
	selectionDelta float64 // of each partition selection
}

// shareRounding is the relative rounding of adding up the shares of a statement: far below the margin of 1e-9 by which
// every calibration errs on the private side.
const shareRounding = 1e-12

// price shares a over the plan's releases by their weights (PRIVACY 14) and calibrates each.
func price(plan *rewrite.Plan, a allowance) (*priced, error) {
	p := &priced{plan: plan, epsilon: a.epsilon, charge: ledger.Charge{Fingerprint: plan.Fingerprint}}
	for _, block := range plan.Blocks {
		weights := 0
		for _, r := range block.Releases {
			weights += r.Weight
		}
		selection := 0.0 // share of the block's ε
		var out pricedBlock
		if block.Select != nil {
			selection = float64(block.Select.Weight) / float64(weights+block.Select.Weight)
			prepared, err := mechanism.Prepare(*block.Select, mechanism.Guarantee{Epsilon: a.epsilon * block.Epsilon * selection, Delta: a.selectionDelta})
			if err != nil {
				return nil, fmt.Errorf("partition selection: %w", err)
			}
			out.selection = prepared
			p.charge.Curve = p.charge.Curve.Add(prepared.Curve())
			p.charge.SelectionDelta += a.selectionDelta
		}
		if len(block.Releases) > 0 {
			share := block.Epsilon * (1 - selection)
			prepared, extra, err := prepareReleases(block.Releases, mechanism.Guarantee{Epsilon: a.epsilon * share, Delta: a.delta * share}, plan.EpsilonMax)
			if err != nil {
				return nil, err
			}
			out.releases = prepared
			p.epsilon += extra
			for _, prepared := range out.releases {
				p.charge.Curve = p.charge.Curve.Add(prepared.Curve())
			}
		}
		p.blocks = append(p.blocks, out)
	}
	// Shares of ε need not add up to ε in floating point; a statement costs exactly its ε (PRIVACY 14).
	if math.Abs(p.charge.Curve.Pure-p.epsilon) <= shareRounding*p.epsilon {
		p.charge.Curve.Pure = p.epsilon
	}
	p.charge.Epsilon = p.epsilon
	return p, nil
}
