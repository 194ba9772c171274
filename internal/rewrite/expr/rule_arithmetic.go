package expr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var arithmeticRules = []rule{
	{
		names: "+ - * /", args: "int2|int4|int8,int2|int4|int8", total: "bounds prove that the result fits; divisor 0: NULL",
		apply: intArith,
	},
	{names: "% mod", args: "int2,int2 int4,int4 int8,int8", total: "divisor 0: NULL", apply: remainder},
	{names: "+ - *", args: "numeric,numeric", total: "bounded operands", bounded: true, apply: numericArith},
	{
		names: "+ - *", args: "float4|float8,float4|float8",
		total: "bounded operands; bounds prove that nothing overflows or underflows", bounded: true, apply: floatArith,
	},
	{names: "/ div", args: "numeric,numeric", total: numericDivisor, bounded: true, apply: numericQuo},
	{names: "% mod", args: "numeric,numeric", total: numericDivisor, bounded: true, apply: remainder},
	{
		names: "/", args: "float4|float8,float4|float8",
		total: "bounded operands; 0 outside the divisor's bounds, or an operand of a comparison (0: NULL)", bounded: true,
		apply: floatQuo,
	},
	{names: "-", args: "int2|int4|int8", total: "bounds prove that the result fits", apply: image(bounds.Interval.Neg)},
	{
		names: "-", args: "numeric|float4|float8", total: "bounded operand", bounded: true,
		apply: image(bounds.Interval.Neg),
	},
	{
		names: "abs", args: "int2|int4|int8|numeric|float4|float8", total: "bounds prove that the result fits",
		apply: image(bounds.Interval.Abs),
	},
	{names: "sign", args: "numeric|float8", total: "always", apply: sign},
}

const numericDivisor = "bounded operands; 0 outside the divisor's bounds, or a divisor with a fixed number of digits (0: NULL)"

// quanta gives the largest quantum of float arguments, which is known once they are read (see Expr.Read).
func quanta(args []*Expr) (int, bool) {
	q := 0
	for _, a := range args {
		if a.quantum < 0 {
			return 0, false
		}
		q = max(q, a.quantum)
	}
	return q, true
}

// operate applies + − × to intervals.
func operate(op string, a, b bounds.Interval) bounds.Interval {
	switch op {
	case "+":
		return a.Add(b)
	case "-":
		return a.Sub(b)
	}
	return a.Mul(b)
}

// intArith: the result type is the wider operand's; overflow raises.
func intArith(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	var limits, safe bounds.Interval
	if c.cand.Name == "/" {
		divisor, err := c.divisor(e)
		if err != nil {
			return err
		}
		if !y.nonzero && y.safe().Contains(bounds.Zero) {
			e.nullable = true
		}
		limits, safe = x.bounds.QuoApart(divisor, bounds.One).Trunc(), x.safe().QuoApart(divisor, bounds.One).Trunc()
		if share, ok := x.ratioBounds(y); ok && !limits.Intersect(share.Trunc()).Empty() {
			limits = limits.Intersect(share.Trunc())
		}
	} else {
		limits, safe = operate(c.cand.Name, x.bounds, y.bounds), operate(c.cand.Name, x.safe(), y.safe())
		limits = c.spanned(limits)
	}
	if e.provisional || isNull(x) || isNull(y) {
		return nil
	}
	if !safe.Within(intRange(e.typ)) {
		return c.refuse(refusal.Overflow, fmt.Sprintf("it may overflow %s, as it may be anything in %s",
			pgresolve.Display(e.typ), safe),
			"only columns with declared bounds can be computed with; or cast an operand to bigint or numeric")
	}
	e.bounds = limits
	e.nonzero = c.cand.Name == "*" && x.nonzero && y.nonzero
	return nil
}

func isNull(e *Expr) bool { return e.value != nil && e.value.items == nil && e.value.text == nil }

