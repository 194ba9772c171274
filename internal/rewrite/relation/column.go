package relation

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Column is a column of a relation, with what is known of it.
type Column struct {
	Table, Name string // as the analyst may call it; hidden ones have no name
	Value       *expr.Column
	Origin      policy.ColumnOf // the table column whose value it is, of a row of the same unit; zero for computed ones
	Policy      *policy.Column  // what the policy says of it; nil for computed and public ones
	IsUnit      bool
	HoldsUnit   bool         // the unit of its row, or NULL on the optional side of an outer join
	PerUnit     bool         // a function of the unit: the same in all rows of one unit
	Stage       query.Source // the FROM item of the rows of a stage whose column it is, unchanged; nil: of no stage
	Hidden      bool         // merged by USING or NATURAL: only reachable with its table's name
	cut         Cut          // where that is a value of it
	place       int          // in its table, as table.* has it
	// Literal is the untyped literal that a SELECT list gives as this output: a set operation may make it another type.
	Literal *expr.Expr
}

// copied makes a column of its own: an outer join may make this one nullable, and no function of the unit any more,
// while the original stays what it is.
func (c *Column) copied() *Column {
	n, x := *c, *c.Value
	n.Value, x.Source, n.Literal = &x, &n, nil
	return &n
}

// Written gives the column as a set operation reads it: its literal, if the SELECT list gives one.
func (c *Column) Written() *expr.Expr {
	if c.Literal != nil {
		return c.Literal
	}
	return expr.Read(c.Value, -1)
}

// KeptBy says that an expression of the column keeps its values: a cast reads a bounded one clamped.
func (c *Column) KeptBy(x *expr.Expr) bool {
	return c.Value.Bounds.Open() || query.Equal(x.SQL(), c.Value.Ref)
}

// SourceOf gives the column that an expression is; nil for any other expression.
func SourceOf(x *expr.Expr) *Column {
	if x.Column() == nil {
		return nil
	}
	c, _ := x.Column().Source.(*Column)
	return c
}

// PerUnit says that an expression is a function of the unit.
func PerUnit(x *expr.Expr) bool {
	return !slices.ContainsFunc(x.Columns(), func(c *expr.Column) bool {
		source, ok := c.Source.(*Column)
		return !ok || !source.PerUnit
	})
}

// Cut is a column of a table, whose times may be cut to a unit (day, month …; empty: they are not). Of nil: none.
type Cut struct {
	Of    *policy.Column
	Table policy.Name
	Unit  string
}

// CutOf says of which column an expression is the value, or that cut to a unit of time.
func CutOf(x *expr.Expr) Cut {
	of, unit := expr.CutTo(x)
	if of == nil {
		return Cut{}
	}
	switch c, ok := of.Source.(*Column); {
	case ok && c.Policy != nil:
		return Cut{c.Policy, c.Origin.Table, unit}
	case ok && unit == "":
		return c.cut
	}
	return Cut{}
}

// columnOf tells expr what a table's column is.
func (b *Base) columnOf(alias *query.Alias, m *schema.Column, p *policy.Column) (*expr.Column, error) {
	c := &expr.Column{
		Ref: alias.Column(sqltext.Ident(m.Name)), Name: m.Name, Type: m.Type, Typmod: m.Typmod, TypeName: m.TypeName,
		Nullable: !m.NotNull, Scale: -1, Collation: m.Collation, DeterministicCollation: m.DeterministicCollation ||
			m.Collation == "", Chars: m.Width,
	}
	if c.Typmod == 0 {
		c.Typmod = -1
	}
	base := b.Schema.BaseType(m.Type)
	if base != m.Type {
		c.Base, c.BaseTypmod = base, b.Schema.Below(b.Schema.Types[m.Type]).Typmod
	}
	c.Filled = c.Nullable && m.Filled
	c.EnumLabels = b.Schema.Enums[base]
	if p == nil {
		return c, nil
	}
	c.Domain = p.Values
	if p.ValuesFrom != nil && b.Lookup != nil {
		var err error
		if c.Domain, err = b.PublicValues(*p.ValuesFrom, b.publicType(*p.ValuesFrom)); err != nil {
			return nil, err
		}
	} else if p.ValuesFrom != nil {
		c.Domain = []string{} // known at Plan
	}
	if m.Bounds != nil {
		c.Bounds = RangeOf(*m.Bounds)
	}
	return c, nil
}

// PublicValues are the different values of a public column, which the plan then depends on (docs/privacy.md P10). It is
// refused where they are too many to be listed: what is left out of a list would count as no value.
func (b *Base) PublicValues(c policy.ColumnOf, oid uint32) ([]string, error) {
	values, err := b.Lookup.Distinct(c, oid)
	if err != nil {
		return nil, err
	}
	if len(values) > schema.MostListed {
		return nil, refusal.New(refusal.TooManyGroups, fmt.Sprintf("%s.%s has more than %d values", c.Table, c.Column,
			schema.MostListed), pgerr.Hint("Group by a coarser key."))
	}
	b.UsesDomain(c, values)
	return Texts(values), nil
}

// RangeOf gives a policy's range as an interval of expr.
func RangeOf(r bound.Range) bounds.Interval { return bounds.Interval{Lo: r.Lo, Hi: r.Hi} }

// publicType finds the type of a public column; 0 where main has none of that name.
func (b *Base) publicType(c policy.ColumnOf) uint32 {
	if m := b.Schema.Column(c.Table, c.Column); m != nil {
		return m.Type
	}
	return 0
}

// Texts gives values as the texts that expr reads.
func Texts(values []schema.Canonical) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
