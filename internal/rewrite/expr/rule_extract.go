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
	{
		names: "extract date_part", args: "text,date|time|timestamp|timestamptz|interval",
		total:     "a constant field of the type; for fields that grow without end (year, epoch, …) a bounded operand",
		constants: []string{"the field"}, cost: cost{steps: 60}, apply: extract,
	},
	{
		names: "date_trunc", args: "text,timestamp|timestamptz", total: "a constant field; bounded operand",
		constants: []string{"the field"}, bounded: true, cost: cost{steps: 60}, apply: dateTrunc,
	},
}

// fieldNames maps other names of fields to the first (datetime.c, datetktbl and deltatktbl).
var fieldNames = map[string]string{
	"years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
	"weeks":   "week",
	"decades": "decade", "centuries": "century", "quarters": "quarter",
	"microsecond": "microseconds", "millisecond": "milliseconds",
}

// cyclic bounds the fields that take few values, whatever the date. Infinity has none: NULL.
var cyclic = map[string]bounds.Interval{
	"month": bounds.Between(1, 12), "day": bounds.Between(1, 31), "hour": bounds.Between(0, 23), "minute": bounds.Between(
		0, 59), "second": bounds.Between(0, 60),
	"milliseconds": bounds.Between(0, 60000), "microseconds": bounds.Between(0, 60000000), "quarter": bounds.Between(1, 4),
	"week": bounds.Between(1, 53), "dow": bounds.Between(0, 6),
	"isodow": bounds.Between(1, 7), "doy": bounds.Between(1, 366),
}

// dayFields are those that a date has, and timeFields those that a time has; the others raise when a row arrives.
var (
	dayFields  = []string{"month", "day", "quarter", "week", "dow", "isodow", "doy", "year", "isoyear", "decade", "epoch"}
	timeFields = []string{"hour", "minute", "second", "milliseconds", "microseconds", "epoch"}
)

// growing bounds the fields that grow with a date or timestamp, given in microseconds since 1970.
var growing = map[string]func(b bounds.Interval) bounds.Interval{
	"epoch":   seconds,
	"year":    func(b bounds.Interval) bounds.Interval { return b.Map(yearOf) },
	"decade":  func(b bounds.Interval) bounds.Interval { return b.Map(decadeOf) },
	"isoyear": func(b bounds.Interval) bounds.Interval { return b.Widen(mul(rat(7), microsPerDay)).Map(yearOf) },
}

func seconds(b bounds.Interval) bounds.Interval { return b.Scale(frac(1, 1000000)) }

// timeField is the first argument, the name of a field.
func (c *call) timeField() string {
	field := strings.ToLower(c.textOf(0))
	if f, ok := fieldNames[field]; ok {
		return f
	}
	return field
}

// noField refuses a field that values of the type have not.
func (c *call) noField(field, hint string) error {
	return c.refuse(refusal.DateField, fmt.Sprintf("the field %q of type %s is not supported", field,
		pgresolve.Display(c.args[1].typ)), hint)
}

// extract bounds EXTRACT, a numeric, and date_part, a float8.
func extract(c *call, e *Expr) error {
	field, x := c.timeField(), c.args[1]
	e.scale = map[string]int{"second": 6, "milliseconds": 3}[field]
	if field == "epoch" && x.typ != pgtype.DateOID {
		e.scale = 6
	}
	var err error
	switch x.typ {
	case pgtype.TimeOID:
		err = c.extractTime(e, field)
	case pgtype.IntervalOID:
		err = c.extractSpan(e, field)
	default:
		err = c.extractStamp(e, field)
	}
	if err != nil || !pgresolve.IsFloat(e.typ) || !e.bounds.Finite() {
		return err
	}
	e.quantum = 0
	if e.scale > 0 {
		e.scale, e.quantum = -1, 72 // at least a microsecond, 2^-20, to 52 bits
	}
	e.bounds, _ = roundFloats(e.bounds, e.typ)
	return nil
}

