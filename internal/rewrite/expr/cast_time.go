package expr

import (
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// timeCast converts between dates and times.
func (c *call) timeCast(out, x *Expr, to uint32) error {
	b := x.bounds
	stamp := func(r *big.Rat) *big.Rat { return bounds.Floor(quo(r, microsPerDay)) }
	if out.typmod >= 0 {
		return c.refuse(refusal.Cast, "times are not rounded to so many digits", "write date_trunc('second', x)")
	}
	switch from := x.typ; {
	case from == pgtype.DateOID && (to == pgtype.TimestampOID || to == pgtype.TimestamptzOID):
		out.bounds = b.Scale(microsPerDay)
		if to == pgtype.TimestamptzOID {
			out.bounds = out.bounds.Widen(zoneMax)
		}
		return c.boundedCast(out)
	case from == pgtype.TimestampOID && to == pgtype.DateOID:
		out.bounds = b.Map(stamp)
		c.castDays(out, x)
	case from == pgtype.TimestamptzOID && to == pgtype.DateOID:
		out.bounds = b.Widen(zoneMax).Map(stamp)
		c.castDays(out, x)
	case from == pgtype.TimestampOID && to == pgtype.TimestamptzOID, from == pgtype.TimestamptzOID &&
		to == pgtype.TimestampOID:
		out.bounds = b.Widen(zoneMax)
		if from == pgtype.TimestamptzOID {
			out.local = localsOf(x)
		}
		return c.boundedCast(out)
	case (from == pgtype.TimestampOID || from == pgtype.TimestamptzOID) && to == pgtype.TimeOID:
		out.bounds = dayRange
		_, err := c.finite()
		return err
	default:
		return c.refuse(refusal.Cast, fmt.Sprintf("a cast from %s to %s is not supported", pgresolve.Display(from),
			pgresolve.Display(to)), "")
	}
	return nil
}

// castDays lists the dates of local times.
func (c *call) castDays(out, x *Expr) {
	if r := localsOf(x); r != nil && x.bounds.Finite() {
		out.series = r.days(x.bounds)
	}
}

// boundedCast requires a result within the calendar's range; refusing an infinite one keeps it simple.
func (c *call) boundedCast(out *Expr) error {
	known, err := c.finite()
	if !known || err != nil {
		return err
	}
	if !micros(out).Within(timestampSafe) {
		return c.refuse(refusal.Overflow, "the result may lie out of range", "declare narrower bounds")
	}
	return nil
}
