package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

func (b *builder) aExpr(a *pg_query.A_Expr) (*Expr, error) {
	loc := int(a.Location)
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_IN:
		return b.in(a)
	case pg_query.A_Expr_Kind_AEXPR_OP_ANY, pg_query.A_Expr_Kind_AEXPR_OP_ALL:
		return b.anyAll(a)
	case pg_query.A_Expr_Kind_AEXPR_BETWEEN, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return b.between(a)
	}
	name, err := operatorName(a.Name, loc)
	if err != nil {
		return nil, err
	}
	if a.Lexpr.GetRowExpr() != nil || a.Rexpr.GetRowExpr() != nil {
		return b.rows(a, name)
	}
	var args []*Expr
	for _, n := range []*pg_query.Node{a.Lexpr, a.Rexpr} {
		if n == nil {
			continue
		}
		e, err := b.compared(a.Kind == pg_query.A_Expr_Kind_AEXPR_OP && comparisons[name].not != "", func() (*Expr, error) {
			return b.pattern(n)
		})
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	if len(args) == 0 || a.Rexpr == nil {
		return nil, Refuse(refusal.Operator, loc, "postfix operators are not supported", "")
	}
	text := describeOperator(a)
	switch a.Kind {
	case pg_query.A_Expr_Kind_AEXPR_OP:
		if e, err := b.rangeOperator(a, name, args); e != nil || err != nil {
			return e, err
		}
		return b.operator(name, args, text, loc)
	case pg_query.A_Expr_Kind_AEXPR_DISTINCT, pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return b.distinct(args, a.Kind == pg_query.A_Expr_Kind_AEXPR_DISTINCT, text, loc)
	case pg_query.A_Expr_Kind_AEXPR_NULLIF:
		return b.nullIf(args, text, loc)
	case pg_query.A_Expr_Kind_AEXPR_LIKE, pg_query.A_Expr_Kind_AEXPR_ILIKE, pg_query.A_Expr_Kind_AEXPR_SIMILAR:
		return b.operator(name, args, text, loc)
	}
	return nil, Refuse(refusal.Operator, loc, text+" is not supported in a row-level expression", "")
}

// compared builds an operand of a comparison, whose bounds nobody asks for: there a float may be divided by what may be
// 0, as NULL where it is. Elsewhere that is refused, since what is divided by little is as large as a float may be, and
// so would be the noise of its average.
func (b *builder) compared(is bool, build func() (*Expr, error)) (*Expr, error) {
	e, err := build()
	var refused *Refusal
	if !is || b.apart || !errors.As(err, &refused) || refused.Reason != refusal.Division {
		return e, err
	}
	b.apart = true
	defer func() { b.apart = false }()
	if e, again := build(); again == nil {
		return e, nil
	}
	return nil, err
}

// operatorName accepts an unqualified operator or one of pg_catalog.
func operatorName(parts []*pg_query.Node, loc int) (string, error) {
	switch {
	case len(parts) == 1:
		return parts[0].GetString_().GetSval(), nil
	case len(parts) == 2 && parts[0].GetString_().GetSval() == "pg_catalog":
		return parts[1].GetString_().GetSval(), nil
	}
	return "", Refuse(refusal.Operator, loc, "operators of other schemas than pg_catalog are not supported", "")
}

// operator resolves and builds a unary or binary operator over built operands.
func (b *builder) operator(name string, args []*Expr, text string, loc int) (*Expr, error) {
	if len(args) == 2 && (args[0].isEnum() || args[1].isEnum()) && name != "||" {
		return b.enumComparison(name, args, text, loc)
	}
	cand := pgresolve.Operator(name, baseTypes(args))
	if cand == nil {
		return nil, Refuse(refusal.Operator, loc, fmt.Sprintf("operator %s is not supported for %s", name, typeList(args)),
			"")
	}
	tmpl := "({0} OPERATOR(pg_catalog." + cand.Name + ") {1})"
	if len(cand.Args) == 1 {
		tmpl = "(OPERATOR(pg_catalog." + cand.Name + ") {0})"
	}
	return b.resolved(cand, args, tmpl, text, loc)
}

