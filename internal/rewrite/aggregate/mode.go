package aggregate

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Mode is what mode() chooses among: values in the order in which they are tried, and the counts of their rows.
type Mode struct {
	Values []query.Scalar
	Counts []*Call
}

// Parts lists the calls that an aggregate is made of: itself, but for a mode.
func (c *Call) Parts() []*Call {
	if c.Mode == nil {
		return []*Call{c}
	}
	return c.Mode.Counts
}

// ModeArgument returns the argument of mode() WITHIN GROUP (ORDER BY …); nil for any other call.
func ModeArgument(f *pg_query.FuncCall) *pg_query.Node {
	if sqltree.FunctionName(f) != "mode" || !f.AggWithinGroup || len(f.AggOrder) != 1 || len(f.Args) > 0 {
		return nil
	}
	return f.AggOrder[0].GetSortBy().Node
}

// NewMode types mode() of x as the counts of each value that x may have, which are given in order.
func NewMode(b *relation.Base, f *pg_query.FuncCall, x *expr.Expr, values []string, sc Scope) (*Call, error) {
	call := &Call{Name: "mode", Text: "mode(" + x.Text() + ")", Location: int(f.Location), Type: x.Type(), Mode: &Mode{}}
	for _, v := range values {
		count, err := countOf(b, f, v, sc)
		if err != nil {
			return nil, err
		}
		count.Text = fmt.Sprintf("count(%s = %s)", x.Text(), v)
		call.Mode.Counts = append(call.Mode.Counts, count)
		call.Mode.Values = append(call.Mode.Values, query.F("{}::{}", sqltext.Literal(v), x.TypeName()))
	}
	if f.AggOrder[0].GetSortBy().SortbyDir == pg_query.SortByDir_SORTBY_DESC {
		slices.Reverse(call.Mode.Values)
		slices.Reverse(call.Mode.Counts)
	}
	return call, nil
}

// countOf types the count of a mode's rows that have a value.
func countOf(b *relation.Base, f *pg_query.FuncCall, value string, sc Scope) (*Call, error) {
	equal := pg_query.MakeAExprNode(pg_query.A_Expr_Kind_AEXPR_OP, []*pg_query.Node{pg_query.MakeStrNode("=")},
		ModeArgument(f), pg_query.MakeAConstStrNode(value, f.Location), f.Location)
	count := &pg_query.FuncCall{
		Funcname: []*pg_query.Node{pg_query.MakeStrNode("count")}, AggStar: true, AggFilter: equal,
		Location: f.Location,
	}
	if f.AggFilter != nil {
		count.AggFilter = &pg_query.Node{Node: &pg_query.Node_BoolExpr{BoolExpr: &pg_query.BoolExpr{
			Boolop: pg_query.BoolExprType_AND_EXPR, Args: []*pg_query.Node{f.AggFilter, equal}, Location: f.Location,
		}}}
	}
	return NewCall(b, count, sc)
}

// NewGroupCall types an aggregate call whose value is none of an answer: mode() too, which picks a value of the group's
// rows.
func NewGroupCall(b *relation.Base, f *pg_query.FuncCall, sc Scope) (*Call, error) {
	argument := ModeArgument(f)
	if argument == nil {
		return NewUnitCall(b, f, sc)
	}
	order := f.AggOrder[0].GetSortBy().SortbyDir
	if order == pg_query.SortByDir_SORTBY_USING {
		return nil, b.Refuse(refusal.AggregateForm, argument, "ORDER BY … USING is not supported", "Use ASC or DESC.")
	}
	x, err := sc.Expression(argument)
	if err != nil {
		return nil, err
	}
	c := &Call{
		Name: "mode", Args: []*expr.Expr{x}, Descending: order == pg_query.SortByDir_SORTBY_DESC, Type: x.Type(),
		Location: int(f.Location),
	}
	c.Text = callText(c)
	if f.AggFilter != nil {
		c.Filter, err = sc.Condition(f.AggFilter)
	}
	return c, err
}
