package relation

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// BoundPublic gives a column of public rows without bounds those of its values: the rows are read when the statement is
// planned, main proves that no value lies outside, and the column is read clamped all the same (docs/privacy.md P10b).
// It says whether the column has other bounds now. c is a column of r.
func (b *Base) BoundPublic(r *Relation, c *Column) (bool, error) {
	x := c.Value
	base := x.Type
	if x.Base != 0 {
		base = x.Base
	}
	p := r.publicPart()
	of, public := p.columns[query.Key(x.Ref)]
	if !public || x.Bounds.Finite() || !pgresolve.IsNumber(base) && !pgresolve.IsTime(base) && base != pgtype.DateOID {
		return false, nil
	}
	item := p.items[of.item]
	as := query.Named("b")
	rows := &query.Derived{Query: &query.Select{
		Outputs: []query.Output{{X: of.ref, Name: "v"}}, From: item.from,
		Where: item.where,
	}, As: as}
	least, most := query.F("min({})", as.Column("v")), query.F("max({})", as.Column("v"))
	ends := &query.Select{Outputs: UnnamedOutputs([]query.Scalar{least, most}), From: rows}
	if !item.tables || !b.selfContained(ends) {
		return false, nil
	}
	if b.Lookup == nil {
		x.AwaitBounds()
		return true, nil
	}
	table, err := b.Lookup.PublicRows(schema.Query{SQL: query.Print(ends).Text, Types: []uint32{base, base}})
	if err != nil || table.Len() != 1 {
		return false, err
	}
	found := table.Rows()[0]
	within, known := valuesWithin(base, found)
	if !known {
		return false, nil
	}
	if found[0] != nil {
		typ := pgresolve.Qualified(base, -1)
		end := func(v *schema.Canonical) query.Scalar {
			return query.F("({}::pg_catalog.text)::{}", &query.Parameter{
				Parameter: schema.Parameter{Type: pgtype.TextOID, Value: v},
			}, typ)
		}
		ends.Outputs = UnnamedOutputs(
			[]query.Scalar{query.F("COALESCE({} OPERATOR(pg_catalog.>=) {} AND {} OPERATOR(pg_catalog.<=) {}, true)", least,
				end(found[0]), most, end(found[1]))})
	} else {
		ends.Outputs = UnnamedOutputs([]query.Scalar{query.F("{} IS NULL", least)})
	}
	b.PublicProofs = append(b.PublicProofs, schema.Proof{Values: query.Print(ends)})
	if both := x.Bounds.Intersect(within); !both.Empty() {
		within = both
	}
	x.Narrow(within)
	return true, nil
}

// valuesWithin reads the least and the greatest value of a type; NULL is that of no rows, which any bounds hold. It
// knows no infinities, and no NaN.
func valuesWithin(base uint32, ends []*schema.Canonical) (bounds.Interval, bool) {
	if ends[0] == nil || ends[1] == nil {
		return bounds.New(bounds.Zero, bounds.Zero), true
	}
	r, err := bound.ForColumn(base, string(*ends[0]), string(*ends[1]))
	return RangeOf(r), err == nil
}

// IsUnbounded says that an expression has no bounds, although values of its type may have some.
func IsUnbounded(e *expr.Expr) bool {
	t := e.Type()
	return !e.Provisional() && !e.Bounds().Finite() && (pgresolve.IsNumber(t) || pgresolve.IsTime(t) ||
		t == pgtype.DateOID)
}
