package release

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Domain lists what some keys of a block may be together: the values of one, or the combinations of several that public
// rows hold (docs/privacy.md P10, P10a).
type Domain struct {
	Keys     []*Key
	At       []int         // the places of Keys in the block
	Tuples   *schema.Table // values of Keys, each combination once, in order; nil where Lookup is
	Computed bool          // they follow from bounds (expr.Limits)
	Sorted   bool          // they are one key's, as its type sorts them, NULL last
	Whole    bool          // no row has keys that are not among them, but where public rows have changed
	public   bool          // they are combinations of rows of public tables

	arrays []query.Scalar
}

// HoldsNull reports whether the i-th key may be NULL.
func (d *Domain) HoldsNull(i int) bool { return d.Tuples.HoldsNull(i) }

// value returns a value of the i-th key; nil: it has none but NULL.
func (d *Domain) value(i int) *schema.Canonical {
	for row := range d.Tuples.Len() {
		if v, known := d.Tuples.Value(row, i); known {
			return &v
		}
	}
	return nil
}

// Arrays prints the keys' values, an array for each in its type.
func (d *Domain) Arrays() []query.Scalar {
	if d.arrays == nil {
		for i, g := range d.Keys {
			d.arrays = append(d.arrays, query.F("({}::pg_catalog.text[])::{}[]",
				Parameter(pgtype.TextArrayOID, schema.TextArray(schema.KeyColumn(d.Tuples, i))), g.TypeName()))
		}
	}
	return d.arrays
}

// Ordinals numbers the combinations.
func (d *Domain) Ordinals() *query.Ordinals {
	out := &query.Ordinals{Arrays: d.Arrays()}
	for _, g := range d.Keys {
		out.Equalities = append(out.Equalities, g.Equality())
	}
	return out
}

// Same prints conditions which together say that two values of the i-th key are one: equal, or both NULL. They can be
// hashed, as IS NOT DISTINCT FROM cannot: where one may be NULL, any value of the key stands in for NULL, and its being
// NULL is compared apart.
func (d *Domain) Same(i int, a, b query.Scalar) []query.Scalar {
	g := d.Keys[i]
	equal := func(a, b query.Scalar) query.Scalar {
		return query.F("{}{} OPERATOR(pg_catalog.=) {}{}", a, g.Equality(), b, g.Equality())
	}
	if !d.HoldsNull(i) {
		return []query.Scalar{equal(a, b)}
	}
	out := []query.Scalar{query.F("({} IS NULL) OPERATOR(pg_catalog.=) ({} IS NULL)", a, b)}
	if v := d.value(i); v != nil {
		standIn := query.F("({}::pg_catalog.text)::{}", Parameter(pgtype.TextOID, *v), g.TypeName())
		out = append(out, equal(query.F("COALESCE({}, {})", a, standIn), query.F("COALESCE({}, {})", b, standIn)))
	}
	return out
}

// distinct returns what main has to prove of a domain: its combinations differ under the equalities that compare the
// keys (P25).
func (d *Domain) distinct() schema.Proof {
	as, names := query.Named("d"), make([]string, len(d.Keys))
	columns := make([]query.Scalar, len(d.Keys))
	for i, g := range d.Keys {
		names[i], columns[i] = g.Text(), query.F("{}{}", as.Column(fmt.Sprintf("k%d", i+1)), g.Equality())
	}
	return schema.Proof{
		Of:     "the values of " + strings.Join(names, ", "),
		Values: query.Print(query.Once(query.Unnest(as, d.Arrays(), false), columns)),
	}
}

// publicDomain lists the combinations of keys in public rows.
func (b *Planner) publicDomain(k *Block, s relation.PublicSource) (*Domain, error) {
	d := &Domain{At: s.Of, Whole: true, public: s.Tables}
	for _, i := range s.Of {
		d.Keys = append(d.Keys, k.Keys[i])
	}
	if b.Lookup == nil {
		return d, nil // known at Plan
	}
	as := query.Named("d")
	list := &query.Select{From: &query.Derived{Query: s.Rows, As: as}, Limit: KeyLimits.Of(false) + 1}
	s.Rows.Distinct = true
	var types []uint32
	for i, g := range d.Keys {
		name := fmt.Sprintf("k%d", i+1)
		s.Rows.Outputs[i].X, s.Rows.Outputs[i].Name = query.F("({}){}", s.Rows.Outputs[i].X, g.listedAs()), name
		list.Outputs = append(list.Outputs, query.Output{X: as.Column(name)})
		order := query.F("{}", as.Column(name))
		if g.Collatable() {
			order = query.F(`{} COLLATE pg_catalog."C"`, as.Column(name))
		}
		list.OrderBy, types = append(list.OrderBy, order), append(types, g.Type())
	}
	ask := b.Lookup.Rows
	if s.Tables {
		ask = b.Lookup.PublicRows
	}
	tuples, err := ask(schema.Query{SQL: query.Print(list).Text, Types: types})
	if err != nil {
		return nil, err
	}
	if int64(tuples.Len()) > KeyLimits.Of(false) {
		return nil, expr.Refuse(refusal.TooManyGroups, d.Keys[0].Location(),
			fmt.Sprintf("the group keys have more than %d combinations in public rows", KeyLimits.Listed),
			"Group by fewer or coarser keys, or narrow them in WHERE.")
	}
	d.Tuples = tuples
	return d, nil
}
