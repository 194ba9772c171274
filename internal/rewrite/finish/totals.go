package finish

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// A sum over all groups of what adds up over them, as sum(n) of (SELECT k, count(*) AS n … GROUP BY k) and
// sum(count(*)) OVER () are, is that of all rows: it is released on its own. Hundreds of counts that are each kept
// above 0, or of which some are not shown, add up to another (docs/privacy.md P20b).

// totals rewrites such sums of a query, in place.
func (c *correlator) totals(s *pg_query.SelectStmt, e *bind.Env) {
	if len(s.DistinctClause) > 0 || len(s.WindowClause) > 0 {
		return
	}
	if c.groupsPrivate(s, e) && s.HavingClause == nil {
		c.replaceSums(s, s, func(sum *pg_query.FuncCall) *pg_query.Node {
			if x := sum.Args[0]; overAll(sum) && additive(x.GetFuncCall()) {
				return x
			}
			return nil
		})
		return
	}
	if len(s.FromClause) != 1 || s.WhereClause != nil {
		return
	}
	groups := c.groupsOf(s.FromClause[0], e)
	if groups == nil || !allGroups(groups) {
		return
	}
	of := &grouped{sqltree.ItemName(s.FromClause[0]), groups}
	if len(s.GroupClause) > 0 {
		c.coarser(s, of)
		return
	}
	if s.HavingClause != nil {
		return
	}
	aggregated := sqltree.Aggregates(s)
	c.replaceSums(s, groups, func(sum *pg_query.FuncCall) *pg_query.Node {
		if x := of.named(sum.Args[0]); (overAll(sum) || sum.Over == nil) && additive(x.GetFuncCall()) {
			return x
		}
		return nil
	})
	c.runningTotals(s, of)
	if aggregated && !sqltree.Aggregates(s) { // nothing else is read of the groups
		s.FromClause = nil
	} else if !aggregated {
		c.around[c.groupsOf(s.FromClause[0], e)] = s
	}
}

// groupsOf is the query of private groups that a FROM item, a subquery or a CTE, is; nil: it is none.
func (c *correlator) groupsOf(n *pg_query.Node, e *bind.Env) *pg_query.SelectStmt {
	item, v := n.GetRangeSubselect(), n.GetRangeVar()
	groups := item.GetSubquery().GetSelectStmt()
	if v != nil && v.Schemaname == "" {
		groups = e.Inlined(v.Relname)
	}
	renamed := len(item.GetAlias().GetColnames())+len(v.GetAlias().GetColnames()) > 0
	if groups == nil || item.GetLateral() || renamed || !c.groupsPrivate(groups, e) {
		return nil
	}
	return groups
}

// grouped are the outputs of a query of groups, as a query around it names them.
type grouped struct {
	table  string
	groups *pg_query.SelectStmt
}

// named is the expression behind a name; nil: there is none.
func (o *grouped) named(n *pg_query.Node) *pg_query.Node {
	names := sqltree.StringList(n.GetColumnRef().GetFields())
	if len(names) == 0 || len(names) > 2 || len(names) == 2 && names[0] != o.table {
		return nil
	}
	return named(o.groups, names[len(names)-1])
}

// keys puts the keys of the groups in place of their names in a list of expressions; false: others are read.
func (o *grouped) keys(list []*pg_query.Node) bool {
	for i := range list {
		if sqltree.Any(list[i], func(n *pg_query.Node) bool {
			x := o.named(n)
			return n.GetSubLink() != nil || n.GetColumnRef() != nil && x == nil ||
				x != nil && (sqltree.HasWindow(x) || sqltree.Aggregates(sqltree.NewSelect(x)))
		}) {
			return false
		}
		list[i] = sqltree.Replace(list[i], func(n *pg_query.Node) (*pg_query.Node, bool) {
			if x := o.named(n); x != nil {
				return sqltree.Clone(x), false
			}
			return n, true
		})
	}
	return true
}

