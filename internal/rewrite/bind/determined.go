package bind

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// determinedBy says that a column follows from the group expressions, which hold the primary key of its table:
// PostgreSQL takes it without an aggregate then. It returns the key; nil: it does not follow.
func (c *AggregateSplitter) determinedBy(n *pg_query.Node) *schema.Proof {
	col := c.Scope.bare(n)
	if col == nil || col.Origin.Column == "" {
		return nil
	}
	m, t := c.b.Schema.Relations[col.Origin.Table], c.b.Schema.Policy.Table(col.Origin.Table)
	if m == nil || t == nil || len(m.PrimaryKey) == 0 || c.Answer && !t.Public {
		return nil // each group of an answer would be of one private row
	}
	for _, name := range m.PrimaryKey {
		if !slices.ContainsFunc(c.Groups[:c.given], func(g *pg_query.Node) bool {
			key := c.Scope.bare(g)
			return key != nil && key.Origin.Column == name && sameRow(key, col)
		}) {
			return nil
		}
	}
	return &schema.Proof{Relation: m.Name, Columns: m.PrimaryKey}
}

// sameRow reports whether two columns are of one row of one table, as one scan of it gives them.
func sameRow(a, b *relation.Column) bool {
	scan := func(c *relation.Column) *query.Alias {
		if ref, ok := c.Value.Ref.(query.Column); ok && ref.Name == sqltext.Ident(c.Origin.Column) {
			return ref.Of
		}
		return nil // a subquery's column, or computed
	}
	return scan(a) != nil && scan(a) == scan(b)
}

// uniqueGroups adds that the groups differ in the keys of GROUP BY alone, where the other columns follow from these.
func (c *AggregateSplitter) uniqueGroups(d *relation.Derived, keys []*relation.Column) []relation.UniqueSet {
	set := d.UniqueGroups(c.b.Base, keys)
	if set == nil {
		return nil
	}
	all := []relation.UniqueSet{*set}
	if len(c.determined) != 1 {
		return all
	}
	given := d.UniqueGroups(c.b.Base, keys[:c.given])
	if given.Proof == nil || given.Proof.Equal(c.determined[0]) {
		given.Proof = &c.determined[0]
		all = append(all, *given)
	}
	return all
}

// determine makes a column that the group expressions determine one of them: the groups stay the same.
func (c *AggregateSplitter) determine(n *pg_query.Node, by schema.Proof) *pg_query.Node {
	c.Groups, c.keys = append(c.Groups[:len(c.Groups):len(c.Groups)], n), append(c.keys, c.Scope.Key(n))
	if !slices.ContainsFunc(c.determined, by.Equal) {
		c.determined = append(c.determined, by)
	}
	return sqltree.ColumnRef(c.table, fmt.Sprintf("k%d", len(c.keys)))
}
