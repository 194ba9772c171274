package expr

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// maxSteps bounds the integers of one row, so that 2x − 2c fits int8 for all x and c within the bounds.
var maxSteps = pow2(60)

// measured prints an aggregated argument by the fastest right form for its type (MEASURE-SQL §2 and §6 were measured).
func measured(e *Expr, rule GridRule) (*Measure, error) {
	x := e.relabelled()
	if x.typ == oidBool {
		return guarded(x, &Measure{arg: x, Unguarded: query.F("({})::pg_catalog.int4", x.SQL()), Type: oidInt4, Hi: 1, Step: ratOne}), nil
	}
	if !isNumber(x.typ) && !isTime(x.typ) {
		return nil, Refuse(e.location, fmt.Sprintf("%s is of type %s, which has no sum", e.Text(), display(e.typ)), "count it, or aggregate a number, a date or a time")
	}
	if x.typ == oidTime {
		y := *x
		y.bounds = dayOf(x)
		x = &y
	}
	if !x.bounds.Finite() {
		return nil, Refuse(e.location, fmt.Sprintf("%s has no bounds, so one unit could change the answer by any amount", e.Text()),
			"aggregate columns with declared bounds, or LEAST(GREATEST(x, low), high)")
	}
	step := rule.Step
	if step == nil || step.Sign() <= 0 {
		step = defaultStep(x)
	}
	m := &Measure{arg: x, Step: step}
	lo, hi := quo(x.bounds.Lo, step), quo(x.bounds.Hi, step)
	if isFloat(x.typ) {
		lo, hi = roundEven(floatSteps(x.bounds.Lo, step)), roundEven(floatSteps(x.bounds.Hi, step))
	} else if isInt(x.typ) || x.typ == oidNumeric || x.typ == oidDate {
		lo, hi = roundAway(lo), roundAway(hi)
	} else {
		lo, hi = floorRat(lo), ceilRat(hi)
	}
	if new(big.Rat).Abs(lo).Cmp(maxSteps) > 0 || new(big.Rat).Abs(hi).Cmp(maxSteps) > 0 {
		return nil, Refuse(e.location, fmt.Sprintf("%s has too many grid steps of %s within its bounds %s", e.Text(), decimal(step), x.bounds), "declare narrower bounds, or a coarser grid")
	}
	m.Lo, m.Hi, m.Type = lo.Num().Int64(), hi.Num().Int64(), oidInt8
	if (Interval{lo, hi}).Within(intRange(oidInt4)) {
		m.Type = oidInt4
	}
	g := &gridPrinter{x: x, m: m, foreign: rule.Foreign, s: (&printer{raw: rawSafe(x)}).print(x)}
	m.Unguarded = g.steps()
	if g.ladder {
		m.SQL = m.Unguarded
		if !x.nullable {
			return m, nil
		}
		m.Guard = query.F("({} IS NOT NULL)", g.s)
		return m, nil
	}
	return guarded(x, m), nil
}

// guarded adds the forms that are right for NULL: LEAST and GREATEST ignore it.
func guarded(x *Expr, m *Measure) *Measure {
	m.SQL = m.Unguarded
	if x.nullable {
		m.Guard = notNull(x)
		m.SQL = query.F("(CASE WHEN {} THEN {} END)", m.Guard, m.Unguarded)
	}
	return m
}

// How operators print that are exact for numeric.
const (
	plusTemplate  = "({0} OPERATOR(pg_catalog.+) {1})"
	minusTemplate = "({0} OPERATOR(pg_catalog.-) {1})"
	timesTemplate = "({0} OPERATOR(pg_catalog.*) {1})"
)

// notNull prints that an expression has a value. Arithmetic that cannot raise has one where its columns do, which costs less.
func notNull(x *Expr) query.Scalar {
	var conditions []query.Scalar
	plain := rawSafe(x)
	x.walk(func(e *Expr) bool {
		plain = plain && (e.value == nil || e.value.text != nil)
		if e.col != nil && e.nullable {
			c := query.F("{} IS NOT NULL", e.col.Ref)
			if !slices.ContainsFunc(conditions, func(o query.Scalar) bool { return query.Equal(o, c) }) {
				conditions = append(conditions, c)
			}
		}
		return true
	})
	if !plain || len(conditions) == 0 {
		return query.F("({} IS NOT NULL)", (&printer{raw: rawSafe(x)}).print(x))
	}
	return query.All(conditions...)
}

