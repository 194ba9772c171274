package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// orderOf says by which released values a statement sorts its rows first, or numbers them; nil: by none.
func (b *finisher) orderOf(s *pg_query.SelectStmt, outputs []column) *Order {
	in := b.namesOf(s, nil)
	groups := in.rowsAreGroups(true)
	if len(s.SortClause) > 0 {
		by := s.SortClause[0].GetSortBy()
		o := &Order{By: in.sorted(by.Node), Descending: by.SortbyDir == pg_query.SortByDir_SORTBY_DESC}
		if o.By.Derived() {
			if !groups || len(by.UseOp) > 0 || o.By.Same().Op == FormulaRank {
				o.By = other
			}
			return o
		}
	}
	for _, c := range outputs {
		if c.of.Op == FormulaRank && groups && s.LimitCount == nil {
			return &Order{By: c.of.Args[0], Descending: c.of.Integer, Ranked: true}
		}
	}
	return nil
}

// sorted is what ORDER BY reads: an output, by its name or number, or an expression.
func (in *names) sorted(x *pg_query.Node) *Formula {
	list, _ := in.columns(in.query, in.outer)
	if c := x.GetColumnRef(); len(c.GetFields()) == 1 {
		name := sqltree.StringList(c.Fields)[0]
		if at := slices.IndexFunc(list, func(c column) bool { return c.name == name }); at >= 0 {
			return list[at].of
		}
	}
	if i := int(x.GetAConst().GetIval().GetIval()); 0 < i && i <= len(list) {
		return list[i-1].of
	}
	return in.value(x)
}

// rowsAreGroups reports whether a query has a row for each group of one block, but for those that its own LIMIT leaves
// out.
func (in *names) rowsAreGroups(outermost bool) bool {
	s := in.query
	several := func(t *pg_query.Node) bool { return !sqltree.Star(t.GetResTarget().Val) && returnsRows(t) }
	switch {
	case s.Op != pg_query.SetOperation_SETOP_NONE, len(s.DistinctClause) > 0, s.HavingClause != nil, s.LimitOffset != nil,
		len(s.FromClause) != 1, s.LimitCount != nil && !outermost, len(s.GroupClause) > 0 && !in.single[s],
		slices.ContainsFunc(s.TargetList, several):
		return false
	}
	from := s.FromClause[0]
	if placeholderOf(from) > 0 {
		return s.WhereClause == nil || from.GetRangeSubselect() != nil
	}
	groups := from.GetRangeSubselect().GetSubquery().GetSelectStmt()
	if groups == nil {
		groups = in.cte(from.GetRangeVar()).query
	}
	return groups != nil && s.WhereClause == nil && in.namesOf(groups, in).rowsAreGroups(false)
}

// rankedBy is by what a window numbers all rows first; nil: it does not.
func rankedBy(n *pg_query.Node) *pg_query.SortBy {
	f := uncast(n).GetFuncCall()
	if w := f.GetOver(); w != nil && len(w.PartitionClause) == 0 && len(w.OrderClause) > 0 {
		switch sqltree.FunctionName(f) {
		case "rank", "dense_rank", "row_number":
			return w.OrderClause[0].GetSortBy()
		}
	}
	return nil
}

// output is the expression of an output that ORDER BY names, by its name or its number, or the expression that it is.
func output(s *pg_query.SelectStmt, x *pg_query.Node) *pg_query.Node {
	if n := outputNamed(s, x); n != nil {
		return n
	}
	return x
}

// outputNamed is the output of a query that is named by its number or its name; nil: none is.
func outputNamed(s *pg_query.SelectStmt, n *pg_query.Node) *pg_query.Node {
	if names := sqltree.StringList(n.GetColumnRef().GetFields()); len(names) == 1 {
		return named(s, names[0])
	}
	if i := int(n.GetAConst().GetIval().GetIval()); 0 < i && i <= len(s.TargetList) {
		return s.TargetList[i-1].GetResTarget().Val
	}
	return nil
}

// named is the output of a query with a name; nil: there is none.
func named(s *pg_query.SelectStmt, name string) *pg_query.Node {
	for _, t := range s.TargetList {
		if r := t.GetResTarget(); sqltree.OutputName(r) == name {
			return r.Val
		}
	}
	return nil
}
