package certify

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the same zones on every machine

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Of timestamps, spans are microseconds of 1970, of dates days, of local times as if UTC; of intervals, microseconds of
// the magnitudes of months of 31 days, days, and the rest together, with no part below zero where lo is zero.
var (
	day     = big.NewRat(86400_000_000, 1)
	million = power(10, 6)
	far     = new(big.Rat).Mul(day, power(10, 6))
)

// near reports whether a time is within a million days of 1970.
//
// Rule: of such times, sums, zones, parts and conversions stay in range. Proof: timestamp.c and date.c fail only beyond
// years -4713 and 294276, a million days are 2738 years, and what is added is near itself.
func near(v value) bool {
	limit := far
	if v.typ == "date" {
		limit = power(10, 6)
	}
	return v.within(new(big.Rat).Neg(limit), limit)
}

// widened is a span with so many days more on both sides: where zones differ.
func widened(s span, days int64) span {
	d := new(big.Rat).Mul(day, big.NewRat(days, 1))
	return between(plus(s.lo, new(big.Rat).Neg(d)), plus(s.hi, d))
}

// wider is an interval of other parts that are no larger together than times that much, and some hundred days.
func wider(s span, by *big.Rat) span {
	if s.lo == nil || s.hi == nil {
		return span{}
	}
	m := plus(times(s.largest(), by), new(big.Rat).Mul(day, big.NewRat(100, 1)))
	if s.lo.Sign() >= 0 {
		return between(zero, m)
	}
	return between(new(big.Rat).Neg(m), m)
}

var interval = regexp.MustCompile(
	`^(?:(-?\d{1,6}) mons?)? ?(?:(-?\d{1,6}) days?)? ?(?:(-?)(\d{1,6}):(\d\d):(\d\d)(?:\.(\d{6}))?)?$`)

// readInterval reads an interval: months, days, microseconds.
func readInterval(s string) (parts [3]*big.Rat, ok bool) {
	if s == "1 second" {
		s = "00:00:01"
	}
	m := interval.FindStringSubmatch(s)
	if m == nil || s == "" {
		return parts, false
	}
	n := func(s string) int64 { i, _ := strconv.ParseInt(s, 10, 64); return i }
	micros := ((n(m[4])*60+n(m[5]))*60+n(m[6]))*1_000_000 + n(m[7])
	if n(m[5]) > 59 || n(m[6]) > 59 {
		return parts, false
	}
	if m[3] == "-" {
		micros = -micros
	}
	return [3]*big.Rat{big.NewRat(n(m[1]), 1), big.NewRat(n(m[2]), 1), big.NewRat(micros, 1)}, true
}

// intervalOf is the span of an interval of such months, days and microseconds.
func intervalOf(parts [3]*big.Rat) span {
	m, negative := new(big.Rat), false
	for i, unit := range []*big.Rat{times(day, big.NewRat(31, 1)), day, one} {
		m.Add(m, times(new(big.Rat).Abs(parts[i]), unit))
		negative = negative || parts[i].Sign() < 0
	}
	if negative {
		return between(new(big.Rat).Neg(m), m)
	}
	return between(zero, m)
}

// dateParts are fields of dates and times, and what they are between; years and seconds of the epoch depend on the
// time.
var dateParts = map[string]string{
	"year": "", "isoyear": "", "decade": "", "epoch": "", "month": "1..12", "day": "1..31", "quarter": "1..4",
	"week": "1..53", "dow": "0..6", "isodow": "1..7", "doy": "1..366",
}

// intervalParts are what parts of an interval are counted in: a year has 12 months of 31 days of its span; the epoch
// has months of 30 days and years of 365.25, and is in seconds.
var intervalParts = map[string]*big.Rat{
	"epoch": million, "year": times(day, big.NewRat(372, 1)), "month": times(day, big.NewRat(31, 1)), "day": day,
	"hour": times(million, big.NewRat(3600, 1)), "minute": times(million, big.NewRat(60, 1)), "second": million,
}

var timeParts = map[string]string{
	"hour": "0..23", "minute": "0..59", "second": "0..60", "milliseconds": "0..60000",
	"microseconds": "0..60000000",
}

// fieldOf is the name of a field: capitals of ASCII are letters of it (downcase_truncate_identifier; others hang on the
// encoding).
func fieldOf(v value) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, word(v))
}

