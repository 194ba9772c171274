package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// Fix notes that a relation has at most one row where constants, or columns of the query around it, fix a unique set of
// its columns: no columns at all then tell its rows apart.
func (r *Relation) Fix(fixed []*Column, around any) {
	covered := map[*Column]bool{}
	for _, c := range fixed {
		covered[c] = true
	}
	for _, q := range r.Correlated {
		covered[q.Inner] = covered[q.Inner] || q.Scope == around
	}
	if set := r.UniqueOver(covered); set != nil {
		r.Unique = append(slices.Clone(r.Unique), UniqueSet{Proof: set.Proof})
	}
}

// Narrow applies what the conditions say of columns.
func (r *Relation) Narrow() {
	if len(r.Conditions) == 0 {
		return
	}
	known, added := expr.Narrow(expr.And(r.Conditions...)), map[*expr.Column]expr.Narrowing{}
	if len(known) == 0 {
		return
	}
	if r.Preserved != nil && len(r.Preserved.Conditions) > 0 {
		added = expr.Narrow(expr.And(r.Preserved.Conditions...))
	}
	for _, c := range r.Columns {
		holds := known
		if r.Preserved != nil && !r.Preserved.Has(c.Value) {
			holds = added // groups are of the rows of the public table that the join adds, too
		}
		n, ok := holds[c.Value]
		if c.Value = c.Value.NarrowEnds(holds); !ok {
			continue
		}
		x := *c.Value
		if both := x.Bounds.Intersect(n.Bounds); !both.Empty() {
			x.Narrow(both)
		}
		r.Empty = r.Empty || n.Never // age < 5 AND age > 10
		x.NarrowBeyond(n.Bounds)
		if n.NotNull {
			x.KeepOutNull()
		}
		if n.Domain != nil {
			x.Domain = n.Domain
		}
		c.Value = &x
	}
	r.limit()
}
