package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// caseExpr builds CASE. What a WHEN tests narrows the columns that its THEN reads, and what it denies those of the
// branches after it: CASE WHEN n > 0 THEN x/n END is total, as n is read clamped to at least 1 there.
func (b *builder) caseExpr(n *pg_query.CaseExpr) (*Expr, error) {
	loc := int(n.Location)
	held := len(b.narrows)
	defer func() { b.narrows = b.narrows[:held] }()
	arg, err := b.caseArgument(n.Arg)
	if err != nil {
		return nil, err
	}
	var conditions, results []*Expr
	for _, w := range n.Args {
		when := w.GetCaseWhen()
		condition, err := b.when(arg, when)
		if err != nil {
			return nil, err
		}
		before := len(b.narrows)
		b.hold(condition, isTrue)
		result, err := b.expr(when.GetResult())
		b.narrows = b.narrows[:before]
		if err != nil {
			return nil, err
		}
		b.hold(condition, notTrue)
		conditions, results = append(conditions, condition), append(results, result)
	}
	other := nullUnknown(loc)
	if n.Defresult != nil {
		if other, err = b.expr(n.Defresult); err != nil {
			return nil, err
		}
	}
	// the default comes first in select_common_type (transformCaseExpr)
	all, err := b.common("CASE", append([]*Expr{other}, results...), loc)
	if err != nil {
		return nil, err
	}
	return caseOf(conditions, all[1:], all[0], loc, describe(&pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: n}}))
}

// caseArgument builds x of CASE x WHEN …; nil where there is none.
func (b *builder) caseArgument(n *pg_query.Node) (*Expr, error) {
	if n == nil {
		return nil, nil
	}
	arg, err := b.expr(n)
	if err != nil || arg.typ != pgtype.UnknownOID {
		return arg, err
	}
	return b.coerce(arg, pgtype.TextOID, arg)
}

func caseOf(conditions, results []*Expr, other *Expr, loc int, text string) (*Expr, error) {
	c := &call{loc: loc, text: text}
	var tmpl strings.Builder
	tmpl.WriteString("(CASE")
	for i, when := range conditions {
		fmt.Fprintf(&tmpl, " WHEN {%d} THEN {%d}", 2*i, 2*i+1)
		c.args = append(c.args, when, results[i])
	}
	fmt.Fprintf(&tmpl, " ELSE {%d} END)", len(c.args))
	c.args = append(c.args, other)
	c.tmpl = tmpl.String()
	e, err := merged(c, append([]*Expr{other}, results...))
	if err != nil {
		return nil, err
	}
	e.series = constantSeries(append(results, other))
	return e, nil
}

func (b *builder) when(arg *Expr, w *pg_query.CaseWhen) (*Expr, error) {
	x, err := b.expr(w.GetExpr())
	if err != nil {
		return nil, err
	}
	if arg != nil {
		text := arg.Text() + " = " + x.Text()
		return b.operator("=", []*Expr{arg, x}, text, x.location)
	}
	return b.boolean(x)
}

func (b *builder) coalesce(n *pg_query.CoalesceExpr) (*Expr, error) {
	c, all, err := b.variadic("COALESCE", n.Args, int(n.Location))
	if err != nil {
		return nil, err
	}
	e, err := merged(c, all)
	if err != nil {
		return nil, err
	}
	e.nullUnlessOneIsNot(all)
	return e, nil
}

// AnyOf builds an expression whose value may be that of each of several, of the type that COALESCE gives them.
func AnyOf(nodes []*pg_query.Node, scope Scope) (*Expr, error) {
	return newBuilder(scope).coalesce(&pg_query.CoalesceExpr{Args: nodes})
}

// minMax builds GREATEST and LEAST, which ignore NULL: they are NULL only if all operands are.
func (b *builder) minMax(n *pg_query.MinMaxExpr) (*Expr, error) {
	name := "GREATEST"
	switch n.Op {
	case pg_query.MinMaxOp_IS_GREATEST:
	case pg_query.MinMaxOp_IS_LEAST:
		name = "LEAST"
	default:
		return nil, Refuse(refusal.Construct, int(n.Location), "this choice among values is not supported", "")
	}
	c, all, err := b.variadic(name, n.Args, int(n.Location))
	if err != nil {
		return nil, err
	}
	e, err := merged(c, all)
	if err != nil {
		return nil, err
	}
	if e.typ == pgtype.IntervalOID && !e.monthless { // PostgreSQL orders a year as 360 days, and its epoch has 365.25
		return nil, c.refuse(refusal.Types, "an interval may have months, by which its order is not that of its length",
			"write "+name+" of extract(epoch FROM x)")
	}
	e.nullUnlessOneIsNot(all)
	if e.bounds = hullOfExtremes(name, all); e.bounds.Empty() {
		return nil, c.refuse(refusal.Overflow, "its bounds contradict each other", "")
	}
	return e, nil
}