// enumComparison compares values of one enum, by its order of labels.
func (b *builder) enumComparison(name string, args []*Expr, text string, loc int) (*Expr, error) {
	enum := args[0]
	if !enum.isEnum() {
		enum = args[1]
	}
	if _, ok := comparisons[name]; !ok {
		return nil, Refuse(refusal.Operator, loc, fmt.Sprintf("operator %s is not supported for enums", name),
			"cast the enum to text")
	}
	c := &call{b: b, cand: &pgresolve.Candidate{Name: name}, loc: loc, text: text, tmpl: "({0} OPERATOR(pg_catalog." +
		name + ") {1})"}
	for _, a := range args {
		x, err := b.coerceLike(a, enum, a)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, x.relabelled())
	}
	e := c.result(pgtype.BoolOID)
	return e, compare(c, e)
}

// between expands as transformAExprBetween does.
func (b *builder) between(a *pg_query.A_Expr) (*Expr, error) {
	loc := int(a.Location)
	limits := a.GetRexpr().GetList().GetItems()
	if len(limits) != 2 {
		return nil, Refuse(refusal.Construct, loc, "BETWEEN needs two limits", "")
	}
	var all []*Expr
	for _, n := range append([]*pg_query.Node{a.Lexpr}, limits...) {
		e, err := b.compared(true, func() (*Expr, error) { return b.expr(n) })
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	text := describeOperator(a)
	inside := func(lo, hi *Expr) (*Expr, error) {
		low, err := b.operator(">=", []*Expr{all[0], lo}, text, loc)
		if err != nil {
			return nil, err
		}
		high, err := b.operator("<=", []*Expr{all[0], hi}, text, loc)
		if err != nil {
			return nil, err
		}
		return join("AND", []*Expr{low, high}), nil
	}
	e, err := inside(all[1], all[2])
	if err != nil {
		return nil, err
	}
	if a.Kind == pg_query.A_Expr_Kind_AEXPR_BETWEEN_SYM || a.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM {
		swapped, err := inside(all[2], all[1])
		if err != nil {
			return nil, err
		}
		e = join("OR", []*Expr{e, swapped})
	}
	e.text = text
	if a.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN || a.Kind == pg_query.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM {
		return not(e), nil
	}
	return e, nil
}

// distinct builds IS [NOT] DISTINCT FROM: NULL equals NULL, and the answer is never NULL.
func (b *builder) distinct(args []*Expr, negated bool, text string, loc int) (*Expr, error) {
	e, err := b.operator("=", args, text, loc)
	if err != nil {
		return nil, err
	}
	out := *e
	out.nullable, out.nullBefore = false, false
	word := "IS NOT DISTINCT FROM"
	if negated {
		word = "IS DISTINCT FROM"
	}
	out.tmpl, out.op = "({0} "+word+" {1})", ""
	out.said = slices.Clone(e.said)
	for i := range out.said { // the constant is not NULL
		x := &out.said[i]
		if x.not.null = true; negated {
			x.is, x.not = x.not, x.is
		}
	}
	return &out, nil
}

// nullIf builds NULLIF: its type is the left operand's as it enters the comparison.
func (b *builder) nullIf(args []*Expr, text string, loc int) (*Expr, error) {
	eq, err := b.operator("=", args, text, loc)
	if err != nil {
		return nil, err
	}
	left, right := eq.args[0].Read(), eq.args[1]
	e := newExpr(left.typ, loc)
	e.text, e.typmod, e.typeName, e.labels, e.collation, e.nondeterministic = text, left.typmod, left.typeName,
		left.labels, left.collation, left.nondeterministic
	e.monthless, e.distance = noMonths(left), left.distance
	e.bounds, e.scale, e.quantum, e.maxLen = left.bounds, left.scale, left.quantum, left.maxLen
	e.nullable, e.provisional = true, left.provisional || right.provisional
	other := right.unclamped() // NULLIF(x, NULL) is x
	e.nonzero = left.nonzero || !right.mayBeNull() && other.Finite() && other.Lo.Sign() == 0 && other.Hi.Sign() == 0
	e.args = []*Expr{left, right}
	e.tmpl = "NULLIF({0}, {1})"
	return e, nil
}
