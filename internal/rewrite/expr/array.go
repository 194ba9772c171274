package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Arrays are constants: operands of ANY and ALL, whose elements are analysed one by one. NULL elements are allowed,
// arrays of arrays are not.

// in builds IN and NOT IN over a list, as transformAExprIn does: elements get one common type with the left side.
func (b *builder) in(a *pg_query.A_Expr) (*Expr, error) {
	loc := int(a.Location)
	name, err := operatorName(a.Name, loc)
	if err != nil {
		return nil, err
	}
	if a.Lexpr.GetRowExpr() != nil {
		return b.rows(a, name)
	}
	left, err := b.expr(a.Lexpr)
	if err != nil {
		return nil, err
	}
	items, err := b.list(a.GetRexpr().GetList().GetItems())
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, Refuse(refusal.Construct, loc, "IN needs a list of values", "")
	}
	text := describeOperator(a)
	var all []*Expr
	array, items, err := b.inArray(left, items, loc)
	if err != nil {
		return nil, err
	}
	if array != nil {
		e, err := b.scalarArray(name, left, array, name == "=", text, loc)
		if err != nil || len(items) == 0 {
			return e, err
		}
		all = append(all, e)
	}
	for _, x := range items {
		e, err := b.operator(name, []*Expr{left, x}, text, loc)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	word := "OR"
	if name == "<>" {
		word = "AND"
	}
	e := join(word, all)
	if len(all) > 1 {
		e.text = text
	}
	return e, nil
}

// inArray makes an array of the constants of an IN list if there are two or more: its type is common to all, and = may
// have chosen another. others are the items that are left; array is nil where they are all.
func (b *builder) inArray(left *Expr, items []*Expr, loc int) (array *Expr, others []*Expr, err error) {
	var constants []*Expr
	for _, x := range items {
		if x.value != nil {
			constants = append(constants, x)
		} else {
			others = append(others, x)
		}
	}
	if len(constants) < 2 || left.isEnum() {
		return nil, items, nil
	}
	oid, ok := pgresolve.CommonType(baseTypes(append([]*Expr{left}, constants...)))
	if t := pgresolve.LookupType(oid); !ok || t == nil || t.Array == 0 || !supported(oid) {
		return nil, items, nil
	}
	array, err = b.arrayFrom(constants, oid, loc)
	return array, others, err
}

func (b *builder) anyAll(a *pg_query.A_Expr) (*Expr, error) {
	loc := int(a.Location)
	name, err := operatorName(a.Name, loc)
	if err != nil {
		return nil, err
	}
	// with its elements, which are the subquery's rows
	if l := a.Rexpr.GetSubLink(); l.GetSubLinkType() == pg_query.SubLinkType_ARRAY_SUBLINK {
		kind := pg_query.SubLinkType_ANY_SUBLINK
		if a.Kind == pg_query.A_Expr_Kind_AEXPR_OP_ALL {
			kind = pg_query.SubLinkType_ALL_SUBLINK
		}
		return b.subLink(&pg_query.SubLink{
			SubLinkType: kind, Testexpr: a.Lexpr, OperName: a.Name, Subselect: l.Subselect,
			Location: l.Location,
		})
	}
	left, err := b.expr(a.Lexpr)
	if err != nil {
		return nil, err
	}
	var arr *Expr
	if c := a.GetRexpr().GetAConst(); c != nil && c.GetSval() != nil { // an unknown literal: the operator decides its type
		op := pgresolve.Operator(name, []uint32{left.baseType(), pgtype.UnknownOID})
		elem := left.baseType()
		if op != nil {
			elem = op.Args[1]
		}
		arr, err = b.arrayText(c.GetSval().Sval, elem, int(c.Location))
	} else {
		arr, err = b.expr(a.Rexpr)
	}
	if err != nil {
		return nil, err
	}
	return b.scalarArray(name, left, arr, a.Kind == pg_query.A_Expr_Kind_AEXPR_OP_ANY, describeOperator(a), loc)
}

