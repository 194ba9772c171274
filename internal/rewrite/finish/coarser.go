package finish

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// coarser has a query that groups groups again, and adds up no more than them, read groups by its own keys: each sum is
// then of one.
func (c *correlator) coarser(s *pg_query.SelectStmt, of *grouped) {
	q := &coarsening{grouped: of, inner: sqltree.Clone(of.groups), columns: map[string]*pg_query.Node{}, ok: true}
	q.inner.TargetList, q.inner.GroupClause, q.inner.SortClause = nil, nil, nil
	out := q.short(s)
	for i, n := range out.GroupClause {
		key := []*pg_query.Node{sqltree.Clone(of.groupedBy(n, out))}
		if !ofOneKey(key[0]) || !of.keys(key) { // anything else may be what PostgreSQL alone can compute
			return
		}
		out.GroupClause[i] = sqltree.Clone(of.groupedBy(n, out))
		q.add(out.GroupClause[i], key[0], c.alias("k"))
		q.inner.GroupClause = append(q.inner.GroupClause, sqltree.Clone(key[0]))
	}
	for i, n := range out.SortClause {
		if by := n.GetSortBy(); outputNamed(s, s.SortClause[i].GetSortBy().Node) == nil {
			by.Node = q.replaced(by.Node)
		}
	}
	for _, t := range out.TargetList {
		r := t.GetResTarget()
		r.Name = sqltree.OutputName(r)
		r.Val = q.replaced(r.Val)
	}
	for i := range out.GroupClause {
		out.GroupClause[i] = q.replaced(out.GroupClause[i])
	}
	out.HavingClause = q.replaced(out.HavingClause)
	if !q.ok {
		return
	}
	s.TargetList, s.GroupClause, s.HavingClause, s.SortClause = out.TargetList, out.GroupClause, out.HavingClause,
		out.SortClause
	s.FromClause = []*pg_query.Node{sqltree.Subselect(q.inner, of.table)}
	c.single[s], c.around[q.inner] = true, s
}

// coarsening makes the query of the coarser groups.
type coarsening struct {
	*grouped
	inner   *pg_query.SelectStmt
	columns map[string]*pg_query.Node // of inner, by the tree that they stand for
	ok      bool                      // nothing else is read of the groups
}

// short copies a query with names of the groups' outputs that have no table.
func (q *coarsening) short(s *pg_query.SelectStmt) *pg_query.SelectStmt {
	out := sqltree.Clone(s)
	sqltree.Visit(sqltree.SelectNode(out), func(n *pg_query.Node) bool {
		if f := n.GetColumnRef().GetFields(); len(f) == 2 && f[0].GetString_().GetSval() == q.table {
			n.GetColumnRef().Fields = f[1:]
		}
		return n.GetSubLink() == nil && n.GetRangeSubselect() == nil
	})
	return out
}

// add adds an output to the query, once, for what it is in the query around it.
func (q *coarsening) add(n, x *pg_query.Node, name string) *pg_query.Node {
	key := sqltree.TreeKey(n)
	if q.columns[key] == nil {
		q.inner.TargetList = append(q.inner.TargetList, sqltree.Target(name, x))
		q.columns[key] = sqltree.ColumnRef(q.table, name)
	}
	return sqltree.Clone(q.columns[key])
}

// replaced puts outputs of the query in place of its keys, and below its sums.
func (q *coarsening) replaced(n *pg_query.Node) *pg_query.Node {
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if ref := q.columns[sqltree.TreeKey(n)]; ref != nil {
			return sqltree.Clone(ref), false
		}
		f := n.GetFuncCall()
		if x := q.summed(f); x != nil {
			names := sqltree.StringList(f.Args[0].GetColumnRef().Fields)
			f.Args[0] = q.add(f.Args[0], sqltree.Clone(x), names[0])
			return n, false
		}
		q.ok = q.ok && n.GetColumnRef() == nil && n.GetSubLink() == nil && !sqltree.IsAggregate(n) && f.GetOver() == nil
		return n, q.ok
	})
}

// summed is the expression of the groups that a call adds up; nil: it adds up none, or what does not add up over
// groups.
func (q *coarsening) summed(f *pg_query.FuncCall) *pg_query.Node {
	if f == nil || sqltree.FunctionName(f) != "sum" || f.Over != nil || len(f.Args) != 1 || f.AggFilter != nil ||
		f.AggDistinct {
		return nil
	}
	if x := q.named(f.Args[0]); additive(x.GetFuncCall()) {
		return x
	}
	return nil
}

// groupedBy is the expression that a query groups by: it may be named by its number, or by the name of its output.
func (o *grouped) groupedBy(n *pg_query.Node, s *pg_query.SelectStmt) *pg_query.Node {
	if o.named(n) == nil {
		if x := outputNamed(s, n); x != nil {
			return x
		}
	}
	return n
}