// runningTotals moves windows that add up the groups by their keys into the query of the groups, which knows them all.
func (c *correlator) runningTotals(s *pg_query.SelectStmt, of *grouped) {
	list, ok := of.expanded(s.TargetList)
	if !ok {
		return
	}
	inner := sqltree.Clone(of.groups)
	moved := func(n *pg_query.Node, name string) *pg_query.Node {
		return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
			x := of.movedEnd(n.GetFuncCall())
			if x == nil {
				if n.GetTypeCast() == nil {
					name = ""
				}
				return n, n.GetSubLink() == nil
			}
			if name == "" {
				name = "sum"
			}
			if slices.ContainsFunc(inner.TargetList, func(t *pg_query.Node) bool {
				return sqltree.OutputName(t.GetResTarget()) ==
					name
			}) {
				name = c.alias("w")
			}
			inner.TargetList = append(inner.TargetList, sqltree.Target(name, x))
			return sqltree.ColumnRef(of.table, name), false
		})
	}
	for i, t := range list {
		r := t.GetResTarget()
		if len(list) == len(s.TargetList) && of.moved(uncast(r.Val).GetFuncCall()) != nil {
			c.ended(s, i)
		}
		r.Name = sqltree.OutputName(r)
		r.Val = moved(r.Val, r.Name)
	}
	sort := sqltree.Clone(s).SortClause
	for i := range sort {
		sort[i] = moved(sort[i], "")
	}
	if len(inner.TargetList) > len(of.groups.TargetList) {
		s.TargetList, s.SortClause, s.FromClause = list, sort, nil
		of.dropSums(inner, sqltree.SelectNode(s))
		s.FromClause = []*pg_query.Node{sqltree.Subselect(inner, of.table)}
	}
}

// dropSums leaves out what a query of groups adds up and the query around does not read any more: a window that alone
// reads it has less noise (docs/privacy.md P20d). Outputs keep their places.
func (o *grouped) dropSums(groups *pg_query.SelectStmt, around *pg_query.Node) {
	if len(groups.SortClause) > 0 {
		return // by an output
	}
	for _, t := range groups.TargetList {
		r := t.GetResTarget()
		name := sqltree.OutputName(r)
		if additive(r.Val.GetFuncCall()) && !sqltree.Any(around, func(n *pg_query.Node) bool {
			names := sqltree.StringList(n.GetColumnRef().GetFields())
			return n.GetColumnRef() != nil && slices.Contains([]string{name, o.table, ""}, names[len(names)-1])
		}) {
			r.Name, r.Val = name, sqltree.Integer(0)
		}
	}
}

// movedEnd is such a window, or an end of its interval.
func (o *grouped) movedEnd(f *pg_query.FuncCall) *pg_query.Node {
	what := bind.IntervalFunction(f)
	if what == "" || len(f.Args) != 1 || f.Args[0].GetFuncCall() == nil || what == aggregate.DerivedStddev {
		return o.moved(f)
	}
	if x := o.moved(f.Args[0].GetFuncCall()); x != nil {
		return sqltree.OwnCall("interval_"+string(what), x)
	}
	return nil
}

// ended notes that an output of a query has an interval.
func (c *correlator) ended(s *pg_query.SelectStmt, output int) {
	if c.ends[s] == nil {
		c.ends[s] = map[int]bool{}
	}
	c.ends[s][output] = true
}

// moved is a window that adds up the groups by their keys, as the query of the groups says it; nil: it is none.
func (o *grouped) moved(f *pg_query.FuncCall) *pg_query.Node {
	if f.GetOver() == nil || sqltree.FunctionName(f) != "sum" || len(f.Args) != 1 || f.AggFilter != nil {
		return nil
	}
	x := o.named(f.Args[0])
	f = sqltree.Clone(f)
	if !additive(x.GetFuncCall()) || !o.keys(f.Over.PartitionClause) || !o.keys(f.Over.OrderClause) {
		return nil
	}
	f.Args[0] = sqltree.Clone(x)
	return &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}}
}

// expanded copies a SELECT list with the outputs in place of *; false: it may read whole rows.
func (o *grouped) expanded(targets []*pg_query.Node) (list []*pg_query.Node, ok bool) {
	ok = true
	for _, t := range targets {
		if !sqltree.Star(t.GetResTarget().GetVal()) {
			ok = ok && !sqltree.Any(t, func(n *pg_query.Node) bool {
				names := sqltree.StringList(n.GetColumnRef().GetFields())
				return len(names) == 1 && names[0] == o.table && o.named(n) == nil
			})
			list = append(list, sqltree.Clone(t))
			continue
		}
		for _, t := range o.groups.TargetList {
			name := sqltree.OutputName(t.GetResTarget())
			list = append(list, sqltree.Target(name, sqltree.ColumnRef(o.table, name)))
		}
	}
	return list, ok
}

