package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// maxDepth is how deep expressions may nest; one level costs a few Go stack frames here and C frames in PostgreSQL.
const maxDepth = 400

// maxWeight is how many nodes an expression may print, about 2 MB of SQL.
const maxWeight = 20000

// builder builds one expression.
type builder struct {
	scope   Scope
	rules   *ruleTable
	narrows []map[*Column]Narrowing // what holds in the CASE branch being built, outermost first
	depth   int
}

// newBuilder makes a builder that knows every rule.
func newBuilder(scope Scope) *builder { return &builder{scope: scope, rules: allRules} }

func (b *builder) root(node *pg_query.Node) (*Expr, error) {
	e, err := b.expr(node)
	if err != nil {
		return nil, err
	}
	if e.typ == pgtype.UnknownOID { // select_common_type and output columns take unknown literals for text
		x, err := b.coerce(e, pgtype.TextOID, e)
		if err != nil {
			return nil, err
		}
		out := *x
		out.untyped = true
		return &out, nil
	}
	if e.isEnum() && e.value != nil && len(e.labels) == 0 {
		return nil, Refuse(e.location, e.Text()+" is of a type that is not supported here", "compare it with a column of its type, or cast it to text")
	}
	if e.value != nil && e.value.items != nil || pgresolve.ElementType(e.typ) != nil && e.col == nil {
		return nil, Refuse(e.location, "arrays are supported as operands of ANY and ALL only", "compare with = ANY (array)")
	}
	return e, nil
}

func (b *builder) rootBoolean(node *pg_query.Node) (*Expr, error) {
	e, err := b.expr(node)
	if err != nil {
		return nil, err
	}
	return b.boolean(e)
}

func newExpr(oid uint32, location int) *Expr {
	return &Expr{typ: oid, typmod: -1, typeName: pgresolve.Qualified(oid, -1), location: location, scale: -1, quantum: -1, maxLen: -1}
}

// expr builds any expression. Unknown literals keep the type unknown.
func (b *builder) expr(n *pg_query.Node) (*Expr, error) {
	if b.depth++; b.depth > maxDepth {
		return nil, refuseWith(pgerr.StatementTooComplex, -1, fmt.Sprintf("expression nests deeper than %d levels", maxDepth), "")
	}
	defer func() { b.depth-- }()
	e, err := b.node(n)
	if err != nil {
		return nil, err
	}
	if e.text == "" {
		e.text = describe(n)
	}
	if e.weigh() > maxWeight {
		return nil, refuseWith(pgerr.StatementTooComplex, locationOf(n), "the expression is too large once it is written out", "write it with fewer BETWEEN and IN inside each other")
	}
	return e, nil
}

// weigh counts the nodes that print, shared ones as often as they do: BETWEEN writes its operand twice, so thirty of them inside each
// other would print a thousand million times.
func (e *Expr) weigh() int {
	if e.weight == 0 {
		n := 1
		for _, a := range e.args {
			n = min(n+a.weigh(), 2*maxWeight)
		}
		e.weight = n
	}
	return e.weight
}

func (b *builder) node(n *pg_query.Node) (*Expr, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return literal(v.AConst)
	case *pg_query.Node_ColumnRef:
		return b.columnRef(v.ColumnRef)
	case *pg_query.Node_ParamRef:
		return b.paramRef(v.ParamRef)
	case *pg_query.Node_AExpr:
		return b.aExpr(v.AExpr)
	case *pg_query.Node_BoolExpr:
		return b.boolExpr(v.BoolExpr)
	case *pg_query.Node_NullTest:
		return b.nullTest(v.NullTest)
	case *pg_query.Node_BooleanTest:
		return b.booleanTest(v.BooleanTest)
	case *pg_query.Node_CaseExpr:
		return b.caseExpr(v.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		return b.coalesce(v.CoalesceExpr)
	case *pg_query.Node_MinMaxExpr:
		return b.minMax(v.MinMaxExpr)
	case *pg_query.Node_TypeCast:
		return b.typeCast(v.TypeCast)
	case *pg_query.Node_FuncCall:
		return b.funcCall(v.FuncCall)
	case *pg_query.Node_CollateClause:
		return b.collate(v.CollateClause)
	case *pg_query.Node_SqlvalueFunction:
		return b.sqlValue(v.SqlvalueFunction)
	case *pg_query.Node_AArrayExpr:
		return b.arrayExpr(v.AArrayExpr)
	case *pg_query.Node_SubLink:
		return b.subLink(v.SubLink)
	}
	return nil, Refuse(locationOf(n), fmt.Sprintf("%s is not supported in a row-level expression", nodeName(n)), "")
}

