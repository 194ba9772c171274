package relation

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Scan makes the relation of a policy table.
func (b *Base) Scan(t *policy.Table) (*Relation, error) {
	meta := b.Schema.Relations[t.Name]
	if meta == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, fmt.Sprintf("relation %q does not exist", t.Name.Relation))
	}
	if meta.Kind == 'v' || meta.Kind == 'm' {
		return nil, refusal.New(refusal.Database, fmt.Sprintf("%q is a view: list it under views, not tables",
			t.Name.Relation))
	}
	t = b.lowered(t)
	alias := b.NewAlias()
	r := &Relation{From: tableSource(meta, alias), Tables: []*policy.Table{t}, MaxRows: t.MaxRows, Proofs: []schema.Proof{
		meta.ShapeProof(nil),
	}}
	for _, mc := range b.readable(meta, t) {
		pc := t.Column(mc.Name)
		if pc == nil && t.Columns != nil {
			continue
		}
		x, err := b.columnOf(alias, mc, pc)
		if err != nil {
			return nil, err
		}
		if pc != nil && !t.Public && !x.Bounds.Open() {
			x.OutOfBounds = []expr.OutOfBounds{{Table: t.Name.String(), Column: x.Name, Scan: alias, Share: pc.Outside}}
		}
		c := &Column{
			Table: t.Name.Relation, Name: mc.Name, Value: x, Origin: policy.ColumnOf{Table: t.Name, Column: mc.Name},
			Policy: pc,
		}
		x.Source = c
		r.Columns = append(r.Columns, c)
	}
	b.scanUnique(r, meta)
	if t.Public {
		r.Plan = NewPlanNode("scan " + t.Name.String() + " (public)")
	} else if err := b.scanUnit(r, t); err != nil {
		return nil, err
	}
	r.scanned(t, alias, meta.Kind != 'r' || meta.Distributed)
	r.addScanWork(t, meta)
	return r, nil
}

// lowered has a unit count with fewer of a table's rows where the session wants that. How many are left out then,
// nobody vouches for.
func (b *Base) lowered(t *policy.Table) *policy.Table {
	if most := b.Settings.MaxRows; most > 0 && most < t.MaxRowsPerUnit {
		fewer := *t
		fewer.MaxRowsPerUnit, fewer.LeftOut = most, nil
		return &fewer
	}
	return t
}

// DeclaredRows is a relation's row bound as the policy has it, where the session lowers it.
func (b *Base) DeclaredRows(r *Relation) int64 {
	rows := r.MaxRowsPerUnit
	for i, t := range r.Tables {
		if t.Public || slices.Contains(r.Tables[:i], t) {
			continue
		}
		declared, lowered := int64(b.Schema.Policy.Table(t.Name).MaxRowsPerUnit), int64(t.MaxRowsPerUnit)
		if declared > lowered && lowered > 0 {
			rows = (saturatingMul(rows, declared) + lowered - 1) / lowered
		}
	}
	return rows
}

// tableSource reads a table; ONLY keeps inheritance children, which have indexes of their own, out of what an index
// proves.
func tableSource(m *schema.Relation, as *query.Alias) query.Source {
	return &query.Table{Name: m.Name, Only: m.Kind == 'r' && !m.Inherits, As: as}
}

// scanUnique notes what main's unique indexes prove. Of their columns the plan takes for granted that none is NULL,
// whatever it reads.
func (b *Base) scanUnique(r *Relation, m *schema.Relation) {
	if m.Inherits {
		return
	}
	for _, names := range m.Unique {
		set := make([]*Column, 0, len(names))
		for _, n := range names {
			if c, _ := r.Find("", n); c != nil && !c.Value.Nullable {
				set = append(set, c)
			}
		}
		if len(set) != len(names) {
			continue // a nullable or unlisted column: many rows with NULL are possible, or the analyst cannot name it
		}
		r.Unique = append(r.Unique, UniqueSet{set, &schema.Proof{Relation: m.Name, Columns: names}})
		for _, c := range set {
			b.Rely(c.Origin)
		}
		r.noteIndexedRows(set)
		if r.Order == nil {
			for _, c := range set {
				r.Order = append(r.Order, c.Value.Ref)
			}
			r.OrderProofs = []schema.Proof{{Relation: m.Name, Columns: names}}
		}
	}
}

// scanUnit finds the unit column, or the first step towards it.
func (b *Base) scanUnit(r *Relation, t *policy.Table) error {
	r.UnitName, r.MaxRowsPerUnit, r.RowsOf = t.Unit.Name, max(1, int64(t.MaxRowsPerUnit)), t
	if t.Unit.Via != nil {
		via, _ := r.Find("", t.Unit.Via.Column)
		if via == nil {
			return missingUnit(t, t.Unit.Via.Column)
		}
		var err error
		if r.ToUnit, err = b.foreignKeyStep(t, via); err != nil {
			return err
		}
		r.Plan = NewPlanNode(fmt.Sprintf("scan %s, unit %s via %s, at most %d rows per unit (clamped)", t.Name, r.UnitName,
			t.Unit.Via.Column, r.MaxRowsPerUnit))
		return nil
	}
	unit, _ := r.Find("", t.Unit.Column)
	if unit == nil {
		return missingUnit(t, t.Unit.Column)
	}
	r.setUnit(unit)
	var err error
	if r.Unit, err = CanonicalText(unit.Value.Ref, unit.Value); err != nil {
		return err
	}
	r.Where = append(r.Where, query.F("{} IS NOT NULL", unit.Value.Ref))
	unit.Value.KeepOutNull()
	if b.provesUnit(t) {
		r.MaxRowsPerUnit, r.Proven = 1, true
		one := schema.Proof{Relation: t.Name, Columns: []string{t.Unit.Column}}
		r.Proofs = append(r.Proofs, one)
		r.Unique = append(r.Unique, UniqueSet{[]*Column{unit}, &one})
		for _, c := range r.Columns {
			c.PerUnit = true
		}
		r.Plan = NewPlanNode(fmt.Sprintf("scan %s, unit %s = %s, one row per unit (unique index)", t.Name, r.UnitName,
			t.Unit.Column))
		return nil
	}
	r.Plan = NewPlanNode(fmt.Sprintf("scan %s, unit %s = %s, at most %d rows per unit (clamped)", t.Name, r.UnitName,
		t.Unit.Column, r.MaxRowsPerUnit))
	return nil
}

// setUnit makes c the unit column.
func (r *Relation) setUnit(c *Column) {
	r.Unit, r.ToUnit = c.Value.Ref, nil
	r.UnitColumns = append(r.UnitColumns, c)
	c.IsUnit, c.HoldsUnit, c.PerUnit, c.Value.Unit = true, true, true, true
}

// provesUnit says whether a unique index on the unit column alone exists; NULLs are filtered out, so they don't matter.
func (b *Base) provesUnit(t *policy.Table) bool {
	m := b.Schema.Relations[t.Name]
	return t.Unit.Column != "" && uniqueColumn(m, t.Unit.Column)
}

func uniqueColumn(m *schema.Relation, name string) bool {
	if m == nil || m.Inherits {
		return false
	}
	for _, u := range m.Unique {
		if len(u) == 1 && u[0] == name {
			return true
		}
	}
	return false
}

func missingUnit(t *policy.Table, name string) error {
	return pgerr.New(pgerr.InternalError, fmt.Sprintf("the unit column %q of %s is not listed in the policy", name,
		t.Name))
}
