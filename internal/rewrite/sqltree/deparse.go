package sqltree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// Deparse prints a query and proves that the print means the same: it is parsed again and the trees are compared. The
// parser library's printer is known to lose parentheses (around AND, OR and NOT below IS NULL, BETWEEN and LIKE, around
// CASE in front of a subscript); where a comparison fails, every operand gets its own.
func Deparse(s *pg_query.SelectStmt) (string, error) {
	if text, ok := printed(s, s); ok {
		return text, nil
	}
	marked := Clone(s)
	if err := RewriteNodes(marked.ProtoReflect(), markOperands); err != nil {
		return "", err
	}
	if text, ok := printed(marked, s); ok {
		return text, nil
	}
	return "", refusal.New(refusal.AnotherForm, "the expression above the aggregates cannot be printed safely",
		pgerr.Hint("Simplify the expression: write conditions with CASE, or use a subquery."))
}

// printed prints a query, without its marks, and says whether the text parses to the tree that is meant.
func printed(s, meant *pg_query.SelectStmt) (string, bool) {
	text, err := pg_query.Deparse(&pg_query.ParseResult{Version: parserVersion, Stmts: []*pg_query.RawStmt{
		{Stmt: SelectNode(s)},
	}})
	if err != nil {
		return "", false
	}
	text = strings.ReplaceAll(text, mark+"(", "(")
	again, err := pg_query.Parse(text)
	return text, err == nil && len(again.Stmts) == 1 && TreeKey(again.Stmts[0].Stmt) == TreeKey(SelectNode(meant))
}

// parserVersion is what pg_query writes into its trees (PG_VERSION_NUM of its grammar).
const parserVersion = 170007

// mark names a function whose call is printed around an operand for its parentheses; printed takes the name away.
const mark = "dpproxy_parentheses"

// markOperands marks the operands that the printer may not parenthesise.
func markOperands(n *pg_query.Node) (*pg_query.Node, bool, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_NullTest:
		v.NullTest.Arg = marked(v.NullTest.Arg)
	case *pg_query.Node_BooleanTest:
		v.BooleanTest.Arg = marked(v.BooleanTest.Arg)
	case *pg_query.Node_AIndirection:
		v.AIndirection.Arg = marked(v.AIndirection.Arg)
	case *pg_query.Node_CollateClause:
		v.CollateClause.Arg = marked(v.CollateClause.Arg)
	case *pg_query.Node_TypeCast:
		v.TypeCast.Arg = marked(v.TypeCast.Arg)
	case *pg_query.Node_SubLink:
		v.SubLink.Testexpr = marked(v.SubLink.Testexpr)
	case *pg_query.Node_AExpr:
		v.AExpr.Lexpr = marked(v.AExpr.Lexpr)
		v.AExpr.Rexpr = marked(v.AExpr.Rexpr)
		markEach(v.AExpr.Rexpr.GetList().GetItems())
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_SIMILAR {
			markEach(v.AExpr.Rexpr.GetFuncCall().GetArgs())
		}
	case *pg_query.Node_FuncCall:
		if v.FuncCall.Funcformat == pg_query.CoercionForm_COERCE_SQL_SYNTAX {
			markEach(v.FuncCall.Args)
		}
	}
	return n, true, nil
}

func markEach(list []*pg_query.Node) {
	for i := range list {
		list[i] = marked(list[i])
	}
}

// marked gives a marked operand; lists, leaves, casts and calls, which need no parentheses, stay as they are.
func marked(n *pg_query.Node) *pg_query.Node {
	switch n.GetNode().(type) {
	case nil, *pg_query.Node_List, *pg_query.Node_ColumnRef, *pg_query.Node_AConst, *pg_query.Node_ParamRef,
		*pg_query.Node_FuncCall, *pg_query.Node_TypeCast:
		return n
	}
	return pg_query.MakeFuncCallNode([]*pg_query.Node{pg_query.MakeStrNode(mark)}, []*pg_query.Node{n}, 0)
}
