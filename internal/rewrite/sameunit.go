package rewrite

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// sameUnit resolves foreign-key chains, preferring tables that the analyst has joined already, and proves that all
// private items carry the same unit in every joined row.
func (b *builder) sameUnit(items []*relation, class map[*column]int) error {
	group := map[*relation]int{} // items with the same number have the same unit
	var private []*relation
	for _, r := range items {
		if !r.private() {
			continue
		}
		private = append(private, r)
		group[r] = len(private)
		if r.kind != private[0].kind {
			return pgerr.New(pgerr.FeatureNotSupported, mixedUnits(private[0].kind, r.kind))
		}
	}
	join := func(a, c *relation) {
		from, to := group[a], group[c]
		for r, g := range group {
			if g == from {
				group[r] = to
			}
		}
	}
	for i, a := range private {
		for _, c := range private[i+1:] {
			if b.linked(a, c, class) {
				join(a, c)
			}
		}
	}
	if err := b.followChains(private, class, join); err != nil {
		return err
	}
	for _, r := range private {
		if group[r] != group[private[0]] {
			return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("tables %s and %s are joined, but not on their %s", itemName(private[0]), itemName(r), r.kind),
				pgerr.Hint("Add a join condition that equates the %s columns of both tables.", r.kind))
		}
	}
	return nil
}

// linked says that two items have the same unit, by columns that the join equates, and adds what main has to prove for it.
func (b *builder) linked(a, c *relation, class map[*column]int) bool {
	if b.besides(a, c) || b.besides(c, a) {
		return true
	}
	for _, x := range a.cols {
		for _, y := range c.cols {
			if class[x] == 0 || class[x] != class[y] {
				continue
			}
			if proof, ok := b.unitEqual(x, y); ok {
				a.proofs = append(slices.Clone(a.proofs), proof...)
				return true
			}
		}
	}
	return false
}

// unitEqual says that equal values of two columns mean equal units of their rows: both hold the unit, or both name the same
// row of a private table (P4). proof is what main has to prove for it.
func (b *builder) unitEqual(a, c *column) (proof []Proof, ok bool) {
	if !expr.SameEquality(a.x, c.x) {
		return nil, false
	}
	if a.holdsUnit && c.holdsUnit {
		return nil, true
	}
	for _, k := range b.rowKeys(a) {
		if slices.Contains(b.rowKeys(c), k) {
			return []Proof{{Relation: k.Table, Columns: []string{k.Column}}}, true
		}
	}
	return nil, false
}

// rowKeys lists the unique columns of private tables by whose value a column names a row of its own unit: the table column
// that it is, and the one that the policy's foreign key refers to.
func (b *builder) rowKeys(c *column) []policy.ColumnOf {
	t := b.schema.Policy.Table(c.origin.Table)
	if t == nil || t.Unit == nil {
		return nil
	}
	keys := []policy.ColumnOf{c.origin}
	if v := t.Unit.Via; v != nil && v.Column == c.origin.Column && b.schema.ViaEquality(t) {
		keys = append(keys, policy.ColumnOf{Table: v.References, Column: v.ReferencesColumn})
	}
	return slices.DeleteFunc(keys, func(k policy.ColumnOf) bool { return !uniqueColumn(b.schema.Relations[k.Table], k.Column) })
}

// followChains gives every via item its unit: that of a joined item that holds the referenced row, else by a join of our own.
func (b *builder) followChains(private []*relation, class map[*column]int, join func(a, c *relation)) error {
	for again := true; again; {
		again = false
		for _, a := range private {
			if a.chain == nil {
				continue
			}
			target := b.chainTarget(a, private, class)
			if target == nil || target.chain != nil {
				continue
			}
			proof := Proof{Relation: a.chain.target, Columns: []string{a.chain.column}}
			if !uniqueColumn(b.schema.Relations[proof.Relation], a.chain.column) {
				continue
			}
			a.unit, a.chain = target.unit, nil
			a.proofs = append(a.proofs, proof)
			join(a, target)
			again = true
		}
	}
	for _, a := range private {
		if err := b.reach(a); err != nil {
			return err
		}
	}
	return nil
}

// chainTarget finds an item with a column that is the chain's referenced column and equals the chain's own.
func (b *builder) chainTarget(a *relation, private []*relation, class map[*column]int) *relation {
	for _, t := range private {
		for _, c := range t.cols {
			if t != a && c.origin.Table == a.chain.target && c.origin.Column == a.chain.column && class[c] != 0 && class[c] == class[a.chain.via] {
				return t
			}
		}
	}
	return nil
}
