package schema

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Equality decides whether PostgreSQL's = finds two values equal.
type Equality struct {
	Type          uint32 // of a domain, the base type
	Collation     string // quoted and qualified; empty: none or the database's own
	Deterministic bool   // the collation, if any, holds equal only texts of equal bytes
}

// Equality describes a column of the schema.
func (s *Schema) Equality(c *Column) Equality {
	return Equality{s.BaseType(c.Type), c.Collation, c.DeterministicCollation || c.Collation == ""}
}

// BaseType finds the type that a domain is over; other types are their own.
func (s *Schema) BaseType(oid uint32) uint32 {
	for t, ok := s.Types[oid]; ok && t.Kind == 'd'; t, ok = s.Types[oid] {
		oid = t.Base
	}
	return oid
}

// Below gives a domain as one that is over no other domain, and has what holds of any between.
func (s *Schema) Below(t Type) Type {
	for below := s.Types[t.Base]; below.Kind == 'd'; below = s.Types[t.Base] {
		t.Base, t.Typmod = below.Base, below.Typmod
		t.Constrained, t.Collated = t.Constrained || below.Constrained, t.Collated || below.Collated
	}
	return t
}

// Exact reports whether no two values that somebody wrote as different ones are equal by rounding or by a collation's
// rules: a column of such values can tell units apart.
func (e Equality) Exact() bool { return e.Deterministic && !pgresolve.IsFloat(e.Type) }

// Same reports whether = between values of the two is one equivalence: joins can be chained through it, and a value
// equals at most one of several that are different among themselves. PostgreSQL cannot compare texts of two collations,
// unless one is the database's own.
func (e Equality) Same(o Equality) bool {
	switch {
	case !e.Exact() || !o.Exact():
		return false
	case e.Collation != o.Collation && e.Collation != "" && o.Collation != "":
		return false
	}
	return e.Type == o.Type || pgresolve.IsInt(e.Type) && pgresolve.IsInt(o.Type) || pgresolve.IsText(e.Type) &&
		pgresolve.IsText(o.Type)
}

// ViaEquality reports whether a table's foreign key and the column that it references are under one equality. If they
// were not, a row could equal rows of two units.
func (s *Schema) ViaEquality(t *policy.Table) bool {
	via := t.Unit.Via
	from, to := s.Column(t.Name, via.Column), s.Column(via.References, via.ReferencesColumn)
	return from != nil && to != nil && s.Equality(from).Same(s.Equality(to))
}

// Column finds a column of a listed table; nil when there is none.
func (s *Schema) Column(table policy.Name, name string) *Column {
	if r := s.Relations[table]; r != nil {
		return r.Column(name)
	}
	return nil
}