// divisor rewrites a division whose divisor may be 0 to x / NULLIF(y, 0), and gives the divisor's bounds. It is for
// types whose values have a least distance from 0; a float that is not 0 may be as small as it likes.
func (c *call) divisor(e *Expr) (bounds.Interval, error) {
	y := c.args[1]
	b := y.safe()
	if y.provisional || isNull(y) || !b.Contains(bounds.Zero) {
		return b, nil
	}
	if b.Finite() && b.Lo.Sign() == 0 && b.Hi.Sign() == 0 {
		return b, c.refuse(refusal.Division, y.Text()+" is always 0", "")
	}
	if y.granule() == nil {
		return b, c.refuse(refusal.Division, "0 lies within the bounds "+b.String()+" of "+y.Text(),
			atLeast(c.args[0].Text(), y.Text()))
	}
	if !y.nonzero {
		zero := "0::" + pgresolve.Qualified(y.typ, -1)
		e.tmpl = strings.ReplaceAll(e.tmpl, "{1}", "NULLIF({1}, "+zero+")")
	}
	return b, nil
}

// remainder: the sign of the dividend, smaller than the divisor.
func remainder(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	if e.typ == pgtype.NumericOID {
		e.scale = merge(x.scale, y.scale)
	}
	if _, err := c.divisor(e); err != nil {
		return err
	}
	if !y.nonzero && y.safe().Contains(bounds.Zero) {
		e.nullable = true
	}
	if e.provisional || isNull(x) || isNull(y) {
		return nil
	}
	most := y.safe().Abs().Hi
	if pgresolve.IsInt(e.typ) {
		most = sub(most, bounds.One)
	}
	e.bounds = bounds.New(neg(most), most)
	if i := x.bounds; i.Lo != nil {
		e.bounds.Lo = bounds.Max(e.bounds.Lo, bounds.Min(i.Lo, bounds.Zero))
	}
	if i := x.bounds; i.Hi != nil {
		e.bounds.Hi = bounds.Min(e.bounds.Hi, bounds.Max(i.Hi, bounds.Zero))
	}
	return nil
}

// numericArith is exact while digits are few; beyond 16383 digits after the point PostgreSQL rounds.
func numericArith(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	switch {
	case x.scale < 0 || y.scale < 0:
	case c.cand.Name == "*":
		e.scale = x.scale + y.scale
	default:
		e.scale = max(x.scale, y.scale)
	}
	e.bounds = c.spanned(operate(c.cand.Name, x.bounds, y.bounds)).Short()
	e.nonzero = c.cand.Name == "*" && x.nonzero && y.nonzero && e.scale >= 0 && e.scale < 16000
	return c.sized(e)
}

// mostDigits bounds the size of numerics, far below PostgreSQL's 131072 digits, so that no operation is slow.
const mostDigits = 1000

func (c *call) sized(e *Expr) error {
	if limit := bounds.Pow10(mostDigits); e.bounds.Lo.Cmp(neg(limit)) < 0 || e.bounds.Hi.Cmp(limit) > 0 {
		return c.refuse(refusal.Overflow, fmt.Sprintf("it may have more than %d digits", mostDigits), "")
	}
	return nil
}

// numericQuo: quotients have at least 16 significant digits (numeric.c, select_div_scale), and are rounded to them.
func numericQuo(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	b, err := c.divisor(e)
	if err != nil {
		return err
	}
	least := bounds.One
	if b.Contains(bounds.Zero) {
		least = y.granule()
		e.nullable = e.nullable || !y.nonzero
	}
	e.bounds = x.bounds.QuoApart(b, least)
	if share, ok := x.ratioBounds(y); ok && !e.bounds.Intersect(share).Empty() {
		e.bounds = e.bounds.Intersect(share)
	}
	if c.cand.Name == "div" {
		e.bounds, e.scale = e.bounds.Trunc(), 0
	} else {
		whole := bounds.New(bounds.Floor(e.bounds.Lo), bounds.Ceil(e.bounds.Hi)) // rounding takes nothing past a whole number
		e.bounds = e.bounds.WidenRelative(bounds.Pow10(-12)).Widen(bounds.Pow10(-16)).Short().Intersect(whole)
	}
	return c.sized(e)
}

