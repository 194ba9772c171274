package introspect

import (
	"errors"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkUnits makes sure that values name one unit each: no unit column rounds or folds, and a foreign key is compared
// with the column that it references under one equality. rewrite refuses what fails here, statement by statement.
func checkUnits(s *rewrite.Schema) error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, t := range s.Policy.Tables {
		switch {
		case t.Unit == nil:
		case t.Unit.Via != nil:
			via := t.Unit.Via
			if !s.ViaEquality(t) {
				report(
					"tables.%s.privacy_unit.via: %s is %s and %s.%s is %s, which do not compare as one, so a row could belong to several units: give both columns one type and one deterministic collation, and no float",
					t.Name, via.Column, Typed(s, t.Name, via.Column), via.References, via.ReferencesColumn,
					Typed(s, via.References, via.ReferencesColumn))
			}
		default:
			c := s.Relations[t.Name].Column(t.Unit.Column)
			if c != nil && !s.Equality(c).Exact() {
				report(
					"tables.%s.privacy_unit.column: %s is %s, whose equal values may be different units: use a column of an integer type, uuid or text with a deterministic collation",
					t.Name, t.Unit.Column, Typed(s, t.Name, t.Unit.Column))
			}
		}
	}
	return errors.Join(problems...)
}

// Typed spells a column's type and, if it is not the database's own, its collation.
func Typed(s *rewrite.Schema, table policy.Name, name string) string {
	c := s.Relations[table].Column(name)
	if c == nil {
		return "not listed in the policy"
	}
	text := c.TypeName + Collate(c)
	if !s.Equality(c).Deterministic {
		text += " (not deterministic)"
	}
	return text
}

// Collate returns the COLLATE clause of a column; empty where it has the database's own collation.
func Collate(c *rewrite.RelationColumn) string {
	if c.Collation == "" {
		return ""
	}
	return " COLLATE " + c.Collation
}
