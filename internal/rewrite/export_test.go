package rewrite

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/rewrite/measure"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// Trees plans a private statement and gives, for each block of its plan, the queries for main before they are printed:
// that of Measure where it has one, then those of Histograms.
func (a *Analysis) Trees(v Values, lookup Lookup, o Options) ([][]query.Query, error) {
	b, err := a.planning(context.Background(), v, lookup, o)
	if err != nil {
		return nil, err
	}
	var all [][]query.Query
	p, planned := &Plan{}, []*release.Block{}
	var numbers []int
	for _, q := range b.queries {
		numbers = append(numbers, b.printBlocks(q, p, &planned)...)
	}
	for i, number := range numbers {
		if k := b.blocks()[i]; number == len(all) { // not equal to an earlier block
			var trees []query.Query
			if totals, _ := measure.Integers(b.Base, k); totals != nil && !k.Source.Empty {
				trees = append(trees, totals)
			}
			if !k.Source.Empty {
				for _, h := range k.Histograms {
					trees = append(trees, measure.Histogram(b.Base, k, h))
				}
			}
			all = append(all, trees)
		}
	}
	return all, nil
}
