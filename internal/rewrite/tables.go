package rewrite

import (
	"math/bits"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// mostSliced bounds the columns of a statement's conditions that it may be without.
const mostSliced = 3

// Tables are statements that one may be a slice of: each is without its conditions on some columns, and groups by these
// instead; those with fewer columns come first. Whether it follows from one is for MadeOf to say.
func Tables(st *Statement, maxBytes int) (list []*Statement, err error) {
	defer guarded(&err)
	s := st.Node.GetSelectStmt()
	if s == nil || s.Op != pg_query.SetOperation_SETOP_NONE || len(s.DistinctClause) > 0 {
		return nil, nil
	}
	conditions := sqltree.Conjuncts(s.WhereClause)
	of := make([]string, len(conditions)) // the column that decides each
	var columns []*pg_query.Node
	var names []string
	for i, c := range conditions {
		if column := onlyColumn(c); column != nil {
			of[i] = sqltree.TreeKey(column)
			if !slices.Contains(names, of[i]) && len(names) < mostSliced {
				columns, names = append(columns, column), append(names, of[i])
			}
		}
	}
	for _, some := range subsets(len(columns)) {
		query, left := sqltree.Clone(s), []*pg_query.Node(nil)
		for i, column := range columns {
			if some>>i&1 == 1 {
				groupBy(query, column)
			}
		}
		for i, c := range conditions {
			if at := slices.Index(names, of[i]); at < 0 || some>>at&1 == 0 {
				left = append(left, c)
			}
		}
		query.WhereClause = sqltree.And(left)
		text, err := sqltree.Deparse(query)
		if err != nil {
			return nil, err
		}
		parsed, err := Parse(text, maxBytes)
		if err != nil {
			return nil, err
		}
		list = append(list, parsed...)
	}
	return list, nil
}

// subsets are the sets of some of n things, as bits, those of fewer first.
func subsets(n int) (list []uint) {
	for some := uint(1); some < 1<<n; some++ {
		list = append(list, some)
	}
	slices.SortStableFunc(list, func(a, b uint) int { return bits.OnesCount(a) - bits.OnesCount(b) })
	return list
}

// onlyColumn is the column that alone decides a condition; nil: it is not one.
func onlyColumn(condition *pg_query.Node) (column *pg_query.Node) {
	other := sqltree.Any(condition, func(n *pg_query.Node) bool {
		if n.GetColumnRef() == nil {
			return n.GetSubLink() != nil
		}
		first := column == nil
		if first {
			column = n
		}
		return sqltree.Star(n) || !first && sqltree.TreeKey(n) != sqltree.TreeKey(column)
	})
	if other {
		return nil
	}
	return column
}

// groupBy has a query group by a column, too, and return it behind its other columns.
func groupBy(query *pg_query.SelectStmt, column *pg_query.Node) {
	is := func(n *pg_query.Node) bool { return sqltree.TreeKey(n) == sqltree.TreeKey(column) }
	if slices.ContainsFunc(query.GroupClause, is) {
		return
	}
	query.GroupClause = append(query.GroupClause, sqltree.Clone(column))
	query.TargetList = append(query.TargetList, pg_query.MakeResTargetNodeWithVal(sqltree.Clone(column), -1))
}
