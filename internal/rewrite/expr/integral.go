package expr

import (
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// integral prints a numeric expression as integer arithmetic: an integer within bounds that counts steps of 10^-scale.
type integral struct {
	sql    query.Scalar
	scale  int
	bounds bounds.Interval
	typ    uint32 // int4 or int8, by bounds
}

// Convert names the column that holds sql, which is costly to compute or not.
type Convert func(sql query.Scalar, costly bool) query.Scalar

// Over is the argument (as Unguarded does, wrong for NULL) from integers that are made of columns beforehand, so that
// several arguments can share them: convert is given the SQL of each, whether it is costly to compute, and returns its
// name.
//
// Sums, differences and products of numeric(p,s) columns become integer arithmetic over the converted columns. It
// clamps every column to its bounds, not the whole: the result is the same for rows within them, and lies in [Lo, Hi]
// for all.
func (m *Measure) Over(convert Convert) query.Scalar {
	if m.isIntegral() {
		i, _ := m.arg.integral(convert)
		if i.typ == m.Type {
			return i.sql
		}
		return query.F("({})::{}", i.sql, pgresolve.Qualified(m.Type, -1))
	}
	return convert(m.Unguarded, !pgresolve.IsInt(m.arg.typ) && m.arg.typ != pgtype.BoolOID)
}

// isIntegral reports whether there is an integer form of more than one column's conversion, on the measure's grid.
func (m *Measure) isIntegral() bool {
	if m.arg.col != nil {
		return false
	}
	i, ok := m.arg.integral(func(sql query.Scalar, _ bool) query.Scalar { return sql })
	return ok && bounds.Pow10(-i.scale).Cmp(m.Step) == 0 && i.bounds.Within(bounds.Between(m.Lo, m.Hi))
}

// integral finds the integer form; not ok where there is none, or no proof that it fits.
func (e *Expr) integral(convert Convert) (_ integral, ok bool) {
	switch {
	case !rawSafe(e):
		return integral{}, false
	case e.col != nil:
		return e.relabelled().integralColumn(convert)
	case e.value != nil:
		if e.scale < 0 || !e.bounds.Finite() || e.bounds.Width().Sign() != 0 {
			return integral{}, false
		}
		return constantIntegral(mul(e.bounds.Lo, bounds.Pow10(e.scale)), e.scale)
	case e.tmpl == castTemplate:
		return e.args[0].integral(convert)
	}
	a, ok := e.args[0].integral(convert)
	if !ok {
		return integral{}, false
	}
	b, ok := e.args[1].integral(convert)
	if !ok {
		return integral{}, false
	}
	switch e.tmpl {
	case timesTemplate:
		return combined("*", a, b, a.scale+b.scale, a.bounds.Mul(b.bounds))
	case plusTemplate, minusTemplate:
		scale := max(a.scale, b.scale)
		if a, ok = a.rescaled(scale); !ok {
			return integral{}, false
		}
		if b, ok = b.rescaled(scale); !ok {
			return integral{}, false
		}
		if e.tmpl == plusTemplate {
			return combined("+", a, b, scale, a.bounds.Add(b.bounds))
		}
		return combined("-", a, b, scale, a.bounds.Sub(b.bounds))
	}
	return integral{}, false
}

// integralColumn converts a column on the grid of its type's scale.
func (e *Expr) integralColumn(convert Convert) (integral, bool) {
	if !e.bounds.Finite() || e.bounds.Empty() || e.scale < 0 {
		return integral{}, false
	}
	i := integral{scale: e.scale, bounds: e.bounds.Scale(bounds.Pow10(e.scale))}
	if !i.bounds.Lo.IsInt() || !i.bounds.Hi.IsInt() || !i.typed() {
		return integral{}, false
	}
	m, err := Measured(e, GridRule{Step: bounds.Pow10(-e.scale)})
	if err != nil || m.Type != i.typ {
		return integral{}, false
	}
	i.sql = convert(m.Unguarded, !pgresolve.IsInt(e.typ))
	return i, true
}

// rescaled counts finer steps.
func (i integral) rescaled(scale int) (integral, bool) {
	if scale == i.scale {
		return i, true
	}
	factor, ok := constantIntegral(bounds.Pow10(scale-i.scale), 0)
	if i.bounds.Width().Sign() == 0 {
		return constantIntegral(mul(i.bounds.Lo, factor.bounds.Lo), scale)
	}
	if !ok {
		return integral{}, false
	}
	return combined("*", i, factor, scale, i.bounds.Mul(factor.bounds))
}

// constantIntegral makes a constant that counts steps.
func constantIntegral(steps *big.Rat, scale int) (integral, bool) {
	i := integral{scale: scale, bounds: bounds.Point(steps)}
	if !steps.IsInt() || !i.typed() {
		return integral{}, false
	}
	i.sql = query.Raw(valueLiteral(i.typ, steps, false))
	return i, true
}

// combined applies an operator whose result has the given bounds. Neither operand nor result overflows the type that it
// runs in.
func combined(op string, a, b integral, scale int, limits bounds.Interval) (integral, bool) {
	out := integral{scale: scale, bounds: limits}
	if !out.typed() {
		return integral{}, false
	}
	if out.typ == pgtype.Int8OID && a.typ == pgtype.Int4OID {
		a.sql = query.F("({})::{}", a.sql, pgresolve.Qualified(pgtype.Int8OID, -1))
	}
	out.sql = query.F("({} OPERATOR(pg_catalog.{}) {})", a.sql, op, b.sql)
	if a.typ == pgtype.Int8OID || b.typ == pgtype.Int8OID { // the operator's own type
		out.typ = pgtype.Int8OID
	}
	return out, true
}

// typed chooses the type that holds the bounds.
func (i *integral) typed() bool {
	i.typ = pgtype.Int8OID
	if i.bounds.Within(intRange(pgtype.Int4OID)) {
		i.typ = pgtype.Int4OID
	}
	return i.bounds.Abs().Hi.Cmp(maxSteps) <= 0
}