// extractStamp bounds a field of a date or timestamp.
func (c *call) extractStamp(e *Expr, field string) error {
	x := c.args[1]
	// date_part of a date goes through timestamp, which has every field; extract has the date's own
	if x.typ == pgtype.DateOID && c.cand.Name == "extract" && !slices.Contains(dayFields, field) {
		return c.noField(field, "cast it to timestamp")
	}
	if i, ok := cyclic[field]; ok {
		e.bounds = i
		e.nullable = e.nullable || !x.bounds.Finite()
		if x.typ == pgtype.DateOID && c.cand.Name == "date_part" && !x.bounds.Within(dateSafe) && !x.provisional {
			return c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "write extract(field FROM x), or declare bounds")
		}
		return nil
	}
	grow, ok := growing[field]
	if !ok {
		return c.noField(field, "write year, quarter, month, week, day, dow, doy, hour, minute, second or epoch")
	}
	if known, err := c.finite(); !known || err != nil {
		return err
	}
	b := micros(x)
	if !b.Within(timestampSafe) {
		return c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "declare narrower bounds")
	}
	if r := localsOf(x); r != nil && field != "epoch" {
		e.series = r.fields(c.cand.Name, field, b, grow(b))
	}
	if x.typ == pgtype.TimestamptzOID && field != "epoch" {
		b = b.Widen(zoneMax)
	}
	e.bounds = grow(b)
	e.year = field == "year"
	return nil
}

func (c *call) extractTime(e *Expr, field string) error {
	switch day := dayOf(c.args[1]); {
	case !slices.Contains(timeFields, field):
		return c.noField(field, "write hour, minute, second or epoch")
	case field == "hour":
		e.bounds = day.Scale(frac(1, 3600000000)).Trunc()
	case field == "epoch":
		e.bounds = seconds(day)
	default:
		e.bounds = cyclic[field]
	}
	return nil
}

// extractSpan: an interval's fields are its own, 90 minutes have hour 1 and 36 hours have day 0.
func (c *call) extractSpan(e *Expr, field string) error {
	if known, err := c.finite(); !known || err != nil {
		return err
	}
	x := c.args[1]
	if x.distance != nil {
		if i, ok := ageField(*x.distance, field); ok {
			e.bounds = i
			return nil
		}
	}
	switch {
	case field == "epoch":
		e.bounds = seconds(x.bounds)
	case field == "day" && noMonths(x):
		e.bounds = x.bounds.Scale(quo(bounds.One, microsPerDay)).Trunc()
	default:
		return c.noField(field, "write extract(epoch FROM x) / 86400 for days, or / 3600 for hours")
	}
	return nil
}

// ageField bounds a field of age(): n full years lie between 365n and 366n days, and smaller fields are less than their
// unit, all of one sign.
func ageField(distance bounds.Interval, field string) (bounds.Interval, bool) {
	if field == "year" {
		longest, shortest := quo(bounds.One, mul(rat(366), microsPerDay)), quo(bounds.One, mul(rat(365), microsPerDay))
		return distance.Mul(bounds.New(longest, shortest)).Trunc(), true
	}
	most := map[string]int64{"month": 11, "day": 31, "hour": 24, "minute": 59}[field]
	if most > 0 && distance.Lo.Sign() >= 0 {
		return bounds.Between(0, most), true
	}
	return bounds.Between(-most, most), most > 0
}

// decadeOf gives the decade of a year, of which 1 BC is year 0 (timestamp.c, timestamp_part_common).
func decadeOf(micros *big.Rat) *big.Rat {
	year := yearOf(micros)
	if year.Sign() < 0 {
		year = add(year, bounds.One)
	}
	return bounds.Floor(quo(year, rat(10)))
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

// truncUnits are the units of date_trunc that list well, with an upper bound of each in days and its step for
// generate_series.
var truncUnits = map[string]struct {
	days float64
	step string
}{
	"second": {1.0 / 86400, "1 second"}, "minute": {1.0 / 1440, "1 minute"}, "hour": {1.0 / 24, "1 hour"},
	"day": {1, "1 day"}, "week": {7, "7 days"},
	"month": {31, "1 mon"}, "quarter": {92, "3 mons"}, "year": {366, "1 year"}, "decade": {3653, "10 years"},
	"century":      {36525, "100 years"},
	"milliseconds": {1.0 / 86400e3, "1 millisecond"}, "microseconds": {1.0 / 86400e6, "1 microsecond"},
}

func dateTrunc(c *call, e *Expr) error {
	field, x := c.timeField(), c.args[1]
	unit, ok := truncUnits[field]
	if !ok {
		return c.noField(field, "write second, minute, hour, day, week, month, quarter, year or decade")
	}
	if !x.bounds.Within(timestampSafe) {
		return c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "declare narrower bounds")
	}
	e.bounds = bounds.New(sub(x.bounds.Lo, mul(new(big.Rat).SetFloat64(unit.days), microsPerDay)), x.bounds.Hi)
	if e.typ == pgtype.TimestamptzOID { // the zone's offset may differ at the truncated time, which may even be later
		e.bounds = e.bounds.Widen(zoneJump)
	}
	e.series = truncSeries(x, field, unit.step, unit.days, x.bounds)
	e.series.loose = x.col == nil
	return nil
}
