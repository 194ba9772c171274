package expr

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// Dates and times are read here in ISO form alone: its meaning depends on no setting. What else PostgreSQL reads, the
// shadow reads for us, under the session's settings (Scope.Literal).

var (
	dateForm  = regexp.MustCompile(`^([0-9]{4,6})-([0-9]{2})-([0-9]{2})$`)
	clockForm = regexp.MustCompile(`^([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,6})?)?$`)
	stampForm = regexp.MustCompile(
		`^([0-9]{4,6}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9:.]+))?(?: ?(Z|UTC|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?))?$`)
	partForm  = regexp.MustCompile(`^([+-]?[0-9]{1,9})(\.[0-9]{1,6})? *([a-zA-Zµ]+)`)
	spanClock = regexp.MustCompile(`^([+-]?)([0-9]{1,9}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,6})?)?$`)
)

func (c *constant) readTime(oid uint32, s string) error {
	if lower := strings.ToLower(s); (lower == "infinity" || lower == "-infinity") && oid != pgtype.TimeOID &&
		oid != pgtype.IntervalOID {
		c.spell(lower)
		return nil
	}
	switch oid {
	case pgtype.DateOID:
		d, err := readDate(s)
		if err != nil {
			return err
		}
		c.point(d)
		c.spell(timeText(oid, d, false))
	case pgtype.TimeOID:
		t, err := readClock(s)
		if err != nil {
			return err
		}
		c.point(t)
		c.spell(timeText(oid, t, false))
	case pgtype.IntervalOID:
		sp, err := readSpan(s)
		if err != nil {
			return err
		}
		c.span = sp
		c.point(sp.epoch())
		c.spell(sp.text())
	default:
		at, err := readStamp(oid, s)
		if err != nil {
			return err
		}
		c.point(at)
		c.spell(timeText(oid, at, false))
	}
	return nil
}

func readDate(s string) (*big.Rat, error) {
	m := dateForm.FindStringSubmatch(s)
	if m == nil {
		return nil, errForm
	}
	y, mo, d := atoi(m[1]), atoi(m[2]), atoi(m[3])
	t := time.Date(y, time.Month(mo), d, 0, 0, 0, 0, time.UTC)
	if y < 1 || y > 270000 || t.Year() != y || int(t.Month()) != mo || t.Day() != d {
		return nil, errForm
	}
	return rat(t.Unix() / 86400), nil // midnight: divides without remainder
}

func readClock(s string) (*big.Rat, error) {
	m := clockForm.FindStringSubmatch(s)
	if m == nil || atoi(m[1]) > 23 || atoi(m[2]) > 59 || atoi(m[3]) > 59 {
		return nil, errForm
	}
	return clockMicros(m[1], m[2], m[3], m[4]), nil
}

func clockMicros(h, m, s, fraction string) *big.Rat {
	secs := rat(int64(atoi(h))*3600 + int64(atoi(m))*60 + int64(atoi(s)))
	if fraction != "" {
		f, _ := new(big.Rat).SetString("0" + fraction)
		secs.Add(secs, f)
	}
	return mul(secs, microsPerSec)
}

// readStamp reads a timestamp. A timestamp with time zone has to name its zone: the session's is not known here.
func readStamp(oid uint32, s string) (*big.Rat, error) {
	m := stampForm.FindStringSubmatch(s)
	if m == nil {
		return nil, errForm
	}
	day, err := readDate(m[1])
	if err != nil {
		return nil, err
	}
	at := mul(day, microsPerDay)
	if m[2] != "" {
		clock, err := readClock(m[2])
		if err != nil {
			return nil, err
		}
		at = add(at, clock)
	}
	switch zone := m[3]; {
	case oid == pgtype.TimestampOID: // PostgreSQL ignores the zone
	case zone == "":
		return nil, errForm
	case zone == "Z" || zone == "UTC":
	default:
		digits := strings.ReplaceAll(zone[1:], ":", "") + "0000"
		h, mi, sec := atoi(digits[0:2]), atoi(digits[2:4]), atoi(digits[4:6])
		if h > 15 || mi > 59 || sec > 59 {
			return nil, errForm
		}
		offset := mul(rat(int64(h*3600+mi*60+sec)), microsPerSec)
		if zone[0] == '+' {
			offset = neg(offset)
		}
		at = add(at, offset)
	}
	return at, nil
}

// spanUnit says what one of a unit adds.
type spanUnit struct{ months, days, micros int64 }

// spanNames names each unit once.
var spanNames = map[spanUnit]string{
	{0, 0, 1}: "microsecond", {0, 0, 1000}: "millisecond", {0, 0, 1e6}: "second", {0, 0, 60e6}: "minute",
	{0, 0, 3600e6}: "hour", {0, 1, 0}: "day", {0, 7, 0}: "week",
	{1, 0, 0}: "month", {12, 0, 0}: "year", {120, 0, 0}: "decade", {1200, 0, 0}: "century",
}

