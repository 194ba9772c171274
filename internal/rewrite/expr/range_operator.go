package expr

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// rangeOperator builds range @> value, value <@ range and range && range; nil where there is no range that it reads.
func (b *builder) rangeOperator(a *pg_query.A_Expr, name string) (*Expr, error) {
	if a.Kind != pg_query.A_Expr_Kind_AEXPR_OP {
		return nil, nil
	}
	left, right := asRange(a.Lexpr), asRange(a.Rexpr)
	loc := int(a.Location)
	if left == nil || right == nil || name != "&&" {
		if e, err := b.rangeComparison(a, name); e != nil || err != nil {
			return e, err
		}
	}
	var n *pg_query.Node
	switch {
	case name == "@>" && left != nil && right == nil:
		n = left.contains(a.Rexpr)
	case name == "<@" && left == nil && right != nil:
		n = right.contains(a.Lexpr)
	case name == "&&" && left != nil && right != nil:
		if err := shifted(loc, left, right); err != nil {
			return nil, err
		}
		n = both(left.hasValues(), right.hasValues(), inOrder(left, right), inOrder(right, left))
	default:
		return nil, nil
	}
	e, err := b.expr(n)
	return named(e, describeOperator(a)), err
}

// rangeFunction builds lower(range), upper(range), isempty(range) and, of what is a range by itself, its kin; nil for anything else.
func (b *builder) rangeFunction(f *pg_query.FuncCall, name string) (*Expr, error) {
	if e, err := b.endFunction(f, name); e != nil || err != nil {
		return e, err
	}
	if len(f.Args) != 1 || name != "lower" && name != "upper" && name != "isempty" {
		return nil, nil
	}
	r := asRange(f.Args[0])
	if r == nil {
		return nil, nil
	}
	if err := shifted(int(f.Location), r); err != nil {
		return nil, err
	}
	var n *pg_query.Node
	switch name {
	case "isempty":
		n = truth(pg_query.BoolExprType_NOT_EXPR, both(r.hasValues()))
	case "lower":
		n = r.where(r.lower)
	case "upper":
		end := r.upper
		if end != nil && r.upperIn && discreteRanges[r.name] {
			end = next(end)
		}
		n = r.where(end)
	}
	e, err := b.expr(n)
	return named(e, describe(&pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}})), err
}

// shifted refuses (a,b] of integers and dates, which PostgreSQL reads as [a+1,b+1), where more is asked than what lies in it.
func shifted(loc int, ranges ...*rangeOf) error {
	for _, r := range ranges {
		if r.lower != nil && !r.lowerIn && discreteRanges[r.name] {
			return Refuse(refusal.Construct, loc, r.name+" without its lower bound is not supported here", "write it as [a,b), with the bound that it begins with")
		}
	}
	return nil
}

// named gives an expression another text.
func named(e *Expr, text string) *Expr {
	if e == nil || e.col != nil {
		return e
	}
	out := *e
	out.text = text
	return &out
}

// contains is the condition that x lies in the range: NULL where x is.
func (r *rangeOf) contains(x *pg_query.Node) *pg_query.Node {
	var all []*pg_query.Node
	strict := isConstant(x)
	for _, end := range []struct {
		at *pg_query.Node
		op string
	}{{r.lower, map[bool]string{true: ">=", false: ">"}[r.lowerIn]}, {r.upper, map[bool]string{true: "<=", false: "<"}[r.upperIn]}} {
		if end.at == nil {
			continue
		}
		q := compareNodes(end.op, x, end.at)
		if isConstant(end.at) {
			strict = true
		} else {
			q = truth(pg_query.BoolExprType_OR_EXPR, isNullNode(end.at), q)
		}
		all = append(all, q)
	}
	if strict {
		return both(all)
	}
	known := truth(pg_query.BoolExprType_NOT_EXPR, isNullNode(x))
	return when(known, both(all))
}

// hasValues lists the conditions that the range is not empty.
func (r *rangeOf) hasValues() []*pg_query.Node { return inOrder(r, r) }

// inOrder lists the conditions that a begins before b ends.
func inOrder(a, b *rangeOf) []*pg_query.Node {
	if a.lower == nil || b.upper == nil {
		return nil
	}
	op := "<"
	if a.lowerIn && b.upperIn {
		op = "<="
	}
	q := []*pg_query.Node{compareNodes(op, a.lower, b.upper)}
	for _, end := range []*pg_query.Node{a.lower, b.upper} {
		if !isConstant(end) {
			q = append(q, isNullNode(end))
		}
	}
	return []*pg_query.Node{truth(pg_query.BoolExprType_OR_EXPR, q...)}
}

// where is the range's bound, NULL where the range is empty or has none.
func (r *rangeOf) where(bound *pg_query.Node) *pg_query.Node {
	if bound == nil {
		return r.element(&pg_query.Node{Node: &pg_query.Node_AConst{AConst: &pg_query.A_Const{Isnull: true, Location: -1}}})
	}
	return r.element(when(both(r.hasValues()), bound))
}

func (r *rangeOf) element(n *pg_query.Node) *pg_query.Node {
	typ := &pg_query.TypeName{Names: []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(rangeElements[r.name])}, Typemod: -1}
	return &pg_query.Node{Node: &pg_query.Node_TypeCast{TypeCast: &pg_query.TypeCast{Arg: n, TypeName: typ, Location: int32(locationOf(n))}}}
}

// next is the integer or date behind a bound.
func next(n *pg_query.Node) *pg_query.Node {
	return compareNodes("+", n, pg_query.MakeAConstIntNode(1, -1))
}

// isConstant says that a bound is a constant, which is not NULL: newRange has left that out.
func isConstant(n *pg_query.Node) bool {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n.GetAConst() != nil && !n.GetAConst().Isnull
}

func compareNodes(op string, a, b *pg_query.Node) *pg_query.Node {
	return pg_query.MakeAExprNode(pg_query.A_Expr_Kind_AEXPR_OP, []*pg_query.Node{pg_query.MakeStrNode(op)}, a, b, int32(locationOf(a)))
}

func truth(op pg_query.BoolExprType, args ...*pg_query.Node) *pg_query.Node {
	if len(args) == 1 && op != pg_query.BoolExprType_NOT_EXPR {
		return args[0]
	}
	return &pg_query.Node{Node: &pg_query.Node_BoolExpr{BoolExpr: &pg_query.BoolExpr{Boolop: op, Args: args, Location: -1}}}
}

// both is the condition that all conditions hold.
func both(lists ...[]*pg_query.Node) *pg_query.Node {
	var all []*pg_query.Node
	for _, l := range lists {
		all = append(all, l...)
	}
	if len(all) == 0 {
		return &pg_query.Node{Node: &pg_query.Node_AConst{AConst: &pg_query.A_Const{Val: &pg_query.A_Const_Boolval{Boolval: &pg_query.Boolean{Boolval: true}}, Location: -1}}}
	}
	return truth(pg_query.BoolExprType_AND_EXPR, all...)
}

func isNullNode(n *pg_query.Node) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_NullTest{NullTest: &pg_query.NullTest{Arg: n, Nulltesttype: pg_query.NullTestType_IS_NULL, Location: -1}}}
}

func when(condition, x *pg_query.Node) *pg_query.Node {
	w := &pg_query.Node{Node: &pg_query.Node_CaseWhen{CaseWhen: &pg_query.CaseWhen{Expr: condition, Result: x, Location: -1}}}
	return &pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: &pg_query.CaseExpr{Args: []*pg_query.Node{w}, Location: -1}}}
}
