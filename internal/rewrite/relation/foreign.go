package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// matchesAll says that, by a foreign key of main, every row of l has a partner in l LEFT JOIN r. Domains alone rest on
// it: where it is not true, rows without a partner have keys that no domain lists (docs/privacy.md P10c).
func (b *Base) matchesAll(l, r *Relation, conds []*expr.Expr, equal Equalities) bool {
	if len(equal.pairs) != 1 || len(expr.Split(conds)) != 1 {
		return false
	}
	of, to := equal.pairs[0][0], equal.pairs[0][1]
	if slices.Contains(l.Columns, to) {
		of, to = to, of
	}
	if !slices.Contains(l.Columns, of) || !slices.Contains(r.Columns, to) || !of.Value.HasValue() ||
		!of.Value.Bounds.Open() || !to.Value.Bounds.Open() {
		return false
	}
	m := b.Schema.Relations[of.Origin.Table]
	return m != nil && m.Kind == 'r' && !m.Inherits && b.wholeTable(r, of, to) &&
		slices.Contains(m.Foreign, schema.ForeignKey{
			Column: of.Origin.Column, References: to.Origin.Table,
			ReferencesColumn: to.Origin.Column,
		})
}

// wholeTable says that a relation has every row of one table that another relation's rows refer to, by the column of to
// the column key. A scan leaves out none but the rows without unit.
func (b *Base) wholeTable(r *Relation, of, key *Column) bool {
	if _, scan := r.From.(*query.Table); !scan || r.Empty || r.Lateral || len(r.Tables) != 1 ||
		key.Origin.Table != r.Tables[0].Name {
		return false
	}
	m, unit := b.Schema.Relations[r.Tables[0].Name], r.Tables[0].Unit
	switch {
	case m == nil || m.Kind != 'r' || m.Inherits:
		return false
	case len(r.Where) == 0:
		return true
	case len(r.Where) > 1 || len(r.Conditions) > 0 || unit == nil || unit.Column == "":
		return false
	case slices.Contains(b.RowKeys(of), key.Origin): // what has a unit refers to no row without
		return true
	}
	c := m.Column(unit.Column)
	return c != nil && c.NotNull
}

// matchAll notes that the rows of a LEFT JOIN hold those of both sides, equal in the pairs: columns of r are NULL where
// they were before.
func (r *Relation) matchAll(l *Relation, conds []*expr.Expr, equal Equalities, out *Relation) {
	out.public = l.publicPart().and(r.publicPart()).holding(conds).equating(equal.pairs)
	had := map[*Column]bool{}
	for _, c := range r.Columns {
		had[c] = c.Value.HasValue()
	}
	nullExtend(r.Columns)
	for c, v := range had {
		c.Value.Filled = v
	}
}
