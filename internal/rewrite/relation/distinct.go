package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// DistinctRows keeps each row once. The unit is among the columns, or one of them determines it.
func (b *Base) DistinctRows(r *Relation) (*Relation, error) {
	within := *r
	r = &within
	d := NewDerived(b, r)
	constant := true
	for _, c := range r.Visible() {
		constant = constant && c.PerUnit
		if err := d.PassKey(b, c, c.Name); err != nil {
			return nil, err
		}
	}
	keys := slices.Clone(d.Result.Columns)
	set := d.UniqueGroups(b, keys)
	out := *d.Result
	out.AddColumnWork(r.Size(), r.Visible())
	out.AddWork(expr.Work{Row: WindowSteps}, r.Size())
	distinct := r.Select(d.Outputs...)
	distinct.Distinct = true
	out.From = &query.Derived{Query: distinct, As: d.Alias}
	if set != nil {
		out.Unique = []UniqueSet{*set}
	}
	for _, c := range keys {
		out.Order = append(out.Order, c.Value.Ref)
	}
	if constant && r.Private() {
		out.SetOneRowPerUnit()
	}
	out.Plan = NewPlanNode("distinct, "+out.RowBound(), r.Plan)
	return &out, nil
}
