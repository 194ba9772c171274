package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// prepareReleases shares g over a block's releases by weight. A release that has to keep a margin gets the ε that the margin
// needs instead of its share of ε, but no more than most; it gets its share of δ. The sum of all ε exceeds that of g by extra.
func prepareReleases(list []mechanism.Release, g mechanism.Guarantee, most float64) (out []*mechanism.Prepared, extra float64, err error) {
	var shared []mechanism.Release
	weights, rest := 0, 0
	for _, r := range list {
		weights += max(r.Weight, 1)
		if r.Margin == 0 {
			rest += max(r.Weight, 1)
			shared = append(shared, r)
		}
	}
	if rest == weights {
		out, err = mechanism.PrepareVector(list, g)
		return out, 0, err
	}
	part := func(weight int) mechanism.Guarantee {
		f := float64(weight) / float64(weights)
		return mechanism.Guarantee{Epsilon: g.Epsilon * f, Delta: g.Delta * f}
	}
	var prepared []*mechanism.Prepared
	if len(shared) > 0 {
		if prepared, err = mechanism.PrepareVector(shared, part(rest)); err != nil {
			return nil, 0, err
		}
	}
	for _, r := range list {
		if r.Margin == 0 {
			out, prepared = append(out, prepared[0]), prepared[1:]
			continue
		}
		share := part(max(r.Weight, 1))
		p, err := prepareWithin(r, mechanism.Guarantee{Epsilon: most, Delta: share.Delta})
		if err != nil {
			return nil, 0, err
		}
		out = append(out, p)
		extra += p.Epsilon() - share.Epsilon
	}
	return out, extra, nil
}

// prepareWithin spends the least ε with which a release keeps its margin, at most that of g. This ε is a function of public
// quantities (docs/privacy.md P18).
func prepareWithin(r mechanism.Release, g mechanism.Guarantee) (*mechanism.Prepared, error) {
	if _, err := mechanism.Prepare(r, g); err != nil {
		return nil, err
	}
	wanted, err := mechanism.EpsilonForMargin(r, float64(r.Margin), g)
	if err != nil {
		return nil, tooNarrow(fmt.Sprintf("%s for %s", number(float64(r.Margin)*r.Grid.Step), r.Name), g.Epsilon)
	}
	return mechanism.Prepare(r, wanted)
}

// tooNarrow refuses a margin that would cost more than the statement may.
func tooNarrow(margin string, most float64) error {
	return pgerr.New(pgerr.InvalidParameterValue,
		fmt.Sprintf("a margin of ±%s would cost more than epsilon %s, the most that this statement may cost", margin, number(most)),
		pgerr.Hint("Ask for a wider margin, or for fewer aggregates at once."))
}