// part is extract or date_part of a field that stands in the text.
//
// Rule: of timestamps, any; of dates, their own, but date_part makes a timestamp of one, which fails for far ones; of
// an interval, the epoch, or any, if it is bounded. Of an infinite time a part is NULL or infinite. Proof:
// timestamp_part_common, extract_date and interval_part_common fail for fields that the type has not. Parts but zero
// are at least a microsecond.
func part(a []value) (span, bool) {
	field, v := fieldOf(a[0]), a[1]
	limits, ofDate := dateParts[field]
	more, ofTime := timeParts[field]
	r := span{tiny: new(big.Rat).Inv(power(10, 7))}
	switch {
	case v.typ == "interval":
		// PostgreSQL 14 fails for hours beyond int4 unless the epoch is asked for (interval2tm).
		if unit, ok := intervalParts[field]; ok && near(v) {
			r = between(new(big.Rat).Quo(v.lo, unit), new(big.Rat).Quo(v.hi, unit)).rounded()
			if field == "epoch" {
				r.tiny = new(big.Rat).Inv(power(10, 7))
			}
		}
		return r, field == "epoch" || near(v) && (field == "year" || field == "month" || field == "day" || ofTime)
	case v.typ == "time": // time_part_common; 24:00 is one
		hi := map[string]int64{"hour": 24, "minute": 59, "second": 60, "epoch": 86400}[field]
		return span{lo: zero, hi: big.NewRat(hi, 1), tiny: r.tiny}, hi > 0
	case !ofDate && !ofTime || ofTime && v.typ == "date":
		return r, false
	}
	if limits += more; limits != "" {
		b := spanText("int4", limits)
		b.tiny = r.tiny
		return b, true
	}
	if !near(v) && (field != "epoch" || !v.finite()) { // seconds of the epoch raise no error, and rise with the time
		return r, true
	}
	unit := million
	if v.typ == "date" {
		unit = new(big.Rat).Inv(big.NewRat(86400, 1))
	}
	lo, hi := new(big.Rat).Quo(v.lo, unit), new(big.Rat).Quo(v.hi, unit)
	if field != "epoch" { // a year less or more, by zones and weeks; there is no year 0
		year := func(seconds *big.Rat) int64 { return int64(time.Unix(floor(seconds).Int64(), 0).UTC().Year()) }
		lo, hi = big.NewRat(year(lo)-2, 1), big.NewRat(year(hi)+1, 1)
		if field == "decade" {
			lo, hi = new(big.Rat).SetInt(floor(new(big.Rat).Quo(lo, big.NewRat(10, 1)))), new(big.Rat).Quo(hi, big.NewRat(10, 1))
		}
	}
	r.lo, r.hi = lo, hi
	return r.rounded(), true
}

// exactPart: parts other than of far times have as many digits behind the point as the field
// (int64_div_fast_to_numeric).
func exactPart(a []value) (span, bool) {
	s, ok := part(a)
	return s, ok && (near(a[1]) || a[1].typ != "interval" && fieldOf(a[0]) != "epoch")
}

// truncatedTime is date_trunc of a field and a near time: it goes back by less than the field has and three years
// (timestamp_trunc, timestamptz_trunc: decades begin with 0, centuries and millennia with 1).
func truncatedTime(a []value) (span, bool) {
	years, known := truncatedYears[fieldOf(a[0])]
	back := plus(power(10, 14), times(day, big.NewRat(366*years, 1)))
	return span{lo: plus(a[1].lo, new(big.Rat).Neg(back)), hi: plus(a[1].hi, day)}, near(a[1]) && known
}

var truncatedYears = map[string]int64{
	"second": 0, "minute": 0, "hour": 0, "day": 0, "week": 0, "month": 0, "quarter": 0, "year": 0, "decade": 10,
	"century": 100, "millennium": 1000,
}

// binned is date_bin of a constant stride of days and hours, above zero: it goes back by less than two strides
// (timestamp_bin).
func binned(a []value) (span, bool) {
	p, ok := readInterval(word(a[0]))
	if !ok || !near(a[1]) || !near(a[2]) || p[0].Sign() != 0 || p[1].Sign() < 0 || p[2].Sign() < 0 ||
		p[1].Sign()+p[2].Sign() == 0 {
		return span{}, false
	}
	return span{lo: plus(a[1].lo, times(intervalOf(p).hi, big.NewRat(-2, 1))), hi: a[1].hi}, true
}

var zoneName = regexp.MustCompile(`^[A-Z][\w+-]*(/[A-Z][\w+-]*)*$`)

// zone reports whether a value is a constant that names a zone of the zone database, as main's has them.
func zone(v value) bool {
	n := word(v)
	_, err := time.LoadLocation(n)
	return err == nil && zoneName.MatchString(n) && n != "Local"
}

// zoned is a time in a zone: it moves by less than two days.
func zoned(a []value) (span, bool) { return widened(a[1].span, 2), near(a[1]) && zone(a[0]) }

