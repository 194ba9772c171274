package expr

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var extractRules = []rule{
	{names: "extract date_part", args: "text,date|time|timestamp|timestamptz|interval", total: "a constant field of the type; for fields that grow without end (year, epoch, …) a bounded operand", cost: cost{steps: 60}, apply: extract},
	{names: "date_trunc", args: "text,timestamptz,text", total: "a constant field and zone; bounded operand", cost: cost{steps: 60}, apply: dateTrunc},
	{names: "date_trunc", args: "text,timestamp|timestamptz", total: "a constant field; bounded operand", cost: cost{steps: 60}, apply: dateTrunc},
}

// fieldNames maps other names of fields to the first (datetime.c, datetktbl and deltatktbl).
var fieldNames = map[string]string{
	"years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second", "weeks": "week",
	"decades": "decade", "centuries": "century", "millenniums": "millennium", "millennia": "millennium", "quarters": "quarter",
	"microsecond": "microseconds", "millisecond": "milliseconds",
}

// cyclic bounds the fields that take few values, whatever the date. Infinity has none: NULL.
var cyclic = map[string]bounds.Interval{
	"month": bounds.Between(1, 12), "day": bounds.Between(1, 31), "hour": bounds.Between(0, 23), "minute": bounds.Between(0, 59), "second": bounds.Between(0, 60),
	"milliseconds": bounds.Between(0, 60000), "microseconds": bounds.Between(0, 60000000), "quarter": bounds.Between(1, 4), "week": bounds.Between(1, 53), "dow": bounds.Between(0, 6),
	"isodow": bounds.Between(1, 7), "doy": bounds.Between(1, 366), "timezone_hour": bounds.Between(-168, 168), "timezone_minute": bounds.Between(-59, 59), "timezone": bounds.Between(-604800, 604800),
}

// dayFields are those that a date has; the others raise when a row arrives.
var dayFields = []string{"month", "day", "quarter", "week", "dow", "isodow", "doy", "year", "isoyear", "decade", "century", "millennium", "epoch", "julian"}

// growing bounds the fields that grow with a date or timestamp, given in microseconds since 1970.
var growing = map[string]func(c *call, b bounds.Interval) bounds.Interval{
	"epoch":      func(_ *call, b bounds.Interval) bounds.Interval { return b.Scale(frac(1, 1000000)) },
	"year":       func(_ *call, b bounds.Interval) bounds.Interval { return years(b, 1) },
	"isoyear":    func(_ *call, b bounds.Interval) bounds.Interval { return years(b.Widen(mul(rat(7), microsPerDay)), 1) },
	"decade":     func(_ *call, b bounds.Interval) bounds.Interval { return years(b, 10) },
	"century":    func(_ *call, b bounds.Interval) bounds.Interval { return years(b, 100) },
	"millennium": func(_ *call, b bounds.Interval) bounds.Interval { return years(b, 1000) },
	"julian": func(_ *call, b bounds.Interval) bounds.Interval {
		return b.Scale(quo(bounds.One, microsPerDay)).Add(bounds.Between(2440587, 2440589))
	},
}

// timeField reads the first argument, a constant, as the name of a field.
func (c *call) timeField() (name string, known bool, err error) {
	field, known, err := c.constantText(0, "the field")
	field = strings.ToLower(field)
	if f, ok := fieldNames[field]; ok {
		field = f
	}
	return field, known, err
}

// extract bounds EXTRACT, a numeric, and date_part, a float8.
func extract(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	field, known, err := c.timeField()
	if err != nil || !known {
		e.provisional = e.provisional || !known
		return e, err
	}
	e.scale = 0
	switch c.args[1].typ {
	case pgtype.TimeOID:
		return c.extractTime(e, field)
	case pgtype.IntervalOID:
		return c.extractSpan(e, field)
	}
	return c.extractStamp(e, field)
}

