package expr

import (
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

var datetimeRules = []rule{
	{names: "-", args: "date,date", total: "bounded operands", apply: dateDifference},
	{names: "+", args: "date,int4 int4,date", total: "bounded operands; the result stays within years -4600 to 270000", apply: dateShift},
	{names: "-", args: "date,int4", total: "bounded operands; the result stays within years -4600 to 270000", apply: dateShift},
	{names: "+", args: "date|timestamp|timestamptz,interval interval,date|timestamp|timestamptz", total: "bounded operands; the result stays within years -4600 to 270000", apply: stampShift},
	{names: "-", args: "date|timestamp|timestamptz,interval", total: "bounded operands; the result stays within years -4600 to 270000", apply: stampShift},
	{names: "-", args: "timestamp,timestamp timestamptz,timestamptz", total: "bounded operands", apply: stampDifference},
	{names: "+", args: "date,time time,date", total: "bounded operands", apply: dateTime},
	{names: "-", args: "time,time", total: "always", apply: timeDifference},
	{names: "+", args: "time,interval interval,time", total: "bounded interval", apply: timeShift},
	{names: "-", args: "time,interval", total: "bounded interval", apply: timeShift},
	{names: "+ -", args: "interval,interval", total: "bounded operands", apply: spanSum},
	{names: "-", args: "interval", total: "bounded operand", apply: spanNegate},
	{names: "*", args: "interval,float8 float8,interval", total: "bounded operands of at most 10^17 microseconds", apply: spanScale},
	{names: "/", args: "interval,float8", total: "bounded operands of at most 10^17 microseconds", apply: spanScale},
	{names: "age", args: "timestamp,timestamp timestamptz,timestamptz", total: "bounded operands", cost: cost{steps: 30}, apply: age},
	{names: "age", args: "timestamp|timestamptz", total: "bounded operand", cost: cost{steps: 30}, apply: ageNow},
	{names: "isfinite", args: "date|timestamp|timestamptz|interval", total: "always", unclamped: true, apply: isFinite},
	{names: "timezone", args: "text,timestamp|timestamptz", total: "a constant zone; bounded operand", cost: cost{steps: 60}, apply: zone},
	{names: "timezone", args: "interval,timestamp|timestamptz", total: "a constant offset within 168 hours; bounded operand", cost: cost{steps: 60}, apply: offset},
}

// inside refuses results outside the range in which calendar functions work.
func (c *call) inside(e *Expr, r bounds.Interval) (*Expr, error) {
	if !e.bounds.Within(r) {
		return nil, c.refuse(refusal.Overflow, "the result may lie out of range", "declare narrower bounds")
	}
	return e, nil
}

// dateDifference raises on infinite dates.
func dateDifference(c *call) (*Expr, error) {
	e := c.result(pgtype.Int4OID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = c.spanned(c.args[0].bounds.Sub(c.args[1].bounds))
	return c.inside(e, intRange(pgtype.Int4OID))
}

func dateShift(c *call) (*Expr, error) {
	e := c.result(pgtype.DateOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = operate(c.cand.Name, c.args[0].bounds, c.args[1].bounds)
	return c.inside(e, dateSafe)
}

// shiftOf bounds by how much adding an interval expression may move a timestamp.
func shiftOf(e *Expr) bounds.Interval {
	if e.value != nil && e.value.span != nil {
		return e.value.span.shift()
	}
	if e.monthless {
		return e.bounds
	}
	// months may be 28 to 31 days where the epoch counts 30 or 365.25/12
	return e.bounds.Widen(add(mul(spreadOf(e), frac(1, 10)), mul(rat(4), microsPerDay)))
}

// spreadOf bounds the sizes of an interval's fields together. Fields may cancel out in the epoch: 1000 months and −30437 days.
func spreadOf(e *Expr) *big.Rat {
	switch {
	case e.value != nil && e.value.span != nil:
		s := e.value.span
		days := mul(rat(31*max(s.months, -s.months)+max(s.days, -s.days)), microsPerDay)
		return add(days, new(big.Rat).Abs(s.micros))
	case e.spread != nil:
		return e.spread
	case e.monthless:
		return mul(e.bounds.Abs().Hi, rat(2)) // days and time of both signs
	}
	return add(mul(e.bounds.Abs().Hi, rat(3)), mul(rat(428), microsPerDay))
}

// wayOf bounds by how much adding the months, then the days and then the time of an interval may move a timestamp meanwhile: -1000000
// days and 24000000 hours lead to the same place by way of a year that PostgreSQL does not have.
func wayOf(e *Expr) bounds.Interval {
	if e.value == nil || e.value.span == nil {
		return bounds.New(neg(spreadOf(e)), spreadOf(e))
	}
	out := bounds.Point(bounds.Zero)
	for _, s := range []span{{months: e.value.span.months}, {months: e.value.span.months, days: e.value.span.days}, *e.value.span} {
		if s.micros == nil {
			s.micros = bounds.Zero
		}
		out = out.Hull(s.shift())
	}
	return out
}

func micros(e *Expr) bounds.Interval {
	if e.typ == pgtype.DateOID {
		return e.bounds.Scale(microsPerDay)
	}
	return e.bounds
}

func stampShift(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	at, by := c.args[0], c.args[1]
	if at.typ == pgtype.IntervalOID {
		at, by = by, at
	}
	shift := shiftOf(by)
	if at.typ == pgtype.TimestamptzOID && by.value == nil || by.value != nil && by.value.span != nil && at.typ == pgtype.TimestamptzOID && (by.value.span.days != 0 || by.value.span.months != 0) {
		shift = shift.Widen(zoneJump)
	}
	e.bounds = operate(c.cand.Name, micros(at), shift)
	if !operate(c.cand.Name, micros(at), wayOf(by)).Within(timestampRange) {
		return nil, c.refuse(refusal.Overflow, "it may lie out of range before all fields of the interval are added", "declare narrower bounds")
	}
	return c.inside(e, timestampSafe)
}

// stampDifference: days and time, no months.
func stampDifference(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds, e.monthless = c.spanned(c.args[0].bounds.Sub(c.args[1].bounds)), true
	return c.inside(e, spanSafe)
}

// An interval's time is an int64 of microseconds, and the sizes of its fields together (spreadOf) are no more than that.
var (
	spanSafe   = bounds.New(mul(rat(-100000000), microsPerDay), mul(rat(100000000), microsPerDay))
	mostSpread = mul(rat(100000000), microsPerDay)
)

func dateTime(c *call) (*Expr, error) {
	e := c.result(pgtype.TimestampOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = micros(c.args[0]).Add(micros(c.args[1]))
	return c.inside(e, timestampSafe)
}

// dayOf gives a time of day's bounds.
func dayOf(e *Expr) bounds.Interval { return e.bounds.Fill(dayRange) }

func timeDifference(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	if c.args[0].provisional || c.args[1].provisional {
		return e, nil
	}
	e.bounds, e.monthless = dayOf(c.args[0]).Sub(dayOf(c.args[1])), true
	return e, nil
}

// timeShift wraps around midnight.
func timeShift(c *call) (*Expr, error) {
	e := c.result(pgtype.TimeOID)
	for _, a := range c.args {
		if a.typ == pgtype.IntervalOID && !a.bounds.Finite() && !a.provisional && !isNull(a) {
			return nil, c.refuse(refusal.NoBounds, a.Text()+" has no bounds", "")
		}
	}
	e.bounds = dayRange
	return e, nil
}

// spanSum: fields add up one by one, so the epoch does too, but for the years among the months.
func spanSum(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = operate(c.cand.Name, c.args[0].bounds, c.args[1].bounds).Widen(mul(rat(12), microsPerDay))
	if noMonths(c.args[0]) && noMonths(c.args[1]) {
		e.bounds, e.monthless = operate(c.cand.Name, c.args[0].bounds, c.args[1].bounds), true
	}
	e.spread = add(spreadOf(c.args[0]), spreadOf(c.args[1]))
	if e.spread.Cmp(mostSpread) > 0 { // fields of both signs cancel out in the epoch, and overflow one by one
		return nil, c.refuse(refusal.Overflow, "a field of it may overflow", "declare narrower bounds")
	}
	return c.inside(e, spanSafe)
}

// noMonths: constants without months, differences of timestamps and times.
func noMonths(e *Expr) bool {
	if e.value != nil && e.value.span != nil {
		return e.value.span.months == 0
	}
	return e.monthless
}

func spanNegate(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = c.args[0].bounds.Neg().Widen(mul(rat(12), microsPerDay))
	e.spread, e.monthless = spreadOf(c.args[0]), noMonths(c.args[0])
	return c.inside(e, spanSafe)
}

// spanScale multiplies months, days and time one by one and hands fractions down, so the epoch may be off by a share of its months.
func spanScale(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x, f := c.args[0], c.args[1]
	if x.typ != pgtype.IntervalOID {
		x, f = f, x
	}
	factor := f.bounds.Abs().Hi
	if c.cand.Name == "/" {
		if f.bounds.Contains(bounds.Zero) {
			return nil, c.refuse(refusal.Division, "0 lies within the bounds "+f.bounds.String()+" of "+f.Text(), "write CASE WHEN y > 0.01 THEN x / y END with the least y that matters")
		}
		e.bounds = x.bounds.Quo(f.bounds)
		factor = new(big.Rat).Inv(f.bounds.Abs().Lo)
	} else {
		e.bounds = x.bounds.Mul(f.bounds)
	}
	e.spread = add(mul(spreadOf(x), factor), mul(rat(40), microsPerDay))
	e.monthless = noMonths(x)
	slack := mul(rat(2), microsPerSec) // fractions of days are handed down as time
	if !e.monthless {
		slack = add(mul(e.spread, frac(1, 20)), mul(rat(40), microsPerDay))
	}
	e.bounds = e.bounds.Widen(slack)
	if e.spread.Cmp(rat(1e17)) > 0 || factor.Cmp(bounds.Pow10(9)) > 0 || spreadOf(x).Cmp(rat(1e17)) > 0 {
		return nil, c.refuse(refusal.Overflow, "it may overflow interval", "")
	}
	return e, nil
}

// age counts years, months and days: its epoch differs from the distance by at most 31 days and a twelfth.
func age(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	for _, a := range c.args {
		if !a.bounds.Within(timestampSafe) {
			return nil, c.refuse(refusal.Overflow, a.Text()+" may lie out of range", "declare narrower bounds")
		}
	}
	distance := c.args[0].bounds.Sub(c.args[1].bounds)
	if c.args[0].typ == pgtype.TimestamptzOID { // its fields are those of local times
		distance = distance.Widen(zoneJump)
	}
	e.bounds = distance.Widen(add(mul(distance.Abs().Hi, frac(1, 12)), mul(rat(31), microsPerDay)))
	e.distance = &distance
	return e, nil
}

// ageNow bounds age(x), which counts from midnight of the current date.
func ageNow(c *call) (*Expr, error) {
	today, err := c.b.readByServer(c.args[0].typ, "today", &Expr{text: "CURRENT_DATE", location: c.loc})
	if err != nil {
		return nil, err
	}
	c.args = []*Expr{today, c.args[0]}
	c.tmpl = "pg_catalog.age({0}, {1})"
	return age(c)
}

func isFinite(c *call) (*Expr, error) { return c.result(pgtype.BoolOID), nil }

// zone bounds AT TIME ZONE with a zone's name.
func zone(c *call) (*Expr, error) {
	name, zoneKnown, err := c.constantText(0, "the time zone")
	if err != nil {
		return nil, err
	}
	if zoneKnown {
		if err := c.zoneExists(name); err != nil {
			return nil, err
		}
	}
	away := zoneMax
	if universal(name) {
		away = bounds.Zero
	}
	return c.zoned(away)
}

// offset bounds AT TIME ZONE INTERVAL '2 hours'. Months and days raise an error.
func offset(c *call) (*Expr, error) {
	if by := c.args[0]; !by.provisional && !isNull(by) {
		if by.value == nil || by.value.span.months != 0 || by.value.span.days != 0 || by.bounds.Abs().Hi.Cmp(zoneMax) > 0 {
			return nil, c.refuse(refusal.ConstantNeeded, "the offset is not a constant of hours and minutes", "write INTERVAL '2 hours', or a zone's name")
		}
	}
	return c.zoned(zoneMax)
}

// zoned moves a timestamp between UTC and a zone that is so far away at most.
func (c *call) zoned(away *big.Rat) (*Expr, error) {
	e := c.result(c.cand.Result)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = c.args[1].bounds.Widen(away)
	if away.Sign() > 0 {
		c.zoneTimes(e)
	}
	return c.inside(e, timestampSafe)
}