// shifted is a date or a time and an interval: + or -, or the interval between two times.
//
// Rule: near ones; the result is so many microseconds away as the interval has, days of 25 hours and months of 31 days,
// and three days at most. Proof: timestamp_pl_interval and timestamptz_pl_interval add months, to the month's last day
// at most, then days of the session's zone, then microseconds; timestamp_mi subtracts, into days and hours of one sign.
func shifted(op string, a, b value, lacks func(string) (value, error)) (value, error) {
	switch {
	case !near(a) || !near(b):
		return lacks("unbounded")
	case b.typ == "interval" && timed[a.typ] && (op == "+" || op == "-"):
		t := a.typ
		if t == "date" {
			a, _ = converted(a, "timestamp", Facts{})
			t = "timestamp"
		}
		i := b.span
		if op == "-" {
			i = b.negate()
		}
		return made(t, widened(a.add(i), 4), a, b), nil
	case op == "-" && a.typ != "date" && b.typ == a.typ:
		return made("interval", wider(a.add(b.negate()), one), a, b), nil
	}
	return lacks("type")
}

// madeInterval is make_interval of years, months, weeks, days, hours, minutes and seconds. Proof: it refuses seconds
// that are no number, and from PostgreSQL 17 on what is out of range.
func madeInterval(a []value) (span, bool) {
	m := new(big.Rat)
	for i, unit := range []*big.Rat{
		times(day, big.NewRat(372, 1)), times(day, big.NewRat(31, 1)), times(day, big.NewRat(7, 1)), day,
		times(million, big.NewRat(3600, 1)), times(million, big.NewRat(60, 1)), million,
	} {
		m = plus(m, times(a[i].largest(), unit))
	}
	if m == nil {
		return span{}, false
	}
	r := between(zero, plus(m, one))
	for _, v := range a {
		if v.lo.Sign() < 0 {
			r.lo = new(big.Rat).Neg(r.hi)
		}
	}
	return r, near(value{span: r})
}

// clampedInterval is an interval between two constants by its epoch, of few days and years.
var clampedInterval = newForm(
	`CASE WHEN pg_catalog.date_part('epoch'::pg_catalog.text, _x) OPERATOR(pg_catalog.<) _a THEN _l
	WHEN pg_catalog.date_part('epoch'::pg_catalog.text, _x) OPERATOR(pg_catalog.>) _b THEN _h
	WHEN pg_catalog.abs(pg_catalog.date_part('day'::pg_catalog.text, _x)) OPERATOR(pg_catalog.*) 1::pg_catalog.float8 OPERATOR(pg_catalog.>) _d
	THEN (pg_catalog.date_part('epoch'::pg_catalog.text, _x) OPERATOR(pg_catalog.*) '1 second'::pg_catalog.interval)
	WHEN pg_catalog.abs(pg_catalog.date_part('year'::pg_catalog.text, _x)) OPERATOR(pg_catalog.*) 366::pg_catalog.float8 OPERATOR(pg_catalog.>) _d
	THEN (pg_catalog.date_part('epoch'::pg_catalog.text, _x) OPERATOR(pg_catalog.*) '1 second'::pg_catalog.interval) ELSE _x END`)

// interval is the form clampedInterval.
//
// Rule: with constants a, b of seconds, d of days and near intervals, it is near. Proof: seconds times '1 second' are
// that interval, within a and b; of an interval that is left, days are at most d, years d/366, so months less than
// d/30.5 + 12, and the rest, the epoch less these, at most all together. In PostgreSQL 14, interval2tm fails where
// hours exceed int4.
func (s *scope) interval(h holes) (value, error) {
	list, err := s.exprs([]*pg.Node{h["_x"], h["_a"], h["_b"], h["_d"], h["_l"], h["_h"]})
	if err != nil {
		return value{}, err
	}
	x, a, b, d, limit := list[0], list[1], list[2], list[3], power(10, 10)
	ok := x.typ == "interval" && !x.array && near(list[4]) && near(list[5])
	for _, v := range list[1:4] {
		ok = ok && v.typ == "float8" && v.within(new(big.Rat).Neg(limit), limit)
	}
	if !ok || d.hi.Cmp(power(10, 5)) > 0 { // so that all is near
		return value{}, missing(where(h["_x"]), "CASE of an interval", "of %s", x.typ)
	}
	seconds := most(a.largest(), b.largest())
	m := plus(times(seconds, million), times(day, plus(times(d.largest(), big.NewRat(6, 1)), big.NewRat(1000, 1))))
	r := made("interval", between(new(big.Rat).Neg(m), m).join(list[4].span).join(list[5].span), list...)
	r.notNull, s.applied = false, "interval"
	return r, nil
}
