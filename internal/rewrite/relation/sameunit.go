package relation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// SameUnitType says that the units of the private tables are equal where PostgreSQL says so, and only there: in float8,
// which bigint and numeric may become, two units are one.
func (b *Base) SameUnitType(tables []*policy.Table) bool {
	var seen []schema.Equality
	for _, t := range tables {
		for t != nil && t.Unit != nil && t.Unit.Via != nil {
			t = b.Schema.Policy.Table(t.Unit.Via.References)
		}
		if t == nil || t.Unit == nil {
			continue
		}
		c := b.Schema.Relations[t.Name].Column(t.Unit.Column)
		if c == nil {
			return false
		}
		e := b.Schema.Equality(c)
		if slices.ContainsFunc(seen, func(o schema.Equality) bool { return !o.Same(e) }) {
			return false
		}
		seen = append(seen, e)
	}
	return true
}

// Correlation is a condition inner column = outer column of a subquery, which holds in every row.
type Correlation struct {
	Inner, Outer *Column
	Scope        any  // the query level that the outer column is of
	Tied         bool // the subquery's rows are of the outer row's unit (RestrictToUnitOf)
}

// lateralSameUnit says that a LATERAL item has the unit of the item that it reads.
func (b *Base) lateralSameUnit(a, c *Relation) bool {
	return slices.ContainsFunc(a.Correlated, func(q Correlation) bool {
		_, ok := b.UnitEqual(q.Inner, q.Outer)
		return (ok || q.Tied) && slices.Contains(c.Columns, q.Outer)
	})
}

// sameUnit resolves foreign-key chains, preferring tables that the analyst has joined already, and proves that all
// private items carry the same unit in every joined row. ties are conditions that the join has to demand for it, too.
func (b *Base) sameUnit(items []*Relation, class map[*Column]int) (ties []query.Scalar, err error) {
	group := map[*Relation]int{} // items with the same number have the same unit
	var private []*Relation
	for _, r := range items {
		if !r.Private() {
			continue
		}
		private = append(private, r)
		group[r] = len(private)
		if r.UnitName != private[0].UnitName {
			return nil, refusal.New(refusal.MixedUnits, MixedUnits(private[0].UnitName, r.UnitName))
		}
	}
	join := func(a, c *Relation) {
		from, to := group[a], group[c]
		for r, g := range group {
			if g == from {
				group[r] = to
			}
		}
	}
	for i, a := range private {
		b.Take(2 * len(private))
		for _, c := range private[i+1:] {
			if b.linked(a, c, class) {
				join(a, c)
			}
		}
	}
	if err := b.followForeignKeys(private, class, join); err != nil {
		return nil, err
	}
	for i, a := range private {
		for _, c := range private[i+1:] {
			if group[a] == group[c] {
				continue
			}
			if on := b.unitsEqualIfEquated(a, c, class); on != nil {
				ties = append(ties, on)
				join(a, c)
			}
		}
	}
	for _, r := range private {
		if group[r] != group[private[0]] {
			return nil, refusal.New(refusal.JoinOnUnit, fmt.Sprintf("tables %s and %s are joined, but not on their %s",
				itemName(private[0]), itemName(r), r.UnitName),
				pgerr.Hint("%s", EquateUnits("Add to the join", private[0], r)))
		}
	}
	return ties, nil
}

// EquateUnits is a hint that adds the condition under which two items are of one unit, by the analyst's names where
// they have columns for it.
func EquateUnits(add string, a, c *Relation) string {
	x, y := unitColumnName(a), unitColumnName(c)
	if x == "" || y == "" {
		return fmt.Sprintf(
			"Equate a key that determines the %s of %s with one of %s: the %s itself, or a foreign key of the policy.",
			a.UnitName, itemName(c), itemName(a), a.UnitName)
	}
	return fmt.Sprintf("%s: AND %s = %s.", add, y, x)
}

// unitColumnName is how the analyst may write the unit of an item's rows, "" where no column holds it.
func unitColumnName(r *Relation) string {
	for _, c := range r.Columns {
		if c.IsUnit && c.Name != "" {
			return strings.TrimPrefix(c.Table+"."+c.Name, ".")
		}
	}
	return ""
}

// linked says that two items have the same unit, by columns that the join equates, and adds what main has to prove for
// it.
func (b *Base) linked(a, c *Relation, class map[*Column]int) bool {
	if b.lateralSameUnit(a, c) || b.lateralSameUnit(c, a) {
		return true
	}
	for _, x := range a.Columns {
		for _, y := range c.Columns {
			if class[x] == 0 || class[x] != class[y] {
				continue
			}
			if proof, ok := b.UnitEqual(x, y); ok {
				a.Proofs = append(slices.Clone(a.Proofs), proof...)
				return true
			}
		}
	}
	return false
}

