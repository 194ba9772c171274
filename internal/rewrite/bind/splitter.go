package bind

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// AggregateSplitter splits an aggregating query: group keys and aggregate calls are replaced by references to
// columns of a relation that will hold them, so that what is left can be computed above it.
type AggregateSplitter struct {
	b          *Binder
	Scope      *Scope
	table      string           // name of that relation
	keys       []string         // scope keys of the group expressions, in order
	Groups     []*pg_query.Node // those of GROUP BY, and then columns that they determine
	given      int              // how many are of GROUP BY
	determined []schema.Proof   // what the others rest on, each once
	Answer     bool             // the groups are of an answer: only public columns may join those of GROUP BY
	Calls      []*pg_query.FuncCall
	index      map[string]int // scope key of a call → position in calls
	Intervals  []Interval
	Withins    []Within
	Grouping   [][]int                       // arguments of GROUPING(…), as indexes into keys
	oneSet     bool                          // there are no grouping sets: GROUPING(…) is 0
	OnSubquery func(*pg_query.SubLink) error // handles subqueries; nil: refused
}

// GroupNodes lists the group expressions: GROUP BY, or the SELECT list of a DISTINCT without aggregates.
func (b *Binder) GroupNodes(s *pg_query.SelectStmt, sc *Scope) ([]*pg_query.Node, error) {
	if on := sqltree.DistinctOn(s); on != nil && !sqltree.Aggregates(s) {
		nodes := make([]*pg_query.Node, len(on))
		for i, n := range on {
			var err error
			if nodes[i], err = b.GroupNode(n, s, sc); err != nil {
				return nil, err
			}
		}
		return nodes, nil
	}
	if len(s.GroupClause) == 0 && len(s.DistinctClause) > 0 && !sqltree.Aggregates(s) {
		list, err := sc.Targets(s.TargetList)
		if err != nil {
			return nil, err
		}
		var nodes []*pg_query.Node
		for _, t := range list {
			nodes = append(nodes, t.Node)
		}
		return nodes, nil
	}
	var nodes []*pg_query.Node
	for _, n := range s.GroupClause {
		g, err := b.GroupNode(n, s, sc)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, g)
	}
	return nodes, nil
}

// GroupNode resolves GROUP BY 1 and output names; an input column comes before an output name (parse_clause.c).
func (b *Binder) GroupNode(n *pg_query.Node, s *pg_query.SelectStmt, sc *Scope) (*pg_query.Node, error) {
	if c := n.GetAConst(); c != nil && c.GetIval() != nil {
		i := int(c.GetIval().Ival)
		if i < 1 || i > len(s.TargetList) {
			return nil, b.Error(pgerr.SyntaxError, n, fmt.Sprintf("GROUP BY position %d is not in select list", i), "")
		}
		return s.TargetList[i-1].GetResTarget().Val, nil
	}
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 {
		return n, nil
	}
	name := ref.Fields[0].GetString_().GetSval()
	if c, err := sc.rel.Find("", name); c != nil || err != nil {
		return n, err
	}
	for _, t := range s.TargetList {
		if sqltree.OutputName(t.GetResTarget()) == name {
			return t.GetResTarget().Val, nil
		}
	}
	return n, nil
}

// groupColumns returns the bare columns among the group expressions, nil for other expressions.
func (b *Binder) groupColumns(s *pg_query.SelectStmt, src *relation.Relation) ([]*relation.Column, error) {
	sc := &Scope{binder: b, rel: src}
	nodes, err := b.GroupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	cols := make([]*relation.Column, len(nodes))
	for i, n := range nodes {
		cols[i] = sc.bare(n)
	}
	return cols, nil
}

func NewAggregateSplitter(b *Binder, sc *Scope, table string, groups []*pg_query.Node) *AggregateSplitter {
	c := &AggregateSplitter{b: b, Scope: sc, table: table, Groups: groups, given: len(groups), index: map[string]int{}}
	for _, n := range groups {
		c.keys = append(c.keys, sc.Key(n))
	}
	return c
}

// Replace replaces keys and aggregates in a copy of n.
func (c *AggregateSplitter) Replace(n *pg_query.Node) (*pg_query.Node, error) {
	return sqltree.RewriteNode(sqltree.Clone(n), c.replace)
}

