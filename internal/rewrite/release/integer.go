package release

import (
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Measurement is one exact integer per group, linear over rows: the sum of what they add, or their number. It may be
// computed over the rows of one unit, whose value is clamped to [lo, hi], or over all rows of a group at once.
type Measurement struct {
	Release  int
	row      *summand     // nil: rows are counted
	argument query.Scalar // of a sum
	Where    query.Scalar // condition of the rows; nil: all
	less     query.Scalar // rows that fulfil this, too, are left out: another counts them (nested.go); nil: none are
	lo, Hi   int64
	Distinct query.Scalar // each value of this counts once, in at most Hi pairs of a value and a group for a unit
	Count    int          // of a sum given its count: the release of that count
	given    bool         // it is one

	// What bounds a unit that is in several groups, or has more rows than it may (docs/privacy.md P11, P12):
	ByRows bool // it counts with its whole number of rows in each group
	Total  bool // its magnitudes in all groups add up to at most those of lo and Hi
	Once   bool // it is one where it counts at all
	byRows bool // Total, where the bounds on rows allow no more
	// the bound holds for all measurements of a family together, which read disjoint rows; 0: for this one alone
	family int
}

// summand is the integer that one row adds: factor × of + offset, in [lo, hi].
type summand struct {
	of             rowText
	narrow         bool // of is an int4
	factor, offset int64
	lo, hi         int64
}

// rowText prints an integer of a row from its measured arguments.
type rowText func(reader) query.Scalar

// reader gives the integer that an argument is, or the column that holds it.
type reader func(*expr.Measure) query.Scalar

func Direct(m *expr.Measure) query.Scalar { return m.SQL }

// ofArgument makes the summand factor × the argument + offset.
func ofArgument(m *expr.Measure, factor, offset int64) *summand {
	return &summand{
		of: func(read reader) query.Scalar { return read(m) }, narrow: m.Type == pgtype.Int4OID,
		factor: factor, offset: offset, lo: factor*m.Lo + offset, hi: factor*m.Hi + offset,
	}
}

// sql prints the integer plus shift, as an int4 where that holds it. No step overflows.
func (s *summand) sql(read reader, shift int64) query.Scalar {
	x, offset := s.of(read), s.offset+shift
	narrow := s.narrow && inInt4(s.lo-s.offset, s.hi-s.offset, offset, s.lo+shift, s.hi+shift)
	if s.narrow && !narrow {
		x = query.F("({})::pg_catalog.int8", x)
	}
	if s.factor != 1 {
		x = query.F("{} * {}", s.factor, x)
	}
	if offset != 0 {
		x = query.F("{} + ({})", x, offset)
	}
	if !narrow && inInt4(s.lo+shift, s.hi+shift) {
		x = query.F("({})::pg_catalog.int4", x)
	}
	return x
}

func inInt4(values ...int64) bool {
	for _, v := range values {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return false
		}
	}
	return true
}

// float8Exact bounds the integers that float8 holds exactly.
const float8Exact = 1 << 53

// Aggregate prints the integer of a group of rows. Sums of int4 and of float8 keep their state in 8 bytes by value;
// that of int8 is allocated for every group, and sent between workers as text.
//
// A sum over one unit's rows that are too wide for int4 is one of float8: of integers ≥ 0, so that no order of adding,
// however many rows there are, gives anything but the exact sum, or at least 2^53, more than the clamp of a unit lets
// through.
func (m *Measurement) Aggregate(read reader, where query.Scalar, rows int64) query.Scalar {
	s, count := m.row, query.Aggregate{Call: query.Raw("count(*)"), Where: where}
	if s == nil {
		return count
	}
	sum := func(x query.Scalar) query.Scalar { return query.Aggregate{Call: query.F("sum({})", x), Where: where} }
	if rows == 0 || inInt4(s.lo, s.hi) || bounds.WideMul(s.hi-s.lo, rows) > float8Exact ||
		bounds.WideMul(bounds.Abs(s.lo), rows) > bounds.MaxTotal/4 {
		return query.F("COALESCE({}, 0)", sum(s.sql(read, 0)))
	}
	total := query.F("LEAST(COALESCE({}, 0), {})::pg_catalog.int8",
		sum(query.F("({})::pg_catalog.float8", s.sql(read, -s.lo))), int64(float8Exact))
	if s.lo != 0 {
		return query.F("{} + ({}) * LEAST({}, {})", total, s.lo, count, bounds.MaxTotal/4/bounds.Abs(s.lo))
	}
	return total
}

// Clamped clamps the integer of one unit.
func (m *Measurement) Clamped(x query.Scalar) query.Scalar {
	return query.UnitClamp{X: x, Lo: m.lo, Hi: m.Hi}
}

// Most bounds the magnitude of the integer of one unit.
func (m *Measurement) Most() int64 { return max(bounds.Abs(m.lo), bounds.Abs(m.Hi)) }

// Proven reports whether a proven bound on rows bounds the magnitudes in all groups too: the policy allows no less.
func (m *Measurement) Proven() bool { return m.byRows }

// Together lists the measurements of ms that share the bound of the i-th with it, which read disjoint rows; itself
// among them.
func Together(ms []Measurement, i int) []int {
	out := []int{}
	for j := range ms {
		if j == i || ms[i].family > 0 && ms[j].family == ms[i].family {
			out = append(out, j)
		}
	}
	return out
}

// Given finds the count that a sum is given, among ms.
func (m *Measurement) Given(ms []Measurement) (at int, ok bool) {
	if !m.given {
		return 0, false
	}
	at = slices.IndexFunc(ms, func(o Measurement) bool { return o.Release == m.Count })
	return at, at >= 0
}

// Counts reports whether the integer is a number of rows.
func (m *Measurement) Counts() bool { return m.row == nil && m.Distinct == nil }

// Integer prints what one row adds; nil: rows are counted.
func (m *Measurement) Integer() query.Scalar {
	if m.row == nil {
		return nil
	}
	return m.row.sql(Direct, 0)
}

// Rows is the condition of the rows that are read; nil: all.
func (m *Measurement) Rows() query.Scalar {
	if m.less == nil {
		return m.Where
	}
	left := query.F("({}) IS NOT TRUE", m.less)
	if m.Where == nil {
		return left
	}
	return query.All(query.F("({})", m.Where), left)
}

// CountsRows reports whether the integer is the number of rows where condition holds.
func (m *Measurement) CountsRows(condition query.Scalar) bool {
	return m.Counts() && m.less == nil && query.Equal(m.Where, condition)
}
