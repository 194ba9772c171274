package expr

import (
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Read gives the expression as an operand: a domain's value as its base type, a bounded column clamped to its bounds, a
// float column with tiny values flushed to zero. Anything but a bare column is returned as it is. Whoever aggregates or
// derives a column prints Read().SQL() where values outside the bounds must not pass.
func (e *Expr) Read() *Expr {
	if e.read != nil {
		return e.read
	}
	if e.col == nil || e.clamp {
		return e
	}
	out := *e.relabelled()
	if out.bounds.Open() && !pgresolve.IsFloat(out.typ) {
		return &out
	}
	out.clamp = true
	if pgresolve.IsFloat(out.typ) && out.bounds.Finite() && !out.bounds.Contains(bounds.Zero) {
		least := out.bounds.Abs().Lo
		out.quantum, out.nonzero = floatQuantum(least, out.typ), true
		return &out
	}
	if pgresolve.IsFloat(out.typ) {
		out.flush = true
		out.quantum = flushExponent(out.typ) + 52
		if out.typ == pgtype.Float4OID {
			out.quantum = flushExponent(out.typ) + 23
		}
		out.bounds = out.bounds.Hull(out.bounds.Map(func(r *big.Rat) *big.Rat { return flushed(r, out.typ) }))
		out.nonzero = false
	}
	return &out
}

// relabelled gives a domain's value as its base type.
func (e *Expr) relabelled() *Expr {
	if e.col == nil || e.col.Base == 0 || e.typ != e.col.Type {
		return e
	}
	out := *e
	out.typ, out.typmod = e.col.Base, e.col.BaseTypmod
	out.typeName = pgresolve.Qualified(out.typ, -1)
	return &out
}

// safe holds every value: the bounds, or the type's range.
func (e *Expr) safe() bounds.Interval { return filled(e.baseType(), e.bounds) }

// unclamped holds every value of what is compared as it is: bounds that are only declared hold none.
func (e *Expr) unclamped() bounds.Interval {
	i, _ := e.heldBounds()
	return filled(e.baseType(), i)
}

// filled fills the open ends with those of an integer type's range.
func filled(oid uint32, i bounds.Interval) bounds.Interval {
	if pgresolve.IsInt(oid) {
		return i.Fill(intRange(oid))
	}
	return i
}

// representable moves bounds to values that the type has: inwards for whole units, to the nearest for floats.
func representable(oid uint32, i bounds.Interval) bounds.Interval {
	switch {
	case pgresolve.IsInt(oid):
		return inward(i).Intersect(intRange(oid).OpenLike(i))
	case oid == pgtype.DateOID, oid == pgtype.TimeOID, oid == pgtype.TimestampOID, oid == pgtype.TimestamptzOID,
		oid == pgtype.IntervalOID:
		return inward(i)
	case pgresolve.IsFloat(oid):
		out := bounds.Interval{}
		if i.Lo != nil {
			out.Lo, _ = roundFloat(i.Lo, oid)
		}
		if i.Hi != nil {
			out.Hi, _ = roundFloat(i.Hi, oid)
		}
		return out
	}
	return i.Short()
}

// inward moves bounds to whole numbers, where there is one between them.
func inward(i bounds.Interval) bounds.Interval {
	out := i
	if i.Lo != nil {
		out.Lo = bounds.Ceil(i.Lo)
	}
	if i.Hi != nil {
		out.Hi = bounds.Floor(i.Hi)
	}
	if out.Empty() {
		return i
	}
	return out
}

// narrowed gives the column under a condition. A contradiction leaves the bounds alone: no row gets there.
func (e *Expr) narrowed(n Narrowing) *Expr {
	out := *e
	if e.inUnits() {
		left := n.set.intersect(valueSet{segments: []segment{between(e.bounds)}})
		if limits := e.bounds.Intersect(representable(e.baseType(), left.hull(e.granule()))); !limits.Empty() {
			out.bounds = limits
		}
	}
	if n.NotNull {
		out.nullable, out.nullBefore = false, false // no other row gets into the branch of a CASE
	}
	return &out
}

// granule gives the least distance of two values; nil: unknown.
func (e *Expr) granule() *big.Rat {
	base := e.baseType()
	switch {
	case base == pgtype.TimestampOID || base == pgtype.TimestamptzOID || base == pgtype.DateOID:
		return bounds.One
	case (pgresolve.IsInt(base) || base == pgtype.NumericOID) && e.scale >= 0:
		return bounds.Pow10(-e.scale)
	}
	return nil
}
