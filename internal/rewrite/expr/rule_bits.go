package expr

import (
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var bitRules = []rule{
	{names: "& | #", args: "int2,int2 int4,int4 int8,int8", total: "always", apply: bitwise},
	{names: "~", args: "int2|int4|int8", total: "always", apply: complement},
	{names: "<< >>", args: "int2|int4|int8,int4", total: "a shift from 0 to 62 that is less than the type's width; bounds prove that the result fits", apply: shift},
	{names: "to_hex", args: "int4|int8", total: "always", apply: hexadecimal},
}

// bitwise bounds & | #: no result has more bits than the operands. Where one side of & is not negative, the result lies between 0 and it.
func bitwise(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	x, y := c.args[0].bounds, c.args[1].bounds
	if c.cand.Name == "&" {
		for _, i := range []bounds.Interval{x, y} {
			if i.Lo != nil && i.Lo.Sign() >= 0 {
				e.bounds = e.bounds.Intersect(bounds.New(bounds.Zero, i.Hi))
			}
		}
		if e.bounds.Lo != nil {
			return e, nil
		}
	}
	if !x.Finite() || !y.Finite() {
		return e, nil
	}
	most := bounds.Max(x.Abs().Hi, y.Abs().Hi)
	limit := bounds.Pow2(most.Num().BitLen())
	e.bounds = bounds.New(neg(limit), sub(limit, bounds.One))
	if x.Lo.Sign() >= 0 && y.Lo.Sign() >= 0 {
		e.bounds.Lo = bounds.Zero
	}
	return e, nil
}

// complement bounds ~x, which is −x − 1.
func complement(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	e.bounds = c.args[0].bounds.Neg().Map(func(r *big.Rat) *big.Rat { return sub(r, bounds.One) })
	return e, nil
}

// shift multiplies or divides by a power of two. By the type's width or more, or by less than 0, the processor decides.
func shift(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	x, n := c.args[0], c.args[1]
	if x.provisional || n.provisional || isNull(x) || isNull(n) {
		return e, nil
	}
	width := intRange(e.typ).Hi.Num().BitLen()
	if !n.safe().Within(bounds.Between(0, int64(width)-1)) {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the shift may lie outside 0 to %d", width-1), "write a constant, or LEAST(GREATEST(n, 0), 30)")
	}
	least, most := bounds.Pow2(int(n.safe().Lo.Num().Int64())), bounds.Pow2(int(n.safe().Hi.Num().Int64()))
	if c.cand.Name == ">>" {
		e.bounds = x.bounds.Mul(bounds.New(quo(bounds.One, most), quo(bounds.One, least))).Map(bounds.Floor)
		return e, nil
	}
	safe := x.safe().Mul(bounds.New(least, most))
	if !safe.Within(intRange(e.typ)) {
		return nil, c.refuse(refusal.Overflow, fmt.Sprintf("it may overflow %s, as it may be anything in %s", pgresolve.Display(e.typ), safe), "only columns with declared bounds can be computed with; or cast to bigint")
	}
	e.bounds = x.bounds.Mul(bounds.New(least, most))
	return e, nil
}

func hexadecimal(c *call) (*Expr, error) {
	e := c.result(pgtype.TextOID)
	e.maxLen = 16
	return e, nil
}
