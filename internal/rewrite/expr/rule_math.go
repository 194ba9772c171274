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
	{names: "floor ceil ceiling round trunc", args: "numeric|float8", total: "a numeric column without bounds and precision is read within ±10^100; an expression of such columns has to have bounds", apply: floorCeil},
	{names: "round trunc", args: "numeric,int4", total: "a constant number of digits; a numeric as for round", apply: roundDigits},
	{names: "sqrt", args: "float8|numeric", total: "bounds prove an argument ≥ 0", apply: squareRoot},
	{names: "|/", args: "float8", total: "bounds prove an argument ≥ 0", apply: squareRoot},
	{names: "cbrt ||/", args: "float8", total: "bounded argument", cost: cost{steps: 10}, apply: monotone("cbrt", math.Inf(-1), math.Cbrt)},
	{names: "ln", args: "float8|numeric", total: "bounds prove an argument > 0", cost: cost{series: true}, apply: monotone("ln", math.SmallestNonzeroFloat64, math.Log)},
	{names: "log log10", args: "float8|numeric", total: "bounds prove an argument > 0", cost: cost{series: true}, apply: monotone("log", math.SmallestNonzeroFloat64, math.Log10)},
	{names: "log", args: "numeric,numeric", total: "bounds prove a base of at least 1.001 and an argument above 0", cost: cost{series: true}, apply: logarithm},
	{names: "exp", args: "float8|numeric", total: "bounds prove an argument in [-700, 700]", cost: cost{series: true}, apply: exponential},
	{names: "power pow ^", args: "float8,float8 numeric,numeric", total: "bounds prove a base > 0 and an exponent in [-1000, 1000], or a constant whole exponent from 0 to 16; and that the result neither overflows nor underflows", cost: cost{series: true}, apply: power},
	{names: "pi", total: "always", apply: pi},
	{names: "sin cos tan atan tanh", args: "float8", total: "bounded argument", cost: cost{steps: 8}, apply: wave},
	{names: "asin acos", args: "float8", total: "bounds prove an argument from -1 to 1", cost: cost{steps: 8}, apply: arc},
	{names: "sinh", args: "float8", total: "bounded argument, from -710 to 710", cost: cost{steps: 8}, apply: monotone("sinh", math.Inf(-1), math.Sinh)},
	{names: "atan2", args: "float8,float8", total: "bounded arguments", cost: cost{steps: 10}, apply: angle},
	{names: "degrees", args: "float8", total: "bounded argument", apply: monotone("degrees", math.Inf(-1), func(x float64) float64 { return x * 180 / math.Pi })},
	{names: "radians", args: "float8", total: "bounded argument", apply: monotone("radians", math.Inf(-1), func(x float64) float64 { return x * math.Pi / 180 })},
	{names: "gcd lcm", args: "int4,int4 int8,int8", total: "bounds prove that the result fits", cost: cost{steps: 80}, apply: divisors},
}

var squareRoot = monotone("sqrt", 0, math.Sqrt)

// floorCeil rounds to whole numbers: numeric half away from zero, float half to even.
func floorCeil(c *call) (*Expr, error) {
	if err := c.roundable(); err != nil {
		return nil, err
	}
	e := c.result(c.cand.Result)
	f := map[string]func(*big.Rat) *big.Rat{"floor": bounds.Floor, "ceil": bounds.Ceil, "ceiling": bounds.Ceil, "round": bounds.RoundHalfAway}[c.cand.Name]
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
	return e, nil
}

// roundable sees to it that rounding the first argument does not carry into the digit before the 131072nd, which raises.
func (c *call) roundable() error {
	x := c.args[0]
	if x.typ != pgtype.NumericOID || c.cand.Name == "trunc" || x.provisional || x.fewDigits() {
		return nil
	}
	limit := bounds.Pow10(100)
	within := x.bounds.Intersect(bounds.New(neg(limit), limit))
	if x.col == nil || within.Empty() {
		return c.refuse(refusal.Overflow, x.Text()+" may have as many digits as a numeric holds", "write LEAST(GREATEST(x, low), high)")
	}
	y := *x
	y.bounds, y.clamp = within, true
	c.args = append([]*Expr{&y}, c.args[1:]...)
	return nil
}