// groupsPrivate reports whether a query aggregates private rows by keys, of which none is the unit's.
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

// outerJoin reports whether a FROM item has rows that no private row makes.
func outerJoin(n *pg_query.Node) bool {
	j := n.GetJoinExpr()
	if j == nil {
		return false
	}
	return j.Jointype != pg_query.JoinType_JOIN_INNER || outerJoin(j.Larg) || outerJoin(j.Rarg)
}

// allGroups reports whether no group of a query is left out by what follows the grouping, and none makes several
// rows.
func allGroups(s *pg_query.SelectStmt) bool {
	return !slices.ContainsFunc(s.TargetList, returnsRows) && s.HavingClause == nil && s.LimitCount == nil &&
		s.LimitOffset == nil && len(s.DistinctClause) == 0
}

// additive reports whether an expression over a group is the sum of what it is over its parts.
func additive(f *pg_query.FuncCall) bool {
	if f == nil || f.AggDistinct || f.Over != nil || len(f.AggOrder) > 0 {
		return false
	}
	name := sqltree.FunctionName(f)
	return name == "count" || name == "sum"
}

// plainFrame are the frame options of a window that says none.
const plainFrame = 1058

// overAll reports whether a window function reads all rows.
func overAll(f *pg_query.FuncCall) bool {
	w := f.GetOver()
	return w != nil && w.Name == "" && w.Refname == "" && len(w.PartitionClause)+len(w.OrderClause) == 0 &&
		w.FrameOptions == plainFrame
}

// replaceSums replaces sums of what adds up over groups, and the ends of their intervals, in what a query selects and
// sorts by. Outputs keep their names.
func (c *correlator) replaceSums(s, groups *pg_query.SelectStmt, of func(sum *pg_query.FuncCall) (x *pg_query.Node)) {
	for i, t := range s.TargetList {
		if sum := uncast(t.GetResTarget().Val).GetFuncCall(); plainSum(sum) && of(sum) != nil {
			c.ended(s, i)
		}
	}
	replaceOutputs(s, func(n *pg_query.Node) *pg_query.Node {
		return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
			f := n.GetFuncCall()
			what := bind.IntervalFunction(f)
			if what != "" && len(f.Args) == 1 {
				f = f.Args[0].GetFuncCall()
			}
			if !plainSum(f) {
				return n, n.GetSubLink() == nil
			}
			x := of(f)
			if x != nil && what != "" {
				x = sqltree.OwnCall("interval_"+string(what), sqltree.Clone(x))
			}
			if x != nil {
				return c.total(groups, x, f), false
			}
			return n, true
		})
	})
}

// plainSum reports whether a call is a sum of one argument, of all rows.
func plainSum(f *pg_query.FuncCall) bool {
	return f != nil && sqltree.FunctionName(f) == "sum" && len(f.Args) == 1 && !f.AggDistinct && len(f.AggOrder) == 0 &&
		f.AggFilter == nil
}

// total is the sum of x over all rows that a query groups, with the type of a sum of such sums, in place of what is
// written.
func (c *correlator) total(s *pg_query.SelectStmt, x *pg_query.Node, written *pg_query.FuncCall) *pg_query.Node {
	alias, name := c.alias("t"), c.alias("n")
	sum := &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: sqltree.Clone(written)}}
	if text, err := sqltree.Deparse(sqltree.NewSelect(sqltree.Target("", sum))); err == nil {
		_, c.written[name], _ = strings.Cut(text, " ") // behind the keyword
	}
	rows := sqltree.NewSelect(sqltree.Target(name, sqltree.Clone(x)))
	rows.FromClause, rows.WhereClause = sqltree.Clone(s).FromClause, sqltree.Clone(s.WhereClause)
	out := sqltree.NewSelect(sqltree.Target("", sqltree.Call("sum", sqltree.ColumnRef(alias, name))))
	out.FromClause = []*pg_query.Node{sqltree.Subselect(rows, alias)}
	return sqltree.SubLink(pg_query.SubLinkType_EXPR_SUBLINK, out, -1)
}