// extractStamp bounds a field of a date or timestamp.
func (c *call) extractStamp(e *Expr, field string) (*Expr, error) {
	x := c.args[1]
	// date_part of a date goes through timestamp, which has every field; extract has the date's own
	if x.typ == pgtype.DateOID && c.cand.Name == "extract" && !slices.Contains(dayFields, field) {
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("a date has no field %q", field), "cast it to timestamp")
	}
	if strings.HasPrefix(field, "timezone") && x.typ != pgtype.TimestamptzOID {
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("%s has no field %q", pgresolve.Display(x.typ), field), "")
	}
	if i, ok := cyclic[field]; ok {
		e.bounds = i
		e.nullable = e.nullable || !x.bounds.Finite()
		if x.typ == pgtype.DateOID && c.cand.Name == "date_part" && !x.bounds.Within(dateSafe) && !x.provisional {
			return nil, c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "write extract(field FROM x), or declare bounds")
		}
		return c.fraction(e, field)
	}
	grow, ok := growing[field]
	if !ok {
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("the field %q is not supported", field), "")
	}
	if known, err := c.finite(); !known || err != nil {
		return e, err
	}
	b := micros(x)
	if !b.Within(timestampSafe) {
		return nil, c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "declare narrower bounds")
	}
	if r := localsOf(x); r != nil && field != "epoch" && field != "julian" {
		e.series = r.fields(c.cand.Name, field, b, grow(c, b))
	}
	if x.typ == pgtype.TimestamptzOID && field != "epoch" {
		b = b.Widen(zoneMax)
	}
	if (field == "epoch" || field == "julian") && x.typ != pgtype.DateOID {
		e.scale = -1
		if field == "epoch" {
			e.scale = 6
		}
	}
	e.bounds = grow(c, b)
	if field == "year" {
		e.yearOf = x
	}
	return c.fraction(e, field)
}

// fraction finishes fields with digits after the point, and float results.
func (c *call) fraction(e *Expr, field string) (*Expr, error) {
	switch field {
	case "second":
		e.scale = 6
	case "milliseconds":
		e.scale = 3
	}
	if pgresolve.IsFloat(e.typ) {
		if e.scale == 0 {
			e.quantum = 0
		} else {
			e.scale = -1
			e.quantum = 72 // at least a microsecond, 2^-20, to 52 bits
		}
		e.bounds, _ = roundFloats(e.bounds, e.typ)
	}
	return e, nil
}

func (c *call) extractTime(e *Expr, field string) (*Expr, error) {
	day := dayOf(c.args[1])
	switch field {
	case "hour":
		e.bounds = day.Scale(frac(1, 3600000000)).Trunc()
	case "epoch":
		e.bounds, e.scale = day.Scale(frac(1, 1000000)), 6
	case "minute", "second", "milliseconds", "microseconds":
		e.bounds = cyclic[field]
	default:
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("a time has no field %q", field), "")
	}
	return c.fraction(e, field)
}

// extractSpan: an interval's fields are its own, 90 minutes have hour 1 and 36 hours have day 0.
func (c *call) extractSpan(e *Expr, field string) (*Expr, error) {
	if known, err := c.finite(); !known || err != nil {
		return e, err
	}
	b := c.args[1].bounds
	most := b.Abs().Hi
	each := func(unit *big.Rat) bounds.Interval { // a field may be larger than the whole, when other fields are negative
		n := add(mul(quo(most, unit), rat(2)), rat(2))
		return bounds.New(neg(n), n)
	}
	if d := c.args[1].distance; d != nil {
		if i, ok := ageField(*d, field); ok {
			e.bounds = i
			return c.fraction(e, field)
		}
	}
	switch field {
	case "epoch":
		e.bounds, e.scale = b.Scale(frac(1, 1000000)), 6
	case "day":
		e.bounds = each(microsPerDay)
		if noMonths(c.args[1]) {
			days := quo(spreadOf(c.args[1]), microsPerDay) // more than the whole, when its time is of the other sign
			e.bounds = bounds.New(neg(days), days).Trunc()
		}
	default:
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("the field %q of an interval is not supported", field), "write extract(epoch FROM x) / 3600 for hours")
	}
	if field == "day" && !noMonths(c.args[1]) {
		return nil, c.refuse(refusal.DateField, "the days of an interval may be any number", "write extract(epoch FROM x) / 86400")
	}
	return c.fraction(e, field)
}

