package expr

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// series lists the values that an expression may take, where they follow from it alone: a query with one column v. It
// may list too many, never too few.
type series struct {
	query string
	size  int64 // rows at most

	computed bool // a column's values were not listed by somebody
	loose    bool // the values of what the expression reads, where those can be listed, give fewer
}

// constantSeries lists the constants among which a CASE chooses; nil if one of them is none.
func constantSeries(choices []*Expr) *series {
	s := &series{}
	var parts []string
	for _, x := range choices {
		if x.value == nil || x.value.items != nil {
			return nil
		}
		parts = append(parts, "SELECT "+query.Text((&printer{}).print(x))+" AS v")
		s.size++
	}
	s.query = strings.Join(parts, " UNION ALL ")
	return s
}

// choiceSeries lists what the expressions that computed a column may be, within its bounds; nil where that does not
// follow from them.
func choiceSeries(e *Expr, limits Limits) *series {
	s := &series{}
	var parts []string
	for _, x := range e.col.choices {
		list, err := Keys(x, limits)
		if err != nil {
			return nil
		}
		parts = append(parts, "SELECT c.k::"+columnType(e)+" AS v FROM ("+list.SQL+") AS c(k) WHERE c.k IS NOT NULL"+
			within(e, "c.k"))
		s.size += list.Size
		s.computed = s.computed || list.Computed
	}
	if len(parts) == 0 || s.size > limits.Of(s.computed) {
		return nil
	}
	s.query = strings.Join(parts, " UNION ALL ")
	return s
}

// within prints that a listed value lies in e's bounds, which a condition outside may have narrowed.
func within(e *Expr, value string) (condition string) {
	oid := e.baseType()
	if !pgresolve.IsNumber(oid) && !slices.Contains([]uint32{pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID},
		oid) {
		return ""
	}
	if e.bounds.Lo != nil {
		condition += " AND " + value + " OPERATOR(pg_catalog.>=) " + boundLiteral(e, e.bounds.Lo, false)
	}
	if e.bounds.Hi != nil {
		condition += " AND " + value + " OPERATOR(pg_catalog.<=) " + boundLiteral(e, e.bounds.Hi, true)
	}
	return condition
}

// boundLiteral prints a bound as a literal of e's type. Bounds of columns are exact in their type (representable). up
// says which bound it is, for those that are not.
func boundLiteral(e *Expr, r *big.Rat, up bool) string {
	return valueLiteral(e.baseType(), r, up)
}

// valueLiteral prints a value in canonical units.
func valueLiteral(oid uint32, r *big.Rat, up bool) string {
	typ := "::" + pgresolve.Qualified(oid, -1)
	switch {
	case pgresolve.IsFloat(oid):
		return floatLiteral(oid, r)
	case oid == pgtype.NumericOID:
		return sqltext.Literal(bounds.Decimal(bounds.Outward(r, up))) + typ
	case pgresolve.IsInt(oid):
		if oid == pgtype.Int4OID && r.Sign() >= 0 {
			return wholeText(r, up)
		}
		return sqltext.Literal(wholeText(r, up)) + typ
	case oid == pgtype.IntervalOID:
		return sqltext.Literal(intervalText(whole(r, up).Num())) + typ
	}
	return sqltext.Literal(timeText(oid, r, up)) + typ
}

// intervalText writes microseconds as hours, minutes and seconds: before version 15, PostgreSQL reads no field of an
// interval beyond int4.
func intervalText(micros *big.Int) string {
	sign := ""
	if micros.Sign() < 0 {
		sign = "-"
	}
	seconds, fraction := new(big.Int).QuoRem(new(big.Int).Abs(micros), big.NewInt(1e6), new(big.Int))
	hours, rest := new(big.Int).QuoRem(seconds, big.NewInt(60*60), new(big.Int))
	return fmt.Sprintf("%s%d:%02d:%02d.%06d", sign, hours, rest.Int64()/60, rest.Int64()%60, fraction)
}

// timeText writes a date, time or timestamp in canonical units in ISO form.
func timeText(oid uint32, r *big.Rat, up bool) string {
	switch oid {
	case pgtype.DateOID:
		return stampText(time.Unix(whole(r, up).Num().Int64()*24*60*60, 0), "2006-01-02")
	case pgtype.TimestampOID:
		return stampText(instant(r, up), "2006-01-02 15:04:05.999999")
	case pgtype.TimestamptzOID:
		return stampText(instant(r, up), "2006-01-02 15:04:05.999999") + "+00"
	}
	if r.Cmp(microsPerDay) >= 0 {
		return "24:00:00"
	}
	return instant(r, up).Format("15:04:05.999999")
}

