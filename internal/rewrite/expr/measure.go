package expr

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// GridRule asks Measured for a grid. The zero value asks for that of the type (docs/policy.md, grid).
type GridRule struct {
	Step    *big.Rat // in canonical units; nil: by type
	Foreign bool     // print CASE ladders, which postgres_fdw pushes down, and never LEAST and GREATEST
}

// Measure is an aggregated argument as main computes it: an integer number of grid steps per row.
type Measure struct {
	SQL       query.Scalar // NULL where the argument is NULL, else an integer in [Lo, Hi]
	Unguarded query.Scalar // faster, and wrong for NULL: for sum(Unguarded) FILTER (WHERE Guard)
	Guard     query.Scalar // condition that the argument is not NULL; nil: it never is
	Type      uint32       // int4 or int8, of both
	Lo, Hi    int64        // in grid steps
	Step      *big.Rat     // canonical units per step: value = Step × z. Origin is 0 (1970-01-01 for dates and timestamps)

	arg *Expr
}

// maxSteps bounds the integers of one row, so that 2x − 2c fits int8 for all x and c within the bounds.
var maxSteps = bounds.Pow2(60)

// Measured prints the clamped, grid-rounded integer of an aggregated argument, by the form that PostgreSQL computes
// fastest for its type. It refuses arguments without finite bounds.
func Measured(e *Expr, rule GridRule) (*Measure, error) {
	x := e.relabelled()
	if x.typ == pgtype.BoolOID {
		return guarded(x, &Measure{
			arg: x, Unguarded: query.F("({})::pg_catalog.int4", x.SQL()), Type: pgtype.Int4OID, Hi: 1,
			Step: bounds.One,
		}), nil
	}
	if !pgresolve.IsNumber(x.typ) && !pgresolve.IsTime(x.typ) {
		return nil, Refuse(refusal.Types, e.location, fmt.Sprintf("%s is of type %s, which has no sum", e.Text(),
			pgresolve.Display(e.typ)), "count it, or aggregate a number, a date or a time")
	}
	if x.typ == pgtype.TimeOID {
		y := *x
		y.bounds = dayOf(x)
		x = &y
	}
	if !x.bounds.Finite() {
		return nil, Refuse(refusal.NoBounds, e.location,
			fmt.Sprintf("%s has no bounds, so one unit could change the answer by any amount", e.Text()),
			fmt.Sprintf("aggregate columns with declared bounds, or write LEAST(GREATEST(%s, low), high)", e.Text()))
	}
	step := rule.Step
	if step == nil || step.Sign() <= 0 {
		step = defaultStep(x)
	}
	m := &Measure{arg: x, Step: step}
	steps := stepsOf(x, step)
	if tooMany := func(r *big.Rat) bool { return new(big.Rat).Abs(r).Cmp(maxSteps) > 0 }; tooMany(steps.Lo) ||
		tooMany(steps.Hi) {
		return nil, Refuse(refusal.Grid, e.location, fmt.Sprintf("%s has too many grid steps of %s within its bounds %s",
			e.Text(), bounds.Decimal(step), x.bounds), "declare narrower bounds, or a coarser grid")
	}
	m.Lo, m.Hi, m.Type = steps.Lo.Num().Int64(), steps.Hi.Num().Int64(), pgtype.Int8OID
	if steps.Within(intRange(pgtype.Int4OID)) {
		m.Type = pgtype.Int4OID
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

// stepsOf bounds the integer, rounded as the type rounds.
func stepsOf(x *Expr, step *big.Rat) bounds.Interval {
	lo, hi := quo(x.bounds.Lo, step), quo(x.bounds.Hi, step)
	switch {
	case pgresolve.IsFloat(x.typ):
		return bounds.New(bounds.RoundHalfEven(floatSteps(x.bounds.Lo, step)),
			bounds.RoundHalfEven(floatSteps(x.bounds.Hi, step)))
	case pgresolve.IsInt(x.typ), x.typ == pgtype.NumericOID, x.typ == pgtype.DateOID:
		return bounds.New(bounds.RoundHalfAway(lo), bounds.RoundHalfAway(hi))
	}
	return bounds.New(bounds.Floor(lo), bounds.Ceil(hi))
}

// guarded adds the forms that give NULL for NULL: LEAST and GREATEST ignore it.
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

// notNull prints that an expression has a value. Arithmetic that cannot raise has one where its columns do, which costs
// less. So has a bucket where what is compared with its thresholds has one, and a ladder of them may be long.
func notNull(x *Expr) query.Scalar {
	if x.tmpl == thresholdsTemplate {
		x = x.args[0]
	}
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

// Digits before the point of what is read unclamped, far below numeric's 131072: of a column, and of the whole, since
// products add up.
const (
	rawColumnDigits = 80
	rawDigits       = 1000
)

// rawSafe says that columns may be read unclamped since the whole is clamped afterwards: sums, differences and products
// of numeric(p,s) columns and constants, which neither overflow nor raise, whatever the values (docs/privacy.md P22).
func rawSafe(e *Expr) bool {
	digits, ok := e.rawDigits()
	return ok && digits <= rawDigits
}

// rawDigits bounds the digits before the point where columns are read unclamped; not ok where something may raise.
func (e *Expr) rawDigits() (digits int, ok bool) {
	switch {
	case e.col != nil && pgresolve.IsInt(e.baseType()):
		return 19, true
	case e.col != nil:
		typmod := e.col.Typmod
		if e.col.Base != 0 {
			typmod = e.col.BaseTypmod
		}
		precision, scale := pgresolve.NumericTypmod(typmod)
		return max(precision-scale, 1), e.baseType() == pgtype.NumericOID && typmod >= 0 && precision-scale <= rawColumnDigits
	case e.typ != pgtype.NumericOID:
		return 0, false
	case e.value != nil && e.bounds.Finite():
		return len(bounds.Floor(e.bounds.Abs().Hi).Num().String()), true
	case e.value != nil:
		return 1, true
	case e.tmpl == castTemplate && e.exactCast() && e.args[0].col != nil:
		return e.args[0].rawDigits()
	case e.tmpl != plusTemplate && e.tmpl != minusTemplate && e.tmpl != timesTemplate:
		return 0, false
	}
	for _, a := range e.args {
		n, fit := a.rawDigits()
		if !fit || a.typ != pgtype.NumericOID {
			return 0, false
		}
		if e.tmpl == timesTemplate {
			digits += n
		} else {
			digits = max(digits, n)
		}
	}
	if e.tmpl != timesTemplate {
		digits++ // of the carry
	}
	return digits, true
}

// defaultStep chooses the grid by type (docs/policy.md, grid).
func defaultStep(x *Expr) *big.Rat {
	width := x.bounds.Width()
	switch {
	case pgresolve.IsInt(x.typ):
		return bounds.One
	case x.typ == pgtype.NumericOID && x.scale >= 0 && x.scale <= 1000:
		step := bounds.Pow10(-x.scale)
		if quo(x.bounds.Abs().Hi, step).Cmp(maxSteps) <= 0 {
			return step
		}
	case x.typ == pgtype.DateOID:
		return bounds.One
	case pgresolve.IsTime(x.typ):
		if width.Cmp(rat(1e12)) >= 0 { // 10⁶ seconds
			return microsPerSec
		}
		return rat(1000)
	}
	if width.Sign() == 0 {
		width = bounds.Max(x.bounds.Abs().Hi, bounds.One)
	}
	step := bounds.FloorPow2(mul(width, bounds.Pow10(-6)))
	if most := x.bounds.Abs().Hi; most.Sign() > 0 { // a narrow range far from 0: no finer than doubles
		step = bounds.Max(step, bounds.FloorPow2(quo(most, bounds.Pow2(52))))
	}
	return step
}

// floatSteps computes r/step as float8 does: a product with the whole inverse of step, or a quotient.
func floatSteps(r, step *big.Rat) *big.Rat {
	inverse := new(big.Rat).Inv(step)
	var out *big.Rat
	if inverse.IsInt() {
		f, _ := roundFloat(inverse, pgtype.Float8OID)
		out, _ = roundFloat(mul(r, f), pgtype.Float8OID)
	} else {
		f, _ := roundFloat(step, pgtype.Float8OID)
		out, _ = roundFloat(quo(r, f), pgtype.Float8OID)
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
	one := step.Cmp(bounds.One) == 0
	switch {
	case pgresolve.IsInt(x.typ) && one:
		// a ladder is faster than LEAST and GREATEST for a plain integer, and is pushed down
		g.ladder = x.col != nil || g.foreign
		return g.cast(g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)), x.typ)
	case pgresolve.IsInt(x.typ):
		return g.numeric(query.F("({})::pg_catalog.numeric", g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false),
			valueLiteral(x.typ, x.bounds.Hi, true))))
	case x.typ == pgtype.NumericOID:
		if x.col != nil && !rawSafe(x) { // a bare numeric may have 131072 digits: no product before the clamp
			return g.cast(g.scaled(g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)),
				pgtype.NumericOID), pgtype.NumericOID)
		}
		if g.throughFloat() {
			s := g.scaled(query.F("({})::pg_catalog.float8", g.s), pgtype.Float8OID)
			return g.cast(g.clamp(s, floatLiteral(pgtype.Float8OID, rat(g.m.Lo)), floatLiteral(pgtype.Float8OID, rat(g.m.Hi))),
				pgtype.Float8OID)
		}
		return g.numeric(g.s)
	case pgresolve.IsFloat(x.typ):
		s := g.s
		if x.typ == pgtype.Float4OID {
			s = query.F("({})::pg_catalog.float8", s)
		}
		return g.cast(g.scaled(g.clamp(s, floatLiteral(pgtype.Float8OID, x.bounds.Lo),
			floatLiteral(pgtype.Float8OID, x.bounds.Hi)), pgtype.Float8OID), pgtype.Float8OID)
	case x.typ == pgtype.DateOID:
		days := query.F("({} OPERATOR(pg_catalog.-) '1970-01-01'::pg_catalog.date)",
			g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true)))
		if one {
			return g.cast(days, pgtype.Int4OID)
		}
		return g.numeric(query.F("{}::pg_catalog.numeric", days))
	case x.typ == pgtype.IntervalOID:
		seconds := query.F("pg_catalog.date_part('epoch'::pg_catalog.text, {})", g.s)
		lo, _ := roundFloat(quo(x.bounds.Lo, microsPerSec), pgtype.Float8OID)
		hi, _ := roundFloat(quo(x.bounds.Hi, microsPerSec), pgtype.Float8OID)
		return g.seconds(g.clamp(seconds, floatLiteral(pgtype.Float8OID, lo), floatLiteral(pgtype.Float8OID, hi)))
	}
	return g.seconds(query.F("pg_catalog.date_part('epoch'::pg_catalog.text, {})",
		g.clamp(g.s, valueLiteral(x.typ, x.bounds.Lo, false), valueLiteral(x.typ, x.bounds.Hi, true))))
}

