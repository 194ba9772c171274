package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Rows are operands of comparisons, column by column, as in make_row_comparison_op.

// operand builds one side of a comparison: a row's columns, or one expression.
func (b *builder) operand(n *pg_query.Node) ([]*Expr, error) {
	if row := n.GetRowExpr(); row != nil {
		return b.list(row.Args)
	}
	return b.list([]*pg_query.Node{n})
}

// rowOperator builds a comparison of two rows, IS [NOT] DISTINCT FROM included.
func (b *builder) rowOperator(a *pg_query.A_Expr, name string, loc int) (*Expr, error) {
	if a.Lexpr.GetRowExpr() == nil || a.Rexpr.GetRowExpr() == nil {
		return nil, Refuse(refusal.RowValue, loc, "a row can be compared with a row only", "compare the columns one by one, with AND")
	}
	left, err := b.operand(a.Lexpr)
	if err != nil {
		return nil, err
	}
	right, err := b.operand(a.Rexpr)
	if err != nil {
		return nil, err
	}
	text := describeOperator(a)
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP:
		return b.compareRows(name, left, right, text, loc)
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		distinct := a.Kind == pg_query.A_Expr_Kind_AEXPR_DISTINCT
		word := "AND"
		if distinct {
			word = "OR"
		}
		return pairwise(word, left, right, text, loc, func(l, r *Expr) (*Expr, error) {
			return b.distinct([]*Expr{l, r}, distinct, text, loc)
		})
	}
	return nil, Refuse(refusal.RowValue, loc, text+" is not supported for rows", "compare the columns one by one, with AND")
}

// compareRows compares rows: = and <> column by column, the others by the first columns that differ.
func (b *builder) compareRows(name string, left, right []*Expr, text string, loc int) (*Expr, error) {
	word := "AND"
	if name == "<>" {
		word = "OR"
	}
	e, err := pairwise(word, left, right, text, loc, func(l, r *Expr) (*Expr, error) {
		if _, ok := comparisons[name]; !ok {
			return nil, Refuse(refusal.RowValue, loc, fmt.Sprintf("operator %s is not supported for rows", name), "compare the columns one by one, with AND")
		}
		return b.operator(name, []*Expr{l, r}, text, loc)
	})
	if err != nil || name == "=" || name == "<>" || len(left) == 1 {
		return e, err
	}
	c := &call{loc: loc, text: text}
	var sides [2][]string
	for _, pair := range e.args {
		for i := range sides {
			sides[i] = append(sides[i], fmt.Sprintf("{%d}", len(c.args)))
			c.args = append(c.args, pair.args[i])
		}
	}
	c.tmpl = fmt.Sprintf("(ROW(%s) OPERATOR(pg_catalog.%s) ROW(%s))", strings.Join(sides[0], ", "), name, strings.Join(sides[1], ", "))
	return c.result(pgtype.BoolOID), nil
}

// pairwise joins what f makes of the columns of two rows.
func pairwise(word string, left, right []*Expr, text string, loc int, f func(l, r *Expr) (*Expr, error)) (*Expr, error) {
	if len(left) != len(right) || len(left) == 0 {
		return nil, Refuse(refusal.RowValue, loc, "the rows have different numbers of columns, or none", "")
	}
	var all []*Expr
	for i := range left {
		e, err := f(left[i], right[i])
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	e := *join(word, all)
	e.text = text
	return &e, nil
}

// rowIn builds (a, b) IN ((1, 2), …) and NOT IN.
func (b *builder) rowIn(a *pg_query.A_Expr, name string, loc int) (*Expr, error) {
	left, err := b.operand(a.Lexpr)
	if err != nil {
		return nil, err
	}
	text := describeOperator(a)
	var all []*Expr
	for _, n := range a.GetRexpr().GetList().GetItems() {
		if n.GetRowExpr() == nil {
			return nil, Refuse(refusal.RowValue, loc, "a row can be compared with a row only", "write IN ((1, 2), (3, 4))")
		}
		right, err := b.operand(n)
		if err != nil {
			return nil, err
		}
		e, err := b.compareRows(name, left, right, text, loc)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, Refuse(refusal.Construct, loc, "IN needs a list of values", "")
	}
	word := "OR"
	if name == "<>" {
		word = "AND"
	}
	e := *join(word, all)
	e.text = text
	return &e, nil
}

// rowNullTest builds ROW(…) IS [NOT] NULL: all columns are NULL, or none is.
func (b *builder) rowNullTest(n *pg_query.NullTest, row *pg_query.RowExpr) (*Expr, error) {
	var all []*Expr
	for _, a := range row.Args {
		if a.GetRowExpr() != nil { // it is a value of its own, and not NULL
			return nil, Refuse(refusal.RowValue, int(n.Location), "rows of rows are not supported", "")
		}
		e, err := b.nullTest(&pg_query.NullTest{Arg: a, Nulltesttype: n.Nulltesttype, Location: n.Location})
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, Refuse(refusal.RowValue, int(n.Location), "a row without columns is not supported", "")
	}
	return join("AND", all), nil
}

// Compared resolves a comparison of an expression, or a row, with the columns of a subquery. It gives what both sides have to print,
// cast to types that are compared with each other.
func Compared(name string, left, right []*Expr, scope Scope, location int) (l, r []query.Scalar, err error) {
	if _, ok := comparisons[name]; !ok {
		return nil, nil, Refuse(refusal.Operator, location, fmt.Sprintf("operator %s with ANY and ALL is not supported on private rows", name), "compare with =, <>, <, <=, > or >=")
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
	return newBuilder(scope).operator("=", []*Expr{columnExpr(l, location), columnExpr(r, location)}, l.Name+" = "+r.Name, location)
}

// ComparedWork counts the steps of a comparison with one row of a subquery: the left-hand side is computed for each.
func ComparedWork(name string, left, right []*Expr) int64 {
	steps := int64(0)
	for i := range left {
		steps = addSteps(steps, addSteps(compareSteps(name, left[i], right[i]), left[i].Work().Plus(right[i].Work()).Row))
	}
	return steps
}
