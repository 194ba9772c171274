package estimate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Unit says what a release is measured in, as the analyst sees its aggregate. The zero value is plain numbers.
type Unit struct {
	OID     uint32 // the aggregate's type: times are microseconds, of an hour of the day or since 1970, and dates are days
	Average bool   // the release is the sum that an average divides
}

// UnitOf finds the aggregate that a release is the value of: a count that an average is divided by is a plain number.
func UnitOf(block *rewrite.Block, release int) Unit {
	i := slices.IndexFunc(block.Columns, func(c rewrite.Column) bool {
		return c.Moments == nil && len(c.Releases) > 0 && c.Releases[0] == release
	})
	if i < 0 {
		return Unit{}
	}
	return Unit{block.Columns[i].Type, block.Columns[i].Average}
}

// Counts is what numbers of the unit count; empty for plain numbers.
func (u Unit) Counts() string {
	switch {
	case u.OID == pgtype.DateOID:
		return "days"
	case IsTime(u.OID):
		return "microseconds"
	}
	return ""
}

// Value prints one value.
func (u Unit) Value(v float64) string {
	at := time.UnixMicro(int64(v)).UTC()
	switch u.OID {
	case pgtype.DateOID:
		return time.Unix(int64(v)*86400, 0).UTC().Format(time.DateOnly)
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return strings.TrimSuffix(at.Format(time.DateTime), " 00:00:00")
	case pgtype.TimeOID:
		return at.Format(time.TimeOnly)
	case pgtype.IntervalOID:
		return u.Difference(v)
	}
	return strconv.FormatFloat(v, 'g', 15, 64)
}

// Difference prints how far values are apart.
func (u Unit) Difference(v float64) string {
	if u.OID == pgtype.DateOID {
		return Number(v) + " days"
	}
	return Amount(u.OID, v)
}

// Amount prints a margin of a value of a type: of times, whose steps are microseconds, as an interval.
func Amount(oid uint32, v float64) string {
	switch {
	case !IsTime(oid):
		return Number(v)
	case v < 0:
		return "-" + Amount(oid, -v)
	}
	seconds := v / 1e6
	days := math.Floor(seconds / 86400)
	text := ""
	if days > 0 {
		text = Number(days) + " days "
	}
	rest := int64(math.Ceil(seconds - days*86400))
	return fmt.Sprintf("%s%02d:%02d:%02d", text, rest/3600, rest/60%60, rest%60)
}

// IsTime says that an aggregate's steps are microseconds.
func IsTime(oid uint32) bool {
	switch oid {
	case pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.IntervalOID, pgtype.TimeOID:
		return true
	}
	return false
}

// Number prints a figure for people: four significant digits, no exponent where it reads well.
func Number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// leastDigits are the digits of a least margin.
const leastDigits = 3

// RoundedUp is no less than v, with few digits.
func RoundedUp(v float64) float64 {
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
