package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// An operation whose operands are constants and parameters is one constant: the shadow computes it when the values are
// known, under the session's settings, and only what comes out is bounded, compared and printed for main
// (docs/privacy.md P4d). It needs no rule, since no row can make it fail: its errors are the client's. What has to be
// known before is its type, so it is built once for its types alone.

// maxConstant limits the text of a computed constant.
const maxConstant = 32768

// computed builds an operation on constants; nil for anything else, and for what PostgreSQL's catalog does not describe
// to us: that is built operation by operation.
func (b *builder) computed(n *pg_query.Node) (*Expr, error) {
	if b.typesOnly || !b.computable(n) || !closed(n) {
		return nil, nil
	}
	types := newBuilder(b.scope)
	types.depth, types.built, types.typesOnly = b.depth, b.built, true
	e, err := types.node(n)
	if err != nil || !supported(e.typ) && !isRange(e.typ) && pgresolve.ElementType(e.typ) == nil {
		return nil, nil // what is wrong with it, building it anew says
	}
	if e.typ == pgtype.BoolOID {
		if x, err := b.node(n); err == nil { // conditions that hold for no row are found as they are
			return x, nil
		}
	}
	value, known, err := b.scope.Compute(n, e.typ, e.SQL())
	if err != nil {
		return nil, err
	}
	return b.computedValue(e, value, known, describe(n), locationOf(n))
}

// computable says that a node is an operation. What is read as a constant without, is none.
func (b *builder) computable(n *pg_query.Node) bool {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AExpr, *pg_query.Node_CaseExpr, *pg_query.Node_CoalesceExpr, *pg_query.Node_MinMaxExpr:
		return true
	case *pg_query.Node_FuncCall:
		return len(v.FuncCall.Args) > 0 // the clock is read once for a statement
	case *pg_query.Node_TypeCast:
		if target, err := b.typeNamed(v.TypeCast.TypeName, 0); err == nil && target.domain != nil &&
			target.domain.Constrained {
			return true
		}
		if p := v.TypeCast.Arg.GetParamRef(); p != nil {
			target, err := b.typeNamed(v.TypeCast.TypeName, 0)
			oid, _, _ := b.scope.Parameter(int(p.Number))
			return err == nil && !target.array && oid != target.oid && pgresolve.LookupType(oid) != nil
		}
		return v.TypeCast.Arg.GetAConst() == nil && v.TypeCast.Arg.GetAArrayExpr() == nil
	}
	return false
}

// closed says that a node reads constants and parameters alone.
func closed(n *pg_query.Node) bool {
	switch v := n.GetNode().(type) {
	case nil:
		return true
	case *pg_query.Node_AConst, *pg_query.Node_ParamRef, *pg_query.Node_SqlvalueFunction:
		return true
	case *pg_query.Node_NamedArgExpr:
		return closed(v.NamedArgExpr.Arg)
	case *pg_query.Node_AExpr:
		return closed(v.AExpr.Lexpr) && closed(v.AExpr.Rexpr)
	case *pg_query.Node_BoolExpr:
		return allClosed(v.BoolExpr.Args)
	case *pg_query.Node_NullTest:
		return closed(v.NullTest.Arg)
	case *pg_query.Node_BooleanTest:
		return closed(v.BooleanTest.Arg)
	case *pg_query.Node_CoalesceExpr:
		return allClosed(v.CoalesceExpr.Args)
	case *pg_query.Node_MinMaxExpr:
		return allClosed(v.MinMaxExpr.Args)
	case *pg_query.Node_TypeCast:
		return closed(v.TypeCast.Arg)
	case *pg_query.Node_FuncCall:
		return v.FuncCall.Over == nil && v.FuncCall.AggFilter == nil && len(v.FuncCall.AggOrder) == 0 &&
			!v.FuncCall.AggStar && allClosed(v.FuncCall.Args)
	case *pg_query.Node_AArrayExpr:
		return allClosed(v.AArrayExpr.Elements)
	case *pg_query.Node_List:
		return allClosed(v.List.Items)
	case *pg_query.Node_CaseWhen:
		return closed(v.CaseWhen.Expr) && closed(v.CaseWhen.Result)
	case *pg_query.Node_CaseExpr:
		return closed(v.CaseExpr.Arg) && allClosed(v.CaseExpr.Args) && closed(v.CaseExpr.Defresult)
	}
	return false
}

func allClosed(nodes []*pg_query.Node) bool {
	for _, n := range nodes {
		if !closed(n) {
			return false
		}
	}
	return true
}