// fewDigits says that a numeric has far fewer digits before the point than the type holds: by its bounds, its precision, or since that
// holds of what it is made of. What makes longer numbers of its operands has bounds.
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
func roundDigits(c *call) (*Expr, error) {
	if err := c.roundable(); err != nil {
		return nil, err
	}
	e := c.result(pgtype.NumericOID)
	x, n := c.args[0], c.args[1]
	if n.provisional || isNull(n) {
		return e, nil
	}
	if !n.safe().Within(bounds.Between(-1000, 1000)) || n.value == nil {
		return nil, c.refuse(refusal.ConstantNeeded, "the number of digits is not a constant from -1000 to 1000", "write a constant, as round(x, 2)")
	}
	digits := int(n.bounds.Lo.Num().Int64())
	e.scale = max(0, digits)
	unit := bounds.Pow10(-digits)
	e.bounds = x.bounds.Map(func(r *big.Rat) *big.Rat { return mul(bounds.RoundHalfAway(quo(r, unit)), unit) })
	if c.cand.Name == "trunc" {
		e.bounds = x.bounds.Scale(bounds.Pow10(digits)).Trunc().Scale(unit)
	}
	if digits < 0 && e.bounds.Finite() {
		e.series = &series{
			query: fmt.Sprintf("SELECT g.v FROM pg_catalog.generate_series(%s, %s, %s) AS g(v)", valueLiteral(pgtype.NumericOID, e.bounds.Lo, false),
				valueLiteral(pgtype.NumericOID, e.bounds.Hi, true), valueLiteral(pgtype.NumericOID, unit, true)),
			size: rowCount(quo(e.bounds.Width(), unit)),
		}
	}
	return e, nil
}

// monotone makes the rule of a non-decreasing function of one bounded argument. A bound may be off by the rounding of libm or of numeric's 16
// significant digits, so it is widened.
func monotone(name string, least float64, f func(float64) float64) func(c *call) (*Expr, error) {
	return func(c *call) (*Expr, error) {
		e := c.result(c.cand.Result)
		known, err := c.finite()
		if !known || err != nil {
			return e, err
		}
		x := c.args[0]
		lo, hi, ok := floats(x.bounds)
		if !ok {
			return nil, c.refuse(refusal.ArgumentRange, "the bounds "+x.bounds.String()+" are too large", "")
		}
		if least >= 0 && (x.bounds.Lo.Sign() < 0 || least > 0 && x.bounds.Lo.Sign() == 0 || lo < least) {
			need := "at least 0"
			if least > 0 {
				need = "above 0"
			}
			return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of %s are not %s", x.bounds, x.Text(), need), fmt.Sprintf("write %s(GREATEST(%s, 0.01)), or CASE WHEN %s > 0.01 THEN %s(%s) END", name, x.Text(), x.Text(), name, x.Text()))
		}
		e.bounds, ok = around(f(lo), f(hi), e.typ)
		if !ok {
			return nil, c.refuse(refusal.Overflow, "it may overflow", "write "+name+"(LEAST(GREATEST(x, low), high))")
		}
		switch {
		case name == "sqrt":
			e.bounds.Lo = bounds.Max(e.bounds.Lo, bounds.Zero)
			if pgresolve.IsFloat(e.typ) { // correctly rounded, wherever it runs
				e.bounds = bounds.New(new(big.Rat).SetFloat64(f(lo)), new(big.Rat).SetFloat64(f(hi)))
			}
			if x.quantum >= 0 {
				e.quantum = x.quantum/2 + 54
			}
		case name == "ln" || name == "log": // 1 + 2^-52 has the least logarithm
			e.quantum = 120
		case x.quantum >= 0: // |cbrt x|, |sinh x| and multiples of x are no smaller than x, times a constant
			e.quantum = x.quantum + 70
		case pgresolve.IsFloat(e.typ):
			return nil, c.refuse(refusal.Overflow, "it may underflow", "cast the argument to numeric and back")
		}
		if !pgresolve.IsFloat(e.typ) {
			e.quantum = -1
		}
		if e.quantum > leastQuantum(e.typ) {
			return nil, c.refuse(refusal.Overflow, "it may underflow", "cast the argument to numeric")
		}
		return e, nil
	}
}

