package bind

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// pushedDown moves conditions into the subqueries of FROM that they read, as PostgreSQL does: what is computed there of
// the columns that they compare has the narrower bounds that it would have if the client had written them there. That
// is worth it only where something is computed. A condition moves if it reads nothing but columns that one plain
// subquery passes on; beside other items an equality stays, as it may make a row of the join one. The query stays as it
// was; a changed copy is returned.
func pushedDown(s *pg_query.SelectStmt) *pg_query.SelectStmt {
	if s.WhereClause == nil {
		return s
	}
	items, alone := joined(s.FromClause), len(s.FromClause) == 1 && s.FromClause[0].GetRangeSubselect() != nil
	passes := make([]passing, len(items))
	for i, item := range items {
		passes[i] = passing{item.Alias.GetAliasname(), item.Subquery.GetSelectStmt().TargetList, alone}
	}
	moved, left := map[int][]*pg_query.Node{}, []*pg_query.Node(nil)
	for _, condition := range sqltree.Conjuncts(s.WhereClause) {
		var below *pg_query.Node
		first := firstColumn(condition)
		i := slices.IndexFunc(passes, func(p passing) bool { return p.column(first) != nil })
		if i >= 0 && (alone || sqltree.Equality(condition) == nil) {
			below = passes[i].below(condition)
		}
		if below != nil {
			moved[i] = append(moved[i], below)
		} else {
			left = append(left, condition)
		}
	}
	if len(moved) == 0 {
		return s
	}
	out := sqltree.Clone(s)
	out.WhereClause = sqltree.And(left)
	items = joined(out.FromClause)
	for i, conditions := range moved {
		sub := items[i].Subquery.GetSelectStmt()
		sub.WhereClause = sqltree.And(append(sqltree.Conjuncts(sub.WhereClause), conditions...))
	}
	return out
}

// joined lists the subqueries of FROM that compute columns of rows and are joined by inner joins alone: a row of theirs
// that a condition drops is in no row of the join. An alias of a join hides their names.
func joined(from []*pg_query.Node) (items []*pg_query.RangeSubselect) {
	for _, n := range from {
		if j := n.GetJoinExpr(); j != nil && j.Jointype == pg_query.JoinType_JOIN_INNER && j.Alias == nil {
			items = append(items, joined([]*pg_query.Node{j.Larg, j.Rarg})...)
		}
		item := n.GetRangeSubselect()
		if item != nil && !item.Lateral && len(item.Alias.GetColnames()) == 0 && projects(item.Subquery.GetSelectStmt()) {
			items = append(items, item)
		}
	}
	return items
}

// firstColumn is a name of a column in a condition; nil: there is none.
func firstColumn(condition *pg_query.Node) (first *pg_query.ColumnRef) {
	sqltree.Visit(condition, func(n *pg_query.Node) bool {
		if first == nil {
			first = n.GetColumnRef()
		}
		return first == nil
	})
	return first
}

// projects says that a query computes columns of rows, each of which is one of its own.
func projects(s *pg_query.SelectStmt) bool {
	plain := s.Op == pg_query.SetOperation_SETOP_NONE && len(s.FromClause) > 0 && len(s.DistinctClause) == 0 &&
		s.LimitCount == nil && s.LimitOffset == nil && !sqltree.Aggregates(s)
	return plain && !slices.ContainsFunc(s.TargetList, sqltree.HasWindow) &&
		slices.ContainsFunc(s.TargetList, func(t *pg_query.Node) bool { return t.GetResTarget().Val.GetColumnRef() == nil })
}

// passing finds the columns that a subquery passes on as they are.
type passing struct {
	alias string
	list  []*pg_query.Node
	alone bool // in FROM: a column needs no alias to be its
}

// below is the condition as the subquery would write it; nil: it reads something else, or nothing.
func (p passing) below(condition *pg_query.Node) *pg_query.Node {
	reads, moves := false, true
	out := sqltree.Replace(sqltree.Clone(condition), func(n *pg_query.Node) (*pg_query.Node, bool) {
		moves = moves && n.GetSubLink() == nil
		ref := n.GetColumnRef()
		if ref == nil {
			return n, true
		}
		reads = true
		column := p.column(ref)
		if moves = moves && column != nil; !moves {
			return n, false
		}
		return column, false
	})
	if !reads || !moves {
		return nil
	}
	return out
}

// column is what a name outside stands for; nil: not for one column that is passed on.
func (p passing) column(ref *pg_query.ColumnRef) *pg_query.Node {
	path := sqltree.StringList(ref.GetFields())
	if len(path) == 0 || len(path) == 1 && !p.alone {
		return nil
	}
	name := path[len(path)-1]
	// s.*, or whole rows
	if name == "" || len(path) > 2 || len(path) == 2 && path[0] != p.alias || len(path) == 1 && name == p.alias {
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
	// a star that has it too makes the name ambiguous, which PostgreSQL has refused
	case len(named) == 1 && named[0] != nil:
		fields = named[0].Fields
	case len(named) == 0 && len(stars) == 1:
		of := stars[0].Fields
		fields = append(slices.Clone(of[:len(of)-1]), pg_query.MakeStrNode(name))
	default:
		return nil
	}
	return &pg_query.Node{Node: &pg_query.Node_ColumnRef{
		ColumnRef: &pg_query.ColumnRef{Fields: fields, Location: ref.Location},
	}}
}
