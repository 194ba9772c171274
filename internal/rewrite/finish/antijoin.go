package finish

import (
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
	side := &optionalSide{c.Base, items[0].name, columns, j.Quals}
	var kept []*pg_query.Node
	found := false
	for _, q := range sqltree.Conjuncts(s.WhereClause) {
		t := q.GetNullTest()
		if ref := t.GetArg().GetColumnRef(); !found && ref != nil && t.Nulltesttype == pg_query.NullTestType_IS_NULL &&
			side.has(ref) && side.neverNull(ref) {
			found = true
			continue
		}
		kept = append(kept, q)
	}
	if !found {
		return false
	}
	rest := sqltree.Clone(s)
	rest.FromClause, rest.WhereClause = []*pg_query.Node{sqltree.Clone(j.Larg)}, and(kept)
	for _, n := range s.FromClause {
		if n.GetJoinExpr() != j {
			rest.FromClause = append(rest.FromClause, n)
		}
	}
	read := false
	sqltree.Visit(selectNode(rest), func(n *pg_query.Node) bool {
		if ref := n.GetColumnRef(); ref != nil {
			read = read || side.has(ref) || ref.Fields[len(ref.Fields)-1].GetAStar() != nil
		}
		return !read
	})
	if read {
		return false
	}
	sub := newSelect()
	sub.TargetList = []*pg_query.Node{target("", pg_query.MakeAConstIntNode(1, -1))}
	sub.FromClause, sub.WhereClause = []*pg_query.Node{j.Rarg}, j.Quals
	s.WhereClause = and(append(kept, not(sublink(pg_query.SubLinkType_EXISTS_SUBLINK, sub, -1))))
	return true
}

// optionalSide is the right side of a LEFT JOIN.
type optionalSide struct {
	*relation.Base
	name    string
	columns *relation.Relation
	on      *pg_query.Node
}

// has says that a name is one of its columns, or might be.
func (o *optionalSide) has(ref *pg_query.ColumnRef) bool {
	names := sqltree.StringList(ref.GetFields())
	if len(names) == 1 {
		found, err := o.columns.Find("", names[0])
		return found != nil || err != nil
	}
	return len(names) > 1 && names[len(names)-2] == o.name
}

// neverNull says that the column is not NULL in a row that the join finds: by schema, or by a comparison in ON. What is
// measured may not name the column.
func (o *optionalSide) neverNull(ref *pg_query.ColumnRef) bool {
	last := func(ref *pg_query.ColumnRef) string { return ref.Fields[len(ref.Fields)-1].GetString_().GetSval() }
	found, err := o.columns.Find("", last(ref))
	if err != nil || found == nil {
		return false
	}
	o.Rely(found.Origin)
	if !found.Value.Nullable {
		return true
	}
	for _, q := range sqltree.Conjuncts(o.on) {
		a := q.GetAExpr()
		if a == nil || a.Kind != pg_query.A_Expr_Kind_AEXPR_OP ||
			!comparisonNames[a.Name[len(a.Name)-1].GetString_().GetSval()] {
			continue
		}
		for _, operand := range []*pg_query.Node{a.Lexpr, a.Rexpr} {
			if r := operand.GetColumnRef(); r != nil && o.has(r) && last(r) == last(ref) {
				return true
			}
		}
	}
	return false
}
