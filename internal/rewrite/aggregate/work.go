package aggregate

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// mostPrints bounds how often the SQL of an aggregate's argument prints an expression: for its value, its bounds, and to see
// whether there is one.
const mostPrints = 4

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
	return w
}
