package expr

import (
	"fmt"
	"math"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var mathRules = []rule{
	{
		names: "floor ceil ceiling round trunc", args: "numeric|float8",
		total: "a numeric column without bounds and precision is read within ±10^100; an expression of such columns has to have bounds", apply: floorCeil,
	},
	{
		names: "round trunc", args: "numeric,int4", total: "a constant number of digits; a numeric as for round",
		constants: []string{"", "the number of digits"}, apply: roundDigits,
	},
	{names: "sqrt", args: "float8|numeric", total: "bounds prove an argument ≥ 0", bounded: true, apply: squareRoot},
	{
		names: "ln", args: "float8|numeric", total: "bounds prove an argument > 0", bounded: true, cost: cost{series: true},
		apply: monotone(math.Log, positive),
	},
	{
		names: "log log10", args: "float8|numeric", total: "bounds prove an argument > 0", bounded: true,
		cost: cost{series: true}, apply: monotone(math.Log10, positive),
	},
	{
		names: "exp", args: "float8", total: "bounds prove an argument in [-690, 700]", bounded: true,
		cost: cost{series: true}, apply: monotone(math.Exp, exponents),
	},
	{
		names: "power pow ^", args: "float8,float8 numeric,numeric",
		total:   "a constant whole exponent from 0 to 16; bounds prove that the result neither overflows nor underflows",
		bounded: true, constants: []string{"", "the exponent"}, cost: cost{series: true}, apply: power,
	},
	{
		names: "radians", args: "float8", total: "bounded argument", bounded: true,
		apply: monotone(func(x float64) float64 { return x * math.Pi / 180 }, anyNumber),
	},
	{
		names: "sin cos", args: "float8", total: "bounded argument", bounded: true, cost: cost{steps: 8},
		apply: func(c *call, e *Expr) error { return c.between(e, -1, 1) },
	},
	{
		names: "asin", args: "float8", total: "bounds prove an argument from -1 to 1", bounded: true, cost: cost{steps: 8},
		apply: monotone(math.Asin, cosines),
	},
	{
		names: "acos", args: "float8", total: "bounds prove an argument from -1 to 1", bounded: true, cost: cost{steps: 8},
		apply: monotone(math.Acos, cosines),
	},
}

// floorCeil rounds to whole numbers: numeric half away from zero, float half to even.
func floorCeil(c *call, e *Expr) error {
	if err := c.roundable(e); err != nil {
		return err
	}
	f := map[string]func(*big.Rat) *big.Rat{
		"floor": bounds.Floor, "ceil": bounds.Ceil, "ceiling": bounds.Ceil,
		"round": bounds.RoundHalfAway,
	}[c.cand.Name]
	if c.cand.Name == "round" && pgresolve.IsFloat(e.typ) {
		f = bounds.RoundHalfEven
	}
	x := c.args[0]
	if c.cand.Name == "trunc" {
		e.bounds = x.bounds.Trunc()
	} else {
		e.bounds = x.bounds.Map(f)
	}
	e.scale, e.quantum = 0, 0
	return nil
}

// roundable sees to it that rounding the first argument does not carry into the digit before the 131072nd, which
// raises.
func (c *call) roundable(e *Expr) error {
	x := c.args[0]
	if x.typ != pgtype.NumericOID || c.cand.Name == "trunc" || x.provisional || x.fewDigits() {
		return nil
	}
	limit := bounds.Pow10(100)
	within := x.bounds.Intersect(bounds.New(neg(limit), limit))
	if x.col == nil || within.Empty() {
		return c.refuse(refusal.Overflow, x.Text()+" may have as many digits as a numeric holds",
			"write LEAST(GREATEST(x, low), high)")
	}
	y := *x
	y.bounds, y.clamp = within, true
	c.args = append([]*Expr{&y}, c.args[1:]...)
	e.args = c.args
	return nil
}

// fewDigits says that a numeric has far fewer digits before the point than the type holds: by its bounds, its
// precision, or since that holds of what it is made of. What makes longer numbers of its operands has bounds.
func (e *Expr) fewDigits() bool {
	switch {
	case e.bounds.Finite() || e.typmod >= 0:
		return true
	case e.col != nil:
		return e.baseType() != pgtype.NumericOID || e.col.Base != 0 && e.col.BaseTypmod >= 0
	}
	for _, a := range e.args {
		if pgresolve.IsNumber(a.baseType()) && !a.fewDigits() {
			return false
		}
	}
	return true
}

// roundDigits bounds round(x, n) and trunc(x, n), whose results show n digits.
func roundDigits(c *call, e *Expr) error {
	if err := c.roundable(e); err != nil {
		return err
	}
	x, n := c.args[0], c.args[1].bounds
	if !n.Within(bounds.Between(-1000, 1000)) {
		return c.refuse(refusal.ConstantNeeded, "the number of digits is not a constant from -1000 to 1000",
			"write a constant, as round(x, 2)")
	}
	digits := int(n.Lo.Num().Int64())
	e.scale = max(0, digits)
	unit := bounds.Pow10(-digits)
	e.bounds = x.bounds.Map(func(r *big.Rat) *big.Rat { return mul(bounds.RoundHalfAway(quo(r, unit)), unit) })
	if c.cand.Name == "trunc" {
		e.bounds = x.bounds.Scale(bounds.Pow10(digits)).Trunc().Scale(unit)
	}
	if digits < 0 && e.bounds.Finite() {
		e.series = &series{
			query: fmt.Sprintf("SELECT g.v FROM pg_catalog.generate_series(%s, %s, %s) AS g(v)",
				valueLiteral(pgtype.NumericOID, e.bounds.Lo, false),
				valueLiteral(pgtype.NumericOID, e.bounds.Hi, true), valueLiteral(pgtype.NumericOID, unit, true)),
			size: rowCount(quo(e.bounds.Width(), unit)),
		}
	}
	return nil
}

// domain is where a function has values.
type domain struct {
	lo, hi float64
	words  string // what its arguments are
	as     string // how an argument is kept there
}

var (
	anyNumber   = domain{lo: math.Inf(-1), hi: math.Inf(1)}
	notNegative = domain{lo: 0, hi: math.Inf(1), words: "at least 0", as: "GREATEST(%s, 0)"}
	positive    = domain{lo: math.SmallestNonzeroFloat64, hi: math.Inf(1), words: "above 0", as: "GREATEST(%s, 0.01)"}
	exponents   = domain{lo: -690, hi: 700, words: "within [-690, 700]", as: "LEAST(GREATEST(%s, -690), 700)"}
	cosines     = domain{lo: -1, hi: 1, words: "within [-1, 1]", as: "LEAST(GREATEST(%s, -1), 1)"}
)

// ends gives the ends of a bounded argument as floats, which are in the domain.
func (c *call) ends(i int, d domain) (lo, hi float64, err error) {
	x := c.args[i]
	lo, _ = x.bounds.Lo.Float64()
	hi, _ = x.bounds.Hi.Float64()
	switch {
	case lo < d.lo || hi > d.hi || d.lo >= 0 && x.bounds.Lo.Sign() < 0:
		return 0, 0, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of %s are not %s", x.bounds, x.Text(),
			d.words), "write "+fmt.Sprintf(d.as, x.Text())+" in its place")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return 0, 0, c.refuse(refusal.ArgumentRange, "the bounds "+x.bounds.String()+" are too large",
			"write LEAST(GREATEST(x, low), high)")
	}
	return lo, hi, nil
}

