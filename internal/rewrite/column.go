package rewrite

import (
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// columnOf tells expr what a table's column is.
func (b *builder) columnOf(alias *query.Alias, m *RelationColumn, p *policy.Column) (*expr.Column, error) {
	c := &expr.Column{
		Ref: alias.Column(query.Quote(m.Name)), Name: m.Name, Type: m.Type, Typmod: m.Typmod, TypeName: m.TypeName,
		Nullable: !m.NotNull, Scale: -1, Collation: m.Collation, DeterministicCollation: m.DeterministicCollation || m.Collation == "", Chars: m.Width,
	}
	if c.Typmod == 0 {
		c.Typmod = -1
	}
	base := b.schema.BaseType(m.Type)
	if base != m.Type {
		c.Base, c.BaseTypmod = base, -1
	}
	c.EnumLabels = b.schema.Enums[base]
	if p == nil {
		return c, nil
	}
	c.Domain = p.Values
	if p.ValuesFrom != nil && b.lookup != nil {
		values, err := b.lookup.Distinct(*p.ValuesFrom, b.publicType(*p.ValuesFrom))
		if err != nil {
			return nil, err
		}
		c.Domain = texts(values)
		b.usesDomain(*p.ValuesFrom, values)
	} else if p.ValuesFrom != nil {
		c.Domain = []string{} // known at Plan
	}
	if m.Bounds != nil {
		c.Bounds = rangeOf(*m.Bounds)
	}
	return c, nil
}

// rangeOf is a policy's range as expr sees it.
func rangeOf(r bound.Range) expr.Interval { return expr.Interval{Lo: r.Lo, Hi: r.Hi} }

// publicType is the type of a public column; 0 where main has none of that name.
func (b *builder) publicType(c policy.ColumnOf) uint32 {
	if m := b.schema.Column(c.Table, c.Column); m != nil {
		return m.Type
	}
	return 0
}

// texts are values as expr reads them.
func texts(values []Canonical) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// gridStep is a policy grid in canonical units of a type; nil: by type.
func gridStep(oid uint32, grids ...*policy.Grid) *big.Rat {
	for _, g := range grids {
		switch {
		case g == nil:
		case g.Number != "":
			if r, ok := new(big.Rat).SetString(g.Number); ok && schema.IsNumber(oid) {
				return r
			}
		case oid == pgtype.DateOID:
			return big.NewRat(max(1, int64(g.Duration/(24*time.Hour))), 1)
		case schema.IsTime(oid):
			return big.NewRat(max(1, g.Duration.Microseconds()), 1)
		}
	}
	return nil
}
