package measure

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// numbered replaces the keys of rows by the ordinal o of their combination in the domains, and keeps the columns named
// in rest. No key of a row but those of public ones leaves main (P10, P26a), and a row joins at most one ordinal,
// whatever the domains hold: equal values are one row of what is joined, grouped by the very equality that the join
// compares by (P26).
func (t *builder) numbered(rows query.Query, rest []string) query.Query {
	k := t.k
	if t.byKeys() {
		return rows
	}
	var ordinal query.Scalar
	from := query.Source(&query.Derived{Query: rows, As: keyedAlias})
	for i, d := range k.Domains {
		as := query.Named(fmt.Sprintf("d%d", i+1))
		var same []query.Scalar
		for j, at := range d.At {
			same = append(same, d.Same(j, keyedAlias.Column(fmt.Sprintf("k%d", at+1)), as.Column(fmt.Sprintf("k%d", j+1)))...)
		}
		from = &query.Join{Kind: "INNER", Left: from, Right: &query.Derived{Query: d.Ordinals(), As: as}, On: same}
		if i == 0 {
			ordinal = as.Column("o")
		} else {
			ordinal = query.F("(({} - 1) * {} + {})", ordinal, d.Tuples.Len(), as.Column("o"))
		}
	}
	outputs := append([]query.Output{{X: query.F("{}::pg_catalog.int8", ordinal), Name: "o"}},
		named(keyedAlias, rest...)...)
	return &query.Select{Outputs: outputs, From: from}
}
