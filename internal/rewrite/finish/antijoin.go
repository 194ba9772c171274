package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// antiJoins writes public LEFT JOIN private … WHERE private column IS NULL as NOT EXISTS, where nothing else is read of
// the private side.
func (c *correlator) antiJoins(s *pg_query.SelectStmt, e *bind.Env) {
	for i, n := range s.FromClause {
		for {
			j := n.GetJoinExpr()
			if j == nil || j.Jointype != pg_query.JoinType_JOIN_LEFT || j.IsNatural || len(j.UsingClause) > 0 ||
				j.Alias != nil || j.Quals == nil {
				break
			}
			left, err := c.KindOfItem(j.Larg, e)
			right, other := c.KindOfItem(j.Rarg, e)
			if err != nil || other != nil || left == bind.Private || right != bind.Private || !c.antiJoin(s, j, e) {
				break
			}
			n = j.Larg
			s.FromClause[i] = n
		}
	}
}

// antiJoin replaces the condition; false: it is no such join.
func (c *correlator) antiJoin(s *pg_query.SelectStmt, j *pg_query.JoinExpr, e *bind.Env) bool {
	items := itemsOf([]*pg_query.Node{j.Rarg})
	columns, err := c.Columns([]*pg_query.Node{j.Rarg}, e)
	if err != nil || len(items) != 1 {
		return false
	}
	right := func(ref *pg_query.ColumnRef) bool { // a column of the right side, or what might be one
		names := sqltree.StringList(ref.GetFields())
		column, err := find(columns, ref)
		return column != nil || err != nil || len(names) > 1 && names[len(names)-2] == items[0].name
	}
	kept := sqltree.Conjuncts(s.WhereClause)
	at := slices.IndexFunc(kept, func(q *pg_query.Node) bool {
		t := q.GetNullTest()
		column, err := find(columns, t.GetArg().GetColumnRef())
		if t.GetNulltesttype() != pg_query.NullTestType_IS_NULL || err != nil || column == nil {
			return false
		}
		c.Rely(column.Origin) // what is measured may not name it
		return neverNull(columns, column, j.Quals)
	})
	if at < 0 {
		return false
	}
	kept = slices.Delete(kept, at, at+1)
	rest := sqltree.Clone(s)
	rest.FromClause, rest.WhereClause = []*pg_query.Node{sqltree.Clone(j.Larg)}, sqltree.And(kept)
	for _, n := range s.FromClause {
		if n.GetJoinExpr() != j {
			rest.FromClause = append(rest.FromClause, n)
		}
	}
	if sqltree.Any(sqltree.SelectNode(rest), func(n *pg_query.Node) bool {
		return n.GetColumnRef() != nil && (sqltree.Star(n) || right(n.GetColumnRef()))
	}) {
		return false
	}
	sub := sqltree.NewSelect(sqltree.Target("", sqltree.Integer(1)))
	sub.FromClause, sub.WhereClause = []*pg_query.Node{j.Rarg}, j.Quals
	s.WhereClause = sqltree.And(append(kept, sqltree.Not(sqltree.SubLink(pg_query.SubLinkType_EXISTS_SUBLINK, sub, -1))))
	return true
}

// neverNull reports whether a column of a relation is NULL in no row that meets a condition: by schema, by a comparison
// in it or by IS NOT NULL.
func neverNull(r *relation.Relation, c *relation.Column, where *pg_query.Node) bool {
	is := func(n *pg_query.Node) bool {
		found, err := find(r, n.GetColumnRef())
		return err == nil && found == c
	}
	return !c.Value.Nullable || slices.ContainsFunc(sqltree.Conjuncts(where), func(q *pg_query.Node) bool {
		t, a := q.GetNullTest(), q.GetAExpr()
		return t.GetNulltesttype() == pg_query.NullTestType_IS_NOT_NULL && is(t.GetArg()) ||
			comparisonNames[sqltree.Operator(q)] && (is(a.Lexpr) || is(a.Rexpr))
	})
}
