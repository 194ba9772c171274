package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// literal types a constant as make_const of parse_node.c does.
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
		return nil, Refuse(refusal.Types, loc, "number "+s+" is not supported",
			"write at most 1000 digits and an exponent of at most 3 digits")
	case *pg_query.A_Const_Boolval:
		return typed(pgtype.BoolOID, fmt.Sprint(v.Boolval.Boolval), loc)
	case *pg_query.A_Const_Sval:
		e := newExpr(pgtype.UnknownOID, loc)
		s := v.Sval.Sval
		e.value = &constant{text: &s}
		return e, nil
	case *pg_query.A_Const_Bsval:
		return nil, Refuse(refusal.Types, loc, "bit strings are not supported", "")
	}
	if c.Isnull {
		e := newExpr(pgtype.UnknownOID, loc)
		e.value, e.nullable = &constant{}, true
		return e, nil
	}
	return nil, Refuse(refusal.Types, loc, "this constant is not supported", "")
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
	return Refuse(refusal.Types, loc, fmt.Sprintf("%q is not a %s that dpproxy reads", text, typeName), hint)
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

func nullUnknown(loc int) *Expr {
	e := newExpr(pgtype.UnknownOID, loc)
	e.value, e.nullable, e.text = &constant{}, true, "NULL"
	return e
}
