package rewrite

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// measured is one exact integer per group, linear over rows: the sum of what they add, or their number. It may be computed over the rows
// of one unit, whose value is clamped to [lo, hi], or over all rows of a group at once.
type measured struct {
	release  int
	row      *summand // nil: rows are counted
	where    string   // condition of the rows
	lo, hi   int64
	distinct string // count(DISTINCT this) of the rows instead
	chained  bool   // to count, the release of the number of these rows
	count    int
}

// summand is the integer that one row adds: factor × of + offset, in [lo, hi].
type summand struct {
	of             rowText
	narrow         bool // of is an int4
	factor, offset int64
	lo, hi         int64
}

// rowText prints an integer of a row from its measured arguments.
type rowText func(reader) string

// reader names, or prints, the integer that an argument is.
type reader func(*expr.Measure) string

func directly(m *expr.Measure) string { return m.SQL }

// ofArgument is factor × the argument + offset.
func ofArgument(m *expr.Measure, factor, offset int64) *summand {
	return &summand{of: func(read reader) string { return read(m) }, narrow: m.Type == pgtype.Int4OID, factor: factor, offset: offset, lo: factor*m.Lo + offset, hi: factor*m.Hi + offset}
}

// sql prints the integer plus shift, as an int4 where that holds it. No step overflows.
func (s *summand) sql(read reader, shift int64) string {
	text, offset := s.of(read), s.offset+shift
	narrow := s.narrow && inInt4(s.lo-s.offset, s.hi-s.offset, offset, s.lo+shift, s.hi+shift)
	if s.narrow && !narrow {
		text = "(" + text + ")::pg_catalog.int8"
	}
	if s.factor != 1 {
		text = fmt.Sprintf("%d * %s", s.factor, text)
	}
	if offset != 0 {
		text += fmt.Sprintf(" + (%d)", offset)
	}
	if !narrow && inInt4(s.lo+shift, s.hi+shift) {
		text = "(" + text + ")::pg_catalog.int4"
	}
	return text
}

func inInt4(values ...int64) bool {
	for _, v := range values {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return false
		}
	}
	return true
}

// float8Exact is up to where every integer is a float8.
const float8Exact = 1 << 53

// aggregate prints the integer of a group of rows. Sums of int4 and of float8 keep their state in 8 bytes by value; that of int8 is
// allocated for every group, and sent between workers as text.
//
// A sum over one unit's rows that are too wide for int4 is one of float8: of integers ≥ 0, so that no order of adding, however many rows there
// are, gives anything but the exact sum, or at least 2^53, more than the clamp of a unit lets through.
func (m *measured) aggregate(read reader, where string, rows int64) string {
	filter := filterText(where)
	s := m.row
	if s == nil {
		return "count(*)" + filter
	}
	if rows == 0 || inInt4(s.lo, s.hi) || wideMul(s.hi-s.lo, rows) > float8Exact || wideMul(abs(s.lo), rows) > maxTotal/4 {
		return fmt.Sprintf("COALESCE(sum(%s)%s, 0)", s.sql(read, 0), filter)
	}
	text := fmt.Sprintf("LEAST(COALESCE(sum((%s)::pg_catalog.float8)%s, 0), %d)::pg_catalog.int8", s.sql(read, -s.lo), filter, int64(float8Exact))
	if s.lo != 0 {
		text += fmt.Sprintf(" + (%d) * LEAST(count(*)%s, %d)", s.lo, filter, maxTotal/4/abs(s.lo))
	}
	return text
}

// conversions are the columns of a subquery below an aggregation in which what several aggregates read is computed once per row.
type conversions struct {
	names   map[string]string
	outputs []string
	shared  bool // something costly is read more than once
}

// name names the column that holds sql.
func (c *conversions) name(sql string, costly bool) string {
	name, known := c.names[sql]
	if !known {
		name = fmt.Sprintf("x%d", len(c.names)+1)
		c.names[sql] = name
		c.outputs = append(c.outputs, sql+" AS "+name)
	}
	c.shared = c.shared || known && costly
	return "r." + name
}

func (c *conversions) read(m *expr.Measure) string { return m.Over(c.name) }

// aggregated selects keys, and the integers of ms as prefix1, prefix2…, without its GROUP BY. Where aggregates share a costly conversion it runs in a
// subquery, which OFFSET keeps the planner from merging into the aggregates, where it would run for each. OFFSET '0' is a constant when
// the planner looks for parallel plans; the number 0 is still a cast then, and would keep it from aggregating in parallel.
func (t *measureText) aggregated(keys, names []string, prefix string, ms []measured) string {
	rows := t.k.src.rows
	if t.k.single() {
		rows = 0
	}
	c := &conversions{names: map[string]string{}}
	var direct, through []string
	for i, m := range ms {
		where := m.where
		direct = append(direct, fmt.Sprintf("%s AS %s%d", m.aggregate(directly, where, rows), prefix, i+1))
		if where != "" {
			where = c.name(where, false)
		}
		through = append(through, fmt.Sprintf("%s AS %s%d", m.aggregate(c.read, where, rows), prefix, i+1))
	}
	if t.k.single() && t.k.selected {
		direct, through = slices.Insert(direct, 0, "count(*) AS n"), slices.Insert(through, 0, "count(*) AS n")
	}
	if !c.shared || t.b.foreign(t.k.src) {
		return t.k.src.selectText(append(keys, direct...))
	}
	inner := t.k.src.selectText(append(keys, c.outputs...))
	return fmt.Sprintf("SELECT %s FROM (%s OFFSET '0') AS r", strings.Join(append(names, through...), ", "), inner)
}
