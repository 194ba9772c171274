package expr

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// ratioBounds bounds the quotient of two expressions by what is known of parts and wholes (docs/privacy.md P8d): e /
// divisor lies in it wherever both have values and the divisor is not 0.
func (e *Expr) ratioBounds(divisor *Expr) (bounds.Interval, bool) {
	for divisor.exactCast() || strings.HasPrefix(divisor.tmpl, "NULLIF(") {
		divisor = divisor.args[0]
	}
	if divisor.col == nil || !divisor.col.isWhole() {
		return bounds.Interval{}, false
	}
	held, _ := (&Expr{col: divisor.col}).heldBounds()
	if divisor.clamp && (divisor.bounds.Hi == nil || divisor.bounds.Hi.Cmp(held.Hi) < 0) {
		return bounds.Interval{}, false // what is read may be less than the whole
	}
	return e.ratioTo(divisor)
}

// ratioTo is an interval S with e in S × whole. The whole is read at least as large as it is, and is not negative.
func (e *Expr) ratioTo(whole *Expr) (bounds.Interval, bool) {
	none := bounds.Interval{}
	of := func(i int) (bounds.Interval, bool) { return e.args[i].ratioTo(whole) }
	switch {
	case e.col != nil:
		held, enforced := (&Expr{col: e.col}).heldBounds()
		same := query.Equal(e.col.Ref, whole.col.Ref)
		part := enforced && held.Finite() && slices.ContainsFunc(e.col.PartOf, func(w query.Scalar) bool {
			return query.Equal(w, whole.col.Ref)
		})
		if !same && !part || e.clamp && (e.bounds.Lo == nil || e.bounds.Lo.Cmp(held.Lo) > 0) {
			return none, false // what is read may be more than the part
		}
		return bounds.Between(0, 1), true
	case e.exactCast():
		return of(0)
	case e.value != nil:
		return bounds.Between(0, 0), e.bounds.Finite() && e.bounds.Lo.Sign() == 0 && e.bounds.Hi.Sign() == 0
	case strings.HasPrefix(e.tmpl, "COALESCE("):
		share, ok := of(0)
		for i := 1; ok && i < len(e.args); i++ {
			var next bounds.Interval
			next, ok = of(i)
			share = share.Hull(next)
		}
		return share, ok
	// exact
	case e.tmpl == timesTemplate && (pgresolve.IsInt(e.typ) || e.typ == pgtype.NumericOID && e.scale >= 0 &&
		e.scale < 16000):
		for i, factor := range e.args {
			if factor.value != nil && factor.bounds.Finite() {
				share, ok := of(1 - i)
				return share.Mul(factor.bounds), ok
			}
		}
	}
	return none, false
}

// isWhole says that a column's values are known to lie between 0 and some number.
func (c *Column) isWhole() bool {
	held, enforced := (&Expr{col: c}).heldBounds()
	return enforced && held.Finite() && held.Lo.Sign() >= 0
}
