package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// queries counts the queries that measure a block: distinct values and histograms have their own, each of which reads
// the source again.
func (k *Block) queries() int64 {
	n := int64(1 + len(k.Histograms))
	for _, m := range k.Measurements {
		if m.Distinct != nil {
			n++
		}
	}
	return n
}

// weigh adds up the work of a block.
func (k *Block) weigh(calls []*aggregate.Call) {
	r := &relation.Relation{Unit: k.Source.Unit, MaxRowsPerUnit: k.Source.MaxRowsPerUnit, Steps: k.Source.Steps}
	for _, g := range k.Keys {
		r.AddWork(g.Work().Repeated(int64(max(1, strings.Count(query.Key(g.Selection), query.Key(g.SQL()))))),
			r.MaxRowsPerUnit)
		r.AddWork(g.InsideWork(), r.MaxRowsPerUnit)
	}
	r.Steps = expr.MulSteps(r.Steps, k.queries())
	// how often the histogram of a quantile prints the conditions and arguments of others, against once
	together := int64(1)
	for _, h := range k.Histograms {
		together = max(together, 2*int64(len(h.Together)))
	}
	for _, c := range calls {
		w := c.Work()
		switch {
		case len(c.Fractions) > 0:
			w = w.Repeated(together)
		case slices.ContainsFunc(k.Measurements, func(m Measurement) bool { return m.less != nil }):
			w = w.Repeated(2) // the next of a chain prints its condition, too
		}
		r.AddWork(w, r.MaxRowsPerUnit)
	}
	if !k.Single() {
		r.AddWork(expr.Work{Row: relation.OuterSteps}, r.MaxRowsPerUnit)
	}
	k.Steps = r.Steps
}

// checkBlockWork refuses a block which, with those before it, is too much work.
func (b *Planner) checkBlockWork(k *Block, calls []*aggregate.Call, before []*Block) error {
	if len(k.Source.Tables) > 1 && b.ConditionSteps > relation.MostConditionSteps {
		return b.Refuse(refusal.TooMuchWork, nil, fmt.Sprintf(
			"a condition may take more than %d steps for a row, where several tables are read", relation.MostConditionSteps),
			"Compare with simpler expressions, or filter one table in a statement of its own.")
	}
	total := int64(0)
	for _, o := range append(slices.Clone(before), k) {
		total += max(0, o.Steps-expr.MulSteps(b.Allowance(o.Source.Tables), o.queries()))
	}
	if total <= relation.MaxUnitSteps {
		return nil
	}
	err := b.CheckSteps(total, nil, nil, "this statement", "Aggregate fewer rows, or ask for less at a time.")
	if len(calls) == 0 {
		return err
	}
	return aggregate.LocatedCall(b.Base, err, calls[0])
}
