package relation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Conditions without columns.
const (
	never  = query.Raw("FALSE")
	always = query.Raw("TRUE")
)

// sorted gives conditions one order, wherever they came from: ON, WHERE or the policy. PostgreSQL tries those that it
// thinks equally costly in the order in which they stand. So what costs little and leaves few rows comes first, and
// numerics last.
func sorted(conditions []query.Scalar) []query.Scalar {
	out := query.Sorted(conditions)
	slices.SortStableFunc(out, func(a, b query.Scalar) int { return cmp.Compare(turn(a), turn(b)) })
	return out
}

// fixedWidth are the ends of constants of types whose values have one width, as integers without a type do.
var fixedWidth = []string{
	"::pg_catalog.int2", "::pg_catalog.int4", "::pg_catalog.int8", "::pg_catalog.date",
	"::pg_catalog.time", "::pg_catalog.timestamp", "::pg_catalog.timestamptz",
}

// comparesFixed says that a condition compares something with such a constant.
func comparesFixed(condition query.Scalar) bool {
	form, ok := condition.(query.Form)
	if !ok || len(form.Of) != 3 {
		return false
	}
	constant, ok := form.Of[2].(query.Raw)
	if _, err := strconv.Atoi(string(constant)); ok && err == nil {
		return true
	}
	return ok && slices.ContainsFunc(fixedWidth, func(end string) bool { return strings.HasSuffix(string(constant), end) })
}

// turn says in which turn a condition is tried: that of a bare column, such as the unit's, one with a constant of fixed
// width, others, and those that compute with numerics.
func turn(condition query.Scalar) int {
	key := query.Key(condition)
	switch {
	case key[0] != '(':
		return 0
	case strings.Contains(key, "::pg_catalog.numeric"):
		return 3
	case comparesFixed(condition):
		return 1
	}
	return 2
}
