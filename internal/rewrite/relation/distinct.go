package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// DistinctRows keeps each row once. The unit is among the columns.
func (b *Base) DistinctRows(r *Relation) (*Relation, error) {
	d := NewDerived(b, r)
	constant := true
	for _, c := range r.Visible() {
		constant = constant && c.PerUnit
		if err := d.PassKey(c, c.Name); err != nil {
			return nil, err
		}
	}
	out := *d.Out
	out.Reads(r.Size(), r.Visible())
	out.Takes(expr.Work{Row: WindowSteps}, r.Size())
	distinct := r.Selects(d.Outputs...)
	distinct.Distinct = true
	out.From = &query.Derived{Query: distinct, As: d.Alias}
	out.Unique = []UniqueSet{{Cols: slices.Clone(out.Cols)}}
	for _, c := range out.Cols {
		out.Order = append(out.Order, c.X.Ref)
	}
	if constant && r.Private() {
		out.OneRow()
	}
	out.Plan = Planned("distinct, "+out.RowBound(), r.Plan)
	return &out, nil
}
