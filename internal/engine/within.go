package engine

import (
	"errors"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// calibrateReleases shares the price over a block's releases by weight. A release that has to keep a margin costs what the margin needs,
// instead of its part, but no more than the most that the whole statement may.
func (p price) calibrateReleases(list []mechanism.Release, w weights, b statementBudget) ([]*mechanism.Prepared, error) {
	var shared []mechanism.Release
	for _, r := range list {
		if r.Margin == 0 {
			r.Weight = w.of(r)
			if w.wide[r.Layer] {
				r.Row = 0 // joint noise belongs to one block, and would be charged beside what the layer costs in the others
			}
			shared = append(shared, r)
		}
	}
	var prepared []*mechanism.Prepared
	var err error
	if len(shared) > 0 {
		if prepared, err = mechanism.PrepareVector(shared, p.divide(w.sum(shared), w.total)); err != nil {
			return nil, err
		}
	}
	most := b.priceAt(b.most, p.order).Guarantee
	out := make([]*mechanism.Prepared, len(list))
	for i, r := range list {
		if r.Margin == 0 {
			out[i], prepared = prepared[0], prepared[1:]
		} else if out[i], err = prepareWithin(r, most); errors.Is(err, errTooNarrow) {
			return nil, tooNarrow(fmt.Sprintf("%s for %s", number(float64(r.Margin)*r.Grid.Step), r.Name), b.most)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// errTooNarrow means that a release cannot keep its margin for the most that it may cost.
var errTooNarrow = errors.New("the margin is too narrow")

// prepareWithin spends the least ε or divergence with which a release keeps its margin, at most that of g. It is a function of public
// quantities (docs/privacy.md P18).
func prepareWithin(r mechanism.Release, g mechanism.Guarantee) (*mechanism.Prepared, error) {
	if _, err := mechanism.Prepare(r, g); err != nil {
		return nil, err
	}
	wanted, err := mechanism.EpsilonForMargin(r, float64(r.Margin), g)
	if err != nil {
		return nil, errTooNarrow
	}
	return mechanism.Prepare(r, wanted)
}

// tooNarrow refuses a margin that would cost more than the statement may.
func tooNarrow(margin string, most float64) error {
	return pgerr.New(pgerr.InvalidParameterValue,
		fmt.Sprintf("a margin of ±%s would cost more than epsilon %s, the most that this statement may cost", margin, number(most)),
		pgerr.Hint("Ask for a wider margin, or for fewer aggregates at once."))
}