// rawDigits is how many digits before the point a column may have that is read raw: 1500 factors, more than an expression may have, stay
// below numeric's 131072 digits.
const rawDigits = 80

// rawSafe says that columns may be read unclamped since the whole is clamped afterwards: sums, differences and products of
// numeric(p,s) columns and constants, which neither overflow nor raise, whatever the values (PRIVACY 8).
func rawSafe(e *Expr) bool {
	if e.col != nil {
		typmod := e.col.Typmod
		if e.col.Base != 0 {
			typmod = e.col.BaseTypmod
		}
		precision, scale := numericTypmod(typmod)
		return e.baseType() == oidNumeric && typmod >= 0 && precision-scale <= rawDigits || isInt(e.baseType())
	}
	if e.typ != oidNumeric {
		return false
	}
	if e.value != nil {
		return true
	}
	switch e.tmpl {
	case castTemplate:
		return e.exactCast() && e.args[0].col != nil
	case plusTemplate, minusTemplate, timesTemplate:
		return rawSafe(e.args[0]) && rawSafe(e.args[1]) && e.args[0].typ == oidNumeric && e.args[1].typ == oidNumeric
	}
	return false
}

// defaultStep is the grid of PRIVACY.md (Grids).
func defaultStep(x *Expr) *big.Rat {
	width := x.bounds.Width()
	switch {
	case isInt(x.typ):
		return ratOne
	case x.typ == oidNumeric && x.scale >= 0 && x.scale <= 1000:
		step := pow10(-x.scale)
		if quo(x.bounds.Abs().Hi, step).Cmp(maxSteps) <= 0 {
			return step
		}
	case x.typ == oidDate:
		return ratOne
	case isTime(x.typ):
		if width.Cmp(rat(1e12)) >= 0 { // 10⁶ seconds
			return microsPerSec
		}
		return rat(1000)
	}
	if width.Sign() == 0 {
		width = ratMax(x.bounds.Abs().Hi, ratOne)
	}
	step := floorPow2(mul(width, pow10(-6)))
	if most := x.bounds.Abs().Hi; most.Sign() > 0 { // a narrow range far from 0: no finer than doubles
		step = ratMax(step, floorPow2(quo(most, pow2(52))))
	}
	return step
}

// floorPow2 is the largest power of two ≤ r, for r > 0.
func floorPow2(r *big.Rat) *big.Rat {
	n := r.Num().BitLen() - r.Denom().BitLen()
	if pow2(n).Cmp(r) > 0 {
		n--
	}
	return pow2(n)
}

// floatSteps is what float8 computes for r/step: a product with the whole inverse of step, or a quotient.
func floatSteps(r, step *big.Rat) *big.Rat {
	inverse := new(big.Rat).Inv(step)
	var out *big.Rat
	if inverse.IsInt() {
		f, _ := fl(inverse, oidFloat8)
		out, _ = fl(mul(r, f), oidFloat8)
	} else {
		f, _ := fl(step, oidFloat8)
		out, _ = fl(quo(r, f), oidFloat8)
	}
	return out
}

// gridPrinter prints the integer of one argument.
type gridPrinter struct {
	x       *Expr
	m       *Measure
	s       query.Scalar // the argument
	foreign bool
	ladder  bool // the result is right for NULL by itself
}

