package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// aggregateLookup rewrites aggregates over private rows that read the private row which they are compared with so that
// they can be released: a lookup query has the aggregate for every key, and a LEFT JOIN finds that of the row
// (docs/privacy.md P28a).
type aggregateLookup struct {
	*outer
	s       *pg_query.SelectStmt
	columns *relation.Relation        // that names at this level may mean
	values  map[string]*pg_query.Node // what takes the place of an expression, by its tree; nil: nothing
	grouped map[string]bool           // trees of the level's group keys
	joins   []func(*pg_query.Node) *pg_query.Node
}

// lookUpAggregates rewrites the subqueries of a query of private rows in place. What it does not understand it leaves.
func (c *correlator) lookUpAggregates(s *pg_query.SelectStmt, e *bind.Env) {
	if !hasScalarSubquery(s) {
		return
	}
	if private, err := c.overPrivate(s, e); err != nil || !private {
		return
	}
	columns, err := c.Columns(s.FromClause, e)
	if err != nil {
		return
	}
	m := &aggregateLookup{
		outer: &outer{correlator: c, env: e, items: itemsOf(s.FromClause)}, s: s, columns: columns,
		values: map[string]*pg_query.Node{}, grouped: map[string]bool{},
	}
	conds := sqltree.Conjuncts(s.WhereClause)
	for i := range conds {
		conds[i] = m.rewritten(conds[i])
	}
	m.outputs()
	if len(m.joins) > 0 {
		m.join(conds)
	}
}

func hasScalarSubquery(s *pg_query.SelectStmt) bool {
	scalar := func(n *pg_query.Node) bool {
		return n.GetSubLink().GetSubLinkType() == pg_query.SubLinkType_EXPR_SUBLINK
	}
	return slices.ContainsFunc(
		slices.Concat([]*pg_query.Node{s.WhereClause, s.HavingClause}, s.TargetList, s.GroupClause, s.SortClause),
		func(n *pg_query.Node) bool { return sqltree.Any(n, scalar) })
}

// outputs rewrites what is computed of rows: all outputs or, where the query aggregates, its group keys and the
// arguments of aggregates.
func (m *aggregateLookup) outputs() {
	rewrite := m.rewritten
	if sqltree.Aggregates(m.s) {
		rewrite = m.below
		m.groupKeys()
	}
	replaceOutputs(m.s, rewrite)
	replaceEach(m.s.GroupClause, rewrite)
	m.s.HavingClause = rewrite(m.s.HavingClause)
}

// groupKeys notes which expressions are group keys.
func (m *aggregateLookup) groupKeys() {
	for _, n := range m.s.GroupClause {
		if at := n.GetAConst().GetIval(); at != nil && at.Ival >= 1 && int(at.Ival) <= len(m.s.TargetList) {
			n = m.s.TargetList[at.Ival-1].GetResTarget().Val
		} else if names := sqltree.StringList(n.GetColumnRef().GetFields()); len(names) == 1 {
			if c, err := m.columns.Find("", names[0]); c != nil || err != nil {
				continue
			}
			for _, t := range m.s.TargetList {
				if sqltree.OutputName(t.GetResTarget()) == names[0] {
					n = t.GetResTarget().Val
				}
			}
		}
		if n.GetAConst() == nil && n.GetColumnRef() == nil {
			m.grouped[sqltree.TreeKey(n)] = true
		}
	}
}

// below rewrites what an expression above the groups reads of their rows.
func (m *aggregateLookup) below(n *pg_query.Node) *pg_query.Node {
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetNode() == nil || n.GetSubLink() != nil || n.GetRangeSubselect() != nil {
			return n, false
		}
		if len(m.grouped) > 0 && m.grouped[sqltree.TreeKey(n)] {
			return m.rewritten(n), false
		}
		if !sqltree.IsAggregate(n) {
			return n, true
		}
		f := n.GetFuncCall()
		for i := range f.Args {
			f.Args[i] = m.rewritten(f.Args[i])
		}
		f.AggFilter = m.rewritten(f.AggFilter)
		return n, false
	})
}

