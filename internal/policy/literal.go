package policy

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Literal kinds. A date may stand beside timestamps, a clock beside intervals.
const (
	kindNumber      = "number"
	kindDate        = "date"
	kindTimestamp   = "timestamp"
	kindTimestampTZ = "timestamp with time zone"
	kindClock       = "time"
	kindInterval    = "interval"
)

// literal is a bound: its text for PostgreSQL, and an exact position on the axis of its kind (times in seconds).
type literal struct {
	kind string
	text string
	at   *big.Rat
}

var numberForm = regexp.MustCompile(`^[-+]?(?:(0|[1-9]\d*)(?:\.(\d*))?|\.(\d+))(?:[eE]([-+]?\d{1,4}))?$`)

// isNumber accepts decimal numbers of at most 400 characters and exponents within ±400, which any float8 needs less than.
func isNumber(s string) bool {
	m := numberForm.FindStringSubmatch(s)
	if m == nil || len(s) > 400 {
		return false
	}
	if m[4] == "" {
		return true
	}
	e, err := strconv.Atoi(m[4])
	return err == nil && e >= -400 && e <= 400
}

// literal reads a bound.
func (v value) literal() (literal, bool) {
	if v.node == nil || v.node.Kind != yaml.ScalarNode || v.null() {
		v.fail("must be a number, date, timestamp or interval, not %s", v.kind())
		return literal{}, false
	}
	l, ok := parseLiteral(v.node.Value)
	if !ok {
		v.fail("%s is not a finite number, a date (2015-01-01), a timestamp or an interval (1 day, 90m)", quoted(v.node.Value))
	}
	return l, ok
}

func parseLiteral(s string) (literal, bool) {
	s = strings.TrimSpace(s)
	if isNumber(s) {
		return numberLiteral(s)
	}
	if len(s) > 100 {
		return literal{}, false
	}
	if t, kind, ok := parseTime(s); ok {
		at := new(big.Rat).SetInt64(t.Unix())
		return literal{kind, s, at.Add(at, big.NewRat(int64(t.Nanosecond()), 1e9))}, true
	}
	if at, clock, ok := parseInterval(s); ok {
		kind := kindInterval
		if clock {
			kind = kindClock
		}
		return literal{kind, s, at}, true
	}
	return literal{}, false
}

// numberLiteral writes exponents out, because PostgreSQL reads no exponent into an integer.
func numberLiteral(s string) (literal, bool) {
	at, ok := new(big.Rat).SetString(s)
	if !ok {
		return literal{}, false
	}
	text := strings.TrimPrefix(s, "+")
	if strings.ContainsAny(text, "eE") {
		if at.IsInt() {
			text = at.Num().String()
		} else {
			text = strings.TrimRight(at.FloatString(900), "0")
		}
	}
	if at.Sign() == 0 {
		text = strings.TrimPrefix(text, "-")
	}
	return literal{kindNumber, text, at}, true
}

var timeLayouts = []struct{ layout, kind string }{
	{"2006-01-02", kindDate},
	{"2006-01-02 15:04:05", kindTimestamp}, // fractions of a second are read with it
	{"2006-01-02 15:04", kindTimestamp},
	{"2006-01-02 15:04:05Z07:00", kindTimestampTZ},
	{"2006-01-02 15:04:05Z07", kindTimestampTZ},
	{"2006-01-02 15:04Z07:00", kindTimestampTZ},
}

// parseTime reads the ISO forms, which PostgreSQL reads alike under every DateStyle.
func parseTime(s string) (time.Time, string, bool) {
	if len(s) > 10 && (s[10] == 'T' || s[10] == 't') {
		s = s[:10] + " " + s[11:]
	}
	for _, l := range timeLayouts {
		if t, err := time.Parse(l.layout, s); err == nil && t.Year() >= 1 {
			return t, l.kind, true
		}
	}
	return time.Time{}, "", false
}

// commonKind joins the kinds of two literals; ok is false when they are of different types.
func commonKind(a, b string) (kind string, ok bool) {
	switch {
	case a == b || b == "":
		return a, true
	case a == "":
		return b, true
	case a == kindDate && (b == kindTimestamp || b == kindTimestampTZ):
		return b, true
	case b == kindDate && (a == kindTimestamp || a == kindTimestampTZ):
		return a, true
	case a == kindClock && b == kindInterval, a == kindInterval && b == kindClock:
		return kindInterval, true
	}
	return "", false
}