// scalarArray builds left op ANY/ALL (array). The operator is resolved and proven for one element at a time.
func (b *builder) scalarArray(name string, left, arr *Expr, anyOf bool, text string, loc int) (*Expr, error) {
	elemType := pgresolve.ElementType(arr.typ)
	if elemType == nil || arr.col != nil {
		return nil, Refuse(refusal.Array, loc, "ANY and ALL need a constant array or an array parameter",
			"write = ANY ($1::integer[]) or IN (1, 2, 3)")
	}
	if left.isEnum() {
		return nil, Refuse(refusal.Array, loc, "enums in ANY and ALL are not supported",
			"write IN ('a', 'b'), or cast the enum to text")
	}
	items := []*Expr{nullExpr(elemType.OID, pgresolve.Qualified(elemType.OID, -1), loc)}
	if arr.value != nil && len(arr.value.items) > 0 {
		items = arr.value.items
	}
	var all []*Expr
	for _, x := range items {
		e, err := b.operator(name, []*Expr{left, x}, text, loc)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	first := all[0]
	arr, cast, err := b.arrayAs(arr, all, elemType.OID, loc)
	if err != nil {
		return nil, err
	}
	word := "ANY"
	if !anyOf {
		word = "ALL"
	}
	op := pgresolve.Operator(name, []uint32{left.baseType(), elemType.OID})
	c := &call{args: []*Expr{first.args[0], sortedArray(arr)}, loc: loc, text: text, tmpl: "({0} OPERATOR(pg_catalog." +
		op.Name + ") " + word + " ({1}" + cast + "))"}
	e := c.result(pgtype.BoolOID)
	e.elementwise = op.Name
	for _, x := range items {
		e.nullable = e.nullable || x.nullable
	}
	e.said = localList(op.Name, anyOf, all)
	return e, nil
}

// arrayAs gives the array, and the cast after it, of the type that the operator takes. all applies the operator to each
// element.
func (b *builder) arrayAs(arr *Expr, all []*Expr, elem uint32, loc int) (_ *Expr, cast string, err error) {
	target := all[0].args[1].typ
	switch {
	case target == elem:
		return arr, "", nil
	case !arr.provisional && arr.value.items != nil &&
		slices.ContainsFunc(all, func(e *Expr) bool { return e.args[1].value == nil }):
		items := arr.value.items
		if len(items) == 0 {
			items = []*Expr{nullExpr(elem, pgresolve.Qualified(elem, -1), loc)}
		}
		arr, err = b.arrayFrom(items, target, loc) // a cast of the array would prove nothing of its items
		return arr, "", err
	}
	return arr, "::" + pgresolve.Qualified(pgresolve.LookupType(target).Array, -1), nil
}

func (b *builder) arrayExpr(a *pg_query.A_ArrayExpr) (*Expr, error) {
	return b.arrayOf(a.Elements, 0, int(a.Location))
}

// arrayOf builds ARRAY[…] of constants; elem 0: their common type.
func (b *builder) arrayOf(nodes []*pg_query.Node, elem uint32, loc int) (*Expr, error) {
	items, err := b.list(nodes)
	if err != nil {
		return nil, err
	}
	if elem == 0 {
		if len(items) == 0 {
			return nil, Refuse(refusal.Array, loc, "the type of an empty array is not known", "write ARRAY[]::integer[]")
		}
		oid, ok := pgresolve.CommonType(baseTypes(items))
		if !ok {
			return nil, Refuse(refusal.Array, loc, "array elements of "+typeList(items)+" are not supported", "")
		}
		elem = oid
	}
	return b.arrayFrom(items, elem, loc)
}

// arrayFrom makes a constant array of built elements.
func (b *builder) arrayFrom(items []*Expr, elem uint32, loc int) (*Expr, error) {
	t := pgresolve.LookupType(elem)
	if t == nil || t.Array == 0 || !supported(elem) {
		return nil, Refuse(refusal.Array, loc, "arrays of this type are not supported", "")
	}
	e := newExpr(t.Array, loc)
	e.value = &constant{}
	for _, x := range items {
		if x.value == nil && !x.provisional || x.value != nil && x.value.items != nil || len(x.Columns()) > 0 {
			return nil, Refuse(refusal.Array, x.location, x.Text()+
				" is not a constant: arrays hold constants and parameters only", "compare with OR, or write IN (…)")
		}
		x, err := b.coerce(x, elem, x)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, x)
		e.provisional = e.provisional || x.provisional
		e.nullable = e.nullable || x.nullable
		e.value.items = append(e.value.items, x)
	}
	if e.value.items == nil {
		e.value.items = []*Expr{}
	}
	e.tmpl = arrayTemplate(len(e.args))
	return e, nil
}

// arrayTemplate prints an array of n arguments.
func arrayTemplate(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("{%d}", i)
	}
	return "ARRAY[" + strings.Join(parts, ", ") + "]::{T}"
}

// arrayParam builds an array parameter: its elements are constants once its value is known.
func (b *builder) arrayParam(n int, elem uint32, value *string, known bool, loc int) (*Expr, error) {
	t := pgresolve.LookupType(elem)
	if !supported(elem) {
		return nil, Refuse(refusal.Array, loc, fmt.Sprintf(
			"parameter $%d is an array of a type that is not supported on private rows", n), "")
	}
	e := newExpr(t.Array, loc)
	e.nullable = true
	e.value = &constant{items: []*Expr{}}
	switch {
	case !known:
		e.provisional = true
	case value != nil:
		read, err := b.arrayText(*value, elem, loc)
		if err != nil {
			return nil, err
		}
		e.value, e.args, e.tmpl = read.value, read.args, read.tmpl
	default:
		e.tmpl = "NULL::{T}"
	}
	e.param, e.text = n, fmt.Sprintf("$%d", n)
	return e, nil
}

// arrayCast builds '{…}'::type[] and $1::type[].
func (b *builder) arrayCast(e *Expr, elem uint32, loc int) (*Expr, error) {
	t := pgresolve.LookupType(elem)
	switch {
	case b.typesOnly && e.typ != pgtype.UnknownOID && e.typ != t.Array:
		return b.typedCast(e, t.Array, -1, e.Text(), loc)
	case e.typ == pgtype.UnknownOID && e.value.text != nil:
		return b.arrayText(*e.value.text, elem, loc)
	case e.typ == t.Array:
		return e, nil
	case e.value != nil && e.value.items != nil && e.param == 0:
		return b.arrayFrom(e.args, elem, loc)
	}
	return nil, Refuse(refusal.Array, loc, "this cast to an array type is not supported",
		"give the parameter the array's own type")
}