// constantType says that operations on constants may have the type: its values are data, and name nothing in a catalog.
func constantType(oid uint32) bool {
	if t := pgresolve.ElementType(oid); t != nil {
		return supported(t.OID)
	}
	t := pgresolve.LookupType(oid)
	return supported(oid) && oid != pgtype.NameOID || t != nil && t.Category == 'R'
}

// computedValue makes the constant. Before its value is known it is as little known as a parameter's.
func (b *builder) computedValue(e *Expr, value *string, known bool, text string, loc int) (*Expr, error) {
	array := pgresolve.ElementType(e.typ)
	var out *Expr
	var err error
	switch {
	case !known:
		unknown := *e
		out = &unknown
		out.nullable, out.provisional, out.location = true, true, loc
		if array != nil {
			out.value = &constant{items: []*Expr{}}
		}
	case value == nil && array != nil:
		out = newExpr(e.typ, loc)
		out.nullable, out.value, out.tmpl = true, &constant{items: []*Expr{}}, "NULL::{T}"
	case value == nil:
		out = nullExpr(e.typ, e.typeName, loc)
	case len(*value) > maxConstant:
		return nil, Refuse(refusal.TooLong, loc, fmt.Sprintf("%s is a constant of more than %d characters", text,
			maxConstant), "")
	case array != nil:
		out, err = b.arrayText(*value, array.OID, loc)
	default:
		out, err = typed(e.typ, *value, loc)
	}
	if err != nil {
		return nil, err
	}
	out.text = text
	if array == nil {
		out.typmod, out.typeName = e.typmod, e.typeName
	}
	return out, nil
}

// typedCall builds an operation for its type alone.
func (b *builder) typedCall(c *call, args []*Expr) (*Expr, error) {
	if grows[c.cand.Name] || c.cand.Name == "age" && len(args) == 1 || !constantType(c.cand.Result) {
		return nil, Refuse(refusal.Function, c.loc, c.text+" is not computed in advance", "")
	}
	for i, a := range args {
		x, err := b.coerce(a, c.cand.Args[i], a)
		if err != nil {
			return nil, err
		}
		if t := pgresolve.LookupType(c.cand.Args[i]); t != nil && t.Category == 'P' {
			if err := c.checkPrintStyle(b, x); err != nil { // || and its kin print their operands
				return nil, err
			}
		}
		c.args = append(c.args, x)
	}
	e := c.result(c.cand.Result)
	e.provisional = true
	return e, nil
}

// grows names functions whose result is as long as an argument says.
var grows = map[string]bool{"repeat": true, "lpad": true, "rpad": true}

// typedCast builds a cast for its type alone. PostgreSQL has accepted the statement, so there is one.
func (b *builder) typedCast(e *Expr, to uint32, typmod int32, text string, loc int) (*Expr, error) {
	if !constantType(to) {
		return nil, Refuse(refusal.Cast, loc, text+" is not computed in advance", "")
	}
	c := &call{b: b, args: []*Expr{e}, loc: loc, text: text, tmpl: castTemplate}
	if pgresolve.IsString(to) {
		if err := c.checkPrintStyle(b, e); err != nil {
			return nil, err
		}
	}
	out := c.result(to)
	out.typmod, out.typeName, out.provisional = typmod, pgresolve.Qualified(to, typmod), true
	return out, nil
}

// checkPrintStyle refuses what the session would print in another style than the shadow does when it computes.
func (c *call) checkPrintStyle(b *builder, x *Expr) error {
	oid := x.typ
	if t := pgresolve.ElementType(oid); t != nil {
		oid = t.OID
	}
	t := pgresolve.LookupType(oid)
	if pgresolve.IsTime(oid) || t != nil && t.Category == 'R' {
		if !b.scope.Prints(pgtype.TimestamptzOID) || !b.scope.Prints(pgtype.IntervalOID) {
			return c.refuse(refusal.DateStyle, "its text depends on the session's style",
				"SET DateStyle = 'ISO', or use to_char")
		}
	}
	return nil
}

// typedLiteral is a literal of unknown type, read as one that no expression on rows has.
func typedLiteral(e *Expr, oid uint32) (*Expr, error) {
	if !constantType(oid) {
		return nil, Refuse(refusal.Types, e.location, "constants of type "+pgresolve.Display(oid)+
			" are not supported on private rows", "")
	}
	out := newExpr(oid, e.location)
	out.verbatim, out.text, out.provisional = query.Raw(sqltext.Literal(*e.value.text)+"::"+out.typeName), e.text, true
	return out, nil
}
