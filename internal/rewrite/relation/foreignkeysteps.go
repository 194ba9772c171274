package relation

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// ReachUnit joins what is needed until the unit is a column of the relation.
func (b *Base) ReachUnit(r *Relation) error {
	for r.ToUnit != nil {
		t := b.Schema.Policy.Table(r.ToUnit.target)
		m := b.Schema.Relations[r.ToUnit.target]
		if t == nil || m == nil || t.Unit == nil || t.Unit.Name != r.UnitName {
			return pgerr.New(pgerr.InternalError, "the foreign-key chain of the policy leaves the private tables")
		}
		if !uniqueColumn(m, r.ToUnit.column) {
			return refusal.New(refusal.Database, fmt.Sprintf(
				"%s.%s is not unique in the main database, so rows of %s cannot be traced to one unit", t.Name.Relation,
				r.ToUnit.column, r.Tables[0].Name.Relation),
				pgerr.Hint("Ask the administrator for a unique index on that column."))
		}
		alias := b.NewAlias()
		r.From = &query.Join{Kind: "INNER", Left: r.From, Right: tableSource(m, alias), On: []query.Scalar{
			Equals(r.ToUnit.Via.Value.Ref, alias.Column(sqltext.Ident(r.ToUnit.column))),
		}}
		r.Proofs = append(r.Proofs, m.ShapeProof(nil), schema.Proof{Relation: t.Name, Columns: []string{r.ToUnit.column}})
		r.AddWork(expr.Work{Row: lookupSteps}, r.Size())
		if t.Unit.Via == nil {
			return b.joinUnitTable(r, t, m, alias)
		}
		var err error
		if r.ToUnit, err = b.foreignKeyStep(
			t, &Column{Value: &expr.Column{Ref: alias.Column(sqltext.Ident(t.Unit.Via.Column))}}); err != nil {
			return err
		}
	}
	return nil
}

// foreignKeyStep gives the join that a table's foreign key asks for. ReachUnit prints it with =, which finds one row
// only where both sides are under one equality.
func (b *Base) foreignKeyStep(t *policy.Table, via *Column) (*ForeignKeyStep, error) {
	to := t.Unit.Via
	if !b.Schema.ViaEquality(t) {
		return nil, refusal.New(refusal.Database, fmt.Sprintf(
			"%s.%s and %s.%s have types or collations that do not compare as one, so rows of %s cannot be traced to one %s",
			t.Name.Relation, to.Column, to.References.Relation, to.ReferencesColumn, t.Name.Relation, t.Unit.Name),
			pgerr.Hint("Ask the administrator to give both columns one type and collation."))
	}
	return &ForeignKeyStep{Via: via, target: to.References, column: to.ReferencesColumn}, nil
}

// joinUnitTable takes the unit from the last table of a chain.
func (b *Base) joinUnitTable(r *Relation, t *policy.Table, m *schema.Relation, alias *query.Alias) error {
	mc := m.Column(t.Unit.Column)
	if mc == nil {
		return missingUnit(t, t.Unit.Column)
	}
	unit, err := b.columnOf(alias, mc, nil)
	if err != nil {
		return err
	}
	if r.Unit, err = CanonicalText(unit.Ref, unit); err != nil {
		return err
	}
	r.ToUnit, r.Where = nil, append(r.Where, query.F("{} IS NOT NULL", unit.Ref))
	return nil
}
