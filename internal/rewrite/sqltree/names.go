package sqltree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// RefText prints a column reference for messages.
func RefText(r *pg_query.ColumnRef) string {
	text := ""
	for _, f := range r.Fields {
		if text != "" {
			text += "."
		}
		if f.GetString_() != nil {
			text += f.GetString_().Sval
		} else {
			text += "*"
		}
	}
	return text
}

// OutputName returns the name that PostgreSQL gives a result column (parse_target.c, FigureColname).
func OutputName(t *pg_query.ResTarget) string {
	if t.Name != "" {
		return t.Name
	}
	if name, _ := figureName(t.Val); name != "" {
		return name
	}
	return "?column?"
}

// figureName returns a name and its strength: 2 sure, 1 second choice, 0 none.
func figureName(n *pg_query.Node) (string, int) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		for i := len(v.ColumnRef.Fields) - 1; i >= 0; i-- {
			if s := v.ColumnRef.Fields[i].GetString_(); s != nil {
				return s.Sval, 2
			}
		}
	case *pg_query.Node_AIndirection:
		for i := len(v.AIndirection.Indirection) - 1; i >= 0; i-- {
			if s := v.AIndirection.Indirection[i].GetString_(); s != nil {
				return s.Sval, 2
			}
		}
		return figureName(v.AIndirection.Arg)
	case *pg_query.Node_FuncCall:
		return v.FuncCall.Funcname[len(v.FuncCall.Funcname)-1].GetString_().GetSval(), 2
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		name, strength := figureName(v.TypeCast.Arg)
		if strength <= 1 && v.TypeCast.TypeName != nil {
			names := v.TypeCast.TypeName.Names
			return names[len(names)-1].GetString_().GetSval(), 1
		}
		return name, strength
	case *pg_query.Node_CollateClause:
		return figureName(v.CollateClause.Arg)
	case *pg_query.Node_GroupingFunc:
		return "grouping", 2
	case *pg_query.Node_SubLink:
		return figureSubLink(v.SubLink)
	case *pg_query.Node_CaseExpr:
		name, strength := figureName(v.CaseExpr.Defresult)
		if strength <= 1 {
			return "case", 1
		}
		return name, strength
	case *pg_query.Node_AArrayExpr:
		return "array", 2
	case *pg_query.Node_RowExpr:
		return "row", 2
	case *pg_query.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg_query.Node_MinMaxExpr:
		if v.MinMaxExpr.Op == pg_query.MinMaxOp_IS_GREATEST {
			return "greatest", 2
		}
		return "least", 2
	case *pg_query.Node_SqlvalueFunction:
		name := strings.ToLower(strings.TrimPrefix(v.SqlvalueFunction.Op.String(), "SVFOP_"))
		return strings.TrimSuffix(name, "_n"), 2
	}
	return "", 0
}

func figureSubLink(s *pg_query.SubLink) (string, int) {
	switch s.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg_query.SubLinkType_EXPR_SUBLINK:
		if sel := s.Subselect.GetSelectStmt(); sel != nil && len(sel.TargetList) > 0 {
			t := sel.TargetList[0].GetResTarget()
			if t.Name != "" {
				return t.Name, 2
			}
			return figureName(t.Val)
		}
	}
	return "", 0
}

// FunctionName gives a function's name without its schema; "" for one outside pg_catalog.
func FunctionName(f *pg_query.FuncCall) string {
	names := StringList(f.Funcname)
	if len(names) == 2 && names[0] != "pg_catalog" {
		return ""
	}
	return names[len(names)-1]
}

// own is the schema of dpproxy's functions.
const own = "dpproxy"

// IsWithin recognises dpproxy.within(agg, margin): the aggregate itself.
func IsWithin(f *pg_query.FuncCall) bool {
	names := StringList(f.Funcname)
	return len(names) == 2 && names[0] == own && names[1] == "within"
}

// OwnCall calls one of dpproxy's functions.
func OwnCall(name string, argument *pg_query.Node) *pg_query.Node {
	return pg_query.MakeFuncCallNode([]*pg_query.Node{pg_query.MakeStrNode(own), pg_query.MakeStrNode(name)},
		[]*pg_query.Node{argument}, -1)
}

// ItemName returns the name by which columns of a FROM item are called; "" for one that has none, and for any other
// node.
func ItemName(n *pg_query.Node) string {
	var alias *pg_query.Alias
	name := ""
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		alias, name = v.RangeVar.Alias, v.RangeVar.Relname
	case *pg_query.Node_RangeSubselect:
		alias = v.RangeSubselect.Alias
	case *pg_query.Node_JoinExpr:
		alias = v.JoinExpr.Alias
	case *pg_query.Node_RangeFunction:
		alias = v.RangeFunction.Alias
		if calls := v.RangeFunction.Functions; len(calls) == 1 && len(calls[0].GetList().GetItems()) > 0 {
			if f := calls[0].GetList().Items[0].GetFuncCall(); f != nil {
				name = FunctionName(f)
			}
		}
	}
	if alias != nil {
		return alias.Aliasname
	}
	return name
}