var spanUnits = map[string]spanUnit{
	"microsecond": {0, 0, 1}, "us": {0, 0, 1}, "usec": {0, 0, 1}, "millisecond": {0, 0, 1000}, "ms": {0, 0, 1000},
	"msec":   {0, 0, 1000},
	"second": {0, 0, 1e6}, "sec": {0, 0, 1e6}, "s": {0, 0, 1e6}, "minute": {0, 0, 60e6}, "min": {0, 0, 60e6},
	"m":    {0, 0, 60e6},
	"hour": {0, 0, 3600e6}, "hr": {0, 0, 3600e6}, "h": {0, 0, 3600e6}, "day": {0, 1, 0}, "d": {0, 1, 0}, "week": {0, 7, 0},
	"w":     {0, 7, 0},
	"month": {1, 0, 0}, "mon": {1, 0, 0}, "year": {12, 0, 0}, "yr": {12, 0, 0}, "y": {12, 0, 0}, "decade": {120, 0, 0},
	"century":  {1200, 0, 0},
	"centurie": {1200, 0, 0},
}

// oneSignForAll matches an interval of several fields whose only sign is the minus of the first: in IntervalStyle
// sql_standard it counts for all of them, so the session decides what is meant.
var oneSignForAll = regexp.MustCompile(`^-[^+-]*[a-zA-Zµ]\s*[0-9][^+-]*$`)

// readSpan reads intervals such as '1 year 2 mons -3 days 04:05:06.7'.
func readSpan(s string) (*span, error) {
	out := &span{micros: new(big.Rat)}
	seen := map[string]bool{} // PostgreSQL takes each unit once
	rest := strings.TrimSpace(s)
	if rest == "" || oneSignForAll.MatchString(rest) {
		return nil, errForm
	}
	for rest != "" {
		if m := spanClock.FindStringSubmatch(rest); m != nil {
			if seen["hour"] || seen["minute"] || seen["second"] || seen["millisecond"] || seen["microsecond"] {
				return nil, errForm
			}
			if atoi(m[3]) > 59 || atoi(m[4]) > 59 {
				return nil, errForm
			}
			at := clockMicros(m[2], m[3], m[4], m[5])
			if m[1] == "-" {
				at = neg(at)
			}
			out.micros = add(out.micros, at)
			break
		}
		m := partForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, errForm
		}
		unit, err := out.add(m[1], m[2], strings.ToLower(m[3]))
		if err != nil || seen[unit] {
			return nil, errForm
		}
		seen[unit] = true
		rest = strings.TrimSpace(rest[len(m[0]):])
	}
	if out.months > 1200*100 || out.months < -1200*100 || out.days > 1e8 || out.days < -1e8 ||
		new(big.Rat).Abs(out.micros).Cmp(rat(1e17)) > 0 {
		return nil, errForm
	}
	return out, nil
}

// add adds one part and gives its unit's first name.
func (s *span) add(whole, fraction, name string) (string, error) {
	unit, ok := spanUnits[name]
	if !ok {
		unit, ok = spanUnits[strings.TrimSuffix(name, "s")]
	}
	first := spanNames[unit]
	n, err := strconv.ParseInt(whole, 10, 64)
	if !ok || err != nil || fraction != "" && unit.micros == 0 {
		return "", errForm
	}
	s.months += n * unit.months
	s.days += n * unit.days
	micros := mul(rat(n), rat(unit.micros))
	if fraction != "" {
		f, _ := new(big.Rat).SetString("0" + fraction)
		f.Mul(f, rat(unit.micros))
		if !f.IsInt() {
			return "", errForm
		}
		if strings.HasPrefix(whole, "-") {
			f.Neg(f)
		}
		micros = add(micros, f)
	}
	s.micros = add(s.micros, micros)
	return first, nil
}

// epoch gives EXTRACT(EPOCH) in microseconds: a year is 365.25 days, a month 30.
func (s *span) epoch() *big.Rat {
	days := add(mul(rat(s.months/12), frac(1461, 4)), rat(s.months%12*30+s.days))
	return add(mul(days, microsPerDay), s.micros)
}

// text writes the interval as PostgreSQL's own style does: a field behind a negative one has its sign, so that
// IntervalStyle sql_standard reads it alike.
func (s *span) text() string {
	var parts []string
	negative := false
	sign := func(below bool) string {
		switch {
		case below:
			negative = true
			return "-"
		case negative:
			return "+"
		}
		return ""
	}
	if s.months != 0 {
		parts = append(parts, fmt.Sprintf("%s%d mons", sign(s.months < 0), max(s.months, -s.months)))
	}
	if s.days != 0 {
		parts = append(parts, fmt.Sprintf("%s%d days", sign(s.days < 0), max(s.days, -s.days)))
	}
	if s.micros.Sign() != 0 || len(parts) == 0 {
		n := s.micros.Num().Int64() // whole microseconds, at most 10^17
		mark := sign(n < 0)
		n = max(n, -n)
		clock := fmt.Sprintf("%s%02d:%02d:%02d", mark, n/3600e6, n/60e6%60, n/1e6%60)
		if n %= 1e6; n > 0 {
			clock += strings.TrimRight(fmt.Sprintf(".%06d", n), "0")
		}
		parts = append(parts, clock)
	}
	return strings.Join(parts, " ")
}

// shift bounds by how much adding the interval may move a date or timestamp. m months never differ from the mean of
// 30.436875 days each by more than 4 days; one hour more or less per change of a zone's offset is covered by one day.
func (s *span) shift() bounds.Interval {
	at := bounds.Point(add(mul(rat(s.days), microsPerDay), s.micros))
	if s.months != 0 {
		mean := mul(mul(rat(s.months), frac(146097, 4800)), microsPerDay)
		at = at.Add(bounds.Point(mean)).Widen(mul(rat(4), microsPerDay))
	}
	return at
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // callers' patterns admit digits alone; empty is 0
	return n
}