// UnitEqual says that equal values of two columns mean equal units of their rows: both hold the unit, or both name the
// same row of a private table (docs/privacy.md P4a). proof is what main has to prove for it.
func (b *Base) UnitEqual(a, c *Column) (proof []schema.Proof, ok bool) {
	if !expr.SameEquality(a.Value, c.Value) {
		return nil, false
	}
	if a.HoldsUnit && c.HoldsUnit {
		return nil, true
	}
	for _, k := range b.RowKeys(a) {
		if slices.Contains(b.RowKeys(c), k) {
			return []schema.Proof{{Relation: k.Table, Columns: []string{k.Column}}}, true
		}
	}
	return nil, false
}

// RowKeys lists the unique columns of private tables by whose value a column names a row of its own unit: the table
// column that it is, and the one that the policy's foreign key refers to.
func (b *Base) RowKeys(c *Column) []policy.ColumnOf {
	t := b.Schema.Policy.Table(c.Origin.Table)
	if t == nil || t.Unit == nil {
		return nil
	}
	keys := []policy.ColumnOf{c.Origin}
	if v := t.Unit.Via; v != nil && v.Column == c.Origin.Column && b.Schema.ViaEquality(t) {
		keys = append(keys, policy.ColumnOf{Table: v.References, Column: v.ReferencesColumn})
	}
	return slices.DeleteFunc(keys, func(k policy.ColumnOf) bool {
		return !uniqueColumn(b.Schema.Relations[k.Table], k.Column)
	})
}

// DeterminesUnit says that rows with one value of a column are one unit's, and that every row has a value, by main's
// foreign keys where an outer join could have left it out: it is the unit, or names a row of a private table
// (docs/privacy.md P4a), or is a key of one unit (P4f).
func (b *Base) DeterminesUnit(c *Column) bool {
	return c.IsUnit || c.Value.HasValue() && (c.HoldsUnit || len(b.unitKeys(c)) > 0)
}

// UniqueGroups is what holds of the groups of a unit's rows by some columns: each combination of their values is one
// group. Where the unit is not among them another unit might have the same, but for a column that determines it, which
// main proves: with any other the unit is one of the set, without a name. nil: no column holds it.
func (d *Derived) UniqueGroups(b *Base, columns []*Column) *UniqueSet {
	set := &UniqueSet{Columns: columns}
	if !d.Source.Private() || slices.ContainsFunc(columns, func(c *Column) bool { return c.IsUnit }) {
		return set
	}
	for _, c := range columns {
		if keys := b.RowKeys(c); len(keys) > 0 && !c.Value.Nullable {
			set.Proof = &schema.Proof{Relation: keys[0].Table, Columns: []string{keys[0].Column}}
			return set
		}
	}
	unit := d.UnitColumn()
	if unit == nil {
		return nil
	}
	set.Columns = append(slices.Clone(columns), unit)
	return set
}

// followForeignKeys gives every via item its unit: that of a joined item that holds the referenced row, else by a join
// of our own.
func (b *Base) followForeignKeys(private []*Relation, class map[*Column]int, join func(a, c *Relation)) error {
	for again := true; again; {
		again = false
		for _, a := range private {
			if a.ToUnit == nil {
				continue
			}
			target := b.foreignKeyTarget(a, private, class)
			if target == nil || target.ToUnit != nil {
				continue
			}
			proof := schema.Proof{Relation: a.ToUnit.target, Columns: []string{a.ToUnit.column}}
			if !uniqueColumn(b.Schema.Relations[proof.Relation], a.ToUnit.column) {
				continue
			}
			a.Unit, a.ToUnit = target.Unit, nil
			a.Proofs = append(a.Proofs, proof)
			join(a, target)
			again = true
		}
	}
	for _, a := range private {
		if err := b.ReachUnit(a); err != nil {
			return err
		}
	}
	return nil
}

// foreignKeyTarget finds an item with a column that is the referenced one and equals the referencing one.
func (b *Base) foreignKeyTarget(a *Relation, private []*Relation, class map[*Column]int) *Relation {
	for _, t := range private {
		for _, c := range t.Columns {
			if t != a && c.Origin.Table == a.ToUnit.target && c.Origin.Column == a.ToUnit.column && class[c] != 0 &&
				class[c] == class[a.ToUnit.Via] {
				return t
			}
		}
	}
	return nil
}
