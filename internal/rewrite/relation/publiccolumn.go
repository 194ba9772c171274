package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// PublicColumn is a column of a public table as main reads it.
type PublicColumn struct {
	Table  *policy.Table
	values *query.Select // v: each once
	Proof  schema.Proof
}

// PublicColumn reads a public column on main; nil where that is no plain table of main's own.
func (b *Base) PublicColumn(c policy.ColumnOf) *PublicColumn {
	t, m := b.Schema.Policy.Table(c.Table), b.Schema.Relations[c.Table]
	if t == nil || !t.Public || m == nil || m.Kind != 'r' || m.Distributed {
		return nil
	}
	alias := b.NewAlias()
	return &PublicColumn{t, &query.Select{
		Distinct: true, Outputs: []query.Output{{X: alias.Column(sqltext.Ident(c.Column)), Name: "v"}},
		From: tableSource(m, alias),
	}, m.ShapeProof(nil)}
}

// Within keeps the rows in which a value is one of a public column's, or NULL, if that is wanted. A row meets one of
// these at most, since each is there once, under the equality that the join compares by.
func (r *Relation) Within(of *PublicColumn, value query.Scalar, null bool) *Relation {
	out, as := *r, query.Named("l")
	join := &query.Join{Kind: "INNER", Left: r.From, Right: &query.Derived{Query: of.values, As: as}, On: []query.Scalar{
		Equals(value, as.Column("v")),
	}}
	if null {
		join.Kind, out.Where = "LEFT", append(slices.Clone(r.Where), query.F("(({}) IS NULL OR {} IS NOT NULL)", value,
			as.Column("v")))
	}
	out.From = join
	return &out
}
