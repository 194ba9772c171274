package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// strict are functions that are NULL where an argument is.
var strict = []string{
	"abs", "ceil", "ceiling", "floor", "round", "trunc", "sqrt", "power", "mod", "sign", "date_trunc",
	"extract", "date_part",
}

// overNoRows gives what an expression over aggregates is where there are no rows: a count is 0, and any other aggregate
// NULL. nil: it is NULL. false: that is not known.
func overNoRows(n *pg_query.Node) (x *pg_query.Node, ok bool) {
	if sqltree.IsAggregate(n) {
		if sqltree.FunctionName(n.GetFuncCall()) == "count" {
			return typed(pg_query.MakeAConstIntNode(0, -1), "int8"), true
		}
		return nil, true
	}
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AConst, *pg_query.Node_ParamRef:
		return sqltree.Clone(n), !n.GetAConst().GetIsnull()
	case *pg_query.Node_TypeCast:
		x, ok = overNoRows(v.TypeCast.Arg)
		if x == nil {
			return nil, ok
		}
		out := sqltree.Clone(n)
		out.GetTypeCast().Arg = x
		return out, ok
	case *pg_query.Node_AExpr:
		args := []*pg_query.Node{v.AExpr.Lexpr, v.AExpr.Rexpr}
		if v.AExpr.Kind != pg_query.A_Expr_Kind_AEXPR_OP {
			return nil, false
		}
		if args, ok = strictOver(args); !ok || args == nil {
			return nil, ok
		}
		out := sqltree.Clone(n)
		out.GetAExpr().Lexpr, out.GetAExpr().Rexpr = args[0], args[1]
		return out, true
	case *pg_query.Node_FuncCall:
		if v.FuncCall.Over != nil || !slices.Contains(strict, sqltree.FunctionName(v.FuncCall)) {
			return nil, false
		}
		args, ok := strictOver(v.FuncCall.Args)
		if !ok || args == nil {
			return nil, ok
		}
		out := sqltree.Clone(n)
		out.GetFuncCall().Args = args
		return out, true
	case *pg_query.Node_CoalesceExpr:
		known, ok := knownOver(v.CoalesceExpr.Args)
		if known == nil {
			return nil, ok
		}
		return coalesce(known...), true
	case *pg_query.Node_MinMaxExpr:
		known, ok := knownOver(v.MinMaxExpr.Args)
		if known == nil {
			return nil, ok
		}
		out := sqltree.Clone(n)
		out.GetMinMaxExpr().Args = known
		return out, true
	}
	return nil, false
}

// strictOver does it for the operands of what is NULL where one is; nil: one is.
func strictOver(args []*pg_query.Node) (out []*pg_query.Node, ok bool) {
	null := false
	for _, a := range args {
		if a.GetNode() == nil { // of an operator with one operand
			out = append(out, a)
			continue
		}
		x, ok := overNoRows(a)
		if !ok {
			return nil, false
		}
		null = null || x == nil
		out = append(out, x)
	}
	if null {
		return nil, true
	}
	return out, true
}

// knownOver does it for the operands of what leaves out those that are NULL: COALESCE, LEAST and GREATEST.
func knownOver(args []*pg_query.Node) (known []*pg_query.Node, ok bool) {
	for _, a := range args {
		x, ok := overNoRows(a)
		if !ok {
			return nil, false
		}
		if x != nil {
			known = append(known, x)
		}
	}
	return known, true
}

// typed casts to a type of pg_catalog.
func typed(x *pg_query.Node, name string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_TypeCast{TypeCast: &pg_query.TypeCast{Arg: x, TypeName: &pg_query.TypeName{
		Names: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(name)}, Typemod: -1,
	}}}}
}
