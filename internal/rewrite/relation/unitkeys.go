package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// A key of one unit is a column of which the policy says that each value is in rows of one unit alone, as a session's
// number is. Nobody proves it: what relies on it compares the units too, so that the rows are of one unit whether it is
// true or not, and PostgreSQL's where it is (docs/privacy.md P4f).

// OneUnitKey gives the column of which the values of c are, if the policy says that they are of one unit each.
func (b *Base) OneUnitKey(c *Column) (key policy.ColumnOf, declared bool) {
	t := b.Schema.Policy.Table(c.Origin.Table)
	if t == nil || t.Unit == nil {
		return key, false
	}
	if p := t.Column(c.Origin.Column); p != nil && p.OfOneUnit != nil {
		return *p.OfOneUnit, true
	}
	return key, false
}

// unitKeys lists the columns by whose value a column tells a unit, as a fact (P4a) or as the policy says.
func (b *Base) unitKeys(c *Column) []policy.ColumnOf {
	keys := b.RowKeys(c)
	if key, declared := b.OneUnitKey(c); declared {
		keys = append(keys, key)
	}
	return keys
}

// determineSameUnit says that rows with equal values of two columns are of one unit, if the policy is right.
func (b *Base) determineSameUnit(a, c *Column) bool {
	keys := b.unitKeys(c)
	return expr.SameEquality(a.Value, c.Value) && slices.ContainsFunc(b.unitKeys(a), func(k policy.ColumnOf) bool {
		return slices.Contains(keys, k)
	})
}

// unitsEqual is the condition that rows of two relations are of one unit; nil where their units cannot be compared.
func (b *Base) unitsEqual(a, c *Relation) query.Scalar {
	if a.Unit == nil || c.Unit == nil || a.UnitName != c.UnitName || !b.SameUnitType(slices.Concat(a.Tables, c.Tables)) {
		return nil
	}
	return Equals(a.Unit, c.Unit)
}

// unitsEqualIfEquated is the condition under which an equality that the join demands leaves rows of one unit; nil where
// none says so.
func (b *Base) unitsEqualIfEquated(a, c *Relation, class map[*Column]int) query.Scalar {
	for _, x := range a.Columns {
		for _, y := range c.Columns {
			if class[x] != 0 && class[x] == class[y] && b.determineSameUnit(x, y) {
				return b.unitsEqual(a, c)
			}
		}
	}
	return nil
}

// RestrictToUnitOf restricts a subquery's rows to the unit of the row outside, where what it equates says that they are
// of it, if the policy is right.
func (b *Base) RestrictToUnitOf(outer, r *Relation, inner, out *Column) bool {
	if outer.open || !b.determineSameUnit(inner, out) {
		return false
	}
	on := b.unitsEqual(r, outer)
	if on != nil {
		r.Where = append(slices.Clone(r.Where), on)
	}
	return on != nil
}

// UnitColumn adds the unit to the columns of a subselect, without a name, unless one of them is it; nil where no column
// holds it.
func (d *Derived) UnitColumn() *Column {
	switch {
	case len(d.Source.UnitColumns) == 0:
		return nil
	case len(d.Result.UnitColumns) > 0:
		return d.Result.UnitColumns[0]
	}
	c := d.Source.UnitColumns[0].copied()
	c.Name, c.Table, c.Hidden, c.Value.Ref, c.Value.PartOf = "", "", true, d.Result.Unit, nil
	d.Result.Columns = append(d.Result.Columns, c)
	d.Result.UnitColumns = append(d.Result.UnitColumns, c)
	return c
}
