package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

var datetimeRules = []rule{
	{names: "-", args: "date,date", total: "bounded operands", bounded: true, apply: dateDifference},
	{names: "+", args: "date,int4 int4,date", total: inYears, bounded: true, apply: dateShift},
	{names: "-", args: "date,int4", total: inYears, bounded: true, apply: dateShift},
	{
		names: "+", args: "date|timestamp|timestamptz,interval interval,date|timestamp|timestamptz", total: inYears,
		bounded: true, apply: stampShift,
	},
	{names: "-", args: "date|timestamp|timestamptz,interval", total: inYears, bounded: true, apply: stampShift},
	{
		names: "-", args: "timestamp,timestamp timestamptz,timestamptz", total: "bounded operands", bounded: true,
		apply: stampDifference,
	},
	{
		names: "*", args: "interval,float8 float8,interval",
		total: "an interval without months; bounded operands, a result of at most 10^17 microseconds", bounded: true,
		apply: spanScale,
	},
	{
		names: "age", args: "timestamp,timestamp timestamptz,timestamptz", total: "bounded operands", bounded: true,
		cost: cost{steps: 30}, apply: age,
	},
	{names: "age", args: "timestamp|timestamptz", total: "bounded operand", cost: cost{steps: 30}, apply: ageNow},
	{names: "timezone", args: "text,timestamp|timestamptz", total: "a constant zone; bounded operand", constants: []string{
		"the time zone",
	}, bounded: true, cost: cost{steps: 60}, apply: zone},
	{
		names: "to_timestamp", args: "float8", total: "bounded operand within years -4600 to 270000", bounded: true,
		apply: toTimestamp,
	},
	{
		names: "date_bin", args: "interval,timestamp,timestamp interval,timestamptz,timestamptz",
		total: "a constant stride of days and time above 0, a constant origin; bounded operand", constants: []string{
			"its stride", "", "its origin",
		}, bounded: true, cost: cost{steps: 25}, apply: dateBin,
	},
	{names: "now transaction_timestamp statement_timestamp", total: "always", build: moment},
	{names: "date", total: "as the cast to date", build: dateOf},
}

const inYears = "bounded operands; the result stays within years -4600 to 270000"

// inside refuses results outside the range in which calendar functions work.
func (c *call) inside(e *Expr, r bounds.Interval) error {
	if !e.bounds.Within(r) {
		return c.refuse(refusal.Overflow, "the result may lie out of range", "declare narrower bounds")
	}
	return nil
}

// dateDifference raises on infinite dates.
func dateDifference(c *call, e *Expr) error {
	e.bounds = c.spanned(c.args[0].bounds.Sub(c.args[1].bounds))
	return c.inside(e, intRange(pgtype.Int4OID))
}

func dateShift(c *call, e *Expr) error {
	e.bounds = operate(c.cand.Name, c.args[0].bounds, c.args[1].bounds)
	return c.inside(e, dateSafe)
}

// wayOf bounds by how much adding the months, then the days and then the time of an interval may move a timestamp
// meanwhile: -1000000 days and 24000000 hours lead to the same place by way of a year that PostgreSQL does not have.
func (s *span) wayOf() bounds.Interval {
	months := span{months: s.months, micros: bounds.Zero}
	days := span{months: s.months, days: s.days, micros: bounds.Zero}
	return bounds.Point(bounds.Zero).Hull(months.shift()).Hull(days.shift()).Hull(s.shift())
}

func micros(e *Expr) bounds.Interval {
	if e.typ == pgtype.DateOID {
		return e.bounds.Scale(microsPerDay)
	}
	return e.bounds
}

// stampShift adds an interval that is a constant or has no months: the fields of another may cancel out in its epoch,
// and each of them be as large as it likes. One without months gets there without a detour.
func stampShift(c *call, e *Expr) error {
	at, by := c.args[0], c.args[1]
	if at.typ == pgtype.IntervalOID {
		at, by = by, at
	}
	shift, way, inZone := by.bounds, by.bounds.Hull(bounds.Point(bounds.Zero)), true
	switch {
	case by.value != nil:
		s := by.value.span
		shift, way, inZone = s.shift(), s.wayOf(), s.days != 0 || s.months != 0
	case !by.monthless:
		return c.refuse(refusal.ConstantNeeded, by.Text()+" is not a constant",
			"add a multiple of a constant of days or hours, or compare x - y with the interval")
	}
	if at.typ == pgtype.TimestamptzOID && inZone {
		shift = shift.Widen(zoneJump)
	}
	e.bounds = operate(c.cand.Name, micros(at), shift)
	if !operate(c.cand.Name, micros(at), way).Within(timestampRange) {
		return c.refuse(refusal.Overflow, "it may lie out of range before all fields of the interval are added",
			"declare narrower bounds")
	}
	return c.inside(e, timestampSafe)
}

// spanScale multiplies days and time one by one and hands fractions of days down as time, which keeps their sign.
func spanScale(c *call, e *Expr) error {
	x, f := c.args[0], c.args[1]
	if x.typ != pgtype.IntervalOID {
		x, f = f, x
	}
	if !noMonths(x) {
		return c.refuse(refusal.Types, x.Text()+" may have months, or fields of both signs",
			"multiply an interval of days or hours, as n * interval '1 day'")
	}
	e.bounds, e.monthless = x.bounds.Mul(f.bounds).Widen(mul(rat(2), microsPerSec)), true
	if most := rat(1e17); e.bounds.Abs().Hi.Cmp(most) > 0 || x.bounds.Abs().Hi.Cmp(most) > 0 ||
		f.bounds.Abs().Hi.Cmp(bounds.Pow10(9)) > 0 {
		return c.refuse(refusal.Overflow, "it may overflow interval", "declare narrower bounds")
	}
	return nil
}