// literal is make_const of parse_node.c.
func literal(c *pg_query.A_Const) (*Expr, error) {
	loc := int(c.Location)
	switch v := c.GetVal().(type) {
	case *pg_query.A_Const_Ival:
		return typed(pgtype.Int4OID, fmt.Sprint(v.Ival.Ival), loc)
	case *pg_query.A_Const_Fval:
		s := v.Fval.Fval
		for _, oid := range []uint32{pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID} {
			if e, err := typed(oid, s, loc); err == nil {
				return e, nil
			}
		}
		return nil, Refuse(loc, "number "+s+" is not supported", "write at most 1000 digits and an exponent of at most 3 digits")
	case *pg_query.A_Const_Boolval:
		return typed(pgtype.BoolOID, fmt.Sprint(v.Boolval.Boolval), loc)
	case *pg_query.A_Const_Sval:
		e := newExpr(pgtype.UnknownOID, loc)
		s := v.Sval.Sval
		e.value = &constant{text: &s}
		return e, nil
	case *pg_query.A_Const_Bsval:
		return nil, Refuse(loc, "bit strings are not supported", "")
	}
	if c.Isnull {
		e := newExpr(pgtype.UnknownOID, loc)
		e.value, e.nullable = &constant{}, true
		return e, nil
	}
	return nil, Refuse(loc, "this constant is not supported", "")
}

// typed makes a constant of a built-in type.
func typed(oid uint32, text string, loc int) (*Expr, error) {
	c, err := readLiteral(oid, nil, text)
	if err != nil {
		return nil, badLiteral(oid, pgresolve.Display(oid), text, loc)
	}
	return constantExpr(oid, c, loc), nil
}

func badLiteral(oid uint32, typeName, text string, loc int) error {
	hint := ""
	if pgresolve.IsTime(oid) {
		hint = "write dates and times in ISO form, as 2024-12-31, 2024-12-31 23:59:59, 1 day 02:30:00"
	}
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return Refuse(loc, fmt.Sprintf("%q is not a %s that dpproxy reads", text, typeName), hint)
}

func constantExpr(oid uint32, c *constant, loc int) *Expr {
	e := newExpr(oid, loc)
	e.value, e.bounds, e.nullable = c, c.bounds, c.text == nil
	switch {
	case c.text == nil:
	case pgresolve.IsInt(oid):
		e.scale = 0
	case oid == pgtype.NumericOID && c.bounds.Finite():
		e.scale = c.scale
	case pgresolve.IsFloat(oid) && c.bounds.Finite():
		e.quantum = c.bounds.Lo.Denom().BitLen() - 1 // a float's denominator is a power of two
	case pgresolve.IsString(oid):
		e.maxLen = len([]rune(*c.text))
	}
	e.nonzero = e.bounds.Finite() && !e.bounds.Contains(bounds.Zero)
	return e
}

func nullExpr(oid uint32, typeName string, loc int) *Expr {
	e := newExpr(oid, loc)
	e.typeName, e.value, e.nullable = typeName, &constant{}, true
	return e
}

func (b *builder) columnRef(r *pg_query.ColumnRef) (*Expr, error) {
	var fields []string
	for _, f := range r.Fields {
		if f.GetString_() == nil {
			return nil, refuseWith(pgerr.InsufficientPrivilege, int(r.Location), "whole rows cannot be used in an expression", "name the columns")
		}
		fields = append(fields, f.GetString_().Sval)
	}
	if len(fields) == 0 {
		return nil, Refuse(int(r.Location), "a column has no name", "")
	}
	c, err := b.scope.Column(fields, int(r.Location))
	if err != nil {
		return nil, err
	}
	e := columnExpr(c, int(r.Location))
	for _, m := range b.narrows {
		if n, ok := m[c]; ok {
			e = e.narrowed(n)
		}
	}
	return e, nil
}

// columnExpr is a bare column, its bounds made exact in its type.
func columnExpr(c *Column, loc int) *Expr {
	e := newExpr(c.Type, loc)
	e.typmod, e.typeName, e.nullable, e.col, e.labels = c.Typmod, c.TypeName, c.Nullable, c, c.EnumLabels
	e.collation, e.fuzzy, e.text = c.Collation, !c.DeterministicCollation, c.Name
	e.provisional = c.provisional
	base, typmod := e.baseType(), c.Typmod
	if c.Base != 0 {
		typmod = c.BaseTypmod
	}
	if pgresolve.LookupType(c.Type) != nil {
		e.typeName = pgresolve.Qualified(c.Type, c.Typmod)
	}
	if pgresolve.IsNumber(base) || pgresolve.IsTime(base) {
		e.bounds = representable(base, c.Bounds)
		if base == pgtype.TimeOID {
			e.bounds = e.bounds.Fill(dayRange)
		}
	}
	switch {
	case pgresolve.IsInt(base):
		e.scale = 0
	case base == pgtype.NumericOID && typmod >= 0:
		_, e.scale = pgresolve.NumericTypmod(typmod)
		e.scale = max(0, e.scale)
	case base == pgtype.NumericOID && c.Enforced:
		e.scale = c.Scale
	case (base == pgtype.VarcharOID || base == pgtype.BPCharOID) && typmod >= 0:
		e.maxLen = int(typmod - 4)
	case base == pgtype.NameOID:
		e.maxLen = 63
	}
	return e
}

// subLink hands subqueries to R.
func (b *builder) subLink(s *pg_query.SubLink) (*Expr, error) {
	var test []*Expr
	if s.Testexpr != nil {
		var err error
		if test, err = b.operand(s.Testexpr); err != nil {
			return nil, err
		}
	}
	return b.scope.SubLink(s, test)
}

func (b *builder) list(nodes []*pg_query.Node) ([]*Expr, error) {
	out := make([]*Expr, len(nodes))
	for i, n := range nodes {
		e, err := b.expr(n)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}
