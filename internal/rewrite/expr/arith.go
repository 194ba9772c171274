package expr

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

func init() {
	ints := []string{"int2", "int4", "int8"}
	for _, l := range ints {
		for _, r := range ints {
			for _, op := range []string{"+", "-", "*", "/"} {
				define("bounds prove that the result fits; divisor 0: NULL", false, intArith, op+"("+l+","+r+")")
			}
		}
		define("divisor 0: NULL", false, remainder, "%("+l+","+l+")", "mod("+l+","+l+")")
		define("bounds prove that the result fits", false, negate, "-("+l+")")
		define("always", false, identity, "+("+l+")")
	}
	for _, op := range []string{"+", "-", "*"} {
		define("bounded operands", false, numericArith, op+"(numeric,numeric)")
		for _, types := range []string{"float8,float8", "float4,float4", "float4,float8", "float8,float4"} {
			define("bounded operands; bounds prove that nothing overflows or underflows", false, floatArith, op+"("+types+")")
		}
	}
	define("bounded operands; 0 outside the divisor's bounds, or a divisor with a fixed number of digits (0: NULL)", false, numericQuo, "/(numeric,numeric)", "div(numeric,numeric)")
	define("bounded operands; 0 outside the divisor's bounds, or a divisor with a fixed number of digits (0: NULL)", false, remainder, "%(numeric,numeric)", "mod(numeric,numeric)")
	for _, types := range []string{"float8,float8", "float4,float4", "float4,float8", "float8,float4"} {
		define("bounded operands; 0 outside the divisor's bounds", false, floatQuo, "/("+types+")")
	}
	define("always", false, negate, "-(numeric)", "-(float8)", "-(float4)")
	define("always", false, identity, "+(numeric)", "+(float8)", "+(float4)")
	define("bounds prove that the result fits", false, absolute, "abs(int2)", "abs(int4)", "abs(int8)", "abs(numeric)", "abs(float8)", "abs(float4)",
		"@(int2)", "@(int4)", "@(int8)", "@(numeric)", "@(float8)", "@(float4)")
	define("always", false, sign, "sign(numeric)", "sign(float8)")
}

// numericQuanta: float arguments' quanta, known after Read.
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
func operate(op string, a, b Interval) Interval {
	switch op {
	case "+":
		return a.Add(b)
	case "-":
		return a.Sub(b)
	}
	return a.Mul(b)
}

// intArith: the result type is the wider operand's; overflow raises.
func intArith(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x, y := c.args[0], c.args[1]
	var bounds, safe Interval
	if c.cand.name == "/" {
		divisor, err := c.divisor(e)
		if err != nil {
			return nil, err
		}
		if !y.nonzero && y.safe().Contains(ratZero) {
			e.nullable = true
		}
		bounds, safe = truncated(quotient(x.bounds, divisor, ratOne)), truncated(quotient(x.safe(), divisor, ratOne))
	} else {
		bounds, safe = operate(c.cand.name, x.bounds, y.bounds), operate(c.cand.name, x.safe(), y.safe())
	}
	if e.provisional {
		return e, nil
	}
	if isNull(x) || isNull(y) {
		return e, nil
	}
	if !safe.Within(intRange(e.typ)) {
		return nil, c.refuse(fmt.Sprintf("it may overflow %s, as it may be anything in %s", display(e.typ), safe), "only columns with declared bounds can be computed with; or cast an operand to bigint or numeric")
	}
	e.bounds = bounds
	e.nonzero = c.cand.name == "*" && x.nonzero && y.nonzero
	return e, nil
}

func isNull(e *Expr) bool { return e.value != nil && e.value.items == nil && e.value.text == nil }

// divisor rewrites a division whose divisor may be 0 to x / NULLIF(y, 0), and gives the divisor's bounds. It is for types whose
// values have a least distance from 0; a float that is not 0 may be as small as it likes.
func (c *call) divisor(e *Expr) (Interval, error) {
	y := c.args[1]
	b := y.safe()
	if y.provisional || isNull(y) || !b.Contains(ratZero) {
		return b, nil
	}
	if b.Finite() && b.Lo.Sign() == 0 && b.Hi.Sign() == 0 {
		return b, c.refuse(y.Text()+" is always 0", "")
	}
	if y.granule() == nil {
		return b, c.refuse("0 lies within the bounds "+b.String()+" of "+y.Text(), "write CASE WHEN y > 0.01 THEN x / y END with the least y that matters, or GREATEST(y, 0.01)")
	}
	if !y.nonzero {
		zero := "0::" + qualified(y.typ, -1)
		e.tmpl = strings.ReplaceAll(e.tmpl, "{1}", "NULLIF({1}, "+zero+")")
	}
	return b, nil
}