func (c *AggregateSplitter) replace(n *pg_query.Node) (*pg_query.Node, bool, error) {
	if n.GetNode() == nil {
		return n, false, nil
	}
	if len(c.keys) > 0 && keyLike(n) {
		if i := slices.Index(c.keys, c.Scope.Key(n)); i >= 0 {
			return sqltree.ColumnRef(c.table, fmt.Sprintf("k%d", i+1)), false, nil
		}
	}
	if call := sqltree.SymmetricSum(n); call != nil {
		return sqltree.ColumnRef(c.table, fmt.Sprintf("a%d", c.call(call)+1)), false, nil
	}
	if sqltree.IsAggregate(n) {
		return sqltree.ColumnRef(c.table, fmt.Sprintf("a%d", c.call(n)+1)), false, nil
	}
	if f := n.GetFuncCall(); f != nil {
		if what := IntervalFunction(f); what != "" {
			return c.interval(n, f, what)
		}
		if sqltree.IsWithin(f) {
			return c.within(n, f)
		}
	}
	if g := n.GetGroupingFunc(); g != nil {
		return c.groupingCall(n, g)
	}
	if l := n.GetSubLink(); l != nil {
		if c.OnSubquery == nil {
			return nil, false, c.b.Refuse(refusal.SubqueryForm, n, "a subquery cannot be used here over private rows",
				"Join on the unit instead.")
		}
		if l.Testexpr != nil {
			var err error
			if l.Testexpr, err = sqltree.RewriteNode(l.Testexpr, c.replace); err != nil {
				return nil, false, err
			}
		}
		c.replaceKeys(l.Subselect.GetSelectStmt(), nil)
		return n, false, c.OnSubquery(l)
	}
	if r := n.GetColumnRef(); r != nil {
		if proof := c.determinedBy(n); proof != nil {
			return c.determine(n, *proof), false, nil
		}
		return nil, false, c.b.Refuse(refusal.Ungrouped, n,
			fmt.Sprintf("column %q must appear in the GROUP BY clause or be used in an aggregate function", sqltree.RefText(r)),
			"Rows of private tables are never returned: aggregate the column, or group by it.")
	}
	return n, true, nil
}

// replaceKeys replaces group keys that a subquery reads by the names of their tables, where no FROM item of its own has
// that name. own are those of the queries around it, within the expression.
func (c *AggregateSplitter) replaceKeys(s *pg_query.SelectStmt, own []string) {
	if s == nil || len(c.keys) == 0 {
		return
	}
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		c.replaceKeys(s.Larg, own)
		c.replaceKeys(s.Rarg, own)
		return
	}
	here := slices.Clone(own)
	for _, n := range s.FromClause {
		sqltree.Visit(n, func(n *pg_query.Node) bool {
			here = append(here, sqltree.ItemName(n))
			return n.GetRangeSubselect() == nil
		})
	}
	var replace func(n *pg_query.Node) (*pg_query.Node, bool)
	replace = func(n *pg_query.Node) (*pg_query.Node, bool) {
		if sub := n.GetRangeSubselect(); sub != nil {
			c.replaceKeys(sub.Subquery.GetSelectStmt(), own)
			return n, false
		}
		if l := n.GetSubLink(); l != nil {
			l.Testexpr = sqltree.Replace(l.Testexpr, replace)
			c.replaceKeys(l.Subselect.GetSelectStmt(), here)
			return n, false
		}
		ref := n.GetColumnRef()
		if ref == nil || len(ref.Fields) != 2 || slices.Contains(here, ref.Fields[0].GetString_().GetSval()) {
			return n, true
		}
		if i := slices.Index(c.keys, c.Scope.Key(n)); i >= 0 {
			return sqltree.ColumnRef(c.table, fmt.Sprintf("k%d", i+1)), false
		}
		return n, false
	}
	sqltree.Replace(sqltree.SelectNode(s), replace)
}

// call registers an aggregate call once.
func (c *AggregateSplitter) call(n *pg_query.Node) int {
	k := c.Scope.Key(n)
	i, ok := c.index[k]
	if !ok {
		i = len(c.Calls)
		c.index[k], c.Calls = i, append(c.Calls, n.GetFuncCall())
	}
	return i
}

// keyLike skips nodes that cannot be a group expression: lists, names, types.
func keyLike(n *pg_query.Node) bool {
	switch n.GetNode().(type) {
	case *pg_query.Node_List, *pg_query.Node_String_, *pg_query.Node_TypeName, *pg_query.Node_ResTarget,
		*pg_query.Node_SortBy, *pg_query.Node_WindowDef, *pg_query.Node_AConst:
		return false
	}
	return true
}

// groupingCall replaces GROUPING(…), which differs between grouping sets.
func (c *AggregateSplitter) groupingCall(n *pg_query.Node, g *pg_query.GroupingFunc) (*pg_query.Node, bool, error) {
	var set []int
	for _, a := range g.Args {
		at := slices.Index(c.keys, c.Scope.Key(a))
		if at < 0 {
			return nil, false, c.b.Refuse(refusal.GroupingSets, n,
				"arguments to GROUPING must be grouping expressions of the associated query level", "")
		}
		set = append(set, at)
	}
	if c.oneSet {
		return sqltree.Integer(0), false, nil
	}
	c.Grouping = append(c.Grouping, set)
	return sqltree.ColumnRef(c.table, fmt.Sprintf("g%d", len(c.Grouping))), false, nil
}
