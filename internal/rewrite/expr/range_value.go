package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Columns of range types, and what is asked of them beside constants, parameters and ranges of columns, are printed as they are: these
// operators and functions are total for every range (docs/privacy.md P3a).

// rangeOperators say whether a value may stand on the right, or on the left.
var rangeOperators = map[string]struct{ valueRight, valueLeft bool }{
	"@>": {valueRight: true}, "<@": {valueLeft: true}, "&&": {}, "<<": {}, ">>": {}, "&<": {}, "&>": {}, "-|-": {},
}

// rangeTests are the functions of a range that tell something of it.
var rangeTests = map[string]bool{"isempty": true, "lower_inc": true, "upper_inc": true, "lower_inf": true, "upper_inf": true}

// ownRange says that a node is a range by itself, not by the bounds that are written: a column, a parameter, or the intersection of one.
func (b *builder) ownRange(n *pg_query.Node) (bool, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		c, err := b.columnRef(v.ColumnRef)
		if err == nil && strings.HasSuffix(pgresolve.Display(c.baseType()), "multirange") {
			err = Refuse(refusal.Types, c.location, fmt.Sprintf("%s is of type %s, and multiranges are not supported here: a row may hold any number of ranges", c.Text(), pgresolve.Display(c.baseType())), "ask the administrator for a table with one range in a row")
		}
		return err == nil && rangeNames[c.baseType()] != "", err
	case *pg_query.Node_ParamRef:
		oid, _, _ := b.scope.Parameter(int(v.ParamRef.Number))
		return rangeNames[oid] != "", nil
	case *pg_query.Node_TypeCast:
		if v.TypeCast.Arg.GetParamRef() != nil {
			return b.ownRange(v.TypeCast.Arg)
		}
	case *pg_query.Node_AExpr:
		if name, err := operatorName(v.AExpr.Name, -1); err != nil || name != "*" || v.AExpr.Kind != pg_query.A_Expr_Kind_AEXPR_OP {
			return false, nil
		}
		own, err := b.ownRange(v.AExpr.Lexpr)
		if own || err != nil {
			return own, err
		}
		return b.ownRange(v.AExpr.Rexpr)
	}
	return false, nil
}

// rangeExpr builds a range; nil where the node is none. like is the type that a literal without one has; 0: none.
func (b *builder) rangeExpr(n *pg_query.Node, like uint32) (*Expr, error) {
	if own, err := b.ownRange(n); err != nil {
		return nil, err
	} else if own {
		return b.rangeItself(n)
	}
	loc := locationOf(n)
	if c := n.GetAConst(); c != nil && like != 0 {
		if c.Isnull {
			return nullExpr(like, pgresolve.Qualified(like, -1), loc), nil
		}
		return b.rangeLiteral(like, c.GetSval().GetSval(), loc)
	}
	if r := asRange(n); r != nil {
		return b.rangeBuilt(r, describe(n), loc)
	}
	return nil, nil
}

// rangeItself builds what is a range by itself.
func (b *builder) rangeItself(n *pg_query.Node) (*Expr, error) {
	if a := n.GetAExpr(); a != nil {
		return b.intersection(a)
	}
	if t := n.GetTypeCast(); t != nil {
		n = t.Arg // PostgreSQL gives the parameter the type of the cast
	}
	if c := n.GetColumnRef(); c != nil {
		e, err := b.columnRef(c)
		if err != nil {
			return nil, err
		}
		return e.relabelled(), nil
	}
	p, loc := n.GetParamRef(), locationOf(n)
	oid, value, known := b.scope.Parameter(int(p.Number))
	text := fmt.Sprintf("$%d", p.Number)
	switch {
	case !known:
		e := newExpr(oid, loc)
		e.provisional, e.nullable, e.param, e.text = true, true, int(p.Number), text
		return e, nil
	case value == nil:
		e := nullExpr(oid, pgresolve.Qualified(oid, -1), loc)
		e.text = text
		return e, nil
	}
	e, err := b.rangeLiteral(oid, *value, loc)
	return named(e, text), err
}

