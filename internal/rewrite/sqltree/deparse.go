package sqltree

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// Deparse prints a query and proves that the print means the same: it is parsed again and the trees are compared. The
// parser library's printer is known to lose parentheses (around AND, OR and NOT below IS NULL, BETWEEN and LIKE); where a
// comparison fails, operands are wrapped into scalar subqueries, which it prints with parentheses.
func Deparse(s *pg_query.SelectStmt) (string, error) {
	text, ok, err := printed(s)
	if err != nil || ok {
		return text, err
	}
	wrapped := Clone(s)
	if err := RewriteNodes(wrapped.ProtoReflect(), wrapOperands); err != nil {
		return "", err
	}
	text, ok, err = printed(wrapped)
	if err != nil || ok {
		return text, err
	}
	return "", refusal.New(refusal.AnotherForm, "the expression above the aggregates cannot be printed safely",
		pgerr.Hint("Simplify the expression: write conditions with CASE, or use a subquery."))
}

// printed prints a query and says whether the text parses to the same tree.
func printed(s *pg_query.SelectStmt) (string, bool, error) {
	node := &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: s}}
	text, err := pg_query.Deparse(&pg_query.ParseResult{Version: parserVersion, Stmts: []*pg_query.RawStmt{{Stmt: node}}})
	if err != nil {
		return "", false, fmt.Errorf("print the finish query: %w", err)
	}
	again, err := pg_query.Parse(text)
	if err != nil || len(again.Stmts) != 1 {
		return "", false, nil
	}
	return text, TreeKey(again.Stmts[0].Stmt) == TreeKey(node), nil
}

// parserVersion is what pg_query writes into its trees (PG_VERSION_NUM of its grammar).
const parserVersion = 170007

// wrapOperands puts operands that the printer may not parenthesise into scalar subqueries.
func wrapOperands(n *pg_query.Node) (*pg_query.Node, bool, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_NullTest:
		v.NullTest.Arg = wrap(v.NullTest.Arg)
	case *pg_query.Node_BooleanTest:
		v.BooleanTest.Arg = wrap(v.BooleanTest.Arg)
	case *pg_query.Node_AIndirection:
		v.AIndirection.Arg = wrap(v.AIndirection.Arg)
	case *pg_query.Node_AExpr:
		v.AExpr.Lexpr = wrap(v.AExpr.Lexpr)
		if l := v.AExpr.Rexpr.GetList(); l != nil {
			for i := range l.Items {
				l.Items[i] = wrap(l.Items[i])
			}
		} else {
			v.AExpr.Rexpr = wrap(v.AExpr.Rexpr)
		}
	case *pg_query.Node_FuncCall:
		if v.FuncCall.Funcformat == pg_query.CoercionForm_COERCE_SQL_SYNTAX {
			for i := range v.FuncCall.Args {
				v.FuncCall.Args[i] = wrap(v.FuncCall.Args[i])
			}
		}
	}
	return n, true, nil
}

// wrap makes (SELECT operand) of an operand that is not a leaf.
func wrap(n *pg_query.Node) *pg_query.Node {
	switch n.GetNode().(type) {
	case *pg_query.Node_BoolExpr, *pg_query.Node_AExpr, *pg_query.Node_CaseExpr, *pg_query.Node_NullTest, *pg_query.Node_BooleanTest, *pg_query.Node_AArrayExpr:
	default:
		return n
	}
	return &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: &pg_query.SubLink{
		SubLinkType: pg_query.SubLinkType_EXPR_SUBLINK,
		Subselect: &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: &pg_query.SelectStmt{
			LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg_query.SetOperation_SETOP_NONE,
			TargetList: []*pg_query.Node{{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Val: n}}}},
		}}},
	}}}
}
