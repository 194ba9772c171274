package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// A sum over all groups of what adds up over them, as sum(n) of (SELECT k, count(*) AS n … GROUP BY k) and
// sum(count(*)) OVER () are, is that of all rows: it is released on its own. Hundreds of counts that are each kept
// above 0, or of which some are not shown, add up to another (docs/privacy.md P20b).

// totals gives such sums of a query that form, in place.
func (c *correlator) totals(s *pg_query.SelectStmt, e *bind.Env) {
	if len(s.DistinctClause) > 0 || s.HavingClause != nil || len(s.WindowClause) > 0 {
		return
	}
	if c.groupsPrivate(s, e) {
		c.replaceSums(s, func(sum *pg_query.FuncCall) *pg_query.Node {
			if x := sum.Args[0]; overAll(sum) && additive(x) {
				return c.total(s, x)
			}
			return nil
		})
		return
	}
	if len(s.FromClause) != 1 || s.WhereClause != nil || len(s.GroupClause) > 0 {
		return
	}
	item := s.FromClause[0].GetRangeSubselect()
	groups := item.GetSubquery().GetSelectStmt()
	renamed := len(item.GetAlias().GetColnames()) > 0
	if groups == nil || item.Lateral || renamed || !c.groupsPrivate(groups, e) || !allGroups(groups) {
		return
	}
	aggregated := sqltree.Aggregates(s)
	c.replaceSums(s, func(sum *pg_query.FuncCall) *pg_query.Node {
		names := sqltree.StringList(sum.Args[0].GetColumnRef().GetFields())
		if n := len(names); n == 0 || n > 2 || n == 2 && names[0] != item.Alias.GetAliasname() || !overAll(sum) && sum.Over != nil {
			return nil
		}
		for _, t := range groups.TargetList {
			if r := t.GetResTarget(); sqltree.OutputName(r) == names[len(names)-1] && additive(r.Val) {
				return c.total(groups, r.Val)
			}
		}
		return nil
	})
	if aggregated && !sqltree.Aggregates(s) { // nothing else is read of the groups
		s.FromClause = nil
	}
}

// groupsPrivate says that a query aggregates private rows by keys, of which none is the unit's.
func (c *correlator) groupsPrivate(s *pg_query.SelectStmt, e *bind.Env) bool {
	sets := func(n *pg_query.Node) bool { return n.GetGroupingSet() != nil }
	if s.Op != pg_query.SetOperation_SETOP_NONE || len(s.GroupClause) == 0 || s.WithClause != nil ||
		slices.ContainsFunc(s.GroupClause, sets) || slices.ContainsFunc(s.FromClause, outerJoin) {
		return false
	}
	private, err := c.overPrivate(s, e)
	if err != nil || !private {
		return false
	}
	kind, err := c.KindOf(s, e)
	return err == nil && kind == bind.Released
}

// outerJoin says that a FROM item has rows that no private row makes.
func outerJoin(n *pg_query.Node) bool {
	j := n.GetJoinExpr()
	if j == nil {
		return false
	}
	return j.Jointype != pg_query.JoinType_JOIN_INNER || outerJoin(j.Larg) || outerJoin(j.Rarg)
}

// allGroups says that no group of a query is left out by what follows the grouping.
func allGroups(s *pg_query.SelectStmt) bool {
	return s.HavingClause == nil && s.LimitCount == nil && s.LimitOffset == nil && len(s.DistinctClause) == 0
}

// additive says that an expression over a group is the sum of what it is over its parts.
func additive(x *pg_query.Node) bool {
	f := x.GetFuncCall()
	if f == nil || f.AggDistinct || f.Over != nil || len(f.AggOrder) > 0 {
		return false
	}
	name := sqltree.FunctionName(f)
	return name == "count" || name == "sum"
}

// plainFrame are the frame options of a window that says none.
const plainFrame = 1058

// overAll says that a window function reads all rows.
func overAll(f *pg_query.FuncCall) bool {
	w := f.GetOver()
	return w != nil && w.Name == "" && w.Refname == "" && len(w.PartitionClause)+len(w.OrderClause) == 0 && w.FrameOptions == plainFrame
}

// replaceSums replaces sums in what a query selects and sorts by, where the replacement is not nil. Outputs keep their
// names.
func (c *correlator) replaceSums(s *pg_query.SelectStmt, of func(sum *pg_query.FuncCall) *pg_query.Node) {
	replaced := func(n *pg_query.Node) *pg_query.Node {
		if n.GetNode() == nil {
			return n
		}
		out, err := sqltree.RewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
			f := n.GetFuncCall()
			if f == nil || sqltree.FunctionName(f) != "sum" || len(f.Args) != 1 || f.AggDistinct || len(f.AggOrder) > 0 || f.AggFilter != nil {
				return n, n.GetSubLink() == nil, nil
			}
			if r := of(f); r != nil {
				return r, false, nil
			}
			return n, true, nil
		})
		if err != nil {
			panic(err) // the callback gives none
		}
		return out
	}
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		name := sqltree.OutputName(r)
		if x := replaced(r.Val); x != r.Val {
			r.Val, r.Name = x, name
		}
	}
	for i := range s.SortClause {
		s.SortClause[i] = replaced(s.SortClause[i])
	}
}

// total is the sum of x over all rows that a query groups, with the type of a sum of such sums.
func (c *correlator) total(s *pg_query.SelectStmt, x *pg_query.Node) *pg_query.Node {
	rows, out, alias := newSelect(), newSelect(), c.alias("t")
	rows.TargetList = []*pg_query.Node{target("n", sqltree.Clone(x))}
	rows.FromClause, rows.WhereClause = sqltree.Clone(s).FromClause, sqltree.Clone(s.WhereClause)
	sum := &pg_query.FuncCall{Funcname: []*pg_query.Node{pg_query.MakeStrNode("sum")}, Funcformat: pg_query.CoercionForm_COERCE_EXPLICIT_CALL}
	sum.Args = []*pg_query.Node{sqltree.ColumnRef(alias, "n")}
	out.TargetList = []*pg_query.Node{target("", &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: sum}})}
	out.FromClause = []*pg_query.Node{subselect(rows, alias)}
	return sublink(pg_query.SubLinkType_EXPR_SUBLINK, out, -1)
}