// rangeLiteral reads the text of a range.
func (b *builder) rangeLiteral(oid uint32, text string, loc int) (*Expr, error) {
	if strings.EqualFold(strings.TrimSpace(text), "empty") {
		e := newExpr(oid, loc)
		e.tmpl, e.text = "'empty'::{T}", "'empty'"
		return e, nil
	}
	r := rangeText(rangeNames[oid], text, loc)
	if r == nil {
		return nil, Refuse(refusal.Types, loc, fmt.Sprintf("%q is not a %s that dpproxy reads", text, rangeNames[oid]), "write it as [a,b)")
	}
	return b.rangeBuilt(r, "'"+text+"'", loc)
}

// rangeBuilt builds a range of its bounds. One whose lower bound is above its upper one, which would be an error, is empty; one of integers
// or dates gets the form [a,b) here, where it is proven that one more does not overflow.
func (b *builder) rangeBuilt(r *rangeOf, text string, loc int) (*Expr, error) {
	lower, upper, flags := r.lower, r.upper, map[bool]string{true: "[", false: "("}[r.lowerIn]+map[bool]string{true: "]", false: ")"}[r.upperIn]
	if discreteRanges[r.name] {
		if lower != nil && !r.lowerIn {
			lower = next(lower)
		}
		if upper != nil && r.upperIn {
			upper = next(upper)
		}
		flags = "[)"
	}
	oid := pgresolve.TypeNamed(r.name)
	c := &call{b: b, loc: loc, text: text, cost: cost{steps: rangeSteps}}
	places := [2]string{"NULL", "NULL"}
	for i, n := range []*pg_query.Node{lower, upper} {
		if n == nil {
			continue
		}
		e, err := b.expr(n)
		if err != nil {
			return nil, err
		}
		if e, err = b.coerce(e, elementOf(oid), e); err != nil {
			return nil, err
		}
		places[i] = fmt.Sprintf("{%d}", len(c.args))
		c.args = append(c.args, e.relabelled())
	}
	c.tmpl = "pg_catalog." + r.name + "(" + places[0] + ", " + places[1] + ", '" + flags + "')"
	var within bounds.Interval
	if len(c.args) == 2 {
		within = c.args[0].unclamped().Hull(c.args[1].unclamped())
		c.args = append(c.args, c.args...) // each counts as often as it prints
		c.tmpl = "(CASE WHEN {2} OPERATOR(pg_catalog.>) {3} THEN 'empty'::{T} ELSE " + c.tmpl + " END)"
	}
	e := c.result(oid)
	e.nullable, e.nullBefore, e.within = false, false, within // without a bound it has none there
	return e, nil
}

// intersection builds range * range. Its ends lie within those of either.
func (b *builder) intersection(a *pg_query.A_Expr) (*Expr, error) {
	loc := int(a.Location)
	args, err := b.rangePair(a)
	if err != nil {
		return nil, err
	}
	c := &call{b: b, args: args, loc: loc, text: describeOperator(a), tmpl: "({0} OPERATOR(pg_catalog.*) {1})", cost: cost{steps: rangeSteps}}
	e := c.result(args[0].typ)
	for _, x := range args {
		e.within = e.within.Intersect(x.within)
	}
	if e.within.Empty() {
		e.within = args[0].within
	}
	return e, nil
}

// rangePair builds two operands, both ranges of one type.
func (b *builder) rangePair(a *pg_query.A_Expr) ([]*Expr, error) {
	left, err := b.rangeExpr(a.Lexpr, 0)
	if err != nil {
		return nil, err
	}
	like := uint32(0)
	if left != nil {
		like = left.typ
	}
	right, err := b.rangeExpr(a.Rexpr, like)
	if err == nil && left == nil && right != nil {
		left, err = b.rangeExpr(a.Lexpr, right.typ)
	}
	if err != nil {
		return nil, err
	}
	if left == nil || right == nil || left.typ != right.typ {
		return nil, Refuse(refusal.Types, int(a.Location), describeOperator(a)+" is not supported of these operands", "write the ranges with their constructors, as daterange('2024-01-01', '2024-02-01')")
	}
	return []*Expr{left, right}, nil
}

