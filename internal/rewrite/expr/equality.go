package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Equality is how PostgreSQL compares values of the column.
func (c *Column) Equality() schema.Equality {
	if c.Base != 0 {
		return schema.Equality{Type: c.Base, Collation: c.Collation, Deterministic: c.DeterministicCollation}
	}
	return schema.Equality{Type: c.Type, Collation: c.Collation, Deterministic: c.DeterministicCollation}
}

// SameEquality says that = between two columns is one equivalence (see schema.Equality).
func SameEquality(a, b *Column) bool { return a.Equality().Same(b.Equality()) }

// ComparedAs says that value = x compares values of value's own type, or of one in which every value of it has its own:
// x then equals at most one of several that = tells apart, and it lies between two of them as they lie to each other.
func ComparedAs(value, x *Expr) bool {
	own, other := value.equality(), x.equality()
	if own.Same(other) {
		return true
	}
	number := func(oid uint32) bool { return pgresolve.IsInt(oid) || oid == pgtype.NumericOID }
	switch own.Type {
	case pgtype.TimestamptzOID:
		return other.Type == pgtype.TimestampOID || other.Type == pgtype.DateOID
	case pgtype.TimestampOID:
		return other.Type == pgtype.DateOID
	case pgtype.DateOID:
		return other.Type == pgtype.TimestampOID
	}
	return number(own.Type) && number(other.Type)
}

func (e *Expr) equality() schema.Equality {
	return schema.Equality{Type: e.baseType(), Collation: e.collation, Deterministic: !e.nondeterministic}
}

// Comparison is a condition of two expressions.
type Comparison struct {
	Name        string // = <> < <= > or >=
	Left, Right *Expr
}

// Mirrored is the same condition, read from the right.
func (c Comparison) Mirrored() Comparison {
	return Comparison{comparisons[c.Name].mirror, c.Right, c.Left}
}

// Comparisons lists comparisons that hold wherever a condition is true.
func Comparisons(e *Expr) []Comparison {
	if e.op == "AND" {
		var all []Comparison
		for _, a := range e.args {
			all = append(all, Comparisons(a)...)
		}
		return all
	}
	if _, ok := comparisons[e.op]; !ok {
		return nil
	}
	return []Comparison{{e.op, e.args[0], e.args[1]}}
}
