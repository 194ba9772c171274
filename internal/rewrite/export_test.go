package rewrite

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/measure"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Trees plans a private statement and gives, for each block of its plan, the queries for main before they are printed: that of Measure
// where it has one, then those of Histograms.
func (a *Analysis) Trees(v Values, lookup Lookup, o Options) ([][]query.Query, error) {
	b := a.planning()
	b.Values, b.Known, b.Lookup, b.HashKey = v, true, lookup, o.HashKey
	if err := b.FinishQuery(sqltree.Clone(a.query), nil); err != nil {
		return nil, b.Refusal(err)
	}
	var all [][]query.Query
	for i, number := range b.printBlocks(&Plan{}) {
		if k := b.Blocks[i]; number == len(all) { // not equal to an earlier block
			var trees []query.Query
			if totals, _ := measure.Query(b.Base, k); totals != nil && !k.Src.Empty {
				trees = append(trees, totals)
			}
			if !k.Src.Empty {
				for _, h := range k.Hists {
					trees = append(trees, measure.Histogram(b.Base, k, h))
				}
			}
			all = append(all, trees)
		}
	}
	return all, nil
}
