package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// unit says what a release is measured in, as the analyst sees its aggregate. The zero value is plain numbers.
type unit struct {
	oid     uint32 // the aggregate's type: times are microseconds, of an hour of the day or since 1970, and dates are days
	average bool   // the release is the sum that an average divides
}

// unitOf finds the aggregate that a release is the value of: a count that an average is divided by is a plain number.
func unitOf(block *rewrite.Block, release int) unit {
	i := slices.IndexFunc(block.Columns, func(c rewrite.Column) bool {
		return c.Moments == nil && len(c.Releases) > 0 && c.Releases[0] == release
	})
	if i < 0 {
		return unit{}
	}
	return unit{block.Columns[i].Type, block.Columns[i].Average}
}

// counts is what numbers of the unit count; empty for plain numbers.
func (u unit) counts() string {
	switch {
	case u.oid == pgtype.DateOID:
		return "days"
	case isTime(u.oid):
		return "microseconds"
	}
	return ""
}

// value prints one value.
func (u unit) value(v float64) string {
	at := time.UnixMicro(int64(v)).UTC()
	switch u.oid {
	case pgtype.DateOID:
		return time.Unix(int64(v)*86400, 0).UTC().Format(time.DateOnly)
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return strings.TrimSuffix(at.Format(time.DateTime), " 00:00:00")
	case pgtype.TimeOID:
		return at.Format(time.TimeOnly)
	case pgtype.IntervalOID:
		return u.difference(v)
	}
	return strconv.FormatFloat(v, 'g', 15, 64)
}

// difference prints how far values are apart.
func (u unit) difference(v float64) string {
	switch {
	case v < 0:
		return "-" + u.difference(-v)
	case u.oid == pgtype.DateOID:
		return number(v) + " days"
	}
	return amount(u.oid, v)
}

// leastDigits are the digits of a least margin.
const leastDigits = 3

// roundedUp is no less than v, with few digits.
func roundedUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return v
	}
	digit := math.Pow(10, math.Floor(math.Log10(v))-leastDigits+1)
	up, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/digit)*digit, 'g', leastDigits+1, 64), 64)
	if err != nil || up < v {
		return v + digit
	}
	return up
}