// floatArith rounds as the type does. A sum of multiples of 2^-q is one too; a product is a multiple of 2^-(q+r).
func floatArith(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	q, ok := quanta(c.args)
	if ok {
		e.quantum = q
	}
	if c.cand.Name == "*" {
		if !ok || x.quantum+y.quantum > leastQuantum(e.typ) {
			return c.refuse(refusal.Overflow, "it may underflow "+pgresolve.Display(e.typ), "cast the operands to numeric")
		}
		e.quantum = x.quantum + y.quantum
		e.nonzero = x.nonzero && y.nonzero
	}
	e.bounds, ok = roundFloats(operate(c.cand.Name, x.bounds, y.bounds), e.typ)
	if !ok {
		return c.refuse(refusal.Overflow, "it may overflow "+pgresolve.Display(e.typ), "")
	}
	return nil
}

// atLeast writes a quotient of a divisor that is kept from 0.
func atLeast(x, y string) string {
	if strings.Contains(x, " ") {
		x = "(" + x + ")"
	}
	if strings.Contains(y, " ") {
		y = "(" + y + ")"
	}
	return fmt.Sprintf(
		"write CASE WHEN %s > 0.01 THEN %s / %s END with the least divisor that matters, or divide by GREATEST(%s, 0.01)", y,
		x, y, y)
}

func floatQuo(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1]
	least, zero := bounds.One, y.bounds.Contains(bounds.Zero)
	if zero && c.b.apart && y.quantum >= 0 && (y.bounds.Lo.Sign() != 0 || y.bounds.Hi.Sign() != 0) {
		least = bounds.Pow2(-y.quantum) // nothing but 0 is nearer to 0
		if !y.nonzero {
			e.tmpl, e.nullable = strings.ReplaceAll(e.tmpl, "{1}", "NULLIF({1}, "+floatLiteral(y.typ, bounds.Zero)+")"), true
		}
	} else if zero {
		return c.refuse(refusal.Division, "0 lies within the bounds "+y.bounds.String()+" of "+y.Text(),
			atLeast(c.args[0].Text(), y.Text()))
	}
	if x.quantum < 0 {
		return c.refuse(refusal.Overflow, "it may underflow "+pgresolve.Display(e.typ), "cast the operands to numeric")
	}
	e.quantum = floatQuantum(quo(bounds.Pow2(-x.quantum), bounds.Max(y.bounds.Abs().Hi, bounds.One)), e.typ)
	var ok bool
	if e.bounds, ok = roundFloats(x.bounds.QuoApart(y.bounds, least), e.typ); !ok || e.quantum > leastQuantum(e.typ) {
		return c.refuse(refusal.Overflow, "it may overflow or underflow "+pgresolve.Display(e.typ), "")
	}
	e.nonzero = x.nonzero
	return nil
}

// image makes the rule of an operation that keeps digits, and takes bounds as f does. NaN it leaves as it is, whatever
// its sign.
func image(f func(bounds.Interval) bounds.Interval) func(*call, *Expr) error {
	return func(c *call, e *Expr) error {
		x := c.args[0]
		e.scale, e.quantum, e.nonzero = x.scale, x.quantum, x.nonzero
		if pgresolve.IsInt(e.typ) || x.bounds.Finite() {
			e.bounds = f(x.bounds)
		}
		if pgresolve.IsInt(e.typ) && !e.provisional && !f(x.safe()).Within(intRange(e.typ)) {
			return c.refuse(refusal.Overflow, "it may overflow "+pgresolve.Display(e.typ),
				"only columns with declared bounds can be computed with; or cast to numeric")
		}
		return nil
	}
}

// sign of NaN is NaN.
func sign(c *call, e *Expr) error {
	x := c.args[0]
	e.scale, e.quantum = 0, 0
	if pgresolve.IsFloat(e.typ) {
		e.scale = -1
	}
	if x.bounds.Finite() {
		e.bounds = x.bounds.Map(func(r *big.Rat) *big.Rat { return rat(int64(r.Sign())) })
		e.nonzero = x.nonzero
	}
	return nil
}
