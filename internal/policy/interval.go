package policy

import (
	"math/big"
	"regexp"
	"strings"
	"time"
)

var (
	intervalPart = regexp.MustCompile(`^\s*([-+]?\d{1,12}(?:\.\d{1,9})?)\s*([a-zA-Z]+)`)
	clockForm    = regexp.MustCompile(`^\s*([-+]?)(\d{1,6}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?\s*$`)
	intervalUnit = map[string]int64{ // milliseconds
		"ms": 1, "msec": 1, "msecs": 1, "millisecond": 1, "milliseconds": 1,
		"s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
		"m": 60e3, "min": 60e3, "mins": 60e3, "minute": 60e3, "minutes": 60e3,
		"h": 3600e3, "hr": 3600e3, "hrs": 3600e3, "hour": 3600e3, "hours": 3600e3,
		"d": 86400e3, "day": 86400e3, "days": 86400e3,
		"w": 7 * 86400e3, "week": 7 * 86400e3, "weeks": 7 * 86400e3,
		// PostgreSQL compares a month as 30 days and a year as 360.
		"mon": 30 * 86400e3, "mons": 30 * 86400e3, "month": 30 * 86400e3, "months": 30 * 86400e3,
		"y": 360 * 86400e3, "yr": 360 * 86400e3, "yrs": 360 * 86400e3, "year": 360 * 86400e3, "years": 360 * 86400e3,
	}
)

// parseInterval reads what PostgreSQL's interval_in reads in its traditional style: "1 day 02:30", "90 minutes", "50ms".
// It returns seconds; clock says that only hh:mm[:ss] was given.
func parseInterval(s string) (seconds *big.Rat, clock, ok bool) {
	seconds = new(big.Rat)
	rest, parts := s, 0
	for {
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		unit, known := intervalUnit[strings.ToLower(m[2])]
		n, valid := new(big.Rat).SetString(strings.TrimPrefix(m[1], "+"))
		if !known || !valid {
			return nil, false, false
		}
		seconds.Add(seconds, n.Mul(n, big.NewRat(unit, 1000)))
		rest = rest[len(m[0]):]
		parts++
	}
	if m := clockForm.FindStringSubmatch(rest); m != nil {
		t := new(big.Rat)
		for i, unit := range []int64{3600, 60, 1} {
			if m[i+2] == "" {
				continue
			}
			n, valid := new(big.Rat).SetString(m[i+2])
			if !valid {
				return nil, false, false
			}
			t.Add(t, n.Mul(n, big.NewRat(unit, 1)))
		}
		if m[1] == "-" {
			t.Neg(t)
		}
		return seconds.Add(seconds, t), parts == 0, true
	}
	return seconds, false, parts > 0 && strings.TrimSpace(rest) == ""
}

// intervalDuration is an interval as a time.Duration; ok is false beyond its range or below a microsecond, which is
// the resolution of PostgreSQL's times.
func intervalDuration(seconds *big.Rat) (time.Duration, bool) {
	ns := new(big.Rat).Mul(seconds, big.NewRat(int64(time.Second), 1))
	if !ns.IsInt() || !ns.Num().IsInt64() {
		return 0, false
	}
	d := time.Duration(ns.Num().Int64())
	return d, d%time.Microsecond == 0 && d <= maxDuration
}