// ageField bounds a field of age(): n full years lie between 365n and 366n days, and smaller fields are less than their unit, all of
// one sign.
func ageField(distance bounds.Interval, field string) (bounds.Interval, bool) {
	if field == "year" {
		longest, shortest := quo(bounds.One, mul(rat(366), microsPerDay)), quo(bounds.One, mul(rat(365), microsPerDay))
		out := bounds.New(mul(distance.Lo, longest), mul(distance.Hi, shortest))
		if distance.Lo.Sign() < 0 {
			out.Lo = mul(distance.Lo, shortest)
		}
		if distance.Hi.Sign() < 0 {
			out.Hi = mul(distance.Hi, longest)
		}
		return out.Trunc(), true
	}
	most := map[string]int64{"month": 11, "quarter": 4, "day": 31, "hour": 24, "minute": 59}[field]
	if most == 0 {
		return bounds.Interval{}, false
	}
	out := bounds.Between(-most, most)
	if field == "quarter" {
		return bounds.Between(-3, 4), true
	}
	if distance.Lo.Sign() >= 0 {
		out.Lo = bounds.Zero
	}
	return out, true
}

// years gives the bounds of a year number over unit, from microseconds since 1970. Centuries and millennia end with the year that unit
// divides, hence the widening; decades begin with it, and count 1 BC as year 0 (timestamp.c, timestamp_part_common).
func years(b bounds.Interval, unit int64) bounds.Interval {
	year := b.Map(yearOf)
	switch unit {
	case 1:
		return year
	case 10:
		return year.Map(astronomical).Scale(frac(1, unit)).Map(bounds.Floor)
	}
	return year.Scale(frac(1, unit)).Map(bounds.Floor).Add(bounds.Between(0, 1))
}

// astronomical counts 1 BC as year 0.
func astronomical(year *big.Rat) *big.Rat {
	if year.Sign() < 0 {
		return add(year, bounds.One)
	}
	return year
}

// yearOf gives the proleptic Gregorian year, with −1 for 1 BC as EXTRACT has it.
func yearOf(micros *big.Rat) *big.Rat {
	days := bounds.Floor(quo(micros, microsPerDay)).Num().Int64() + 719468 // since 0000-03-01 (Hinnant, civil_from_days)
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	year := yoe + era*400
	if (5*doy+2)/153 >= 10 {
		year++
	}
	if year <= 0 {
		year--
	}
	return rat(year)
}

// truncUnits are the units of date_trunc that list well, with an upper bound of each in days and its step for generate_series.
var truncUnits = map[string]struct {
	days float64
	step string
}{
	"second": {1.0 / 86400, "1 second"}, "minute": {1.0 / 1440, "1 minute"}, "hour": {1.0 / 24, "1 hour"}, "day": {1, "1 day"}, "week": {7, "7 days"},
	"month": {31, "1 mon"}, "quarter": {92, "3 mons"}, "year": {366, "1 year"}, "decade": {3653, "10 years"}, "century": {36525, "100 years"},
	"milliseconds": {1.0 / 86400e3, "1 millisecond"}, "microseconds": {1.0 / 86400e6, "1 microsecond"},
}

func dateTrunc(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	field, known, err := c.timeField()
	if err != nil || !known {
		e.provisional = e.provisional || !known
		return e, err
	}
	unit, ok := truncUnits[field]
	if !ok {
		return nil, c.refuse(refusal.DateField, fmt.Sprintf("the field %q is not supported", field), "write second, minute, hour, day, week, month, quarter, year or decade")
	}
	if known, err := c.finite(); !known || err != nil {
		return e, err
	}
	x := c.args[1]
	if !x.bounds.Within(timestampSafe) {
		return nil, c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "declare narrower bounds")
	}
	e.bounds = bounds.New(sub(x.bounds.Lo, mul(new(big.Rat).SetFloat64(unit.days), microsPerDay)), x.bounds.Hi)
	if e.typ == pgtype.TimestamptzOID { // the zone's offset may differ at the truncated time, which may even be later
		e.bounds = e.bounds.Widen(zoneJump)
	}
	if len(c.args) == 3 {
		name, known, err := c.constantText(2, "the time zone")
		if err != nil {
			return nil, err
		}
		if known {
			if err := c.zoneExists(name); err != nil {
				return nil, err
			}
			c.zonedTruncs(e, field)
		}
		return e, nil
	}
	e.series = truncSeries(x, field, unit.step, unit.days, x.bounds)
	e.series.loose = x.col == nil
	return e, nil
}
