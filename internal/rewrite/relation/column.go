package relation

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
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
		Nullable: !m.NotNull, Scale: -1, Collation: m.Collation, DeterministicCollation: m.DeterministicCollation || m.Collation == "", Chars: m.Width,
	}
	if c.Typmod == 0 {
		c.Typmod = -1
	}
	base := b.Schema.BaseType(m.Type)
	if base != m.Type {
		c.Base, c.BaseTypmod = base, -1
	}
	c.EnumLabels = b.Schema.Enums[base]
	if p == nil {
		return c, nil
	}
	c.Domain = p.Values
	if p.ValuesFrom != nil && b.Lookup != nil {
		values, err := b.Lookup.Distinct(*p.ValuesFrom, b.publicType(*p.ValuesFrom))
		if err != nil {
			return nil, err
		}
		c.Domain = Texts(values)
		b.UsesDomain(*p.ValuesFrom, values)
	} else if p.ValuesFrom != nil {
		c.Domain = []string{} // known at Plan
	}
	if m.Bounds != nil {
		c.Bounds = RangeOf(*m.Bounds)
	}
	return c, nil
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
