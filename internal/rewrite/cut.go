package rewrite

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// cut takes an aggregating query apart: group keys and aggregate calls are replaced by references to columns of a
// relation that will hold them, so that what is left can be computed above it.
type cut struct {
	b         *builder
	sc        *scope
	table     string   // name of the relation that stands in
	keys      []string // scope keys of the group expressions, in order
	nodes     []*pg_query.Node
	calls     []*pg_query.FuncCall
	index     map[string]int // scope key of a call → position in calls
	intervals []interval
	withins   []within
	grouping  [][]int                       // arguments of GROUPING(…), as indexes into keys
	sub       func(*pg_query.SubLink) error // handles subqueries; nil: refused
}

// key is equal only for expressions that mean the same in the scope. Names below a subquery may be its own, so they stay.
func (s *scope) key(n *pg_query.Node) string {
	var resolve func(n *pg_query.Node) (*pg_query.Node, bool, error)
	resolve = func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if col := s.bare(n); col != nil {
			return columnRef("", fmt.Sprintf("%p", col)), false, nil
		}
		if l := n.GetSubLink(); l != nil {
			l.Testexpr, _ = rewriteNode(l.Testexpr, resolve)
			return n, false, nil
		}
		return n, true, nil
	}
	c, _ := rewriteNode(clone(n), resolve)
	return treeKey(c)
}

// groupNodes lists the group expressions: GROUP BY, or the SELECT list of a DISTINCT without aggregates.
func (b *builder) groupNodes(s *pg_query.SelectStmt, sc *scope) ([]*pg_query.Node, error) {
	if on := distinctOn(s); on != nil && !aggregates(s) {
		nodes := make([]*pg_query.Node, len(on))
		for i, n := range on {
			var err error
			if nodes[i], err = b.groupNode(n, s, sc); err != nil {
				return nil, err
			}
		}
		return nodes, nil
	}
	if len(s.GroupClause) == 0 && len(s.DistinctClause) > 0 && !aggregates(s) {
		list, err := sc.targets(s.TargetList)
		if err != nil {
			return nil, err
		}
		var nodes []*pg_query.Node
		for _, t := range list {
			if t.col != nil {
				t.node = columnRef(t.col.table, t.col.name)
			}
			nodes = append(nodes, t.node)
		}
		return nodes, nil
	}
	var nodes []*pg_query.Node
	for _, n := range s.GroupClause {
		g, err := b.groupNode(n, s, sc)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, g)
	}
	return nodes, nil
}

// groupNode resolves GROUP BY 1 and output names; an input column comes before an output name (parse_clause.c).
func (b *builder) groupNode(n *pg_query.Node, s *pg_query.SelectStmt, sc *scope) (*pg_query.Node, error) {
	if c := n.GetAConst(); c != nil && c.GetIval() != nil {
		i := int(c.GetIval().Ival)
		if i < 1 || i > len(s.TargetList) {
			return nil, b.refuse(pgerr.SyntaxError, n, fmt.Sprintf("GROUP BY position %d is not in select list", i), "")
		}
		return s.TargetList[i-1].GetResTarget().Val, nil
	}
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 {
		return n, nil
	}
	name := ref.Fields[0].GetString_().GetSval()
	if c, err := sc.rel.find("", name); c != nil || err != nil {
		return n, err
	}
	for _, t := range s.TargetList {
		if outputName(t.GetResTarget()) == name {
			return t.GetResTarget().Val, nil
		}
	}
	return n, nil
}

// groupColumns gives the bare columns among the group expressions, nil for other expressions.
func (b *builder) groupColumns(s *pg_query.SelectStmt, src *relation) ([]*column, error) {
	sc := &scope{b: b, rel: src}
	nodes, err := b.groupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	cols := make([]*column, len(nodes))
	for i, n := range nodes {
		cols[i] = sc.bare(n)
	}
	return cols, nil
}

func newCut(b *builder, sc *scope, table string, groups []*pg_query.Node) *cut {
	c := &cut{b: b, sc: sc, table: table, nodes: groups, index: map[string]int{}}
	for _, n := range groups {
		c.keys = append(c.keys, sc.key(n))
	}
	return c
}

// node replaces keys and aggregates in a copy of n.
func (c *cut) node(n *pg_query.Node) (*pg_query.Node, error) {
	return rewriteNode(clone(n), c.replace)
}

func (c *cut) replace(n *pg_query.Node) (*pg_query.Node, bool, error) {
	if n.GetNode() == nil {
		return n, false, nil
	}
	if len(c.keys) > 0 && keyLike(n) {
		k := c.sc.key(n)
		for i := range c.keys {
			if c.keys[i] == k {
				return columnRef(c.table, fmt.Sprintf("k%d", i+1)), false, nil
			}
		}
	}
	if isAggregate(n) {
		return columnRef(c.table, fmt.Sprintf("a%d", c.call(n)+1)), false, nil
	}
	if f := n.GetFuncCall(); f != nil {
		if what := intervalFunction(f); what != "" {
			return c.interval(n, f, what)
		}
		if isWithin(f) {
			return c.within(n, f)
		}
	}
	if g := n.GetGroupingFunc(); g != nil {
		return c.groupingCall(n, g)
	}
	if l := n.GetSubLink(); l != nil {
		if c.sub == nil {
			return nil, false, c.b.refuse(pgerr.FeatureNotSupported, n, "a subquery cannot be used here over private rows", "Join on the unit instead.")
		}
		if l.Testexpr != nil {
			var err error
			if l.Testexpr, err = rewriteNode(l.Testexpr, c.replace); err != nil {
				return nil, false, err
			}
		}
		return n, false, c.sub(l)
	}
	if r := n.GetColumnRef(); r != nil {
		return nil, false, c.b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("column %q must appear in the GROUP BY clause or be used in an aggregate function", refText(r)),
			"Rows of private tables are never returned: aggregate the column, or group by it.")
	}
	return n, true, nil
}

// call registers an aggregate call once.
func (c *cut) call(n *pg_query.Node) int {
	k := c.sc.key(n)
	i, ok := c.index[k]
	if !ok {
		i = len(c.calls)
		c.index[k], c.calls = i, append(c.calls, n.GetFuncCall())
	}
	return i
}

// keyLike skips nodes that cannot be a group expression: lists, names, types.
func keyLike(n *pg_query.Node) bool {
	switch n.GetNode().(type) {
	case *pg_query.Node_List, *pg_query.Node_String_, *pg_query.Node_TypeName, *pg_query.Node_ResTarget, *pg_query.Node_SortBy, *pg_query.Node_WindowDef, *pg_query.Node_AConst:
		return false
	}
	return true
}

func refText(r *pg_query.ColumnRef) string {
	text := ""
	for _, f := range r.Fields {
		if text != "" {
			text += "."
		}
		if f.GetString_() != nil {
			text += f.GetString_().Sval
		} else {
			text += "*"
		}
	}
	return text
}

// groupingCall replaces GROUPING(…), which differs between grouping sets.
func (c *cut) groupingCall(n *pg_query.Node, g *pg_query.GroupingFunc) (*pg_query.Node, bool, error) {
	var set []int
	for _, a := range g.Args {
		k, at := c.sc.key(a), -1
		for i := range c.keys {
			if c.keys[i] == k {
				at = i
			}
		}
		if at < 0 {
			return nil, false, c.b.refuse(pgerr.FeatureNotSupported, n, "arguments to GROUPING must be grouping expressions of the associated query level", "")
		}
		set = append(set, at)
	}
	c.grouping = append(c.grouping, set)
	return columnRef(c.table, fmt.Sprintf("g%d", len(c.grouping))), false, nil
}
