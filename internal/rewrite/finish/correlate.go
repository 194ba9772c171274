package finish

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// correlator rewrites subqueries over private rows that read public rows around them so that they can be released: for
// every combination of the public values that such a subquery reads, a block releases its aggregates, or the number of
// its rows, and the subquery reads those (docs/privacy.md P20a).
type correlator struct {
	*bind.Binder
	*correlated
	blocks  int
	refused error // of what it understands and cannot be released
}

// correlated is what the correlator knows of the queries that it has rewritten.
type correlated struct {
	compare map[*pg_query.SelectStmt]bool                 // of whose count is asked whether there are rows
	every   map[*pg_query.SelectStmt]bool                 // which count the rows for each public row
	single  map[*pg_query.SelectStmt]bool                 // of whose groups each is one of those that it reads
	around  map[*pg_query.SelectStmt]*pg_query.SelectStmt // of the groups that a query selects from, alone: that query
	ends    map[*pg_query.SelectStmt]map[int]bool         // outputs that are sums of groups and have an interval
	written map[string]string                             // by an output, which is one call: what the analyst wrote
}

// query rewrites a query in place, its FROM items and CTEs first. What it does not understand it leaves, to be refused
// later.
func (c *correlator) query(s *pg_query.SelectStmt, e *bind.Env) {
	if s == nil {
		return
	}
	if s.WithClause != nil {
		before := e
		for i, n := range s.WithClause.Ctes {
			c.query(n.GetCommonTableExpr().GetCtequery().GetSelectStmt(), before)
			before = bind.WithCTEs(&pg_query.WithClause{Ctes: s.WithClause.Ctes[i : i+1]}, before)
		}
		e = before
	}
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		c.query(s.Larg, e)
		c.query(s.Rarg, e)
		return
	}
	for _, n := range s.FromClause {
		sqltree.Visit(n, func(n *pg_query.Node) bool {
			if sub := n.GetRangeSubselect(); sub != nil {
				c.query(sub.Subquery.GetSelectStmt(), e)
			}
			return n.GetRangeSubselect() == nil && n.GetSubLink() == nil
		})
	}
	c.totals(s, e)
	seriesOfOutputs(s)
	c.lookUpAggregates(s, e)
	c.antiJoins(s, e)
	c.expressions(s, e)
	c.dropUnread(s, e)
}

// dropUnread leaves out CTEs of released values that nothing reads any more: PostgreSQL would not compute them, and
// they would be charged.
func (c *correlator) dropUnread(s *pg_query.SelectStmt, e *bind.Env) {
	if s.WithClause == nil {
		return
	}
	for i := len(s.WithClause.Ctes) - 1; i >= 0; i-- {
		cte := s.WithClause.Ctes[i].GetCommonTableExpr()
		if k, err := c.KindOf(cte.Ctequery.GetSelectStmt(), e); err != nil || k != bind.Released {
			continue
		}
		rest := sqltree.Clone(s)
		rest.WithClause.Ctes = slices.Delete(rest.WithClause.Ctes, i, i+1)
		if !sqltree.Any(sqltree.SelectNode(rest), func(n *pg_query.Node) bool {
			return n.GetRangeVar().GetRelname() == cte.Ctename
		}) {
			s.WithClause.Ctes = slices.Delete(s.WithClause.Ctes, i, i+1)
		}
	}
	if len(s.WithClause.Ctes) == 0 {
		s.WithClause = nil
	}
}

// overPrivate reports whether a query has a private item in FROM.
func (c *correlator) overPrivate(s *pg_query.SelectStmt, e *bind.Env) (private bool, err error) {
	for _, n := range s.FromClause {
		k, err := c.KindOfItem(n, e)
		if err != nil {
			return false, err
		}
		private = private || k == bind.Private
	}
	return private, nil
}

// expressions rewrites the subqueries in a query's expressions.
func (c *correlator) expressions(s *pg_query.SelectStmt, e *bind.Env) {
	private, err := c.overPrivate(s, e)
	if err != nil || private && !sqltree.Aggregates(s) {
		return
	}
	around := &outer{
		correlator: c, env: e, items: itemsOf(s.FromClause), private: private,
		holds: map[*pg_query.SubLink]bool{},
	}
	around.conditions(s.WhereClause)
	around.conditions(s.HavingClause)
	if replaceOutputs(s, around.rewritten); !private {
		for _, list := range [][]*pg_query.Node{s.FromClause, s.GroupClause, s.DistinctClause, s.WindowClause} {
			replaceEach(list, around.rewritten)
		}
		s.WhereClause = around.rewritten(s.WhereClause)
	}
	s.HavingClause = around.rewritten(s.HavingClause)
}