// Bounds within which a column is read as float8: digits behind the point, and grid steps.
const (
	floatScale = 15
	exactSteps = 1 << 50
)

// throughFloat says that a column's integers come out the same through float8, which takes two thirds of the time: a
// value is a whole number of its grid's steps, and conversion and product are off by 2^-52 of it together, less than
// half a step. What is beyond the bounds stays there, NaN is above them, and nothing overflows: a column has at most
// rawColumnDigits digits before the point.
func (g *gridPrinter) throughFloat() bool {
	x := g.x
	within := bounds.Between(-exactSteps, exactSteps)
	return !g.foreign && x.col != nil && x.scale >= 0 && x.scale <= floatScale &&
		g.m.Step.Cmp(bounds.Pow10(-x.scale)) == 0 &&
		bounds.Between(g.m.Lo, g.m.Hi).Within(within)
}

// numeric clamps a numeric after scaling it: an aligned product compares faster than a stored short numeric.
func (g *gridPrinter) numeric(s query.Scalar) query.Scalar {
	lo := valueLiteral(pgtype.NumericOID, rat(g.m.Lo), false)
	hi := valueLiteral(pgtype.NumericOID, rat(g.m.Hi), true)
	return g.cast(g.clamp(g.scaled(s, pgtype.NumericOID), lo, hi), pgtype.NumericOID)
}

