package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// oneValue reports whether a key of GROUP BY has one value in all rows of the subquery: its WHERE equates it with a
// public column of the row around. So there is one group, or none.
func (d *decorrelation) oneValue(key, where *pg_query.Node) bool {
	return key.GetColumnRef() != nil && slices.ContainsFunc(sqltree.Conjuncts(where), func(n *pg_query.Node) bool {
		sides := sqltree.Equality(n)
		return sides != nil && (d.equates(key, sides[0], sides[1]) || d.equates(key, sides[1], sides[0]))
	})
}

// equates reports whether inner is the key, of whose values only one can equal a public column around.
func (d *decorrelation) equates(key, inner, around *pg_query.Node) bool {
	if !sameExpression(key, inner) || around.GetColumnRef() == nil || d.around(around.GetColumnRef(), false) == nil {
		return false
	}
	of, _, _ := d.outer.column(around.GetColumnRef())
	columns, err := d.Columns([]*pg_query.Node{of.node}, d.env)
	if err != nil {
		return false
	}
	own := bind.NewScope(d.Binder, d.inner, d.env)
	return own.ComparedAs(inner, bind.NewScope(d.Binder, columns, d.env), around)
}
