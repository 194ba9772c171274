package finish

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// seriesOfOutputs moves the one call of generate_series or unnest in the outputs of a query without FROM into its FROM:
// both have a row for each of its values.
func seriesOfOutputs(s *pg_query.SelectStmt) {
	if len(s.FromClause) > 0 || len(s.ValuesLists) > 0 || sqltree.Aggregates(s) || !outputsAlone(s) {
		return
	}
	calls, plain := 0, true
	for _, n := range s.TargetList {
		sqltree.Visit(n, func(n *pg_query.Node) bool {
			if isSeries(n) {
				calls++
				return false // what is within would be a call too
			}
			switch n.GetNode().(type) {
			case *pg_query.Node_ResTarget, *pg_query.Node_TypeCast, *pg_query.Node_AExpr, *pg_query.Node_AConst,
				*pg_query.Node_TypeName, *pg_query.Node_String_, *pg_query.Node_Integer,
				*pg_query.Node_ParamRef:
			case *pg_query.Node_FuncCall:
				plain = plain && n.GetFuncCall().Over == nil
			default:
				plain = plain && n.GetNode() == nil
			}
			return plain
		})
	}
	if calls != 1 || !plain {
		return
	}
	for _, n := range s.TargetList {
		t := n.GetResTarget()
		t.Name = sqltree.OutputName(t)
		t.Val = sqltree.Replace(t.Val, func(n *pg_query.Node) (*pg_query.Node, bool) {
			if !isSeries(n) {
				return n, true
			}
			s.FromClause = []*pg_query.Node{functionItem(sqltree.Clone(n), "dpseries", "value")}
			return sqltree.ColumnRef("dpseries", "value"), false
		})
	}
}

// outputsAlone reports whether a query has nothing but outputs, and perhaps DISTINCT.
func outputsAlone(s *pg_query.SelectStmt) bool {
	return s.Op == pg_query.SetOperation_SETOP_NONE && s.WhereClause == nil && len(s.SortClause) == 0 &&
		s.LimitCount == nil && s.LimitOffset == nil && sqltree.DistinctOn(s) == nil
}

// isSeries reports whether a node is a call whose values may be rows of FROM.
func isSeries(n *pg_query.Node) bool {
	f := n.GetFuncCall()
	if f == nil || f.AggStar || f.AggDistinct || f.FuncVariadic || f.Over != nil || f.AggFilter != nil ||
		len(f.AggOrder) > 0 {
		return false
	}
	name := sqltree.FunctionName(f)
	return name == "generate_series" || name == "unnest"
}

// functionItem makes call AS alias (column).
func functionItem(call *pg_query.Node, alias, column string) *pg_query.Node {
	list := &pg_query.Node{Node: &pg_query.Node_List{List: &pg_query.List{Items: []*pg_query.Node{call, {}}}}}
	return &pg_query.Node{Node: &pg_query.Node_RangeFunction{RangeFunction: &pg_query.RangeFunction{
		Functions: []*pg_query.Node{list}, Alias: &pg_query.Alias{Aliasname: alias, Colnames: []*pg_query.Node{
			pg_query.MakeStrNode(column),
		}},
	}}}
}