// scaled divides by the step; multiplies where its inverse is whole.
func (g *gridPrinter) scaled(s query.Scalar, oid uint32) query.Scalar {
	if g.m.Step.Cmp(bounds.One) == 0 {
		return s
	}
	literal := func(r *big.Rat) string {
		if oid == pgtype.Float8OID {
			return floatLiteral(oid, r)
		}
		return valueLiteral(oid, r, true)
	}
	if inverse := new(big.Rat).Inv(g.m.Step); inverse.IsInt() {
		return query.F("({} OPERATOR(pg_catalog.*) {})", s, literal(inverse))
	}
	quotient := query.F("({} OPERATOR(pg_catalog./) {})", s, literal(g.m.Step))
	if oid != pgtype.Float8OID {
		return quotient
	}
	// a quotient of a tiny float underflows, which raises; less than half a step is 0 anyway
	least := bounds.FloorPow2(quo(g.m.Step, rat(4)))
	return query.F("(CASE WHEN {} OPERATOR(pg_catalog.>) {} AND {} OPERATOR(pg_catalog.<) {} THEN {} ELSE {} END)",
		s, literal(neg(least)), s, literal(least), literal(bounds.Zero), quotient)
}

// seconds turns float seconds into steps, given in microseconds.
func (g *gridPrinter) seconds(s query.Scalar) query.Scalar {
	perSecond := quo(microsPerSec, g.m.Step)
	switch {
	case perSecond.Cmp(bounds.One) == 0:
		return g.cast(s, pgtype.Float8OID)
	case perSecond.IsInt():
		return g.cast(query.F("({} OPERATOR(pg_catalog.*) {})", s, floatLiteral(pgtype.Float8OID, perSecond)),
			pgtype.Float8OID)
	}
	return g.cast(query.F("({} OPERATOR(pg_catalog./) {})", s,
		floatLiteral(pgtype.Float8OID, quo(g.m.Step, microsPerSec))), pgtype.Float8OID)
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
	return query.F("({})::{}", s, pgresolve.Qualified(g.m.Type, -1))
}
