package relation

import (
	"fmt"

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