// replaceOutputs replaces what a query selects, where the outputs keep their names, and sorts by.
func replaceOutputs(s *pg_query.SelectStmt, by func(*pg_query.Node) *pg_query.Node) {
	for _, n := range s.TargetList {
		t := n.GetResTarget()
		name := sqltree.OutputName(t)
		if x := by(t.Val); x != t.Val {
			t.Val, t.Name = x, name
		}
	}
	replaceEach(s.SortClause, by)
}

func replaceEach(list []*pg_query.Node, by func(*pg_query.Node) *pg_query.Node) {
	for i := range list {
		list[i] = by(list[i])
	}
}

// conditionsOf notes those of FILTER, CASE WHEN and ON.
func (o *outer) conditionsOf(n *pg_query.Node) {
	o.conditions(n.GetFuncCall().GetAggFilter())
	o.conditions(n.GetJoinExpr().GetQuals())
	if c := n.GetCaseExpr(); c != nil && c.Arg.GetNode() == nil {
		for _, when := range c.Args {
			o.conditions(when.GetCaseWhen().GetExpr())
		}
	}
}

// conditions notes the subqueries of a WHERE that drop a row where they are false as where they are NULL.
func (o *outer) conditions(where *pg_query.Node) {
	if l := where.GetSubLink(); l != nil {
		o.holds[l] = true
	}
	if x := where.GetBoolExpr(); x != nil && x.Boolop != pg_query.BoolExprType_NOT_EXPR {
		for _, a := range x.Args {
			o.conditions(a)
		}
	}
}

// item is a FROM item that columns may be named of.
type item struct {
	name string
	node *pg_query.Node
}

// itemsOf lists the tables, subselects and functions of a FROM clause.
func itemsOf(from []*pg_query.Node) []item {
	var all []item
	for _, n := range from {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_RangeVar:
			all = append(all, item{sqltree.ItemName(n), n})
		case *pg_query.Node_RangeSubselect:
			if !v.RangeSubselect.Lateral {
				all = append(all, item{sqltree.ItemName(n), n})
			}
		case *pg_query.Node_RangeFunction:
			if !v.RangeFunction.Lateral {
				all = append(all, item{sqltree.ItemName(n), n})
			}
		case *pg_query.Node_JoinExpr:
			if v.JoinExpr.Alias == nil {
				all = append(all, itemsOf([]*pg_query.Node{v.JoinExpr.Larg, v.JoinExpr.Rarg})...)
			}
		}
	}
	return all
}

// outer is a query level whose expressions hold subqueries.
type outer struct {
	*correlator
	env     *bind.Env
	items   []item
	private bool                       // it aggregates private rows
	holds   map[*pg_query.SubLink]bool // conditions that may as well be false where they are NULL
}

// rewritten rewrites the subqueries of an expression.
func (o *outer) rewritten(n *pg_query.Node) *pg_query.Node {
	if n.GetNode() == nil {
		return n
	}
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetRangeSubselect() != nil {
			return n, false
		}
		o.conditionsOf(n)
		l := n.GetSubLink()
		if l == nil {
			return n, !o.private || !sqltree.IsAggregate(n) // what aggregates of private rows read is no public row's
		}
		l.Testexpr = o.rewritten(l.Testexpr)
		o.query(l.Subselect.GetSelectStmt(), o.env)
		if r := o.subquery(l); r != nil {
			return r, false
		}
		return n, false
	})
}