// monotone makes the rule of a function of one argument that grows with it, or falls.
func monotone(f func(float64) float64, d domain) func(*call, *Expr) error {
	return func(c *call, e *Expr) error {
		lo, hi, err := c.ends(0, d)
		if err != nil {
			return err
		}
		return c.between(e, min(f(lo), f(hi)), max(f(lo), f(hi)))
	}
}

// squareRoot is correctly rounded, wherever it runs.
func squareRoot(c *call, e *Expr) error {
	lo, hi, err := c.ends(0, notNegative)
	if err != nil {
		return err
	}
	if !pgresolve.IsFloat(e.typ) {
		return c.between(e, math.Sqrt(lo), math.Sqrt(hi))
	}
	e.bounds = bounds.New(new(big.Rat).SetFloat64(math.Sqrt(lo)), new(big.Rat).SetFloat64(math.Sqrt(hi)))
	if q := c.args[0].quantum; q >= 0 {
		e.quantum = q/2 + 54
	}
	return nil
}

// between bounds a result by its least and its greatest value. They may be off by the rounding of libm or of numeric's
// 16 significant digits, so they are widened; what is not negative stays so. A float that is not 0 is no smaller than
// the least of them, or than 2^-70 of what the argument is a multiple of: next to their zeros elsewhere ln gives 2^-53
// of 1 − 2^-53, acos 2^-27, and sin and cos no less than 2^-70; the others are nearly as large as their argument where
// that is small.
func (c *call) between(e *Expr, lo, hi float64) error {
	limits, ok := around(lo, hi, e.typ)
	if !ok {
		return c.refuse(refusal.Overflow, "it may overflow", "write LEAST(GREATEST(x, low), high) in place of its arguments")
	}
	if e.bounds = limits; lo >= 0 {
		e.bounds.Lo = bounds.Max(limits.Lo, bounds.Zero)
	}
	if !pgresolve.IsFloat(e.typ) {
		return nil
	}
	switch q := c.args[0].quantum; {
	case lo > 0:
		e.quantum, e.nonzero = floatQuantum(mul(new(big.Rat).SetFloat64(lo), frac(1, 2)), e.typ), true
	case q >= 0:
		e.quantum = max(q, 70) + 60
	}
	if e.quantum < 0 || e.quantum > leastQuantum(e.typ) {
		return c.refuse(refusal.Overflow, "it may underflow", "cast the argument to numeric")
	}
	return nil
}

