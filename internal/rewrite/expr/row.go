package expr

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Rows are compared column by column, as in make_row_comparison_op.

// operand builds one side of a comparison: a row's columns, or one expression.
func (b *builder) operand(n *pg_query.Node) ([]*Expr, error) {
	if row := n.GetRowExpr(); row != nil {
		return b.list(row.Args)
	}
	return b.list([]*pg_query.Node{n})
}

// rows builds = and <> of rows, and IN and NOT IN over a list of rows.
func (b *builder) rows(a *pg_query.A_Expr, name string) (*Expr, error) {
	loc, text := int(a.Location), describeOperator(a)
	words := map[string][2]string{"=": {"AND", "OR"}, "<>": {"OR", "AND"}}[name]
	others := []*pg_query.Node{a.Rexpr}
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_IN:
		others = a.GetRexpr().GetList().GetItems()
	case pg_query.A_Expr_Kind_AEXPR_OP:
	default:
		words[0] = ""
	}
	columns := len(a.Lexpr.GetRowExpr().GetArgs())
	for _, n := range others {
		if n.GetRowExpr() == nil || columns == 0 || words[0] == "" || len(n.GetRowExpr().Args) != columns {
			return nil, Refuse(refusal.RowValue, loc, text+
				" is not supported: rows are compared with =, <> and IN, and with rows of as many columns",
				"compare the columns one by one, with AND")
		}
	}
	left, err := b.operand(a.Lexpr)
	if err != nil {
		return nil, err
	}
	var all []*Expr
	for _, other := range others {
		right, err := b.operand(other)
		if err != nil {
			return nil, err
		}
		var pairs []*Expr
		for i := range left {
			e, err := b.operator(name, []*Expr{left[i], right[i]}, text, loc)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, e)
		}
		all = append(all, join(words[0], pairs))
	}
	e := *join(words[1], all)
	e.text = text
	return &e, nil
}

// Compared resolves a comparison of an expression, or a row, with the columns of a subquery. It gives what both sides
// have to print, cast to types that are compared with each other.
func Compared(name string, left, right []*Expr, scope Scope, location int) (l, r []query.Scalar, err error) {
	if _, ok := comparisons[name]; !ok {
		return nil, nil, Refuse(refusal.Operator, location,
			fmt.Sprintf("operator %s with ANY and ALL is not supported on private rows", name),
			"compare with =, <>, <, <=, > or >=")
	}
	b := newBuilder(scope)
	for i := range left {
		e, err := b.operator(name, []*Expr{left[i], right[i]}, left[i].Text()+" "+name+" subquery", location)
		if err != nil {
			return nil, nil, err
		}
		l, r = append(l, e.args[0].SQL()), append(r, e.args[1].SQL())
	}
	return l, r, nil
}

// Equal builds the condition that USING makes of two columns, resolved and proven as if it were written.
func Equal(l, r *Column, scope Scope, location int) (*Expr, error) {
	return newBuilder(scope).operator("=", []*Expr{columnExpr(l, location), columnExpr(r, location)}, l.Name+" = "+r.Name,
		location)
}

// ComparedWork counts the steps of a comparison with one row of a subquery: the left-hand side is computed for each.
func ComparedWork(name string, left, right []*Expr) int64 {
	steps := int64(0)
	for i := range left {
		steps = addSteps(steps, addSteps(compareSteps(name, left[i], right[i]), left[i].Work().Plus(right[i].Work()).Row))
	}
	return steps
}