// column finds the public item that a name at this level is of. Of several items, a bare name has to be a column of one
// public table.
func (o *outer) column(ref *pg_query.ColumnRef) (of item, name string, ok bool) {
	for _, f := range ref.Fields {
		if f.GetString_() == nil {
			return of, "", false
		}
	}
	fields := sqltree.StringList(ref.Fields)
	name = fields[len(fields)-1]
	for _, it := range o.items {
		v := it.node.GetRangeVar()
		has := len(fields) == 2 && it.name == fields[0]
		if len(fields) == 1 && len(o.items) == 1 {
			has = true
		} else if len(fields) == 1 && v != nil && (v.Schemaname != "" || o.env.FindCTE(v.Relname) == nil) {
			t := o.Table(v)
			has = t != nil && o.Schema.Column(t.Name, name) != nil
		}
		if !has {
			continue
		}
		k, err := o.KindOfItem(it.node, o.env)
		return it, name, err == nil && k == bind.Public
	}
	return of, "", false
}

// subquery returns what replaces a subquery over private rows; nil: nothing does.
func (o *outer) subquery(l *pg_query.SubLink) *pg_query.Node {
	s := l.Subselect.GetSelectStmt()
	exists := l.SubLinkType == pg_query.SubLinkType_EXISTS_SUBLINK
	member := l.SubLinkType == pg_query.SubLinkType_ANY_SUBLINK &&
		(len(l.OperName) == 0 || slices.Equal(sqltree.StringList(l.OperName), []string{"="}))
	scalar := l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK
	groups := s.GetGroupClause()
	if scalar && len(groups) > 0 {
		s = sqltree.Clone(s)
		s.GroupClause = nil
	}
	if s == nil || !exists && !member && !scalar || !plain(s, exists || member) || scalar != sqltree.Aggregates(s) ||
		(scalar || member) && len(s.TargetList) != 1 {
		return nil
	}
	if private, err := o.overPrivate(s, o.env); err != nil || !private {
		return nil
	}
	columns, err := o.Columns(s.FromClause, o.env)
	if err != nil {
		return nil
	}
	d := &decorrelation{outer: o, inner: columns, defined: defined(s), grouped: len(groups) > 0}
	for _, g := range groups {
		if !d.oneValue(g, s.WhereClause) {
			return nil
		}
	}
	conds := sqltree.Conjuncts(sqltree.Clone(s.WhereClause))
	for i := range conds {
		conds[i] = d.replaced(conds[i], false)
	}
	switch {
	case scalar:
		return d.scalar(l, s, conds)
	case member:
		x := d.outside(sqltree.Clone(l.Testexpr))
		conds = append(conds, sqltree.Operation("=", sqltree.Clone(s.TargetList[0].GetResTarget().Val), x))
		if d.failed || l.Testexpr.GetRowExpr() != nil {
			return nil
		}
		if !o.holds[l] && d.selectsNull(s) {
			o.refused = o.Refuse(refusal.SubqueryForm, &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}},
				"a NULL among these private rows would decide for all public rows",
				"Add WHERE … IS NOT NULL to the subquery, or write NOT EXISTS.")
			return nil
		}
		return sqltree.When(sqltree.NullTest(l.Testexpr, pg_query.NullTestType_IS_NOT_NULL), d.exists(l, s, conds), nil)
	}
	if d.failed {
		return nil
	}
	return d.exists(l, s, conds)
}

// plain reports whether a subquery is a SELECT of rows, or of aggregates over all of them. Where only its rows count,
// their order does not, nor a LIMIT that leaves one.
func plain(s *pg_query.SelectStmt, rows bool) bool {
	limited := s.LimitCount != nil && !(rows && s.LimitCount.GetAConst().GetIval().GetIval() > 0)
	return s.Op == pg_query.SetOperation_SETOP_NONE && s.WithClause == nil && len(s.GroupClause) == 0 &&
		s.HavingClause == nil && len(s.DistinctClause) == 0 &&
		len(s.WindowClause) == 0 && len(s.LockingClause) == 0 && len(s.ValuesLists) == 0 && s.LimitOffset == nil &&
		!limited && (rows || len(s.SortClause) == 0)
}

// defined lists the names of all FROM items in a query.
func defined(s *pg_query.SelectStmt) map[string]bool {
	names := map[string]bool{}
	sqltree.Visit(sqltree.SelectNode(s), func(n *pg_query.Node) bool {
		for _, it := range itemsOf([]*pg_query.Node{n}) {
			names[it.name] = true
		}
		return true
	})
	return names
}

func (c *correlator) alias(kind string) string {
	c.blocks++
	return fmt.Sprintf("dp%s%d", kind, c.blocks)
}
