package measure

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// numbered replaces the keys of rows by the ordinal o of their combination in the domains, and keeps the columns named in rest.
// No key of a row leaves main (P10), and a row joins at most one ordinal, whatever the domains hold: equal values are one row of
// what is joined, grouped by the very equality that the join compares by (P26).
func (t *builder) numbered(rows query.Query, rest []string) query.Query {
	k := t.k
	if k.Selected || len(k.Keys) == 0 {
		return rows
	}
	var ordinal query.Scalar
	from := query.Source(&query.Derived{Query: rows, As: keyedAlias})
	var where []query.Scalar
	for i, g := range k.Keys {
		d, key := query.Named(fmt.Sprintf("d%d", i+1)), keyedAlias.Column(fmt.Sprintf("k%d", i+1))
		kind, o := "INNER", query.Scalar(d.Column("o"))
		if g.Null() {
			kind = "LEFT"
			o = query.F("CASE WHEN {} IS NULL THEN {} ELSE {} END", key, len(g.Values), d.Column("o"))
			where = append(where, query.F("({}) IS NOT NULL", o))
		}
		same := query.F("{}{} OPERATOR(pg_catalog.=) {}{}", key, g.Equality(), d.Column("k"), g.Equality())
		from = &query.Join{Kind: kind, Left: from, Right: &query.Derived{Query: &query.Ordinals{Values: g.Domain(), Equality: g.Equality()}, As: d}, On: []query.Scalar{same}}
		if i == 0 {
			ordinal = query.F("({})", o)
		} else {
			ordinal = query.F("(({} - 1) * {} + ({}))", ordinal, len(g.Values), o)
		}
	}
	outputs := append([]query.Output{{X: query.F("{}::pg_catalog.int8", ordinal), Name: "o"}}, named(keyedAlias, rest...)...)
	return &query.Select{Outputs: outputs, From: from, Where: where}
}
