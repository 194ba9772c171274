package command

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// constant returns the text form of a literal, with a cast or a sign around it; nil is NULL. It reports false for
// anything that would have to be computed.
func constant(n *pg_query.Node) (*string, bool) {
	switch n := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return literal(n.AConst)
	case *pg_query.Node_TypeCast:
		return constant(n.TypeCast.Arg)
	case *pg_query.Node_AExpr:
		return negative(n.AExpr)
	}
	return nil, false
}

func literal(c *pg_query.A_Const) (*string, bool) {
	var text string
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Ival:
		text = strconv.Itoa(int(v.Ival.Ival))
	case *pg_query.A_Const_Fval:
		text = v.Fval.Fval
	case *pg_query.A_Const_Boolval:
		text = strconv.FormatBool(v.Boolval.Boolval)
	case *pg_query.A_Const_Sval:
		text = v.Sval.Sval
	default:
		return nil, c.Isnull
	}
	return &text, true
}

// negative reads -(literal); the grammar folds the sign into plain numbers only.
func negative(e *pg_query.A_Expr) (*string, bool) {
	if e.Kind != pg_query.A_Expr_Kind_AEXPR_OP || e.Lexpr != nil || len(e.Name) != 1 ||
		e.Name[0].GetString_().GetSval() != "-" {
		return nil, false
	}
	text, ok := constant(e.Rexpr)
	if !ok || text == nil || *text == "" || (*text)[0] == '-' {
		return nil, false
	}
	minus := "-" + *text
	return &minus, true
}