func (g *gridPrinter) steps() query.Scalar {
	x, step := g.x, g.m.Step
	one := step.Cmp(ratOne) == 0
	switch {
	case isInt(x.typ) && one:
		// a ladder is faster than LEAST and GREATEST for a plain integer, and is pushed down
		g.ladder = x.col != nil || g.foreign
		return g.cast(g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)), x.typ)
	case isInt(x.typ):
		return g.numeric(query.F("({})::pg_catalog.numeric", g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true))))
	case x.typ == oidNumeric:
		if x.col != nil && !rawSafe(x) { // a bare numeric may have 131072 digits: no product before the clamp
			return g.cast(g.scaled(g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)), oidNumeric), oidNumeric)
		}
		return g.numeric(g.s)
	case isFloat(x.typ):
		s := g.s
		if x.typ == oidFloat4 {
			s = query.F("({})::pg_catalog.float8", s)
		}
		return g.cast(g.scaled(g.clamp(s, floatLiteral(oidFloat8, x.bounds.Lo), floatLiteral(oidFloat8, x.bounds.Hi)), oidFloat8), oidFloat8)
	case x.typ == oidDate:
		days := query.F("({} OPERATOR(pg_catalog.-) '1970-01-01'::pg_catalog.date)", g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)))
		if one {
			return g.cast(days, oidInt4)
		}
		return g.numeric(query.F("{}::pg_catalog.numeric", days))
	case x.typ == oidInterval:
		seconds := query.F("pg_catalog.date_part('epoch'::pg_catalog.text, {})", g.s)
		lo, _ := fl(quo(x.bounds.Lo, microsPerSec), oidFloat8)
		hi, _ := fl(quo(x.bounds.Hi, microsPerSec), oidFloat8)
		return g.seconds(g.clamp(seconds, floatLiteral(oidFloat8, lo), floatLiteral(oidFloat8, hi)))
	}
	return g.seconds(query.F("pg_catalog.date_part('epoch'::pg_catalog.text, {})", g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true))))
}

// numeric clamps a numeric after scaling it: an aligned product compares faster than a stored short numeric.
func (g *gridPrinter) numeric(s query.Scalar) query.Scalar {
	lo := valueLiteral(oidNumeric, rat(g.m.Lo), false)
	hi := valueLiteral(oidNumeric, rat(g.m.Hi), true)
	return g.cast(g.clamp(g.scaled(s, oidNumeric), lo, hi), oidNumeric)
}

// scaled divides by the step; multiplies where its inverse is whole.
func (g *gridPrinter) scaled(s query.Scalar, oid uint32) query.Scalar {
	if g.m.Step.Cmp(ratOne) == 0 {
		return s
	}
	literal := func(r *big.Rat) string {
		if oid == oidFloat8 {
			return floatLiteral(oid, r)
		}
		return valueLiteral(oid, r, true)
	}
	if inverse := new(big.Rat).Inv(g.m.Step); inverse.IsInt() {
		return query.F("({} OPERATOR(pg_catalog.*) {})", s, literal(inverse))
	}
	quotient := query.F("({} OPERATOR(pg_catalog./) {})", s, literal(g.m.Step))
	if oid != oidFloat8 {
		return quotient
	}
	// a quotient of a tiny float underflows, which raises; less than half a step is 0 anyway
	least := floorPow2(quo(g.m.Step, rat(4)))
	return query.F("(CASE WHEN {} OPERATOR(pg_catalog.>) {} AND {} OPERATOR(pg_catalog.<) {} THEN {} ELSE {} END)",
		s, literal(neg(least)), s, literal(least), literal(ratZero), quotient)
}

// seconds turns float seconds into steps, given in microseconds.
func (g *gridPrinter) seconds(s query.Scalar) query.Scalar {
	perSecond := quo(microsPerSec, g.m.Step)
	switch {
	case perSecond.Cmp(ratOne) == 0:
		return g.cast(s, oidFloat8)
	case perSecond.IsInt():
		return g.cast(query.F("({} OPERATOR(pg_catalog.*) {})", s, floatLiteral(oidFloat8, perSecond)), oidFloat8)
	}
	return g.cast(query.F("({} OPERATOR(pg_catalog./) {})", s, floatLiteral(oidFloat8, quo(g.m.Step, microsPerSec))), oidFloat8)
}

// clamp keeps s within literals of its own type. NaN is above every number, and infinite dates beyond every date.
func (g *gridPrinter) clamp(s query.Scalar, lo, hi string) query.Scalar {
	return query.Clamp{X: s, Lo: query.Raw(lo), Hi: query.Raw(hi), Ladder: g.ladder || g.foreign}
}

// cast makes the integer: numeric rounds half away from zero, float half to even.
func (g *gridPrinter) cast(s query.Scalar, from uint32) query.Scalar {
	if from == g.m.Type {
		return s
	}
	return query.F("({})::{}", s, qualified(g.m.Type, -1))
}
