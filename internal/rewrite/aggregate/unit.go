package aggregate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// AddUnitAggregate adds one aggregate over the rows of one unit in one group. some says that a group has a row.
func AddUnitAggregate(b *relation.Base, d *relation.Derived, c *Call, name string, perUnit, some bool) error {
	x, sql, err := UnitValue(b, d.Source, c, nil, some)
	if err != nil {
		return err
	}
	d.AddColumn(x, sql, name, perUnit)
	return nil
}

// UnitValue prints an aggregate over rows of one unit, and describes its value, whose bounds the SQL enforces. over is
// the window that it runs over, nil for a group; some says that there is a row at all. What it computes does not depend
// on the order of rows (docs/privacy.md P8).
func UnitValue(b *relation.Base, src *relation.Relation, c *Call, over *query.Over, some bool) (
	*expr.Column, query.Scalar, error,
) {
	if c.Array {
		return nil, nil, refusal.New(refusal.AggregatePerUnit,
			fmt.Sprintf("%s of several fractions is not supported inside a per-%s subquery", c.Name, src.UnitName),
			pgerr.Hint("Write one call for each fraction."))
	}
	x := &expr.Column{
		Name: c.Text, Type: c.Type, Typmod: -1, Enforced: true, Scale: -1, DeterministicCollation: true,
		OutOfBounds: c.OutOfBounds(),
	}
	if c.Name == "count" {
		return x, unitCount(b, src, c, x, over, some), nil
	}
	if unitPairs[c.Name] {
		return unitPair(b, src, c, over)
	}
	e := c.Args[0]
	rows := rowsOf{c.Condition(NotNull(e)), over}
	x.TypeName, x.OfUnit = schema.TypeName(c.Type), e.OfUnit()
	x.Nullable = e.Nullable() || c.Filter != nil || !some
	switch c.Name {
	case "bool_and", "bool_or":
		x.Nullable = true
		return x, rowsOf{c.Condition(), over}.call(c.of(e.SQL())), nil
	case "mode":
		return unitPick(c, x.Nullable, rows)
	case "min", "max", "percentile_disc":
		if c.Type != pgtype.IntervalOID { // equal intervals may differ in days and hours: those are computed as numbers
			return unitPick(c, x.Nullable, rows)
		}
	case "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "percentile_cont":
	default:
		return nil, nil, refusal.New(refusal.AggregatePerUnit, fmt.Sprintf("%s is not supported inside a per-%s subquery",
			c.Name, src.UnitName),
			pgerr.Hint(
				"Use count, sum, avg, min, max, mode, a variance, a covariance, corr, regr_slope, a percentile, bool_and or bool_or there."))
	}
	if c.By != nil {
		return nil, nil, refusal.New(refusal.AggregatePerUnit,
			fmt.Sprintf("a symmetric aggregate is not supported inside a per-%s subquery", src.UnitName),
			pgerr.Hint("Aggregate the table in a subquery of its own, and join that."))
	}
	a, err := NewArgument(b, src, e, func(a *Argument) bool { return a.FitsUnit(src.MaxRowsPerUnit) })
	if err != nil {
		return nil, nil, err
	}
	if c.Distinct && distinctNumbers[c.Name] {
		if a.PerUnit = nil; !a.exact(e) {
			return nil, nil, refusal.New(refusal.AggregatePerUnit,
				fmt.Sprintf(
					"%s is not supported inside a per-%s subquery: values that differ by less than its grid would count as one",
					c.Text, src.UnitName), pgerr.Hint("Round the argument: round(x, 2)."))
		}
	}
	a.readAll(b, src, c)
	sql, err := unitNumber(b, src, c, a, x, rows)
	return x, sql, err
}

// readAll has a sum or an average of numbers of one unit read them as they are, where they fit the grid.
func (a *Argument) readAll(b *relation.Base, src *relation.Relation, c *Call) {
	e := c.Args[0]
	if c.Name != "sum" && c.Name != "avg" || e.Column() == nil || !e.Column().GoesBeyond() {
		return
	}
	all, err := NewArgument(b, src, e.Exact(), func(*Argument) bool { return true })
	if err == nil && all.Step.Cmp(a.Step) == 0 {
		a.held, a.SQL = all.held, all.SQL
	}
}

// mostUnitRows is how many rows of one unit are counted as they are, whatever the policy says of what counts in an
// answer.
const mostUnitRows = math.MaxInt32

// reach says where a number of one unit lies that is computed from all of its rows: its bounds are those of as many as
// count in an answer, and those of a group of a key of as many as the policy says, whatever the session wants
// (docs/privacy.md P8e). bounded gives them for a number of rows; all: whatever the policy says.
func reach(b *relation.Base, src *relation.Relation, x *expr.Column,
	bounded func(rows int64, all bool) bounds.Interval,
) (held bounds.Interval) {
	most := src.MaxRowsPerUnit
	if !src.Proven {
		most = max(most, mostUnitRows)
	}
	x.Bounds, held = bounded(src.MaxRowsPerUnit, false), bounded(most, true)
	x.Reach(held, bounded(b.DeclaredRows(src), false))
	return held
}

