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

// overNoRows returns what an expression over aggregates is where there are no rows: a count is 0, and any other
// aggregate NULL. nil: it is NULL. false: that is not known.
func overNoRows(n *pg_query.Node) (x *pg_query.Node, ok bool) {
	if sqltree.IsAggregate(n) {
		if sqltree.FunctionName(n.GetFuncCall()) == "count" {
			return sqltree.Cast(sqltree.Integer(0), "int8"), true
		}
		return nil, true
	}
	out := sqltree.Clone(n)
	switch v := out.GetNode().(type) {
	case *pg_query.Node_AConst, *pg_query.Node_ParamRef:
		return out, !n.GetAConst().GetIsnull()
	case *pg_query.Node_TypeCast:
		return strictOver(out, &v.TypeCast.Arg)
	case *pg_query.Node_AExpr:
		if sqltree.Operator(n) != "" {
			return strictOver(out, &v.AExpr.Lexpr, &v.AExpr.Rexpr)
		}
	case *pg_query.Node_FuncCall:
		if v.FuncCall.Over == nil && slices.Contains(strict, sqltree.FunctionName(v.FuncCall)) {
			var args []**pg_query.Node
			for i := range v.FuncCall.Args {
				args = append(args, &v.FuncCall.Args[i])
			}
			return strictOver(out, args...)
		}
	case *pg_query.Node_CoalesceExpr:
		return knownOver(out, &v.CoalesceExpr.Args)
	case *pg_query.Node_MinMaxExpr:
		return knownOver(out, &v.MinMaxExpr.Args)
	}
	return nil, false
}

// strictOver does it in the operands of what is NULL where one is.
func strictOver(of *pg_query.Node, operands ...**pg_query.Node) (x *pg_query.Node, ok bool) {
	for _, a := range operands {
		if (*a).GetNode() == nil { // of an operator with one operand
			continue
		}
		if *a, ok = overNoRows(*a); !ok {
			return nil, false
		}
		if *a == nil {
			of = nil
		}
	}
	return of, true
}

// knownOver does it in the operands of what leaves out those that are NULL: COALESCE, LEAST and GREATEST.
func knownOver(of *pg_query.Node, operands *[]*pg_query.Node) (x *pg_query.Node, ok bool) {
	var known []*pg_query.Node
	for _, a := range *operands {
		x, ok := overNoRows(a)
		if !ok {
			return nil, false
		}
		if x != nil {
			known = append(known, x)
		}
	}
	if *operands = known; known == nil {
		return nil, true
	}
	return of, true
}
