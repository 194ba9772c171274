package expr

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxText limits how many characters of an expression a message quotes.
const maxText = 80

func cut(s string) string {
	r := []rune(s)
	if len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return s
}

// describe names a parse node in messages, close to what the analyst wrote.
func describe(n *pg_query.Node) string { return cut(describeDepth(n, 6)) }

func describeDepth(n *pg_query.Node, depth int) string {
	if depth == 0 {
		return "…"
	}
	depth--
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		var parts []string
		for _, f := range v.ColumnRef.Fields {
			parts = append(parts, f.GetString_().GetSval())
		}
		return strings.Join(parts, ".")
	case *pg_query.Node_ParamRef:
		return fmt.Sprintf("$%d", v.ParamRef.Number)
	case *pg_query.Node_AConst:
		return describeConstant(v.AConst)
	case *pg_query.Node_AExpr:
		return describeAExpr(v.AExpr, depth)
	case *pg_query.Node_FuncCall:
		if word := functionWord(v.FuncCall); (word == "similar_to_escape" || word == "like_escape") &&
			len(v.FuncCall.Args) > 0 {
			return describeDepth(v.FuncCall.Args[0], depth) // SIMILAR TO and ESCAPE
		}
		return functionWord(v.FuncCall) + "(" + describeList(v.FuncCall.Args, depth) + ")"
	case *pg_query.Node_SqlvalueFunction:
		return strings.TrimSuffix(strings.TrimPrefix(v.SqlvalueFunction.Op.String(), "SVFOP_"), "_N")
	case *pg_query.Node_TypeCast:
		var parts []string
		for _, p := range v.TypeCast.GetTypeName().GetNames() {
			if s := p.GetString_().GetSval(); s != "pg_catalog" {
				parts = append(parts, s)
			}
		}
		return describeDepth(v.TypeCast.Arg, depth) + "::" + strings.Join(parts, ".")
	case *pg_query.Node_BoolExpr:
		if len(v.BoolExpr.Args) == 1 {
			return "NOT " + describeDepth(v.BoolExpr.Args[0], depth)
		}
		word := " AND "
		if v.BoolExpr.Boolop == pg_query.BoolExprType_OR_EXPR {
			word = " OR "
		}
		return describeJoined(v.BoolExpr.Args, word, depth)
	case *pg_query.Node_CaseExpr:
		return "CASE … END"
	case *pg_query.Node_CoalesceExpr:
		return "COALESCE(" + describeList(v.CoalesceExpr.Args, depth) + ")"
	case *pg_query.Node_MinMaxExpr:
		return "GREATEST/LEAST(" + describeList(v.MinMaxExpr.Args, depth) + ")"
	case *pg_query.Node_NullTest:
		return describeDepth(v.NullTest.Arg, depth) + " IS NULL"
	case *pg_query.Node_AArrayExpr:
		return "ARRAY[" + describeList(v.AArrayExpr.Elements, depth) + "]"
	case *pg_query.Node_SubLink:
		return "subquery"
	case *pg_query.Node_List:
		return "(" + describeList(v.List.Items, depth) + ")"
	}
	return nodeName(n)
}

func describeConstant(c *pg_query.A_Const) string {
	switch v := c.GetVal().(type) {
	case *pg_query.A_Const_Sval:
		return "'" + v.Sval.Sval + "'"
	case *pg_query.A_Const_Fval:
		return v.Fval.Fval
	case *pg_query.A_Const_Boolval:
		return fmt.Sprint(v.Boolval.Boolval)
	case *pg_query.A_Const_Ival:
		return fmt.Sprint(v.Ival.Ival)
	}
	if c.Isnull {
		return "NULL"
	}
	return "0"
}

func describeList(nodes []*pg_query.Node, depth int) string {
	return describeJoined(nodes, ", ", depth)
}

func describeJoined(nodes []*pg_query.Node, separator string, depth int) string {
	parts := make([]string, 0, len(nodes))
	for i, n := range nodes {
		if i == 8 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, describeDepth(n, depth))
	}
	return strings.Join(parts, separator)
}

func describeOperator(a *pg_query.A_Expr) string { return cut(describeAExpr(a, 5)) }

