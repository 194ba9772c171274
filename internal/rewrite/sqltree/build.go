package sqltree

import pg_query "github.com/pganalyze/pg_query_go/v6"

// NewSelect makes a SELECT of these outputs without any other clause.
func NewSelect(outputs ...*pg_query.Node) *pg_query.SelectStmt {
	return &pg_query.SelectStmt{
		TargetList: outputs, LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT,
		Op: pg_query.SetOperation_SETOP_NONE,
	}
}

// Target makes an output; without a name it has that of its expression.
func Target(name string, x *pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: name, Val: x}}}
}

// SelectNode makes a node of a query.
func SelectNode(s *pg_query.SelectStmt) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: s}}
}

// Subselect makes (query) AS alias.
func Subselect(s *pg_query.SelectStmt, alias string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_RangeSubselect{RangeSubselect: &pg_query.RangeSubselect{
		Subquery: SelectNode(s), Alias: &pg_query.Alias{Aliasname: alias},
	}}}
}

// SubLink makes a subquery of an expression.
func SubLink(kind pg_query.SubLinkType, s *pg_query.SelectStmt, location int32) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_SubLink{
		SubLink: &pg_query.SubLink{SubLinkType: kind, Subselect: SelectNode(s), Location: location},
	}}
}

// Join makes a JOIN.
func Join(kind pg_query.JoinType, l, r, on *pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_JoinExpr{JoinExpr: &pg_query.JoinExpr{
		Jointype: kind, Larg: l, Rarg: r, Quals: on,
	}}}
}

// Product cross joins FROM items.
func Product(items []*pg_query.Node) *pg_query.Node {
	out := items[0]
	for _, n := range items[1:] {
		out = Join(pg_query.JoinType_JOIN_INNER, out, n, nil)
	}
	return out
}

// Integer makes a constant.
func Integer(i int64) *pg_query.Node { return pg_query.MakeAConstIntNode(i, -1) }

// Operation makes l operator r.
func Operation(name string, l, r *pg_query.Node) *pg_query.Node {
	return pg_query.MakeAExprNode(pg_query.A_Expr_Kind_AEXPR_OP, []*pg_query.Node{pg_query.MakeStrNode(name)}, l, r, -1)
}

// And makes a conjunction; nil of no conditions.
func And(conditions []*pg_query.Node) *pg_query.Node {
	switch len(conditions) {
	case 0:
		return nil
	case 1:
		return conditions[0]
	}
	return pg_query.MakeBoolExprNode(pg_query.BoolExprType_AND_EXPR, conditions, -1)
}

// Not makes a negation.
func Not(x *pg_query.Node) *pg_query.Node {
	return pg_query.MakeBoolExprNode(pg_query.BoolExprType_NOT_EXPR, []*pg_query.Node{x}, -1)
}

// Coalesce makes COALESCE(…).
func Coalesce(args ...*pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_CoalesceExpr{CoalesceExpr: &pg_query.CoalesceExpr{Args: args}}}
}

// Greatest makes GREATEST(…).
func Greatest(args ...*pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_MinMaxExpr{
		MinMaxExpr: &pg_query.MinMaxExpr{Op: pg_query.MinMaxOp_IS_GREATEST, Args: args},
	}}
}

// When makes CASE WHEN condition THEN x ELSE otherwise END; otherwise may be nil.
func When(condition, x, otherwise *pg_query.Node) *pg_query.Node {
	w := &pg_query.Node{Node: &pg_query.Node_CaseWhen{CaseWhen: &pg_query.CaseWhen{Expr: condition, Result: x}}}
	return &pg_query.Node{Node: &pg_query.Node_CaseExpr{
		CaseExpr: &pg_query.CaseExpr{Args: []*pg_query.Node{w}, Defresult: otherwise},
	}}
}

// NullTest makes x IS [NOT] NULL.
func NullTest(x *pg_query.Node, kind pg_query.NullTestType) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_NullTest{NullTest: &pg_query.NullTest{Arg: x, Nulltesttype: kind}}}
}

// Call makes a call.
func Call(name string, args ...*pg_query.Node) *pg_query.Node {
	return pg_query.MakeFuncCallNode([]*pg_query.Node{pg_query.MakeStrNode(name)}, args, -1)
}

// CountRows makes count(*).
func CountRows() *pg_query.Node {
	n := Call("count")
	n.GetFuncCall().AggStar = true
	return n
}

// Cast casts to a type of pg_catalog.
func Cast(x *pg_query.Node, name string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_TypeCast{TypeCast: &pg_query.TypeCast{Arg: x, TypeName: &pg_query.TypeName{
		Names: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(name)}, Typemod: -1,
	}}}}
}