// quotient divides by an interval of which 0 is no member, nor anything nearer to 0 than least.
func quotient(x, y Interval, least *big.Rat) Interval {
	if !y.Contains(ratZero) {
		return x.Quo(y)
	}
	if !y.Finite() {
		return Interval{}
	}
	var parts []Interval
	if y.Lo.Sign() < 0 {
		parts = append(parts, x.Quo(Interval{y.Lo, ratMax(neg(least), y.Lo)}))
	}
	if y.Hi.Sign() > 0 {
		parts = append(parts, x.Quo(Interval{ratMin(least, y.Hi), y.Hi}))
	}
	if len(parts) == 0 {
		return Interval{}
	}
	out := parts[0]
	for _, p := range parts[1:] {
		out = out.Hull(p)
	}
	return out
}

// truncated rounds towards zero.
func truncated(i Interval) Interval {
	return i.Map(func(r *big.Rat) *big.Rat {
		if r.Sign() < 0 {
			return ceilRat(r)
		}
		return floorRat(r)
	})
}

// remainder: the sign of the dividend, smaller than the divisor.
func remainder(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x, y := c.args[0], c.args[1]
	if e.typ == oidNumeric {
		if known, err := c.finite(); !known || err != nil {
			return e, err
		}
		e.scale = merge(x.scale, y.scale)
	}
	if _, err := c.divisor(e); err != nil {
		return nil, err
	}
	if !y.nonzero && y.safe().Contains(ratZero) {
		e.nullable = true
	}
	if e.provisional || isNull(x) || isNull(y) {
		return e, nil
	}
	most := y.safe().Abs().Hi
	if isInt(e.typ) {
		most = sub(most, ratOne)
	}
	e.bounds = Interval{neg(most), most}
	if i := x.bounds; i.Lo != nil {
		e.bounds.Lo = ratMax(e.bounds.Lo, ratMin(i.Lo, ratZero))
	}
	if i := x.bounds; i.Hi != nil {
		e.bounds.Hi = ratMin(e.bounds.Hi, ratMax(i.Hi, ratZero))
	}
	return e, nil
}

// numericArith is exact while digits are few; beyond 16383 digits after the point PostgreSQL rounds.
func numericArith(c *call) (*Expr, error) {
	e := c.result(oidNumeric)
	x, y := c.args[0], c.args[1]
	switch {
	case x.scale < 0 || y.scale < 0:
	case c.cand.name == "*":
		e.scale = x.scale + y.scale
	default:
		e.scale = max(x.scale, y.scale)
	}
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = short(operate(c.cand.name, x.bounds, y.bounds))
	e.nonzero = c.cand.name == "*" && x.nonzero && y.nonzero && e.scale >= 0 && e.scale < 16000
	return e, c.sized(e)
}

// short rounds bounds outwards to 60 digits after the point, so that long chains stay cheap here.
func short(i Interval) Interval { return Interval{outward(i.Lo, false), outward(i.Hi, true)} }

// mostDigits bounds the size of numerics, far below PostgreSQL's 131072 digits, so that no operation is slow.
const mostDigits = 1000

func (c *call) sized(e *Expr) error {
	if limit := pow10(mostDigits); e.bounds.Lo.Cmp(neg(limit)) < 0 || e.bounds.Hi.Cmp(limit) > 0 {
		return c.refuse(fmt.Sprintf("it may have more than %d digits", mostDigits), "")
	}
	return nil
}

// numericQuo: quotients have at least 16 significant digits (numeric.c, select_div_scale), and are rounded to them.
func numericQuo(c *call) (*Expr, error) {
	e := c.result(oidNumeric)
	x, y := c.args[0], c.args[1]
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	b, err := c.divisor(e)
	if err != nil {
		return nil, err
	}
	least := ratOne
	if b.Contains(ratZero) {
		least = y.granule()
		e.nullable = e.nullable || !y.nonzero
	}
	e.bounds = quotient(x.bounds, b, least)
	if c.cand.name == "div" {
		e.bounds, e.scale = truncated(e.bounds), 0
	} else {
		exact := e.bounds
		e.bounds = short(widenRelative(e.bounds, pow10(-12)).Widen(pow10(-16)))
		if exact.Lo.Sign() >= 0 { // rounding keeps the sign
			e.bounds.Lo = ratMax(e.bounds.Lo, ratZero)
		}
		if exact.Hi.Sign() <= 0 {
			e.bounds.Hi = ratMin(e.bounds.Hi, ratZero)
		}
	}
	return e, c.sized(e)
}

