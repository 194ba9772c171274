package certify

import (
	"fmt"
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// condition is a condition on the rows of a scope; or that the row is of one of two sources.
type condition struct {
	s      *scope
	n      *pg.Node
	is     map[truth]*claimed // made when asked for
	either []*source
	of     *id // the column that it is
}

// truth is what a condition is: value, or with loose value or NULL.
type truth struct{ value, loose bool }

var isTrue, notTrue = truth{true, false}, truth{false, true}

func (t truth) opposite() truth { return truth{!t.value, t.loose} }

// claimed is what follows of a row for which a condition is this or that: a set that holds the value of an expression,
// or all of a list, or one at least if any.
type claimed struct {
	any       bool
	list      []*claimed
	restraint *restraint
}

// restraint says that an expression has a value of a set: all NULL, if null, those of a list or all but those (not),
// and between bounds. The sets of one kind are about one order: kind "" alone is about NULL.
type restraint struct {
	formula
	kind           string
	null, not      bool
	of             []string
	lo, hi         *big.Rat
	loOpen, hiOpen bool
}

// formula is a text, and the columns that it is of, whatever their names are. Two that are alike are one function of
// the same columns, so they have one value in a row. An open one is of more than that, and of one scope.
type formula struct {
	text    string
	columns []*id
	open    *scope
}

func (s *scope) formula(n *pg.Node) formula {
	e := formula{}
	e.text = textWith(n, func(x any) string {
		switch c := x.(type) {
		case *pg.ColumnRef:
			if v, err := s.column(c); err == nil && v.id != nil {
				e.columns = append(e.columns, v.id)
				return "column"
			}
			e.open = s
		case *pg.SubLink:
			e.open = s
		case *pg.FuncCall:
			if c.Over != nil { // it depends on the rows around
				e.open = s
			}
		case *pg.ParamRef:
			return s.spelledOut(c)
		}
		return ""
	})
	return e
}

// spelledOut is the value of a parameter, so that texts with parameters of other numbers can be compared.
func (c *checker) spelledOut(p *pg.ParamRef) string {
	if i := int(p.Number) - 1; i >= 0 && i < len(c.parameters) {
		s := fmt.Sprintf("parameter %v", c.parameters[i].Array)
		for _, e := range c.parameters[i].Elements {
			if e == nil {
				s += " NULL"
			} else {
				s += fmt.Sprintf(" %q", *e)
			}
		}
		return s
	}
	return ""
}

// excludes reports whether no row fulfils both claims. alike tells when two columns are one.
func excludes(a, b *claimed, alike func(a, b *id) bool) bool {
	steps := 0
	return never([]*claimed{a, b}, nil, alike, &steps)
}

// never reports whether no row fulfils all of some claims.
//
// Rule: two of them put one expression into disjoint sets; or so it is with each part of an OR in its place. Proof: an
// expression has one value in a row.
func never(all []*claimed, restraints []*restraint, alike func(a, b *id) bool, steps *int) bool {
	const most = 1 << 10 // of steps: it gives up
	var open []*claimed
	for len(all) > 0 {
		if *steps++; *steps > most {
			return false
		}
		x := all[0]
		switch all = all[1:]; {
		case x.restraint != nil:
			if slices.ContainsFunc(restraints, func(y *restraint) bool {
				return x.restraint.sameAs(y, alike) &&
					x.restraint.apart(y)
			}) {
				return true
			}
			restraints = append(restraints[:len(restraints):len(restraints)], x.restraint)
		case x.any:
			open = append(open, x)
		default:
			all = append(x.list[:len(x.list):len(x.list)], all...)
		}
	}
	return len(open) > 0 && !slices.ContainsFunc(open[0].list, func(x *claimed) bool {
		return !never(append([]*claimed{x}, open[1:]...), restraints, alike, steps)
	})
}

// sameAs reports whether two expressions are one.
func (e formula) sameAs(o *restraint, alike func(a, b *id) bool) bool {
	return e.text == o.text && e.open == o.open && slices.EqualFunc(e.columns, o.columns, alike)
}

// apart reports whether two sets have no value in common.
func (a *restraint) apart(b *restraint) bool {
	none := func(x *restraint) bool { return !x.not && len(x.of) == 0 }
	switch {
	case a.null && b.null:
		return false
	case none(a) || none(b):
		return true
	case a.kind != b.kind:
		return false
	case a.below(b) || b.below(a):
		return true
	case !a.not:
		return !slices.ContainsFunc(a.of, func(v string) bool { return slices.Contains(b.of, v) != b.not })
	case !b.not:
		return !slices.ContainsFunc(b.of, func(v string) bool { return !slices.Contains(a.of, v) })
	}
	return false
}

func (a *restraint) below(b *restraint) bool {
	if a.hi == nil || b.lo == nil {
		return false
	}
	c := a.hi.Cmp(b.lo)
	return c < 0 || c == 0 && (a.hiOpen || b.loOpen)
}

// claim reads a condition that is what t says.
//
// Rule: AND is true if all are, not true if one is not, false if one is, not false if none is; OR the other way round;
// NOT exchanges true and false; IS TRUE and the like know no NULL. A column is what it was made of. A comparison is as
// compared says; another condition is a value of its own. Proof: three-valued logic.
func (s *scope) claim(n *pg.Node, t truth) *claimed {
	switch e := n.GetNode().(type) {
	case *pg.Node_BoolExpr:
		if e.BoolExpr.Boolop == pg.BoolExprType_NOT_EXPR {
			return s.claim(e.BoolExpr.Args[0], t.opposite())
		}
		all := &claimed{any: (e.BoolExpr.Boolop == pg.BoolExprType_AND_EXPR) != t.value}
		for _, a := range e.BoolExpr.Args {
			all.list = append(all.list, s.claim(a, t))
		}
		return all
	case *pg.Node_BooleanTest:
		b := e.BooleanTest
		holds := t.value == (b.Booltesttype == pg.BoolTestType_IS_TRUE || b.Booltesttype == pg.BoolTestType_IS_FALSE)
		switch b.Booltesttype {
		case pg.BoolTestType_IS_TRUE, pg.BoolTestType_IS_NOT_TRUE:
			return s.claim(b.Arg, truth{holds, !holds})
		case pg.BoolTestType_IS_FALSE, pg.BoolTestType_IS_NOT_FALSE:
			return s.claim(b.Arg, truth{!holds, !holds})
		}
	case *pg.Node_NullTest:
		isNull := t.value == (e.NullTest.Nulltesttype == pg.NullTestType_IS_NULL)
		if v, err := s.expr(e.NullTest.Arg); err == nil && v.typ != "row" {
			return &claimed{restraint: &restraint{formula: s.formula(e.NullTest.Arg), null: isNull, not: !isNull}}
		}
	case *pg.Node_ColumnRef:
		if v, err := s.column(e.ColumnRef); err == nil && v.def != nil && v.def.of == v.id {
			return v.def.claim(t)
		}
	case *pg.Node_AExpr:
		b := e.AExpr.Rexpr.GetAConst().GetBoolval()
		if op, ok := name(e.AExpr.Name); ok && op == "=" && b != nil && e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP {
			return s.claim(e.AExpr.Lexpr, truth{t.value == b.Boolval, t.loose})
		}
		if list := s.compared(e.AExpr, t); list != nil {
			return &claimed{list: list}
		}
	}
	return &claimed{restraint: &restraint{
		formula: s.formula(n), kind: "bool", null: t.loose,
		of: []string{fmt.Sprint(t.value)},
	}}
}

func (c *condition) claim(t truth) *claimed {
	if c.is[t] == nil {
		if c.is == nil {
			c.is = map[truth]*claimed{}
		}
		c.is[t] = c.s.claim(c.n, t)
	}
	return c.is[t]
}

// order says which of less, equal and greater a comparison leaves.
type order [3]bool

var orders = map[string]order{
	"<": {true}, "<=": {true, true}, "=": {1: true}, ">=": {1: true, 2: true}, ">": {2: true},
	"<>": {0: true, 2: true},
}

// compared reads l op r, and l = ANY or <> ALL of constants.
//
// Rule: true or false, it is about the order of l and r, which are not NULL; with a constant (constants), about l. Not
// true, l may be NULL too. Proof: the operators are of one B-tree family: one of <, = and > holds of each two values
// (NaN, the largest, too).
func (s *scope) compared(e *pg.A_Expr, t truth) (all []*claimed) {
	op, ok := name(e.Name)
	o := orders[op]
	if !ok || o == (order{}) || e.Lexpr == nil {
		return nil
	}
	l, errL := s.expr(e.Lexpr)
	r, errR := s.expr(e.Rexpr)
	if errL != nil || errR != nil {
		return nil
	}
	add := func(a restraint, of *pg.Node) {
		a.formula = s.formula(of)
		all = append(all, &claimed{restraint: &a})
	}
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && op == "=" || e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL && op == "<>" {
		if list, known := s.constants(l, r, e.Rexpr); known && t == isTrue {
			a := restraint{kind: list[0].kind, not: op == "<>"}
			for _, c := range list {
				a.of = append(a.of, c.of...)
			}
			add(a, bare(e.Lexpr))
		}
		return all
	}
	if e.Kind != pg.A_Expr_Kind_AEXPR_OP || r.array || l.array {
		return nil
	}
	if !t.value {
		o = order{!o[0], !o[1], !o[2]}
	}
	a := restraint{kind: "order", null: t.loose}
	for i, holds := range o {
		if holds {
			a.of = append(a.of, []string{"<", "=", ">"}[i])
		}
	}
	add(a, &pg.Node{Node: &pg.Node_List{List: &pg.List{Items: []*pg.Node{e.Lexpr, e.Rexpr}}}})
	s.beside(l, r, e.Lexpr, e.Rexpr, o, t.loose, add)
	s.beside(r, l, e.Rexpr, e.Lexpr, order{o[2], o[1], o[0]}, t.loose, add)
	return all
}

// beside adds what a comparison says of one side.
func (s *scope) beside(x, y value, side, other *pg.Node, o order, loose bool, add func(restraint, *pg.Node)) {
	if !loose {
		add(restraint{not: true}, bare(side))
	}
	list, known := s.constants(x, y, other)
	if !known || loose && !y.notNull {
		return
	}
	a := list[0]
	a.null = loose
	switch {
	case o[0] && o[2]:
		a.not, a.lo, a.hi = true, nil, nil
	case o[0] || o[2]:
		if a.lo == nil { // it has no place in an order
			return
		}
		a.not, a.of, a.hiOpen, a.loOpen = true, nil, !o[1], !o[1]
		if o[0] {
			a.lo = nil
		} else {
			a.hi = nil
		}
	}
	add(a, bare(side))
}

// constants reads a constant, or an array of some, that x is compared with.
//
// Rule: numbers of exact types, and values of one type with a span, are what they are; constants of other letters are
// other values of text whose equality is that of bytes, and of enums. Proof: comparisons of integers and numerics are
// exact; two floats are of one type, and a float is no point of a span that is not exactly that.
func (s *scope) constants(x, o value, n *pg.Node) (list []restraint, ok bool) {
	kind := x.typ
	_, isEnum := s.facts.Enums[x.typ]
	switch {
	case ranks[x.typ] > 0 && ranks[x.typ] <= 4 && ranks[o.typ] > 0 && ranks[o.typ] <= 4:
		kind = "exact"
	case x.typ != o.typ:
		return nil, false
	}
	point := func(v value) bool {
		if v.nan || v.lo == nil || v.hi == nil || v.lo.Cmp(v.hi) != 0 {
			return false
		}
		list = append(list, restraint{kind: kind, of: []string{v.lo.RatString()}, lo: v.lo, hi: v.hi})
		return true
	}
	letters := func(n *pg.Node) bool {
		c, isString := n.GetAConst().GetVal().(*pg.A_Const_Sval)
		switch i, isInt := integerConstant(n); {
		case !isString && isInt && kind == "exact":
			return point(value{span: exactly(i)})
		case !isString:
		case x.typ == "text" && x.exact || isEnum:
			list = append(list, restraint{kind: kind, of: []string{c.Sval.GetSval()}})
			return true
		case isNumber(x.typ) || timed[x.typ]:
			return point(literal(x.typ, c.Sval.GetSval()))
		}
		return false
	}
	cast := bare(n).GetTypeCast()
	if !o.array {
		if isNumber(x.typ) || timed[x.typ] {
			return list, point(o)
		}
		return list, cast != nil && letters(cast.Arg)
	}
	for _, e := range cast.GetArg().GetAArrayExpr().GetElements() {
		if !letters(e) {
			return nil, false
		}
	}
	return list, len(list) > 0
}

// implied reports whether a condition is true in every row for which some others are.
func implied(n *condition, under []*condition) bool {
	return excludes(together(under), n.claim(notTrue), sameColumn)
}

// together is that all conditions are true.
func together(under []*condition) *claimed {
	all := &claimed{}
	for _, c := range under {
		if c.either == nil {
			all.list = append(all.list, c.claim(isTrue))
			continue
		}
		all.list = append(all.list, &claimed{any: true, list: []*claimed{
			together(c.either[0].where),
			together(c.either[1].where),
		}})
	}
	return all
}

func sameColumn(a, b *id) bool { return a == b }
