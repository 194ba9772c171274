package relation

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Names are those by which a statement can read columns of tables: no others are resolved (Scope.Column). nil: all are.
type Names map[string]bool

// Add adds the names in a tree; false: it may read columns that it does not name, or reads them by their places. views
// adds those in the definition of a view, and says the same of it.
func (names Names) Add(n *pg_query.Node, views func(*pg_query.RangeVar) bool) bool {
	known := true
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_AStar:
			known = false
		case *pg_query.Node_String_:
			names[v.String_.Sval] = true
		case *pg_query.Node_JoinExpr:
			known = known && !v.JoinExpr.IsNatural && len(v.JoinExpr.Alias.GetColnames()) == 0
		case *pg_query.Node_RangeVar:
			known = known && len(v.RangeVar.Alias.GetColnames()) == 0 && views(v.RangeVar)
		}
		return known
	})
	return known
}

// readable are the columns of a table that the statement can read, and those by which rows are found and told apart, in
// their order. Of a table of many columns most statements read a few, and describing the others would take most of
// their time.
func (b *Base) readable(m *schema.Relation, t *policy.Table) (columns []*schema.Column) {
	own := slices.Concat(m.Unique...)
	if t.Unit != nil {
		own = append(own, t.Unit.Column)
		if t.Unit.Via != nil {
			own = append(own, t.Unit.Via.Column)
		}
	}
	for i := range m.Columns {
		if name := m.Columns[i].Name; b.Named == nil || b.Named[name] || slices.Contains(own, name) {
			columns = append(columns, &m.Columns[i])
		}
	}
	return columns
}