// floats gives a finite interval's ends as floats.
func floats(i bounds.Interval) (lo, hi float64, ok bool) {
	lo, _ = i.Lo.Float64()
	hi, _ = i.Hi.Float64()
	return lo, hi, !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
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

// exponential: beyond ±700 a float overflows or underflows; a numeric grows long.
func exponential(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x := c.args[0]
	if !x.bounds.Within(bounds.Between(-700, 700)) {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of %s are not within [-700, 700]", x.bounds, x.Text()), "write exp(LEAST(GREATEST(x, -700), 700))")
	}
	lo, hi, _ := floats(x.bounds)
	limits, ok := around(math.Exp(lo), math.Exp(hi), e.typ)
	if !ok {
		return nil, c.refuse(refusal.Overflow, "it may overflow", "")
	}
	e.bounds = limits
	if pgresolve.IsFloat(e.typ) {
		least := new(big.Rat).SetFloat64(math.Exp(lo) / 2)
		e.quantum = floatQuantum(least, e.typ)
		e.nonzero = true
	}
	e.bounds.Lo = bounds.Max(e.bounds.Lo, bounds.Zero)
	return e, nil
}

// power accepts what provably neither raises nor overflows.
func power(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x, y := c.args[0], c.args[1]
	if y.value != nil && y.bounds.Lo.IsInt() && y.bounds.Within(bounds.Between(0, 16)) {
		return wholePower(c, e, x, int(y.bounds.Lo.Num().Int64()))
	}
	xl, xh, ok1 := floats(x.bounds)
	yl, yh, ok2 := floats(y.bounds)
	if !ok1 || !ok2 || xl <= 0 {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of %s are not above 0", x.bounds, x.Text()), "write power(GREATEST(x, 0.01), y), or a constant whole exponent")
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, base := range []float64{xl, xh} { // monotone in each argument: extremes lie at the corners
		for _, exponent := range []float64{yl, yh} {
			v := math.Pow(base, exponent)
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	if lo < 1e-280 || hi > 1e280 {
		return nil, c.refuse(refusal.Overflow, "it may overflow or underflow", "")
	}
	// the ends of the base's bounds are rounded to floats, and the power of what is off by a share of s is off by y·s
	if !y.bounds.Within(bounds.Between(-1000, 1000)) {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of the exponent are not within [-1000, 1000]", y.bounds), "write power(x, LEAST(GREATEST(y, -1000), 1000))")
	}
	limits, ok := around(lo*(1-1e-12), hi*(1+1e-12), e.typ)
	if !ok {
		return nil, c.refuse(refusal.Overflow, "it may overflow", "")
	}
	e.bounds = limits
	e.bounds.Lo = bounds.Max(e.bounds.Lo, bounds.Zero)
	if pgresolve.IsFloat(e.typ) {
		e.quantum = floatQuantum(new(big.Rat).SetFloat64(lo/2), e.typ)
	}
	return e, nil
}

// wholePower bounds xⁿ for a constant n ≥ 0.
func wholePower(c *call, e, x *Expr, n int) (*Expr, error) {
	lo, hi := bounds.One, bounds.One
	for range n {
		lo, hi = mul(lo, x.bounds.Lo), mul(hi, x.bounds.Hi)
	}
	i := bounds.New(lo, hi)
	if n%2 == 0 && n > 0 {
		i = bounds.HullOf(lo, hi)
		if x.bounds.Contains(bounds.Zero) {
			i.Lo = bounds.Zero
		}
	}
	i = i.WidenRelative(bounds.Pow10(-12))
	if e.typ == pgtype.NumericOID { // numeric_power shows at least 16 significant digits
		e.bounds = i.Widen(bounds.Pow10(-15))
		return e, c.sized(e)
	}
	q := max(x.quantum, 0) * max(n, 1)
	if x.quantum < 0 || q+60 > leastQuantum(e.typ) {
		return nil, c.refuse(refusal.Overflow, "it may underflow", "cast the base to numeric")
	}
	e.quantum = q + 60
	var ok bool
	if e.bounds, ok = roundFloats(i, e.typ); !ok {
		return nil, c.refuse(refusal.Overflow, "it may overflow", "")
	}
	return e, nil
}

// logarithm bounds log(b, x).
func logarithm(c *call) (*Expr, error) {
	e := c.result(pgtype.NumericOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	base, x := c.args[0].bounds, c.args[1].bounds
	bl, bh, ok1 := floats(base)
	xl, xh, ok2 := floats(x)
	if !ok1 || !ok2 || bl < 1.001 || xl < 1e-100 {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of the base are not above 1, or %s of the argument not above 0", base, x), "write log(2, GREATEST(x, 0.01))")
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, b := range []float64{bl, bh} {
		for _, v := range []float64{xl, xh} {
			l := math.Log(v) / math.Log(b)
			lo, hi = math.Min(lo, l), math.Max(hi, l)
		}
	}
	limits, ok := around(lo, hi, pgtype.NumericOID)
	if !ok {
		return nil, c.refuse(refusal.Overflow, "it may overflow", "")
	}
	e.bounds = limits.Widen(bounds.Pow10(-12))
	return e, nil
}

func pi(c *call) (*Expr, error) {
	e := c.result(pgtype.Float8OID)
	e.bounds, _ = around(math.Pi, math.Pi, pgtype.Float8OID)
	e.quantum, e.nonzero = 60, true
	return e, nil
}

func wave(c *call) (*Expr, error) {
	e := c.result(pgtype.Float8OID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = bounds.Between(-1, 1)
	switch c.cand.Name {
	case "atan":
		e.bounds = bounds.Between(-2, 2)
	case "tan": // as large as 10^16 and more, next to its poles
		e.bounds = bounds.Interval{}
	}
	if q := c.args[0].quantum; q >= 0 { // tiny results come from tiny arguments; sin and cos come no nearer to 0 than 2^-70 elsewhere
		e.quantum = max(q, 70) + 55
	}
	return e, nil
}

// arc bounds asin and acos. acos comes no nearer to 0 than 2^-27, at 1 − 2^-53.
func arc(c *call) (*Expr, error) {
	e := c.result(pgtype.Float8OID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x := c.args[0]
	if !x.bounds.Within(bounds.Between(-1, 1)) {
		return nil, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the bounds %s of %s are not within [-1, 1]", x.bounds, x.Text()), "write "+c.cand.Name+"(LEAST(GREATEST(x, -1), 1))")
	}
	e.bounds = bounds.Between(-2, 2)
	if c.cand.Name == "acos" {
		e.bounds = bounds.Between(0, 4)
	}
	if x.quantum >= 0 {
		e.quantum = max(x.quantum, 70) + 55
	}
	return e, nil
}

// angle bounds atan2.
func angle(c *call) (*Expr, error) {
	e := c.result(pgtype.Float8OID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = bounds.Between(-4, 4)
	return e, nil
}

// divisors bounds gcd and lcm, which are not negative.
func divisors(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	x, y := c.args[0], c.args[1]
	if x.provisional || y.provisional || isNull(x) || isNull(y) {
		return e, nil
	}
	most := bounds.Max(x.safe().Abs().Hi, y.safe().Abs().Hi)
	if c.cand.Name == "lcm" {
		most = mul(x.safe().Abs().Hi, y.safe().Abs().Hi)
	}
	if !intRange(e.typ).Contains(most) {
		return nil, c.refuse(refusal.Overflow, "it may overflow "+pgresolve.Display(e.typ), "only columns with declared bounds can be computed with; or cast to bigint")
	}
	e.bounds = bounds.New(bounds.Zero, most)
	return e, nil
}
