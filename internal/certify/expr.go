package certify

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// expr derives what an expression can be in any row, and that none makes it fail: where WHERE stands is of no use, as
// PostgreSQL computes conditions and outputs in the order that it likes. Only CASE has an order (refine).
func (s *scope) expr(n *pg.Node) (value, error) {
	if s.steps++; s.steps > maxSteps {
		return value{}, missing(where(n), "so much work", "more than %d steps", maxSteps)
	}
	v, err := s.output(n)
	if err == nil && v.vague && v.typ == "text" {
		err = missing(where(n), "text of which the plan chooses the spelling", "%s", kindName(n))
	}
	return v, err
}

// output derives an expression that stands where nothing is computed of it: as an output, or beside IS NULL.
func (s *scope) output(n *pg.Node) (value, error) {
	v, err := s.base(n)
	applied := s.applied
	if s.applied = ""; err != nil {
		return value{}, err
	}
	if v.collation == conflict {
		return value{}, missing(where(n), "collations in conflict", "%s", kindName(n))
	}
	for _, r := range s.refined {
		if same(r.of, n) {
			v.span = r.span
		}
	}
	v.present = v.present || slices.ContainsFunc(s.present, func(p *pg.Node) bool { return same(p, n) })
	v.ofUnit = v.ofUnit || holdsUnit(v)
	s.noteValue(applied, v, n)
	return v, nil
}

func (s *scope) base(n *pg.Node) (value, error) {
	if s.group != nil {
		if v, ok, err := s.group.expr(s, n); ok || err != nil {
			return v, err
		}
	}
	switch e := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return s.column(e.ColumnRef)
	case *pg.Node_AConst:
		return s.constant(e.AConst)
	case *pg.Node_ParamRef:
		return value{}, missing(e.ParamRef.Location, "parameter", "$%d without a cast", e.ParamRef.Number)
	case *pg.Node_TypeCast:
		if v, ok := s.weightOfUnit(n); ok {
			return v, nil
		}
		return s.cast(e.TypeCast)
	case *pg.Node_CollateClause:
		return s.collated(e.CollateClause)
	case *pg.Node_AExpr:
		if a, b, ok := s.alike(n); ok {
			return made("bool", span{}, a, b), nil
		}
		return s.operator(e.AExpr)
	case *pg.Node_BoolExpr:
		list, err := s.conditions(e.BoolExpr.Args)
		return made("bool", span{}, list...), err
	case *pg.Node_NullTest:
		v, err := s.output(e.NullTest.Arg)
		if err == nil && v.influence != nil {
			err = missing(e.NullTest.Location, "condition on an aggregate", "IS NULL")
		}
		return test(v), err
	case *pg.Node_BooleanTest:
		v, err := s.conditions([]*pg.Node{e.BooleanTest.Arg})
		if err != nil {
			return value{}, err
		}
		return test(v[0]), nil
	case *pg.Node_CaseExpr:
		return s.caseOf(n, e.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return s.coalesce(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return s.minMax(n, e.MinMaxExpr)
	case *pg.Node_FuncCall:
		return s.call(e.FuncCall)
	case *pg.Node_RowExpr:
		return s.row(e.RowExpr)
	case *pg.Node_SubLink:
		return s.sublink(e.SubLink)
	}
	return value{}, missing(where(n), "node "+kindName(n), "%s", kindName(n))
}

// made is what an operator makes of values: what all of them are.
func made(typ string, r span, args ...value) value {
	v := value{typ: typ, span: r, notNull: true, exact: exactTypes[typ], public: true, ofUnit: true}
	present := true
	exact, integral := true, typ == "numeric" && len(args) > 0
	for _, a := range args {
		v.notNull = v.notNull && a.notNull
		present = present && a.there()
		v.public = v.public && a.public
		v.ofUnit = v.ofUnit && a.ofUnit
		exact = exact && a.exact
		integral = integral && a.integral
		v.vague = v.vague || a.vague
		if isText(a.typ) && isText(typ) {
			v.collation = merge(v.collation, a.collation)
		}
	}
	v.exact = v.exact || typ == "text" && exact
	v.vague = v.vague && !v.exact // a function of the numbers, however spelled
	v.integral = isInteger(typ) || integral
	v.present = present
	return v
}

func test(v value) value {
	r := made("bool", span{}, v)
	r.notNull = true
	return r
}

// conditions derives a list of conditions.
func (s *scope) conditions(nodes []*pg.Node) ([]value, error) {
	list, err := s.exprs(nodes)
	for i, v := range list {
		if v.typ != "bool" || v.array {
			return nil, missing(where(nodes[i]), "condition", "that is %s", v.typ)
		}
	}
	return list, err
}

// exprs derives a list. None may be an integer of a grouped relation: what moves by Δ there moves by who knows what
// here.
func (s *scope) exprs(nodes []*pg.Node) ([]value, error) {
	list := make([]value, 0, len(nodes))
	for _, n := range nodes {
		v, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		if v.influence != nil {
			return nil, missing(where(n), "expression over an aggregate", "%s", kindName(n))
		}
		list = append(list, v)
	}
	return list, nil
}

// constant is a constant. Integers are written in decimal: PostgreSQL 14 reads 0x1F as 0 under the name x1f.
func (s *scope) constant(c *pg.A_Const) (value, error) {
	v := value{notNull: true, exact: true, public: true, ofUnit: true}
	switch x := c.Val.(type) {
	case *pg.A_Const_Ival:
		if !strings.HasPrefix(s.sql[c.Location:], strconv.Itoa(int(x.Ival.GetIval()))) {
			return v, missing(c.Location, "number", "that is not decimal")
		}
		v.integral = true
		v.typ, v.span = "int4", exactly(big.NewRat(int64(x.Ival.GetIval()), 1))
	case *pg.A_Const_Fval:
		r, ok := number(x.Fval.GetFval())
		if !ok {
			return v, missing(c.Location, "number", "%s", x.Fval.GetFval())
		}
		v.typ, v.span = "numeric", exactly(r)
		if number64(x.Fval.GetFval()) { // the smallest type that holds it (make_const): -2147483648 is an int4
			for _, t := range []string{"int8", "int4"} {
				if v.inside(t) {
					v.typ, v.integral = t, true
				}
			}
		}
		v.exact = v.integral
	case *pg.A_Const_Boolval:
		v.typ = "bool"
	case *pg.A_Const_Sval:
		v.typ, v.elements = "unknown", []*string{&x.Sval.Sval}
	default:
		if !c.Isnull {
			return v, missing(c.Location, "constant", "%T", c.Val)
		}
		v.typ, v.notNull, v.none = "unknown", false, true
	}
	return v, nil
}

// number64 reports whether a numeric constant has no point and no exponent: such a one is an integer if it fits.
func number64(s string) bool { return !strings.ContainsAny(s, ".eE") }
