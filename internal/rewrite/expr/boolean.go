package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// boolean coerces an operand of AND, OR, NOT, WHERE or WHEN.
func (b *builder) boolean(e *Expr) (*Expr, error) {
	if e.baseType() != pgtype.BoolOID && e.typ != pgtype.UnknownOID {
		return nil, Refuse(refusal.Types, e.location, fmt.Sprintf("%s is of type %s, not boolean", e.Text(),
			pgresolve.Display(e.typ)), "")
	}
	x, err := b.coerce(e, pgtype.BoolOID, e)
	if err != nil {
		return nil, err
	}
	return x.relabelled(), nil
}

func (b *builder) boolExpr(n *pg_query.BoolExpr) (*Expr, error) {
	if len(n.Args) == 0 {
		return nil, Refuse(refusal.Construct, int(n.Location), "AND, OR and NOT need operands", "")
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
		return b.asWritten(join("AND", args)), nil
	case pg_query.BoolExprType_OR_EXPR:
		return b.asWritten(join("OR", args)), nil
	case pg_query.BoolExprType_NOT_EXPR:
		return not(args[0]), nil
	}
	return nil, Refuse(refusal.Construct, int(n.Location), "this boolean operator is not supported", "")
}

// asWritten keeps the order of operands that are not proven total: one may keep another from failing.
func (b *builder) asWritten(e *Expr) *Expr {
	if !b.typesOnly {
		return e
	}
	out := *e
	out.op = ""
	return &out
}

// join connects conditions with AND or OR. In three-valued logic the result is NULL only if an operand may be.
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
	for i, e := range conditions {
		parts[i] = fmt.Sprintf("{%d}", i)
		texts[i] = e.Text()
	}
	c.tmpl = "(" + strings.Join(parts, " "+op+" ") + ")"
	c.text = cut(strings.Join(texts, " "+op+" "))
	e := c.result(pgtype.BoolOID)
	e.op = op
	return e
}

func not(x *Expr) *Expr {
	c := &call{args: []*Expr{x}, loc: x.location, tmpl: "(NOT {0})", text: cut("NOT " + x.Text())}
	e := c.result(pgtype.BoolOID)
	e.op = "NOT"
	return e
}

// nullTest builds IS [NOT] NULL, which is total for every type, also for one without any other operation.
func (b *builder) nullTest(n *pg_query.NullTest) (*Expr, error) {
	x, err := b.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	negated := n.Nulltesttype == pg_query.NullTestType_IS_NOT_NULL
	if !negated && n.Nulltesttype != pg_query.NullTestType_IS_NULL {
		return nil, Refuse(refusal.Construct, int(n.Location), "this test of NULL is not supported", "")
	}
	return nullness(x, negated, int(n.Location)), nil
}

// NotNull is the condition e IS NOT NULL.
func NotNull(e *Expr) *Expr { return nullness(e, true, e.location) }

func nullness(x *Expr, negated bool, loc int) *Expr {
	c := &call{args: []*Expr{x}, loc: loc, tmpl: "({0} IS NULL)", text: x.Text() + " IS NULL"}
	if negated {
		c.tmpl, c.text = "({0} IS NOT NULL)", x.Text()+" IS NOT NULL"
	}
	e := c.result(pgtype.BoolOID)
	e.nullable, e.nullBefore = false, false
	return e
}

var booleanTests = map[pg_query.BoolTestType]string{
	pg_query.BoolTestType_IS_TRUE: "IS TRUE", pg_query.BoolTestType_IS_NOT_TRUE: "IS NOT TRUE",
	pg_query.BoolTestType_IS_FALSE: "IS FALSE", pg_query.BoolTestType_IS_NOT_FALSE: "IS NOT FALSE",
	pg_query.BoolTestType_IS_UNKNOWN: "IS UNKNOWN", pg_query.BoolTestType_IS_NOT_UNKNOWN: "IS NOT UNKNOWN",
}

func (b *builder) booleanTest(n *pg_query.BooleanTest) (*Expr, error) {
	word, ok := booleanTests[n.Booltesttype]
	if !ok {
		return nil, Refuse(refusal.Construct, int(n.Location), "this boolean test is not supported", "")
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
	e.nullable, e.nullBefore = false, false
	return e, nil
}

// And joins conditions; nil if there are none.
func And(conditions ...*Expr) *Expr { return join("AND", conditions) }

// Conjuncts are the conditions that all have to hold for e to hold, in canonical order.
func Conjuncts(conditions ...*Expr) []query.Scalar {
	var out []query.Scalar
	for _, e := range conditions {
		switch {
		case e.op == "AND":
			out = append(out, Conjuncts(e.args...)...)
		case e.joined != nil:
			out = append(out, e.joined)
		case e.op == "NOT" && e.args[0].joined != nil:
			out = append(out, query.F("(NOT {})", e.args[0].joined))
		default:
			out = append(out, e.SQL())
		}
	}
	return query.Sorted(out)
}

// Split takes conjunctions apart.
func Split(conditions []*Expr) []*Expr {
	var out []*Expr
	for _, e := range conditions {
		if e.op == "AND" {
			out = append(out, Split(e.args)...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// Predicate makes a boolean expression of SQL that the caller made, for subqueries. columns are those of the outer
// query that sql reads, work is what main does for it. joined is the SQL where the expression is one of the conditions
// of a WHERE, and PostgreSQL may make a join of it; nil: the same.
func Predicate(sql, joined query.Scalar, nullable bool, columns []*Column, work Work, location int) *Expr {
	e := newExpr(pgtype.BoolOID, location)
	e.nullable, e.subquery = nullable, work
	e.verbatim, e.joined, e.text = sql, joined, "subquery"
	for _, c := range columns {
		e.args = append(e.args, columnExpr(c, location))
	}
	return e
}