// floatArith rounds as the type does. A sum of multiples of 2^-q is one too; a product is a multiple of 2^-(q+r).
func floatArith(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x, y := c.args[0], c.args[1]
	q, ok := quanta(c.args)
	if ok {
		e.quantum = q
	}
	if c.cand.name == "*" {
		if !ok || x.quantum+y.quantum > leastQuantum(e.typ) {
			return nil, c.refuse("it may underflow "+display(e.typ), "cast the operands to numeric")
		}
		e.quantum = x.quantum + y.quantum
		e.nonzero = x.nonzero && y.nonzero
	}
	e.bounds, ok = flInterval(operate(c.cand.name, x.bounds, y.bounds), e.typ)
	if !ok {
		return nil, c.refuse("it may overflow "+display(e.typ), "")
	}
	return e, nil
}

func floatQuo(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x, y := c.args[0], c.args[1]
	if y.bounds.Contains(ratZero) {
		return nil, c.refuse("0 lies within the bounds "+y.bounds.String()+" of "+y.Text(), "write CASE WHEN y > 0.01 THEN x / y END with the least y that matters, or GREATEST(y, 0.01)")
	}
	if x.quantum < 0 {
		return nil, c.refuse("it may underflow "+display(e.typ), "cast the operands to numeric")
	}
	e.quantum = floatQuantum(quo(pow2(-x.quantum), ratMax(y.bounds.Abs().Hi, ratOne)), e.typ)
	var ok bool
	if e.bounds, ok = flInterval(x.bounds.Quo(y.bounds), e.typ); !ok || e.quantum > leastQuantum(e.typ) {
		return nil, c.refuse("it may overflow or underflow "+display(e.typ), "")
	}
	e.nonzero = x.nonzero
	return e, nil
}

func negate(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x := c.args[0]
	e.scale, e.quantum, e.nonzero, e.bounds = x.scale, x.quantum, x.nonzero, x.bounds.Neg()
	if isInt(e.typ) && !e.provisional && !x.safe().Neg().Within(intRange(e.typ)) {
		return nil, c.refuse("it may overflow "+display(e.typ), "only columns with declared bounds can be computed with; or cast to numeric")
	}
	return e, nil
}

func identity(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x := c.args[0]
	e.scale, e.quantum, e.nonzero, e.bounds = x.scale, x.quantum, x.nonzero, x.bounds
	return e, nil
}

func absolute(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x := c.args[0]
	e.scale, e.quantum, e.nonzero, e.bounds = x.scale, x.quantum, x.nonzero, x.bounds.Abs()
	if isFloat(e.typ) && x.bounds.Open() {
		e.bounds = Interval{} // NaN
	}
	if isInt(e.typ) && !e.provisional && !x.safe().Abs().Within(intRange(e.typ)) {
		return nil, c.refuse("it may overflow "+display(e.typ), "only columns with declared bounds can be computed with; or cast to numeric")
	}
	return e, nil
}

// sign of NaN is NaN.
func sign(c *call) (*Expr, error) {
	e := c.result(c.cand.result)
	x := c.args[0]
	e.scale, e.quantum = 0, 0
	if isFloat(e.typ) {
		e.scale = -1
	}
	if x.bounds.Finite() {
		e.bounds = x.bounds.Map(func(r *big.Rat) *big.Rat { return rat(int64(r.Sign())) })
		e.nonzero = x.nonzero
	}
	return e, nil
}

func listRules() []Rule {
	var out []Rule
	for signature, r := range rules {
		name, _, _ := strings.Cut(signature, "(")
		result := ""
		for _, c := range append(slices.Clone(catalog.operators[name]), catalog.functions[name]...) {
			if c.signature() == signature {
				result = display(c.result)
			}
		}
		out = append(out, Rule{signature, result, r.total})
	}
	slices.SortFunc(out, func(a, b Rule) int { return strings.Compare(a.Signature, b.Signature) })
	return out
}
