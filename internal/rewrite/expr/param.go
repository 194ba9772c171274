package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// paramRef builds $n: a constant once its value is known, and provisional before.
func (b *builder) paramRef(p *pg_query.ParamRef) (*Expr, error) {
	n, loc := int(p.Number), int(p.Location)
	oid, value, known := b.scope.Parameter(n)
	if oid == 0 || oid == pgtype.UnknownOID {
		return nil, Refuse(refusal.Parameter, loc, fmt.Sprintf("the type of parameter $%d is not known", n),
			fmt.Sprintf("write a cast, such as $%d::integer", n))
	}
	if t := pgresolve.ElementType(oid); t != nil {
		return b.arrayParam(n, t.OID, value, known, loc)
	}
	if category, _ := pgresolve.Category(oid); category == 'E' {
		if b.typesOnly { // it prints its value, which is not known yet
			return nil, Refuse(refusal.Parameter, loc, fmt.Sprintf("parameter $%d is of a type that is not computed in advance",
				n), "")
		}
		return enumParam(n, oid, value, known, loc), nil
	}
	if !supported(oid) && !isRange(oid) {
		return nil, Refuse(refusal.Parameter, loc, fmt.Sprintf(
			"parameter $%d is of a type that is not supported on private rows", n),
			"cast the parameter to text, a number, a date or a boolean")
	}
	e := newExpr(oid, loc)
	switch {
	case !known:
		e.provisional, e.nullable = true, true
	case value == nil:
		e = nullExpr(oid, e.typeName, loc)
	default:
		c, err := readLiteral(oid, nil, *value)
		if err != nil {
			return nil, badLiteral(oid, pgresolve.Display(oid), *value, loc)
		}
		e = constantExpr(oid, c, loc)
	}
	e.param, e.text = n, fmt.Sprintf("$%d", n)
	return e, nil
}

// enumParam builds a parameter of an enum type. It prints as a literal, since the type's OID on main may be another;
// its labels are those of the column that it is compared with.
func enumParam(n int, oid uint32, value *string, known bool, loc int) *Expr {
	e := newExpr(oid, loc)
	e.labels, e.text, e.nullable = []string{}, fmt.Sprintf("$%d", n), true
	e.value = &constant{text: value}
	e.provisional = !known
	e.typeName = "pg_catalog.text"
	return e
}
