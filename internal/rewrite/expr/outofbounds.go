package expr

import (
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// OutOfBounds is a column of the policy with bounds, of which rows may have values beyond them.
type OutOfBounds struct {
	Table, Column string
	Scan          *query.Alias // of the table: a join of it with itself reads values of two rows
	Share         *float64     // of the rows, at most, as the administrator vouches; nil: nobody knows
}

// Possible says that rows may have values beyond the bounds.
func (o OutOfBounds) Possible() bool { return o.Share == nil || *o.Share > 0 }

// OutOfBounds lists the columns of which the expression may have the nearest bound in place of a value: those that it
// reads clamped, those that it reads where they were computed of such, and the column that it is, which whoever
// computes with it clamps.
func (e *Expr) OutOfBounds() []OutOfBounds { return MergeOutOfBounds(e.Clamped(), e.Computed()) }

// Clamped lists those of which Inside can tell: that the expression clamps, or is, or that a column was computed of
// which says so.
func (e *Expr) Clamped() []OutOfBounds {
	return e.outOfBounds(func(x *Expr) bool { return x.col.InBounds != nil || !x.col.Enforced && (x == e || x.clamp) })
}

// Computed lists those that were clamped where a column was computed which does not say where.
func (e *Expr) Computed() (out []OutOfBounds) {
	e.walk(func(x *Expr) bool {
		if x.col != nil {
			out = MergeOutOfBounds(out, x.col.Nearest)
		}
		return true
	})
	return MergeOutOfBounds(out, e.outOfBounds(func(x *Expr) bool { return x.col.Enforced && x.col.InBounds == nil }))
}

// Within lists those of which no row that is left has a value beyond: a subquery has merged or compared rows by what it
// computes of them.
func (e *Expr) Within() (out []OutOfBounds) {
	for _, c := range e.Columns() {
		out = MergeOutOfBounds(out, c.Within)
	}
	return out
}

func (e *Expr) outOfBounds(of func(*Expr) bool) (out []OutOfBounds) {
	e.walk(func(x *Expr) bool {
		if x.col != nil && of(x) {
			out = MergeOutOfBounds(out, x.col.OutOfBounds)
		}
		return true
	})
	return out
}

// MergeOutOfBounds lists the columns of several lists, each once.
func MergeOutOfBounds(lists ...[]OutOfBounds) (out []OutOfBounds) {
	for _, o := range slices.Concat(lists...) {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// OutOfBoundsShare bounds the share of rows with a value beyond the bounds of any of the columns; nil: nobody knows.
func OutOfBoundsShare(columns []OutOfBounds) *float64 {
	kept := 1.0
	for _, c := range columns {
		if c.Share == nil {
			return nil
		}
		kept *= 1 - *c.Share
	}
	share := 1 - kept
	return &share
}

// Inside prints conditions which say that no value that the expression reads clamped lies beyond the bounds of its
// column (docs/privacy.md P3b). Where none can, there are no conditions.
func (e *Expr) Inside() (out []query.Scalar) {
	e.walk(func(x *Expr) bool {
		if x.clamp || x.col != nil && x.col.InBounds != nil {
			out = append(out, x.col.Inside()...)
		}
		return true
	})
	return out
}

// AllInside prints Inside as one condition of a row; nil: there is none.
func (e *Expr) AllInside() query.Scalar { return query.All(query.Sorted(e.Inside())...) }

// InsideOf prints for the rows of two branches of a column whether that which is read clamped in one of them is within
// bounds. Nil: nothing is, and whoever reads the column clamped asks it itself.
func InsideOf(x, y *Expr) (insideX, insideY query.Scalar) {
	if len(x.Inside())+len(y.Inside()) == 0 {
		return nil, nil
	}
	return x.insideBranch(), y.insideBranch()
}

// insideBranch is AllInside; of a bare column it asks what is stored.
func (e *Expr) insideBranch() query.Scalar {
	inside := e.Inside()
	if len(inside) == 0 && e.col != nil {
		inside = e.col.Inside()
	}
	if len(inside) == 0 {
		return query.Raw("true")
	}
	return query.All(query.Sorted(inside)...)
}

// InsideWork is the work of these conditions for a row: two comparisons with each column.
func (e *Expr) InsideWork() (w Work) {
	e.walk(func(x *Expr) bool {
		if x.clamp || x.col != nil && x.col.InBounds != nil {
			w = w.Plus(x.col.read().Plus(Work{Row: x.typeSteps()}).Repeated(2))
		}
		return true
	})
	return w
}

// Inside prints that a value does not lie beyond the column's bounds. NULL does not; NaN, which is above every number,
// and infinity do. The bounds are those of the column wherever it is read, not those that a branch of a CASE leaves.
// Where an outer join has added the row, there is no value.
func (c *Column) Inside() []query.Scalar {
	if c.InBounds != nil {
		return []query.Scalar{query.F("({} IS NOT FALSE)", c.InBounds)}
	}
	if c.Enforced || len(c.OutOfBounds) == 0 || c.Bounds.Open() {
		return nil
	}
	e := columnExpr(c, -1).relabelled()
	value := (&printer{}).column(e)
	literal := func(r *big.Rat, up bool) string { return boundLiteral(e, r, up) }
	if e.typ == pgtype.IntervalOID { // as intervalRead compares it
		value, literal = epochOf(value), func(r *big.Rat, _ bool) string { return epochLiteral(r) }
	}
	var beyond []query.Scalar
	if lo := e.bounds.Lo; lo != nil {
		beyond = append(beyond, query.F("{} OPERATOR(pg_catalog.<) {}", value, literal(lo, false)))
	}
	if hi := e.bounds.Hi; hi != nil {
		beyond = append(beyond, query.F("{} OPERATOR(pg_catalog.>) {}", value, literal(hi, true)))
	}
	return []query.Scalar{query.F("(({}) IS NOT TRUE)", query.List{Between: " OR ", Of: beyond})}
}

// stored gives an operand of a comparison as it is of the values that the columns have, where it raises for none of
// them; else the operand itself. Of such values nothing is known: it has no bounds. Read gives the operand back, for
// whoever computes with it.
func (e *Expr) stored() *Expr {
	if e.col != nil || len(e.Clamped()) == 0 || !rawSafe(e) && plainColumn(e) == nil && !e.fieldOfDay() {
		return e
	}
	out := e.unread()
	out.read = e
	return out
}

// fieldOfDay says that the expression is a field of a column, by a function that has a value, or none, for every day
// and infinity. That of a timestamp with time zone may be out of range in a zone, and date_part makes a timestamp of a
// date.
func (e *Expr) fieldOfDay() bool {
	if len(e.args) != 2 || e.tmpl != functionTemplate("extract", 2) {
		return false
	}
	x := e.args[1]
	return x.col != nil && (x.typ == pgtype.DateOID || x.typ == pgtype.TimestampOID)
}

// unread copies an expression, with the columns in it as they are.
func (e *Expr) unread() *Expr {
	out := *e
	if e.col != nil {
		out.clamp, out.flush = false, false
		return &out
	}
	if e.value == nil {
		out.bounds, out.quantum, out.nonzero, out.series, out.weight = bounds.Interval{}, -1, false, nil, 0
		out.nullable = e.nullable || e.fieldOfDay() // infinity has no month
	}
	out.args = make([]*Expr, len(e.args))
	for i, a := range e.args {
		out.args[i] = a.unread()
	}
	return &out
}
