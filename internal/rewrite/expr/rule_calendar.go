package expr

import (
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Dates, times and intervals made of numbers: total where bounds prove every part valid.

var calendarRules = []rule{
	{names: "make_date", args: "int4,int4,int4", total: "bounds prove a year from 1 to 270000, a month from 1 to 12 and a day that each of those months has", apply: makeDate},
	{names: "make_timestamp", args: "int4,int4,int4,int4,int4,float8", total: "as make_date; and an hour from 0 to 23, a minute from 0 to 59 and a second from 0 to below 60", apply: makeStamp},
	{names: "make_time", args: "int4,int4,float8", total: "bounds prove an hour from 0 to 23, a minute from 0 to 59 and a second from 0 to below 60", apply: makeTime},
	{names: "make_interval", args: "int4,int4,int4,int4,int4,int4,float8", total: "bounded parts of at most 10^17 microseconds", apply: makeInterval},
	{names: "to_timestamp", args: "float8", total: "bounded operand within years -4600 to 270000", apply: toTimestamp},
	{names: "date_bin", args: "interval,timestamp,timestamp interval,timestamptz,timestamptz", total: "a constant stride of days and time above 0, a constant origin; bounded operand", cost: cost{steps: 25}, apply: dateBin},
	{names: "justify_hours justify_days justify_interval", args: "interval", total: "bounded operand", apply: justify},
	{names: "overlaps", args: "timestamp,timestamp,timestamp,timestamp timestamptz,timestamptz,timestamptz,timestamptz time,time,time,time", total: "always", unclamped: true, apply: overlaps},
}

// part requires an argument within a range; known is false while that waits for a value.
func (c *call) part(i int, what string, within bounds.Interval) (limits bounds.Interval, known bool, err error) {
	x := c.args[i]
	if x.provisional || isNull(x) {
		return within, false, nil
	}
	if !x.safe().Finite() || !x.safe().Within(within) {
		return within, false, c.refuse(refusal.ArgumentRange, fmt.Sprintf("the %s may lie outside %s", what, within), fmt.Sprintf("write LEAST(GREATEST(%s, %s), %s)", x.Text(), bounds.Decimal(within.Lo), bounds.Decimal(within.Hi)))
	}
	return x.bounds, true, nil
}

// day gives the bounds of a date made of the arguments 0 to 2, in days since 1970.
func (c *call) day() (limits bounds.Interval, known bool, err error) {
	y, known1, err := c.part(0, "year", bounds.Between(1, 270000))
	if err != nil {
		return y, false, err
	}
	m, known2, err := c.part(1, "month", bounds.Between(1, 12))
	if err != nil {
		return m, false, err
	}
	fewest, year := int64(31), 1970 // a year without a leap day, unless all are one year
	if y.Lo.Cmp(y.Hi) == 0 {
		year = int(y.Lo.Num().Int64())
	}
	for month := m.Lo.Num().Int64(); month <= m.Hi.Num().Int64(); month++ {
		fewest = min(fewest, int64(time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()))
	}
	if !known2 {
		fewest = 31
	}
	d, known3, err := c.part(2, "day", bounds.Between(1, fewest))
	if err != nil {
		return d, false, err
	}
	date := func(y, m, d *big.Rat) *big.Rat {
		at := time.Date(int(y.Num().Int64()), time.Month(m.Num().Int64()), int(d.Num().Int64()), 0, 0, 0, 0, time.UTC)
		return bounds.Floor(frac(at.Unix(), 86400))
	}
	return bounds.New(date(y.Lo, m.Lo, d.Lo), date(y.Hi, m.Hi, d.Hi)), known1 && known2 && known3, nil
}

// timeOfDay gives the bounds of a time made of three arguments from the i-th, in microseconds.
func (c *call) timeOfDay(i int) (limits bounds.Interval, known bool, err error) {
	h, known1, err := c.part(i, "hour", bounds.Between(0, 23))
	if err != nil {
		return h, false, err
	}
	m, known2, err := c.part(i+1, "minute", bounds.Between(0, 59))
	if err != nil {
		return m, false, err
	}
	s, known3, err := c.part(i+2, "second", bounds.New(bounds.Zero, frac(59999999, 1000000)))
	if err != nil {
		return s, false, err
	}
	limits = h.Scale(rat(3600)).Add(m.Scale(rat(60))).Add(s).Scale(microsPerSec)
	return bounds.New(bounds.Floor(limits.Lo), bounds.Ceil(limits.Hi)), known1 && known2 && known3, nil
}

func makeDate(c *call) (*Expr, error) {
	e := c.result(pgtype.DateOID)
	limits, known, err := c.day()
	if known {
		e.bounds = limits
	}
	return e, err
}

func makeStamp(c *call) (*Expr, error) {
	e := c.result(pgtype.TimestampOID)
	day, known1, err := c.day()
	if err != nil {
		return nil, err
	}
	at, known2, err := c.timeOfDay(3)
	if known1 && known2 {
		e.bounds = day.Scale(microsPerDay).Add(at)
	}
	return e, err
}

func makeTime(c *call) (*Expr, error) {
	e := c.result(pgtype.TimeOID)
	e.bounds = dayRange
	limits, known, err := c.timeOfDay(0)
	if known {
		e.bounds = limits
	}
	return e, err
}

// intervalParts names the arguments of make_interval.
var intervalParts = []string{"years", "months", "weeks", "days", "hours", "mins", "secs"}

// intervalArguments puts named arguments into their places, and 0 where there is none.
func intervalArguments(nodes []*pg_query.Node, loc int) ([]*pg_query.Node, error) {
	out := make([]*pg_query.Node, len(intervalParts))
	for i, n := range nodes {
		at := i
		if named := n.GetNamedArgExpr(); named != nil {
			at, n = -1, named.Arg
			for j, name := range intervalParts {
				if name == named.Name {
					at = j
				}
			}
		}
		if at < 0 || at >= len(out) || out[at] != nil {
			return nil, Refuse(refusal.Function, loc, "make_interval has no such argument", "its arguments are years, months, weeks, days, hours, mins and secs")
		}
		out[at] = n
	}
	for i, n := range out {
		if n == nil {
			out[i] = pg_query.MakeAConstIntNode(0, int32(loc))
		}
	}
	return out, nil
}

// makeInterval adds up years and months, weeks and days, and the rest. The epoch of months grows with them.
func makeInterval(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	part := func(i int, factor int64) bounds.Interval { return c.args[i].safe().Scale(rat(factor)) }
	months := part(0, 12).Add(part(1, 1))
	days := part(2, 7).Add(part(3, 1))
	at := part(4, 3600).Add(part(5, 60)).Add(part(6, 1)).Scale(microsPerSec).Widen(bounds.One)
	e.spread = add(mul(add(mul(months.Abs().Hi, rat(31)), days.Abs().Hi), microsPerDay), at.Abs().Hi)
	if e.spread.Cmp(rat(1e17)) > 0 {
		return nil, c.refuse(refusal.Overflow, "it may overflow interval", "declare narrower bounds")
	}
	e.monthless = months.Lo.Sign() == 0 && months.Hi.Sign() == 0
	epoch := func(r *big.Rat) *big.Rat { return (&span{months: r.Num().Int64(), micros: bounds.Zero}).epoch() }
	e.bounds = months.Map(epoch).Add(days.Scale(microsPerDay)).Add(at)
	return e, nil
}

// toTimestamp bounds to_timestamp(epoch): a product of floats, rounded.
func toTimestamp(c *call) (*Expr, error) {
	e := c.result(pgtype.TimestamptzOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	e.bounds = c.args[0].bounds.Scale(microsPerSec)
	e.bounds = e.bounds.WidenRelative(bounds.Pow2(-50)).Widen(bounds.One)
	return c.inside(e, timestampSafe)
}

// dateBin gives the beginning of the bin that holds a timestamp, or of the bin before where it begins one (PostgreSQL 15, for times
// before the origin).
func dateBin(c *call) (*Expr, error) {
	e := c.result(c.cand.Result)
	stride, x, origin := c.args[0], c.args[1], c.args[2]
	if stride.provisional || origin.provisional || isNull(stride) || isNull(origin) {
		return e, nil
	}
	if stride.value == nil || stride.value.span.months != 0 || stride.bounds.Lo.Sign() <= 0 {
		return nil, c.refuse(refusal.ConstantNeeded, "its stride is not a constant of days and time above 0", "write a constant, as date_bin('15 minutes', x, '2000-01-01')")
	}
	if origin.value == nil || !origin.bounds.Within(timestampSafe) {
		return nil, c.refuse(refusal.ConstantNeeded, "its origin is not a constant", "write a constant, as date_bin('15 minutes', x, '2000-01-01')")
	}
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	step := stride.bounds.Lo
	e.bounds = bounds.New(sub(x.bounds.Lo, step), x.bounds.Hi)
	if e, err = c.inside(e, timestampSafe); err != nil {
		return nil, err
	}
	// every bin holds a point of a series of half its stride, or the last point
	lo, hi := valueLiteral(e.typ, x.bounds.Lo, false), valueLiteral(e.typ, x.bounds.Hi, true)
	half := bounds.Max(bounds.Floor(mul(step, frac(1, 2))), bounds.One)
	p := &printer{}
	e.series = &series{
		query: fmt.Sprintf("SELECT pg_catalog.date_bin(%s, g.v, %s) AS v FROM (SELECT s.v FROM pg_catalog.generate_series(%s, %s, %s) AS s(v) UNION ALL SELECT %s) AS g(v)",
			query.Text(p.print(stride)), query.Text(p.print(origin)), lo, hi, valueLiteral(pgtype.IntervalOID, half, false), hi),
		size: rowCount(quo(x.bounds.Width(), half)) + 1,
	}
	return e, nil
}

// justify hands hours up to days and days up to months. A day stays 24 hours; 12 months of 30 days become a year of 365.25.
func justify(c *call) (*Expr, error) {
	e := c.result(pgtype.IntervalOID)
	known, err := c.finite()
	if !known || err != nil {
		return e, err
	}
	x := c.args[0]
	e.bounds, e.spread, e.monthless = x.bounds, spreadOf(x), noMonths(x)
	if c.cand.Name != "justify_hours" {
		e.monthless = false
		e.bounds = e.bounds.Widen(add(mul(e.spread, frac(1, 20)), mul(rat(12), microsPerDay)))
		e.spread = add(mul(e.spread, frac(21, 20)), mul(rat(62), microsPerDay))
	}
	return c.inside(e, spanSafe)
}

// overlaps orders its operands and compares them.
func overlaps(c *call) (*Expr, error) { return c.result(pgtype.BoolOID), nil }