// rangeComparison builds an operator between ranges, or a range and a value; nil where neither operand is a range by itself.
func (b *builder) rangeComparison(a *pg_query.A_Expr, name string) (*Expr, error) {
	form, known := rangeOperators[name]
	if !known || a.Lexpr == nil {
		return nil, nil
	}
	left, err := b.ownRange(a.Lexpr)
	if err != nil {
		return nil, err
	}
	right, err := b.ownRange(a.Rexpr)
	if err != nil {
		return nil, err
	}
	if !left && !right && (asRange(a.Lexpr) == nil || asRange(a.Rexpr) == nil) {
		return nil, nil
	}
	c := &call{b: b, loc: int(a.Location), text: describeOperator(a), tmpl: "({0} OPERATOR(pg_catalog." + name + ") {1})", cost: cost{steps: rangeSteps}}
	switch {
	case form.valueRight && left && b.isValue(a.Rexpr):
		c.args, err = b.rangeAndValue(a.Lexpr, a.Rexpr)
	case form.valueLeft && right && b.isValue(a.Lexpr):
		c.args, err = b.rangeAndValue(a.Rexpr, a.Lexpr)
		if err == nil {
			c.args[0], c.args[1] = c.args[1], c.args[0]
		}
	default:
		c.args, err = b.rangePair(a)
	}
	if err != nil {
		return nil, err
	}
	e := c.result(pgtype.BoolOID)
	e.test = endsTest(name, c.args[0], c.args[1])
	return e, nil
}

// isValue says that an operand is no range: PostgreSQL takes a literal without a type for one.
func (b *builder) isValue(n *pg_query.Node) bool {
	own, err := b.ownRange(n)
	text := n.GetAConst() != nil && (n.GetAConst().GetSval() != nil || n.GetAConst().Isnull)
	return err == nil && !own && !text && asRange(n) == nil
}

func (b *builder) rangeAndValue(r, v *pg_query.Node) ([]*Expr, error) {
	x, err := b.rangeItself(r)
	if err != nil {
		return nil, err
	}
	y, err := b.expr(v)
	if err != nil {
		return nil, err
	}
	y = y.relabelled()
	if y.typ != elementOf(x.typ) {
		return nil, Refuse(refusal.Types, y.location, fmt.Sprintf("%s is of type %s where %s is needed", y.Text(), pgresolve.Display(y.typ), pgresolve.Display(elementOf(x.typ))), "cast it")
	}
	return []*Expr{x, y}, nil
}

// endsTest is what a condition says of the ends of a column where it is true: that column begins no later than the other side ends, and ends
// no earlier than that begins. An end that there is none of is NULL.
func endsTest(name string, left, right *Expr) *test {
	col, other := left, right
	switch {
	case left.col != nil && rangeNames[left.typ] != "" && (name == "@>" || name == "&&"):
	case right.col != nil && rangeNames[right.typ] != "" && (name == "<@" || name == "&&"):
		col, other = right, left
	default:
		return nil
	}
	there := other.within
	switch {
	case rangeNames[other.typ] == "":
		there = other.unclamped()
	case name != "&&":
		return nil // every range contains an empty one
	}
	if other.provisional || !there.Finite() {
		return nil
	}
	limit := func(which int, name string, at bounds.Interval) *test {
		return &test{kind: testComparison, col: col.col.end(which), name: name, bounds: at, integral: stepwise(col.col.end(which).Type)}
	}
	return &test{kind: testEnds, args: []*test{limit(lowerEnd, "<=", bounds.Point(there.Hi)), limit(upperEnd, ">=", bounds.Point(there.Lo))}}
}

// endFunction builds lower(), upper() and what is asked of a range in a word; nil where the operand is no range by itself.
func (b *builder) endFunction(f *pg_query.FuncCall, name string) (*Expr, error) {
	if len(f.Args) != 1 || name != "lower" && name != "upper" && !rangeTests[name] {
		return nil, nil
	}
	own, err := b.ownRange(f.Args[0])
	if !own || err != nil {
		return nil, err
	}
	x, err := b.rangeItself(f.Args[0])
	if err != nil {
		return nil, err
	}
	which := lowerEnd
	if name == "upper" {
		which = upperEnd
	}
	loc, text := int(f.Location), describe(&pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}})
	if x.col != nil && !rangeTests[name] {
		e := b.underConditions(x.col.end(which), loc)
		e.text = text
		return e, nil
	}
	c := &call{b: b, args: []*Expr{x}, loc: loc, text: text, tmpl: functionTemplate(name, 1), cost: cost{steps: rangeSteps}}
	if rangeTests[name] {
		return c.result(pgtype.BoolOID), nil
	}
	e := c.result(elementOf(x.typ))
	e.nullable, e.bounds = true, x.within
	return e, nil
}
