package finish

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// orderOf says by which aggregate a query of groups sorts them first, or the query around it does, or ranks them; nil: by none, or its rows are
// not its groups.
func (b *finisher) orderOf(s *pg_query.SelectStmt, alias string) *release.Order {
	o := release.Order{}
	of := func(by *pg_query.SortBy) bool {
		names := sqltree.StringList(output(s, by.GetNode()).GetColumnRef().GetFields())
		if len(names) != 2 || names[0] != alias || names[1][0] != 'a' || len(by.UseOp) > 0 {
			return false
		}
		call, err := strconv.Atoi(names[1][1:])
		o.Column, o.Descending = call-1, by.SortbyDir == pg_query.SortByDir_SORTBY_DESC
		return err == nil
	}
	around := b.around[s]
	switch {
	case len(s.DistinctClause) > 0 || s.HavingClause != nil || s.LimitOffset != nil:
		return nil
	case s == b.root && len(s.SortClause) > 0 && of(s.SortClause[0].GetSortBy()):
		return &o
	case around != nil && (around.LimitOffset != nil || around.HavingClause != nil):
		return nil
	case around != nil && s.LimitCount == nil && len(around.SortClause) > 0 && of(inOutputs(around, around.SortClause[0].GetSortBy())):
		return &o
	case s.LimitCount != nil:
		return nil
	}
	for _, q := range []*pg_query.SelectStmt{s, around} {
		for _, t := range q.GetTargetList() {
			if by := rankedBy(t.GetResTarget().GetVal()); by != nil && (q == s && of(by) || q == around && of(inOutputs(around, by))) {
				o.Ranked = true
				return &o
			}
		}
	}
	return nil
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

// inOutputs is an order of a query around another by outputs of that one.
func inOutputs(s *pg_query.SelectStmt, by *pg_query.SortBy) *pg_query.SortBy {
	by = sqltree.Clone(by)
	by.Node = sqltree.Clone(output(s, by.Node))
	if sqltree.IsAggregate(by.Node) { // the sum of one
		by.Node = by.Node.GetFuncCall().Args[0]
	}
	if len(by.Node.GetColumnRef().GetFields()) == 2 {
		by.Node.GetColumnRef().Fields = by.Node.GetColumnRef().Fields[1:]
	}
	return by
}
