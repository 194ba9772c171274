package expr

import "github.com/dpproxy/dpproxy/internal/rewrite/schema"

// Equality is how PostgreSQL compares values of the column.
func (c *Column) Equality() schema.Equality {
	if c.Base != 0 {
		return schema.Equality{Type: c.Base, Collation: c.Collation, Deterministic: c.DeterministicCollation}
	}
	return schema.Equality{Type: c.Type, Collation: c.Collation, Deterministic: c.DeterministicCollation}
}

// SameEquality says that = between two columns is one equivalence (see schema.Equality).
func SameEquality(a, b *Column) bool { return a.Equality().Same(b.Equality()) }