// around widens [lo, hi] for rounding. The ends are floats if the type is.
func around(lo, hi float64, oid uint32) (bounds.Interval, bool) {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return bounds.Interval{}, false
	}
	i := bounds.New(new(big.Rat).SetFloat64(lo), new(big.Rat).SetFloat64(hi))
	i = i.WidenRelative(bounds.Pow10(-12)).Widen(bounds.Pow10(-14))
	if pgresolve.IsFloat(oid) {
		return roundFloats(i, oid)
	}
	return i.Short(), true
}

// power bounds xⁿ for a constant n ≥ 0.
func power(c *call, e *Expr) error {
	x, y := c.args[0], c.args[1].bounds
	if !y.Lo.IsInt() || !y.Within(bounds.Between(0, 16)) {
		return c.refuse(refusal.ArgumentRange, "the exponent is not a whole number from 0 to 16",
			"write sqrt(x), or exp(y * ln(x))")
	}
	n := int(y.Lo.Num().Int64())
	lo, hi := bounds.One, bounds.One
	for range n {
		lo, hi = mul(lo, x.bounds.Lo), mul(hi, x.bounds.Hi)
	}
	i := bounds.HullOf(lo, hi)
	if n > 0 && n%2 == 0 && x.bounds.Contains(bounds.Zero) {
		i.Lo = bounds.Zero
	}
	i = i.WidenRelative(bounds.Pow10(-12))
	if e.typ == pgtype.NumericOID { // numeric_power shows at least 16 significant digits
		e.bounds = i.Widen(bounds.Pow10(-15))
		return c.sized(e)
	}
	q := max(x.quantum, 0) * max(n, 1)
	if x.quantum < 0 || q+60 > leastQuantum(e.typ) {
		return c.refuse(refusal.Overflow, "it may underflow", "cast the base to numeric")
	}
	e.quantum = q + 60
	var ok bool
	if e.bounds, ok = roundFloats(i, e.typ); !ok {
		return c.refuse(refusal.Overflow, "it may overflow", "")
	}
	return nil
}
