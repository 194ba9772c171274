package bound

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// unit says what one of an interval's units adds: months, or microseconds.
type unit struct {
	name   string
	months int64
	micros int64
}

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86400 * microsPerSecond
	daysPerMonth    = 30
)

var (
	microsecond = unit{"microsecond", 0, 1}
	millisecond = unit{"millisecond", 0, 1000}
	second      = unit{"second", 0, microsPerSecond}
	minute      = unit{"minute", 0, 60 * microsPerSecond}
	hour        = unit{"hour", 0, 3600 * microsPerSecond}
	day         = unit{"day", 0, microsPerDay}
	week        = unit{"week", 0, 7 * microsPerDay}
	month       = unit{"month", 1, 0}
	year        = unit{"year", 12, 0}

	units = map[string]unit{
		"us": microsecond, "usec": microsecond, "usecs": microsecond, "microsecond": microsecond, "microseconds": microsecond,
		"ms": millisecond, "msec": millisecond, "msecs": millisecond, "millisecond": millisecond, "milliseconds": millisecond,
		"s": second, "sec": second, "secs": second, "second": second, "seconds": second,
		"m": minute, "min": minute, "mins": minute, "minute": minute, "minutes": minute,
		"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour,
		"d": day, "day": day, "days": day,
		"w": week, "week": week, "weeks": week,
		"mon": month, "mons": month, "month": month, "months": month,
		"y": year, "yr": year, "yrs": year, "year": year, "years": year,
	}

	intervalPart = regexp.MustCompile(`^\s*([-+]?)(\d{1,12}(?:\.\d{1,9})?)\s*([a-zA-Z]+)`)
	clockForm    = regexp.MustCompile(`^\s*([-+]?)(\d{1,6}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?\s*$`)

	// maxMicros is 10000 years, far from where PostgreSQL's intervals and timestamps overflow.
	maxMicros = new(big.Rat).SetInt64(3652500 * microsPerDay)
)

// interval adds up the parts of a text.
type interval struct {
	months *big.Int
	micros *big.Rat // and the fractions of months
	seen   map[unit]bool
	signs  []string // of every part
}

// parseInterval reads "1 day 02:30", "90 minutes", "50ms", "1.5 days", and times of day.
func parseInterval(s string) (Value, error) {
	t := interval{new(big.Int), new(big.Rat), map[unit]bool{}, nil}
	rest := s
	for {
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		if err := t.add(m[1], m[2], strings.ToLower(m[3])); err != nil {
			return Value{}, err
		}
		rest = rest[len(m[0]):]
	}
	kind := Interval
	if m := clockForm.FindStringSubmatch(rest); m != nil {
		if len(t.signs) == 0 {
			kind = Clock
		}
		if err := t.addClock(m[1], m[2:]); err != nil {
			return Value{}, err
		}
	} else if len(t.signs) == 0 || strings.TrimSpace(rest) != "" {
		return Value{}, errForm
	}
	at, err := t.epoch()
	return Value{kind, s, at}, err
}

func (t *interval) add(sign, number, name string) error {
	u, known := units[name]
	n, ok := new(big.Rat).SetString(number)
	if !known || !ok {
		return errForm
	}
	if t.seen[u] {
		return fmt.Errorf("has two parts in %ss: add them up", u.name)
	}
	t.seen[u], t.signs = true, append(t.signs, sign)
	if sign == "-" {
		n.Neg(n)
	}
	months := new(big.Rat).Mul(n, rat(u.months))
	whole := new(big.Int).Quo(months.Num(), months.Denom()) // towards zero
	part := months.Sub(months, new(big.Rat).SetInt(whole))
	if u == year && part.Sign() != 0 {
		return errors.New("is no whole number of months: write years without a fraction, and months or days beside them")
	}
	t.months.Add(t.months, whole)
	t.micros.Add(t.micros, n.Mul(n, rat(u.micros)))
	t.micros.Add(t.micros, part.Mul(part, rat(daysPerMonth*microsPerDay)))
	return nil
}

// addClock adds hours, minutes and seconds; the last may be absent.
func (t *interval) addClock(sign string, fields []string) error {
	for i, u := range []unit{hour, minute, second} {
		if fields[i] == "" {
			continue
		}
		if err := t.add(sign, fields[i], u.name); err != nil {
			return err
		}
	}
	return nil
}

// epoch counts the interval as EXTRACT(EPOCH) does.
func (t *interval) epoch() (*big.Rat, error) {
	if t.oneSignForAll() {
		return nil, errors.New("may mean that all parts are negative, or the first one alone: give every part its sign")
	}
	years, months := new(big.Int).QuoRem(t.months, big.NewInt(12), new(big.Int)) // towards zero
	days := new(big.Rat).Mul(new(big.Rat).SetInt(years), big.NewRat(1461, 4))
	days.Add(days, new(big.Rat).SetInt(months.Mul(months, big.NewInt(daysPerMonth))))
	at := days.Mul(days, rat(microsPerDay))
	at.Add(at, t.micros)
	switch {
	case !at.IsInt():
		return nil, errFiner
	case new(big.Rat).Abs(at).Cmp(maxMicros) > 0:
		return nil, errors.New("is longer than 10000 years")
	}
	return at, nil
}

// oneSignForAll reports whether the first of several parts has the only sign, a minus: PostgreSQL's IntervalStyle
// sql_standard takes it for all parts, the other styles for the first.
func (t *interval) oneSignForAll() bool {
	if len(t.signs) < 2 || t.signs[0] != "-" {
		return false
	}
	for _, sign := range t.signs[1:] {
		if sign != "" {
			return false
		}
	}
	return true
}