// stampDifference: days and time, no months.
func stampDifference(c *call, e *Expr) error {
	e.bounds, e.monthless = c.spanned(c.args[0].bounds.Sub(c.args[1].bounds)), true
	return c.inside(e, spanSafe)
}

// An interval's time is an int64 of microseconds.
var spanSafe = bounds.New(mul(rat(-100000000), microsPerDay), mul(rat(100000000), microsPerDay))

// dayOf gives a time of day's bounds.
func dayOf(e *Expr) bounds.Interval { return e.bounds.Fill(dayRange) }

// noMonths says that an interval has days and time alone, of one sign, so that neither is more than the whole:
// differences of timestamps, and constants.
func noMonths(e *Expr) bool {
	if e.value != nil && e.value.span != nil {
		s := e.value.span
		return s.months == 0 && s.days*int64(s.micros.Sign()) >= 0
	}
	return e.monthless
}

// age counts years, months and days: its epoch differs from the distance by at most 31 days and a twelfth.
func age(c *call, e *Expr) error {
	for _, a := range c.args {
		if !a.bounds.Within(timestampSafe) {
			return c.refuse(refusal.Overflow, a.Text()+" may lie out of range", "declare narrower bounds")
		}
	}
	distance := c.args[0].bounds.Sub(c.args[1].bounds)
	if c.args[0].typ == pgtype.TimestamptzOID { // its fields are those of local times
		distance = distance.Widen(zoneJump)
	}
	e.bounds = distance.Widen(add(mul(distance.Abs().Hi, frac(1, 12)), mul(rat(31), microsPerDay)))
	e.distance = &distance
	return nil
}

// ageNow bounds age(x), which counts from midnight of the current date.
func ageNow(c *call, e *Expr) error {
	today, err := c.b.readByServer(c.args[0].typ, "today", &Expr{text: "CURRENT_DATE", location: c.loc})
	if err != nil {
		return err
	}
	c.args = []*Expr{today, c.args[0]}
	c.tmpl = "pg_catalog.age({0}, {1})"
	*e = *c.result(pgtype.IntervalOID)
	if known, err := c.finite(); !known || err != nil {
		return err
	}
	return age(c, e)
}

// zone bounds AT TIME ZONE with a zone's name: it moves a timestamp between UTC and the zone.
func zone(c *call, e *Expr) error {
	name := c.textOf(0)
	if err := c.zoneExists(name); err != nil {
		return err
	}
	e.bounds = c.args[1].bounds
	if !universal(name) {
		e.bounds = e.bounds.Widen(zoneMax)
		c.zoneTimes(e)
	}
	return c.inside(e, timestampSafe)
}

// toTimestamp bounds to_timestamp(epoch): a product of floats, rounded.
func toTimestamp(c *call, e *Expr) error {
	e.bounds = c.args[0].bounds.Scale(microsPerSec).WidenRelative(bounds.Pow2(-50)).Widen(bounds.One)
	return c.inside(e, timestampSafe)
}

// dateBin gives the beginning of the bin that holds a timestamp, or of the bin before where it begins one (PostgreSQL
// 15, for times before the origin).
func dateBin(c *call, e *Expr) error {
	stride, x, origin := c.args[0], c.args[1], c.args[2]
	if stride.value.span.months != 0 || stride.bounds.Lo.Sign() <= 0 || !origin.bounds.Within(timestampSafe) {
		return c.refuse(refusal.ConstantNeeded, "its stride is not a constant of days and time above 0",
			"write a constant, as date_bin('15 minutes', x, '2000-01-01')")
	}
	step := stride.bounds.Lo
	e.bounds = bounds.New(sub(x.bounds.Lo, step), x.bounds.Hi)
	// every bin holds a point of a series of half its stride, or the last point
	lo, hi := valueLiteral(e.typ, x.bounds.Lo, false), valueLiteral(e.typ, x.bounds.Hi, true)
	half := bounds.Max(bounds.Floor(mul(step, frac(1, 2))), bounds.One)
	p := &printer{}
	e.series = &series{
		query: fmt.Sprintf(
			"SELECT pg_catalog.date_bin(%s, g.v, %s) AS v FROM (SELECT s.v FROM pg_catalog.generate_series(%s, %s, %s) AS s(v) UNION ALL SELECT %s) AS g(v)",
			query.Text(p.print(stride)), query.Text(p.print(origin)), lo, hi, valueLiteral(pgtype.IntervalOID, half, false), hi),
		size: rowCount(quo(x.bounds.Width(), half)) + 1,
	}
	return c.inside(e, timestampSafe)
}

// moment builds the functions that give the time of the statement.
func moment(c *call, _ string) (*Expr, error) {
	if len(c.args) > 0 {
		return nil, Refuse(refusal.Function, c.loc, c.text+" takes no arguments", "")
	}
	return c.b.clock(pgtype.TimestamptzOID, c.text, c.loc)
}

// dateOf builds date(x), a cast by another name.
func dateOf(c *call, _ string) (*Expr, error) {
	if len(c.args) != 1 || c.args[0].typ == pgtype.UnknownOID {
		return nil, nil
	}
	return c.b.cast(c.args[0], pgtype.DateOID, -1, c.text, c.loc)
}

// clock reads the clock once for all rows of a statement: a constant in the measure query, so that the question of
// another day is another question.
func (b *builder) clock(oid uint32, text string, loc int) (*Expr, error) {
	word := "now"
	if oid == pgtype.DateOID {
		word = "today"
	}
	return b.readByServer(oid, word, &Expr{text: text, location: loc})
}
