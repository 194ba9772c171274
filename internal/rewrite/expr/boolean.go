package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// boolean coerces an operand of AND, OR, NOT, WHERE or WHEN.
func (b *builder) boolean(e *Expr) (*Expr, error) {
	if e.baseType() != pgtype.BoolOID && e.typ != pgtype.UnknownOID {
		return nil, Refuse(e.location, fmt.Sprintf("%s is of type %s, not boolean", e.Text(), pgresolve.Display(e.typ)), "")
	}
	x, err := b.coerce(e, pgtype.BoolOID, e)
	if err != nil {
		return nil, err
	}
	x = x.relabelled()
	if x.col != nil && x.test == nil {
		out := *x
		out.test = &test{op: 'c', col: x.col, name: "=", constant: true}
		return &out, nil
	}
	return x, nil
}

func (b *builder) boolExpr(n *pg_query.BoolExpr) (*Expr, error) {
	if len(n.Args) == 0 {
		return nil, Refuse(int(n.Location), "AND, OR and NOT need operands", "")
	}
	var args []*Expr
	for _, a := range n.Args {
		e, err := b.expr(a)
		if err != nil {
			return nil, err
		}
		if e, err = b.boolean(e); err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	switch n.Boolop {
	case pg_query.BoolExprType_AND_EXPR:
		return join("AND", args), nil
	case pg_query.BoolExprType_OR_EXPR:
		return join("OR", args), nil
	case pg_query.BoolExprType_NOT_EXPR:
		return not(args[0]), nil
	}
	return nil, Refuse(int(n.Location), "this boolean operator is not supported", "")
}

// join is AND or OR: three-valued, so NULL only if an operand may be.
func join(op string, conditions []*Expr) *Expr {
	if len(conditions) < 2 {
		if len(conditions) == 1 {
			return conditions[0]
		}
		return nil
	}
	c := &call{args: conditions, loc: conditions[0].location}
	parts := make([]string, len(conditions))
	texts := make([]string, len(conditions))
	t := &test{op: '&'}
	if op == "OR" {
		t.op = '|'
	}
	for i, e := range conditions {
		parts[i] = fmt.Sprintf("{%d}", i)
		texts[i] = e.Text()
		t.args = append(t.args, e.test)
	}
	c.tmpl = "(" + strings.Join(parts, " "+op+" ") + ")"
	c.text = cut(strings.Join(texts, " "+op+" "))
	e := c.result(pgtype.BoolOID)
	e.op, e.test = op, t
	return e
}

func not(x *Expr) *Expr {
	c := &call{args: []*Expr{x}, loc: x.location, tmpl: "(NOT {0})", text: cut("NOT " + x.Text())}
	e := c.result(pgtype.BoolOID)
	e.op, e.test = "NOT", &test{op: '!', args: []*test{x.test}}
	return e
}

// nullTest is IS [NOT] NULL: total for every type, those without any other operation included.
func (b *builder) nullTest(n *pg_query.NullTest) (*Expr, error) {
	if row := n.Arg.GetRowExpr(); row != nil {
		return b.rowNullTest(n, row)
	}
	x, err := b.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	c := &call{args: []*Expr{x}, loc: int(n.Location), tmpl: "({0} IS NULL)", text: x.Text() + " IS NULL"}
	negated := n.Nulltesttype == pg_query.NullTestType_IS_NOT_NULL
	if !negated && n.Nulltesttype != pg_query.NullTestType_IS_NULL {
		return nil, Refuse(int(n.Location), "this test of NULL is not supported", "")
	}
	if negated {
		c.tmpl, c.text = "({0} IS NOT NULL)", x.Text()+" IS NOT NULL"
	}
	e := c.result(pgtype.BoolOID)
	e.nullable = false
	if x.col != nil {
		e.test = &test{op: 'n', col: x.col}
		if negated {
			e.test = &test{op: '!', args: []*test{e.test}}
		}
	}
	return e, nil
}

var booleanTests = map[pg_query.BoolTestType]string{
	pg_query.BoolTestType_IS_TRUE: "IS TRUE", pg_query.BoolTestType_IS_NOT_TRUE: "IS NOT TRUE",
	pg_query.BoolTestType_IS_FALSE: "IS FALSE", pg_query.BoolTestType_IS_NOT_FALSE: "IS NOT FALSE",
	pg_query.BoolTestType_IS_UNKNOWN: "IS UNKNOWN", pg_query.BoolTestType_IS_NOT_UNKNOWN: "IS NOT UNKNOWN",
}

func (b *builder) booleanTest(n *pg_query.BooleanTest) (*Expr, error) {
	word, ok := booleanTests[n.Booltesttype]
	if !ok {
		return nil, Refuse(int(n.Location), "this boolean test is not supported", "")
	}
	x, err := b.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	if x, err = b.boolean(x); err != nil {
		return nil, err
	}
	c := &call{args: []*Expr{x}, loc: int(n.Location), tmpl: "({0} " + word + ")", text: x.Text() + " " + word}
	e := c.result(pgtype.BoolOID)
	e.nullable = false
	switch n.Booltesttype {
	case pg_query.BoolTestType_IS_TRUE:
		e.test = &test{op: 't', args: []*test{x.test}}
	case pg_query.BoolTestType_IS_FALSE:
		e.test = &test{op: 'f', args: []*test{x.test}}
	}
	return e, nil
}