// rowsOf says which of one unit's rows an aggregate reads.
type rowsOf struct {
	where query.Scalar // nil: all
	over  *query.Over  // nil: those of the group
}

// call completes a call of an aggregate.
func (r rowsOf) call(aggregate query.Scalar) query.Scalar {
	of := query.Aggregate{Call: aggregate, Where: r.where}
	if r.over == nil {
		return of
	}
	out := *r.over
	out.Call = of
	return out
}

// of prints the aggregate of an argument.
func (c *Call) of(argument query.Scalar) query.Scalar {
	switch c.Name {
	case "sum", "min", "max", "bool_and", "bool_or":
		return query.F("{}({})", c.Name, argument)
	case "percentile_cont", "percentile_disc", "mode":
		if c.Descending {
			argument = query.F("{} DESC", argument)
		}
		if c.Name == "mode" {
			return query.F("pg_catalog.mode() WITHIN GROUP (ORDER BY {})", argument)
		}
		return query.F("pg_catalog.{}('{}'::pg_catalog.float8) WITHIN GROUP (ORDER BY {})", c.Name,
			strconv.FormatFloat(c.Fractions[0], 'g', -1, 64), argument)
	}
	return query.F("pg_catalog.{}({})", c.Name, argument)
}

// unitCount prints a count of all rows of a unit.
func unitCount(b *relation.Base, src *relation.Relation, c *Call, x *expr.Column, over *query.Over,
	some bool,
) query.Scalar {
	argument := query.Scalar(query.Raw("*"))
	condition := c.Condition()
	if !c.Star {
		condition = c.Condition(NotNull(c.Args[0]))
	}
	if c.Distinct {
		argument = query.F("DISTINCT {}", c.Args[0].SQL())
	}
	least := int64(0)
	if condition == nil && some {
		least = 1
	}
	x.TypeName, x.Scale = schema.TypeName(c.Type), 0
	return counted(b, src, x, least, rowsOf{condition, over}.call(query.F("count({})", argument)))
}

// counted prints a number of rows of one unit, at least so many.
func counted(b *relation.Base, src *relation.Relation, x *expr.Column, least int64, count query.Scalar) query.Scalar {
	held := reach(b, src, x, func(rows int64, _ bool) bounds.Interval { return bounds.Between(least, rows) })
	return query.F("LEAST({}, {})", count, query.Integer(held.Hi.Num().Int64()))
}

// unitPick prints an aggregate that picks one of the unit's values. Equal ones have one text, so that it does not
// matter which of them it is.
func unitPick(c *Call, nullable bool, rows rowsOf) (*expr.Column, query.Scalar, error) {
	x, sql := RowValue(c.Args[0], c.Text)
	canonical, err := relation.CanonicalText(sql, x)
	if err != nil {
		return nil, nil, err
	}
	if x.Type != c.Type { // min(varchar) is a text
		x.Type, x.Typmod, x.TypeName = c.Type, -1, schema.TypeName(c.Type)
	}
	x.Nullable = nullable
	if inside := c.Args[0].AllInside(); inside != nil { // which row's value it is, nothing says
		x.InBounds, x.Work = rows.call(query.F("bool_and({})", inside)), x.Work.Plus(c.Args[0].InsideWork())
	}
	return x, rows.call(c.of(canonical)), nil
}

// RowValue prints an expression that is evaluated in some row, and describes its value. A domain's is of its base type.
func RowValue(e *expr.Expr, name string) (*expr.Column, query.Scalar) {
	if c := e.Column(); c != nil && c.Base != 0 {
		e = e.Read()
	}
	return e.AsColumn(nil, name), e.SQL()
}

// sumOf bounds the sum of so many rows, in steps; all: of values as they are, whatever the policy says of a unit's sum.
// some: of one at least.
func (a *Argument) sumOf(rows int64, all, some bool) bounds.Interval {
	least, most, perUnit := a.Lo, a.Hi, a.PerUnit
	if all {
		least, most, perUnit = a.held.Lo.Num().Int64(), a.held.Hi.Num().Int64(), nil
	}
	lo, hi := UnitBounds(least, most, rows, perUnit)
	if some && a.Lo > 0 {
		lo = min(a.Lo, hi)
	}
	return bounds.Between(lo, hi)
}