// rewritten rewrites the subqueries of an expression over rows. What an expression computes of one and of constants
// alone is computed with it.
func (m *aggregateLookup) rewritten(n *pg_query.Node) *pg_query.Node {
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetNode() == nil || n.GetRangeSubselect() != nil {
			return n, false
		}
		l := n.GetSubLink()
		if l == nil && !bind.Computes(n) {
			return n, true
		}
		if sub := onlySubquery(n); sub != nil {
			if x := m.value(n, sub); x != nil {
				return sqltree.Clone(x), false
			}
		}
		if l != nil {
			l.Testexpr = m.rewritten(l.Testexpr)
		}
		return n, l == nil
	})
}

// onlySubquery finds the one subquery of an expression that reads nothing else but constants, a scalar one; nil where
// there is another.
func onlySubquery(n *pg_query.Node) *pg_query.SelectStmt {
	var found *pg_query.SelectStmt
	alone := true
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if l := n.GetSubLink(); l != nil {
			alone = alone && found == nil && l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK
			found = l.Subselect.GetSelectStmt()
			return false
		}
		alone = alone && n.GetColumnRef() == nil
		return alone
	})
	if !alone {
		return nil
	}
	return found
}

// value returns what takes the place of an expression whose one subquery is sub.
func (m *aggregateLookup) value(n *pg_query.Node, sub *pg_query.SelectStmt) *pg_query.Node {
	key := sqltree.TreeKey(n)
	x, known := m.values[key]
	if !known {
		x = m.joinedAggregate(n, sub)
		m.values[key] = x
	}
	return x
}

func (m *aggregateLookup) joinedAggregate(n *pg_query.Node, sub *pg_query.SelectStmt) *pg_query.Node {
	keys, conds := m.keys(sub)
	if len(keys) == 0 {
		return nil
	}
	computed := sqltree.Replace(sqltree.Clone(n), func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetSubLink() != nil {
			return sqltree.Clone(sub.TargetList[0].GetResTarget().Val), false
		}
		return n, true
	})
	otherwise, ok := overNoRows(computed)
	if !ok {
		return nil
	}
	stage := m.stage(sub, keys, conds, computed)
	if k, err := m.KindOf(stage, m.env); err != nil || k != bind.Released {
		return nil
	}
	alias := m.alias("m")
	var on []*pg_query.Node
	for i, k := range keys {
		on = append(on, sqltree.Operation("=", sqltree.ColumnRef(alias, lookupKey(i)), k.outer))
	}
	m.joins = append(m.joins, func(from *pg_query.Node) *pg_query.Node {
		return sqltree.Join(pg_query.JoinType_JOIN_LEFT, from, sqltree.Subselect(stage, alias), sqltree.And(on))
	})
	x := sqltree.ColumnRef(alias, sqltree.OutputName(stage.TargetList[len(keys)].GetResTarget()))
	x.GetColumnRef().Location = int32(sqltree.LocationOf(n))
	if otherwise == nil {
		return x
	}
	return sqltree.When(sqltree.NullTest(sqltree.ColumnRef(alias, lookupKey(0)), pg_query.NullTestType_IS_NULL),
		otherwise, x)
}

// join adds the lookup queries to FROM. Several items become one, joined by the conditions on them: what tells a row's
// partners has to be known before the outer join.
func (m *aggregateLookup) join(conds []*pg_query.Node) {
	s := m.s
	var kept, on []*pg_query.Node
	for _, c := range conds {
		if reads, ok := m.reads(c, m.columns); ok && reads.inner && len(s.FromClause) > 1 {
			on = append(on, c)
		} else {
			kept = append(kept, c)
		}
	}
	from := sqltree.Product(s.FromClause)
	if len(s.FromClause) > 1 {
		from.GetJoinExpr().Quals = sqltree.And(on)
	}
	for _, add := range m.joins {
		from = add(from)
	}
	var targets []*pg_query.Node
	for _, n := range s.TargetList {
		if ref := n.GetResTarget().GetVal().GetColumnRef(); ref == nil || len(ref.Fields) != 1 ||
			ref.Fields[0].GetAStar() == nil {
			targets = append(targets, n)
			continue
		}
		for _, c := range m.columns.Visible() { // * has not the columns of the lookup queries
			targets = append(targets, sqltree.Target(c.Name, sqltree.ColumnRef(c.Table, c.Name)))
		}
	}
	s.TargetList, s.FromClause, s.WhereClause = targets, []*pg_query.Node{from}, sqltree.And(kept)
}