// nullUnlessOneIsNot is for what ignores NULL as long as an operand is not.
func (e *Expr) nullUnlessOneIsNot(all []*Expr) {
	e.nullable = !slices.ContainsFunc(all, func(x *Expr) bool { return !x.nullable })
	e.nullBefore = !slices.ContainsFunc(all, func(x *Expr) bool { return !x.mayBeNull() })
}

// hullOfExtremes: the greatest is at least every operand's lower bound, unless that operand is NULL; and at most the
// greatest of the upper bounds. A NaN operand is greater than every number, which an open upper bound says.
func hullOfExtremes(name string, all []*Expr) bounds.Interval {
	flip := func(i bounds.Interval) bounds.Interval {
		if name == "LEAST" {
			return i.Neg()
		}
		return i
	}
	var out bounds.Interval
	first := true
	for _, x := range all {
		if x.value != nil && x.value.text == nil {
			continue
		}
		i := flip(x.bounds)
		if first {
			out, first = i, false
			continue
		}
		out = out.Hull(i)
	}
	for _, x := range all {
		i := flip(x.bounds)
		if x.mayBeNull() || i.Lo == nil {
			continue
		}
		if out.Lo == nil || i.Lo.Cmp(out.Lo) > 0 {
			out.Lo = i.Lo
		}
	}
	return flip(out)
}

// variadic builds the operands of COALESCE, GREATEST and LEAST.
func (b *builder) variadic(name string, nodes []*pg_query.Node, loc int) (*call, []*Expr, error) {
	all, err := b.list(nodes)
	if err != nil {
		return nil, nil, err
	}
	if all, err = b.common(name, all, loc); err != nil {
		return nil, nil, err
	}
	parts := make([]string, len(all))
	texts := make([]string, len(all))
	for i, e := range all {
		parts[i] = fmt.Sprintf("{%d}", i)
		texts[i] = e.Text()
	}
	return &call{
		args: all, loc: loc, tmpl: name + "(" + strings.Join(parts, ", ") + ")",
		text: cut(name + "(" + strings.Join(texts, ", ") + ")"),
	}, all, nil
}

// collateTemplate begins what prints a COLLATE.
const collateTemplate = "({0} COLLATE "

// collate accepts the collations that every database has and whose order is that of bytes.
func (b *builder) collate(n *pg_query.CollateClause) (*Expr, error) {
	loc := int(n.Location)
	x, err := b.expr(n.Arg)
	if err != nil {
		return nil, err
	}
	var name string
	for _, p := range n.Collname {
		name = p.GetString_().GetSval()
	}
	if len(n.Collname) > 2 || len(n.Collname) == 2 && n.Collname[0].GetString_().GetSval() != "pg_catalog" ||
		name != "C" && name != "POSIX" && name != "ucs_basic" {
		return nil, Refuse(refusal.Collation, loc, "this collation is not supported on private rows", `write COLLATE "C"`)
	}
	if x.typ == pgtype.UnknownOID {
		if x, err = b.coerce(x, pgtype.TextOID, x); err != nil {
			return nil, err
		}
	}
	if !pgresolve.IsString(x.baseType()) {
		return nil, Refuse(refusal.Collation, loc, fmt.Sprintf("collations are not supported by type %s",
			pgresolve.Display(x.typ)), "")
	}
	x = x.relabelled()
	quoted := `pg_catalog."` + name + `"`
	c := &call{args: []*Expr{x}, loc: loc, text: x.Text() + ` COLLATE "` + name + `"`, tmpl: collateTemplate + quoted +
		")"}
	e := c.result(x.typ)
	e.typmod, e.typeName, e.maxLen, e.collation = x.typmod, x.typeName, x.maxLen, quoted
	return e, nil
}
