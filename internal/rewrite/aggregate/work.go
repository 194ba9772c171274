package aggregate

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// mostPrints bounds how often the SQL of an aggregate's argument prints an expression: for its value, its bounds, and
// to see whether there is one.
const mostPrints = 4

// pairAggregates are what a statistic of pairs is computed from: their number, sums, products and variances.
const pairAggregates = 6

// Computed says how many aggregates main computes for a call over the rows of one unit.
func Computed(f *pg_query.FuncCall) int64 {
	if unitPairs[sqltree.FunctionName(f)] {
		return pairAggregates
	}
	return 1
}

// Work bounds what an aggregate does with a row.
func (c *Call) Work() expr.Work {
	w := expr.Work{Row: relation.GroupSteps}
	if c.Mode != nil {
		for _, part := range c.Mode.Counts {
			w = w.Plus(part.Work())
		}
		return w
	}
	of := slices.Concat(c.Args, c.Row)
	if c.Filter != nil {
		of = append(of, c.Filter)
	}
	for _, x := range of {
		w = w.Plus(x.Work().Repeated(mostPrints))
	}
	if c.Distinct || len(c.Fractions) > 0 || c.Name == "mode" || c.Name == "min" || c.Name == "max" {
		w.Row += relation.WindowSteps
	}
	if unitPairs[c.Name] {
		return w.Repeated(pairAggregates)
	}
	return w
}