func describeAExpr(a *pg_query.A_Expr, depth int) string {
	var op string
	if len(a.Name) > 0 {
		op = a.Name[len(a.Name)-1].GetString_().GetSval()
	}
	left, right := "", describeOperand(a.Rexpr, a, depth)
	if a.Lexpr != nil {
		left = describeOperand(a.Lexpr, a, depth) + " "
	}
	negated := func(word string) string {
		if strings.HasPrefix(op, "!") || op == "<>" || strings.HasPrefix(op, "NOT") {
			return "NOT " + word
		}
		return word
	}
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_IN:
		return left + negated("IN") + " " + right
	case pg_query.A_Expr_Kind_AEXPR_LIKE:
		return left + negated("LIKE") + " " + right
	case pg_query.A_Expr_Kind_AEXPR_ILIKE:
		return left + negated("ILIKE") + " " + right
	case pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		return left + negated("SIMILAR TO") + " " + right
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY:
		return left + op + " ANY (" + right + ")"
	case pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		return left + op + " ALL (" + right + ")"
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT:
		return left + "IS DISTINCT FROM " + right
	case pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return left + "IS NOT DISTINCT FROM " + right
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		return "NULLIF(" + strings.TrimSpace(left) + ", " + right + ")"
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		limits := a.GetRexpr().GetList().GetItems()
		if len(limits) == 2 {
			return left + op + " " + describeDepth(limits[0], depth) + " AND " + describeDepth(limits[1], depth)
		}
	}
	if left == "" {
		return op + right
	}
	return left + op + " " + right
}

// describeOperand puts an operand that binds less than the operation around it in parentheses.
func describeOperand(n *pg_query.Node, outer *pg_query.A_Expr, depth int) string {
	s := describeDepth(n, depth)
	inner := n.GetAExpr()
	if inner == nil || inner.Lexpr == nil || inner.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
		return s
	}
	if in, out := binding(inner), binding(outer); in < out || in == out && n == outer.Rexpr {
		return "(" + s + ")"
	}
	return s
}

// binding ranks how tightly an operation binds (gram.y).
func binding(a *pg_query.A_Expr) int {
	if a.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(a.Name) == 0 {
		return 1
	}
	switch a.Name[len(a.Name)-1].GetString_().GetSval() {
	case "^":
		return 5
	case "*", "/", "%":
		return 4
	case "+", "-":
		return 3
	case "=", "<>", "<", "<=", ">", ">=":
		return 1
	}
	return 2
}

// functionWord gives a function's name without pg_catalog.
func functionWord(f *pg_query.FuncCall) string {
	var parts []string
	for _, p := range f.GetFuncname() {
		if s := p.GetString_().GetSval(); s != "pg_catalog" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ".")
}

// nodeName says in SQL's words what a construct is that has no rule.
func nodeName(n *pg_query.Node) string {
	switch n.GetNode().(type) {
	case nil:
		return "an empty expression"
	case *pg_query.Node_RowExpr:
		return "a row in parentheses"
	case *pg_query.Node_List:
		return "a list"
	case *pg_query.Node_AIndirection:
		return "a subscript or field"
	case *pg_query.Node_GroupingFunc:
		return "GROUPING"
	case *pg_query.Node_GroupingSet:
		return "ROLLUP, CUBE or GROUPING SETS"
	case *pg_query.Node_SetToDefault:
		return "DEFAULT"
	case *pg_query.Node_XmlExpr, *pg_query.Node_XmlSerialize:
		return "XML"
	case *pg_query.Node_CurrentOfExpr:
		return "CURRENT OF"
	case *pg_query.Node_JsonFuncExpr, *pg_query.Node_JsonObjectConstructor, *pg_query.Node_JsonArrayConstructor,
		*pg_query.Node_JsonArrayQueryConstructor, *pg_query.Node_JsonIsPredicate, *pg_query.Node_JsonParseExpr,
		*pg_query.Node_JsonScalarExpr:
		return "JSON"
	}
	return "this construct"
}

// locationOf gives the byte offset of a node, where its kind has one.
func locationOf(n *pg_query.Node) int {
	m := n.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("node"))
	if kind == nil {
		return -1
	}
	inner := m.Get(kind).Message()
	field := inner.Descriptor().Fields().ByName("location")
	if field == nil || field.Kind() != protoreflect.Int32Kind {
		return -1
	}
	return int(inner.Get(field).Int())
}