// unitNumber prints a number that is computed from grid-rounded integers, clamped to what they and the number of rows
// allow. rows is the rest of the call: which rows it reads.
func unitNumber(b *relation.Base, src *relation.Relation, c *Call, a *Argument, x *expr.Column, rows rowsOf) (
	query.Scalar, error,
) {
	argument, step, steps := a.SQL, a.Step, bounds.Between(a.Lo, a.Hi)
	number := query.Scalar(query.Raw("*"))
	if c.Distinct && distinctNumbers[c.Name] {
		argument = query.F("DISTINCT {}", argument)
		number = argument
	}
	of := func(share *big.Rat, widths ...*big.Rat) bounds.Interval {
		for _, w := range widths {
			share = new(big.Rat).Mul(share, w)
		}
		return bounds.Interval{Lo: new(big.Rat), Hi: share}
	}
	switch width := steps.Width(); c.Name {
	case "sum":
		if step.IsInt() {
			x.Scale = 0
		} else if digits, exact := step.FloatPrec(); exact {
			x.Scale = digits
		}
	case "percentile_cont":
		argument = query.F("({})::pg_catalog.float8", argument)
	// The variance of values within a width w is at most w²/4; that of a sample of n of them, w²/4 · n/(n − 1) ≤ w²/2.
	case "var_pop":
		step, steps = new(big.Rat).Mul(step, step), of(big.NewRat(1, 4), width, width)
	case "var_samp":
		step, steps, x.Nullable = new(big.Rat).Mul(step, step), of(big.NewRat(1, 2), width, width), true
	case "stddev_pop":
		steps = of(big.NewRat(1, 2), width)
	case "stddev_samp":
		steps, x.Nullable = of(big.NewRat(70711, 100000), width), true // more than √½
	}
	held := a.held.Scale(step)
	switch x.Bounds = steps.Scale(step); c.Name {
	case "sum":
		held = reach(b, src, x, func(rows int64, all bool) bounds.Interval {
			return a.sumOf(rows, all, !x.Nullable).Scale(step)
		})
	case "avg":
		x.Reach(held, x.Bounds)
	default:
		held = x.Bounds
	}
	value := query.F("({})::numeric * {}", rows.call(c.of(argument)), Decimal(step))
	if c.Name == "avg" {
		value = query.F("({})::numeric * {} / NULLIF({}, 0)", rows.call(query.F("sum({})", argument)), Decimal(step),
			rows.call(query.F("count({})", number)))
	}
	return boundedNumber(c, x, held, value, step)
}

// boundedNumber clamps a number that counts in steps to where it lies, and casts it to the type of the call, which has
// all values that count.
func boundedNumber(c *Call, x *expr.Column, held bounds.Interval, value query.Scalar, step *big.Rat) (
	query.Scalar, error,
) {
	if step.Cmp(leastStep) < 0 {
		return nil, TooFine(c.Text)
	}
	if !x.Bounds.Within(representable(c.Type)) {
		return nil, refusal.New(refusal.Overflow, c.Text+" may overflow its type",
			pgerr.Hint("Narrow the bounds of its argument with LEAST and GREATEST, or cast it to numeric."))
	}
	held = held.Intersect(representable(c.Type))
	var clamped query.Scalar = query.Clamp{X: value, Lo: query.Raw(Decimal(held.Lo)), Hi: query.Raw(Decimal(held.Hi))}
	if x.GoesBeyond() { // no sensitivity rests on it: the number is clamped where it is added up
		clamped = query.F("LEAST(GREATEST({}, {}), {})", value, query.Raw(Decimal(held.Lo)), query.Raw(Decimal(held.Hi)))
	}
	return numberAs(c.Type, query.F("CASE WHEN ({}) IS NOT NULL THEN {} END", value, clamped)), nil
}

// leastStep keeps results far from where a float would underflow, which raises.
var leastStep = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 800))

// representable returns the numbers that a cast of a numeric to a type takes. Beyond them, numberAs would raise an
// error for some rows and not for others.
func representable(typ uint32) bounds.Interval {
	most := new(big.Rat)
	switch typ {
	case pgtype.Int8OID, pgtype.IntervalOID: // an interval counts microseconds
		most.SetInt64(bounds.MaxTotal)
	case pgtype.Float4OID:
		most.SetFloat64(math.MaxFloat32)
	case pgtype.Float8OID:
		most.SetFloat64(math.MaxFloat64)
	default:
		return bounds.Interval{}
	}
	return bounds.Interval{Lo: new(big.Rat).Neg(most), Hi: most}
}

// numberAs casts a numeric.
func numberAs(typ uint32, number query.Scalar) query.Scalar {
	switch typ {
	case pgtype.Int8OID:
		return query.F("({})::pg_catalog.int8", number)
	case pgtype.Float4OID:
		return query.F("({})::pg_catalog.float4", number)
	case pgtype.Float8OID:
		return query.F("({})::pg_catalog.float8", number)
	case pgtype.IntervalOID:
		return query.F("(({})::pg_catalog.float8 * pg_catalog.make_interval(secs => 0.000001))", number)
	}
	return number
}