func instant(micros *big.Rat, up bool) time.Time {
	return time.UnixMicro(whole(micros, up).Num().Int64()).UTC()
}

func whole(r *big.Rat, up bool) *big.Rat {
	if up {
		return bounds.Ceil(r)
	}
	return bounds.Floor(r)
}

func wholeText(r *big.Rat, up bool) string { return whole(r, up).Num().String() }

// stampText formats a day or an instant, in UTC; years before 1 are written with BC.
func stampText(t time.Time, layout string) string {
	t = t.UTC()
	year, era := t.Year(), ""
	if year <= 0 { // year 0 is 1 BC
		year, era = 1-year, " BC"
	}
	return fmt.Sprintf("%04d", year) + t.Format(strings.TrimPrefix(layout, "2006")) + era
}

// floatLiteral prints the shortest text that reads as the float.
func floatLiteral(oid uint32, r *big.Rat) string {
	if oid == pgtype.Float4OID {
		f, _ := r.Float32()
		return fmt.Sprintf("'%v'::pg_catalog.float4", f)
	}
	f, _ := r.Float64()
	return fmt.Sprintf("'%v'::pg_catalog.float8", f)
}

// truncSeries lists date_trunc of x over its bounds, or over a range within. Evaluated with the session's time zone, it
// gives what main gives.
func truncSeries(x *Expr, field, step string, days float64, b bounds.Interval) *series {
	oid := uint32(pgtype.TimestampOID)
	if x.typ == pgtype.TimestamptzOID {
		oid = pgtype.TimestamptzOID
	}
	n, _ := quo(b.Width(), microsPerDay).Float64()
	lo, hi := valueLiteral(oid, b.Lo, false), valueLiteral(oid, b.Hi, true)
	if x.local != nil && b.Hi.Cmp(x.bounds.Hi) == 0 {
		lo, hi = x.local.lo, x.local.hi
	}
	name := sqltext.Literal(field) + "::pg_catalog.text"
	// a few more steps at the end: in steps of days a zone's change of offset may leave the last one out
	return &series{
		query: fmt.Sprintf(
			"SELECT s.v FROM (SELECT pg_catalog.date_trunc(%s, g.v) AS v FROM pg_catalog.generate_series(pg_catalog.date_trunc(%s, %s), %s, '%s'::pg_catalog.interval) AS g(v)) AS s WHERE s.v OPERATOR(pg_catalog.<=) %s",
			name, name, lo, hi, step, hi),
		size: size(n/(days*0.85) + 3),
	}
}

// charSeries lists to_char over a bounded range, or over one cycle of what the format shows.
func charSeries(c *call, f charFormat) *series {
	x := c.args[0]
	b := micros(x)
	cycle := int64(0) // days after which a format repeats; 0: never
	switch {
	case strings.ContainsRune(f.cycles, 'n'):
	case strings.ContainsRune(f.cycles, 'y') && strings.ContainsRune(f.cycles, 'w'):
	case strings.ContainsRune(f.cycles, 'y'):
		cycle = 366 * 9 // leap days, around 1900 and 2100 too
	case strings.ContainsRune(f.cycles, 'w'):
		cycle = 15 // an hour that a change of offset skips one week is there the other
	default:
		cycle = 2
	}
	hi := b.Hi
	if cycle > 0 {
		hi = bounds.Min(hi, add(b.Lo, mul(rat(cycle), microsPerDay)))
	}
	s := truncSeries(x, f.unit, truncUnits[f.unit].step, truncUnits[f.unit].days, bounds.New(b.Lo, hi))
	s.query = "SELECT pg_catalog.to_char(g.v, " + query.Text((&printer{}).print(c.args[1])) + ") AS v FROM (" + s.query +
		") AS g(v)"
	return s
}

// rowCount counts the values from one end to the other, both included.
func rowCount(steps *big.Rat) int64 {
	n, _ := steps.Float64()
	return size(n) + 1
}

// size gives a row count as an integer, far below overflow.
func size(n float64) int64 {
	if n > 1e15 || math.IsNaN(n) {
		return 1e15
	}
	return int64(n)
}
