package engine

import (
	"context"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// calibrateReleases shares the price over a block's releases by weight. A release that has to keep a margin costs what
// the margin needs, instead of its part, but no more than the most that the whole statement may. Sums of wanted
// averages, and counts that are there for them alone, have noise of their own (averages.go).
func (p price) calibrateReleases(ctx context.Context, block *rewrite.Block, wanted map[int]float64, l later,
	b statementBudget,
) ([]*mechanism.Prepared, error) {
	var shared []mechanism.Release
	var at []int // of these
	most := b.priceAt(b.most, p.order).Guarantee
	out := make([]*mechanism.Prepared, len(block.Releases))
	for i, r := range block.Releases {
		var err error
		switch out[i], err = l.prepareFirst(block, wanted, i); {
		case err != nil:
			return nil, err
		case out[i] != nil:
			continue
		case r.Margin == 0:
			r.Weight = l.whole.of(r)
			if l.whole.wide[r.Layer] {
				r.Row = 0 // joint noise belongs to one block, and would be charged beside what the layer costs in the others
			}
			shared, at = append(shared, r), append(at, i)
			continue
		}
		if out[i], err = prepareWithin(r, most, b.most); err != nil {
			return nil, err
		}
	}
	if len(shared) == 0 {
		return out, nil
	}
	prepared, err := mechanism.PrepareVector(ctx, shared, p.divide(l.whole.sum(shared), l.whole.total))
	if err != nil {
		return nil, err
	}
	for i, to := range at {
		out[to] = prepared[i]
	}
	return out, nil
}

// prepareWithin spends the least ε or divergence with which a release keeps its margin, at most that of g, which a
// nominal ε of most pays. It is a function of public quantities (docs/privacy.md P18).
func prepareWithin(r mechanism.Release, g mechanism.Guarantee, most float64) (*mechanism.Prepared, error) {
	finest, err := mechanism.Prepare(r, g)
	if err != nil {
		return nil, err
	}
	wanted, err := mechanism.EpsilonForMargin(r, float64(r.Margin), g)
	if err != nil {
		least := estimate.Number(math.Ceil(finest.PlannedMargin()) * estimate.Step(r))
		return nil, tooNarrow(fmt.Sprintf("%s for %s", estimate.Number(float64(r.Margin)*r.Grid.Step), r.Name), most, least)
	}
	return mechanism.Prepare(r, wanted)
}

// tooNarrow refuses a margin that would cost more than the statement may, and says the least that can be had; empty: it
// is not known.
func tooNarrow(margin string, most float64, least string) error {
	hint := "Ask for a wider margin, or for fewer aggregates at once."
	if least != "" {
		hint = fmt.Sprintf(
			"The least margin that can be had is ±%s. Ask for that or a wider one, or for fewer aggregates at once.", least)
	}
	return pgerr.New(pgerr.InvalidParameterValue,
		fmt.Sprintf("a margin of ±%s would cost more than epsilon %s, the most that this statement may cost", margin,
			estimate.Number(most)),
		pgerr.Hint("%s", hint))
}
