package bind

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// pushed moves conditions into the subquery of FROM that they read, as PostgreSQL does: what is computed there of the columns that they
// compare has the narrower bounds that it would have if the client had written them there. That is worth it only where something is computed.
// A condition moves if it reads nothing but columns that a plain subquery passes on. The query stays as it was; a changed copy is returned.
func pushed(s *pg_query.SelectStmt) *pg_query.SelectStmt {
	if s.WhereClause == nil || len(s.FromClause) != 1 {
		return s
	}
	item := s.FromClause[0].GetRangeSubselect()
	if item == nil || item.Lateral || len(item.Alias.GetColnames()) > 0 || !projects(item.Subquery.GetSelectStmt()) {
		return s
	}
	inner := passing{alias: item.Alias.GetAliasname(), list: item.Subquery.GetSelectStmt().TargetList}
	var moved, left []*pg_query.Node
	for _, condition := range sqltree.Conjuncts(s.WhereClause) {
		if below := inner.below(condition); below != nil {
			moved = append(moved, below)
		} else {
			left = append(left, condition)
		}
	}
	if len(moved) == 0 {
		return s
	}
	out := sqltree.Clone(s)
	out.WhereClause = all(left)
	sub := out.FromClause[0].GetRangeSubselect().Subquery.GetSelectStmt()
	sub.WhereClause = all(append(sqltree.Conjuncts(sub.WhereClause), moved...))
	return out
}

// projects says that a query computes columns of rows, each of which is one of its own.
func projects(s *pg_query.SelectStmt) bool {
	plain := s.Op == pg_query.SetOperation_SETOP_NONE && len(s.FromClause) > 0 && len(s.DistinctClause) == 0 && s.LimitCount == nil && s.LimitOffset == nil && !sqltree.Aggregates(s)
	return plain && !slices.ContainsFunc(s.TargetList, sqltree.HasWindow) &&
		slices.ContainsFunc(s.TargetList, func(t *pg_query.Node) bool { return t.GetResTarget().Val.GetColumnRef() == nil })
}

// passing finds the columns that a subquery passes on as they are.
type passing struct {
	alias string
	list  []*pg_query.Node
}

// below is the condition as the subquery would write it; nil: it reads something else, or nothing.
func (p passing) below(condition *pg_query.Node) *pg_query.Node {
	reads, moves := false, true
	out, err := sqltree.RewriteNode(sqltree.Clone(condition), func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		moves = moves && n.GetSubLink() == nil
		ref := n.GetColumnRef()
		if ref == nil {
			return n, true, nil
		}
		reads = true
		column := p.column(ref)
		if moves = moves && column != nil; !moves {
			return n, false, nil
		}
		return column, false, nil
	})
	if err != nil || !reads || !moves {
		return nil
	}
	return out
}

// column is what a name outside stands for; nil: not for one column that is passed on.
func (p passing) column(ref *pg_query.ColumnRef) *pg_query.Node {
	path := sqltree.StringList(ref.Fields)
	name := path[len(path)-1]
	if name == "" || len(path) > 2 || len(path) == 2 && path[0] != p.alias || len(path) == 1 && name == p.alias { // s.*, or whole rows
		return nil
	}
	var named, stars []*pg_query.ColumnRef // nil among the named: it is computed
	for _, t := range p.list {
		passed := t.GetResTarget().Val.GetColumnRef()
		switch {
		case passed != nil && passed.Fields[len(passed.Fields)-1].GetAStar() != nil:
			stars = append(stars, passed)
		case sqltree.OutputName(t.GetResTarget()) == name:
			named = append(named, passed)
		}
	}
	var fields []*pg_query.Node
	switch {
	case len(named) == 1 && named[0] != nil: // a star that has it too makes the name ambiguous, which PostgreSQL has refused
		fields = named[0].Fields
	case len(named) == 0 && len(stars) == 1:
		of := stars[0].Fields
		fields = append(slices.Clone(of[:len(of)-1]), pg_query.MakeStrNode(name))
	default:
		return nil
	}
	return &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{Fields: fields, Location: ref.Location}}}
}

// all is the conjunction of conditions; nil: there are none.
func all(conditions []*pg_query.Node) *pg_query.Node {
	switch len(conditions) {
	case 0:
		return nil
	case 1:
		return conditions[0]
	}
	return pg_query.MakeBoolExprNode(pg_query.BoolExprType_AND_EXPR, conditions, -1)
}
