package bound

import (
	"errors"
	"math/big"
	"strings"
)

// Kind names what a bound's text shows of its type.
type Kind string

// Kinds of bounds.
const (
	Number      Kind = "number"
	Date        Kind = "date"
	Timestamp   Kind = "timestamp"
	TimestampTZ Kind = "timestamp with time zone"
	Clock       Kind = "time"
	Interval    Kind = "interval"
)

// Noun returns the kind with its article.
func (k Kind) Noun() string {
	if k == Interval {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// Value holds one bound.
type Value struct {
	Kind Kind
	Text string   // normalized: no blanks around it, no exponent, no plus sign
	At   *big.Rat // place among the values that Comparable finds: the number, or microseconds
}

// maxTime is the longest text of a date, time or interval.
const maxTime = 100

var errForm = errors.New("is not a finite number, a date (2015-01-01), a timestamp or an interval (1 day, 90m)")

// Parse reads a bound. Its errors continue a sentence that begins with the text.
func Parse(text string) (Value, error) {
	text = strings.TrimSpace(text)
	if IsNumber(text) {
		return parseNumber(text)
	}
	if len(text) > maxTime {
		return Value{}, errForm
	}
	if v, ok, err := parseTimestamp(text); ok {
		return v, err
	}
	return parseInterval(text)
}

// Comparable joins the kinds of two values; ok is false when they belong to different types. The empty kind joins with
// any. A date may bound timestamps, and a time of day intervals.
func Comparable(a, b Kind) (kind Kind, ok bool) {
	switch {
	case a == b || b == "":
		return a, true
	case a == "":
		return b, true
	case a == Date && (b == Timestamp || b == TimestampTZ):
		return b, true
	case b == Date && (a == Timestamp || a == TimestampTZ):
		return a, true
	case a == Clock && b == Interval, a == Interval && b == Clock:
		return Interval, true
	}
	return "", false
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }
