package expr

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// Unify gives the columns of two branches of a set operation one type, as transformSetOperationTree does: an untyped
// literal takes the other side's type, and what is cast is proven to be castable. x and y are what the branches have to
// print, c is the column that holds the values of both, without Ref and Source.
func Unify(scope Scope, l, r *Expr) (x, y *Expr, c *Column, err error) {
	both := []*Expr{l.asWritten(), r.asWritten()}
	if l.untyped || r.untyped || l.typ != r.typ || l.typmod != r.typmod {
		if both, err = newBuilder(scope).common("a set operation", both, r.location); err != nil {
			return nil, nil, nil, err
		}
	}
	x, y = both[0], both[1]
	e, err := merged(&call{args: both, loc: r.location, text: l.Text()}, both)
	if err != nil {
		return nil, nil, nil, err
	}
	c = e.AsColumn(nil, l.Text())
	heldX, okX := x.heldBounds()
	heldY, okY := y.heldBounds()
	c.setHeldBounds(heldX.Hull(heldY), okX && okY)
	if x.ReadsBeyond() || y.ReadsBeyond() {
		c.Reach(heldX.Hull(heldY), x.Listed().Hull(y.Listed()))
	}
	if x.col != nil && x.typ == x.col.Type {
		c.Base, c.BaseTypmod = x.col.Base, x.col.BaseTypmod
	}
	if x.col != nil && y.col != nil && x.col.isRange() && y.col.isRange() {
		c.Bounds = x.col.Bounds.Hull(y.col.Bounds)
	}
	c.choices, c.Within = both, MergeOutOfBounds(x.Within(), y.Within())
	c.OutOfBounds, c.Nearest = MergeOutOfBounds(x.Clamped(), y.Clamped()), MergeOutOfBounds(x.Computed(), y.Computed())
	if x == l && y == r && l.col != nil && r.col != nil && l.col.Domain != nil && r.col.Domain != nil {
		c.Domain = slices.Concat(l.col.Domain, r.col.Domain)
		slices.Sort(c.Domain)
		c.Domain = slices.Compact(c.Domain)
	}
	return x, y, c, nil
}

// asWritten undoes that an untyped literal was taken for text.
func (e *Expr) asWritten() *Expr {
	if !e.untyped {
		return e
	}
	out := newExpr(pgtype.UnknownOID, e.location)
	out.value, out.nullable, out.text = e.value, e.nullable, e.text
	return out
}
