package finish

import pg_query "github.com/pganalyze/pg_query_go/v6"

// newSelect makes a SELECT without clauses.
func newSelect() *pg_query.SelectStmt {
	return &pg_query.SelectStmt{
		LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT,
		Op:          pg_query.SetOperation_SETOP_NONE,
	}
}

func target(name string, x *pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: name, Val: x}}}
}

func subselect(s *pg_query.SelectStmt, alias string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_RangeSubselect{RangeSubselect: &pg_query.RangeSubselect{
		Subquery: selectNode(s), Alias: &pg_query.Alias{Aliasname: alias},
	}}}
}

func selectNode(s *pg_query.SelectStmt) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: s}}
}

func sublink(kind pg_query.SubLinkType, s *pg_query.SelectStmt, location int32) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_SubLink{
		SubLink: &pg_query.SubLink{SubLinkType: kind, Subselect: selectNode(s), Location: location},
	}}
}

func join(kind pg_query.JoinType, l, r, on *pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_JoinExpr{JoinExpr: &pg_query.JoinExpr{
		Jointype: kind, Larg: l, Rarg: r,
		Quals: on,
	}}}
}

// product cross joins FROM items.
func product(items []*pg_query.Node) *pg_query.Node {
	out := items[0]
	for _, n := range items[1:] {
		out = join(pg_query.JoinType_JOIN_INNER, out, n, nil)
	}
	return out
}

func operator(name string, l, r *pg_query.Node) *pg_query.Node {
	return pg_query.MakeAExprNode(pg_query.A_Expr_Kind_AEXPR_OP, []*pg_query.Node{pg_query.MakeStrNode(name)}, l, r, -1)
}

// and makes a conjunction; nil of no conditions.
func and(conds []*pg_query.Node) *pg_query.Node {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return pg_query.MakeBoolExprNode(pg_query.BoolExprType_AND_EXPR, conds, -1)
}

func not(x *pg_query.Node) *pg_query.Node {
	return pg_query.MakeBoolExprNode(pg_query.BoolExprType_NOT_EXPR, []*pg_query.Node{x}, -1)
}

func coalesce(args ...*pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_CoalesceExpr{CoalesceExpr: &pg_query.CoalesceExpr{Args: args}}}
}

func greatest(args ...*pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_MinMaxExpr{
		MinMaxExpr: &pg_query.MinMaxExpr{Op: pg_query.MinMaxOp_IS_GREATEST, Args: args},
	}}
}

// when is x where a condition holds, and else NULL.
func when(condition, x *pg_query.Node) *pg_query.Node {
	w := &pg_query.Node{Node: &pg_query.Node_CaseWhen{CaseWhen: &pg_query.CaseWhen{Expr: condition, Result: x}}}
	return &pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: &pg_query.CaseExpr{Args: []*pg_query.Node{w}}}}
}

func nullTest(x *pg_query.Node, kind pg_query.NullTestType) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_NullTest{NullTest: &pg_query.NullTest{Arg: x, Nulltesttype: kind}}}
}

func countRows() *pg_query.Node {
	n := call("count")
	n.GetFuncCall().AggStar = true
	return n
}

func call(name string, args ...*pg_query.Node) *pg_query.Node {
	return pg_query.MakeFuncCallNode([]*pg_query.Node{pg_query.MakeStrNode(name)}, args, -1)
}
