package release

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// oneTextTypes are the types whose equal values, and no others, have one text: whoever prints them, and under whatever
// settings.
var oneTextTypes = []uint32{
	pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.DateOID,
	pgtype.UUIDOID, pgtype.TextOID, pgtype.VarcharOID,
}

// nameByKeys has main name a group by its keys where it needs no list of them: they are values of public rows, and the
// list holds every combination that a row may have; or main itself drops the rows whose key is none. The proxy finds a
// key's place in the list (docs/privacy.md P26a).
func (b *Planner) nameByKeys(k *Block) {
	if k.Selected || len(k.Domains) != 1 {
		return
	}
	selections := make([]query.Scalar, len(k.Keys))
	for i, g := range k.Keys {
		if !slices.Contains(oneTextTypes, g.Type()) || g.Collatable() && g.Collation() != "" {
			return
		}
		var err error
		if selections[i], err = expr.SelectionKey(g.Expr); err != nil {
			return
		}
	}
	if !k.Domains[0].public {
		of := b.listing(k)
		if of == nil {
			return
		}
		k.Source, k.listing = k.Source.Within(of, selections[0], k.Domains[0].HoldsNull(0)), of.Table
		k.Proofs = append(k.Proofs, of.Proof)
	}
	for i, g := range k.Keys {
		g.Selection = selections[i]
	}
	k.ByKey = true
}

// MostSent is how many values of a public column main is sent as a list. It joins more of them itself: to print, send,
// read and prove the list takes longer then than to join all rows, which have to be grouped before they are few.
var MostSent = 1000

// listing returns the public column whose values a private one has that is the key, if main is to join them: as values
// of one type under one equality, and where no other server groups the rows.
func (b *Planner) listing(k *Block) *relation.PublicColumn {
	if len(k.Keys) != 1 || k.Domains[0].Tuples.Len() <= MostSent || k.Source.Preserved != nil || b.Distributed(k.Source) ||
		b.MayBeForeign(k.Source) {
		return nil
	}
	of, listed := b.valuesFrom(k.Keys[0])
	if listed == nil {
		return nil
	}
	return b.PublicColumn(of)
}

// valuesFrom returns the public column whose values a private one has that is the key, where both are of one type and
// collation.
func (b *Planner) valuesFrom(g *Key) (policy.ColumnOf, *schema.Column) {
	if g.Column() == nil {
		return policy.ColumnOf{}, nil
	}
	source, ok := g.Column().Source.(*relation.Column)
	if !ok || source.Policy == nil || source.Policy.ValuesFrom == nil {
		return policy.ColumnOf{}, nil
	}
	of := *source.Policy.ValuesFrom
	if m := b.Schema.Column(of.Table, of.Column); m != nil && m.Type == g.Column().Type &&
		m.Collation == g.Column().Collation {
		return of, m
	}
	return policy.ColumnOf{}, nil
}

// asRead returns the values of a key that are those of a public column as it has been read: no condition takes some
// away, and the column writes none in another way. They are in the order in which a query would list them (expr.Keys).
// nil: they have to be listed.
func (b *Planner) asRead(g *Key, holds []*expr.Expr) *schema.Table {
	of, m := b.valuesFrom(g)
	if m == nil || m.TypeName != g.Column().TypeName || !slices.Contains(oneTextTypes, g.Type()) {
		return nil
	}
	if slices.ContainsFunc(holds, func(h *expr.Expr) bool {
		return slices.ContainsFunc(h.Columns(), func(c *expr.Column) bool { return query.Equal(c.Ref, g.Column().Ref) })
	}) {
		return nil
	}
	list := b.ReadDomain(of)
	if len(list) != len(g.Column().Domain) {
		return nil
	}
	if g.Collatable() {
		list = slices.Sorted(slices.Values(list))
	}
	values := schema.NewTable(1)
	for i := range list {
		values.Add([]*schema.Canonical{&list[i]})
	}
	if g.Nullable() && !g.Column().Filled {
		values.Add([]*schema.Canonical{nil})
	}
	return values
}
