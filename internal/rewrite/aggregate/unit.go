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

// UnitValue prints an aggregate over rows of one unit, and describes its value, whose bounds the SQL enforces. over is the
// window that it runs over, nil for a group; some says that there is a row at all. What it computes does not depend on
// the order of rows (docs/privacy.md P8).
func UnitValue(b *relation.Base, src *relation.Relation, c *Call, over *query.Over, some bool) (*expr.Column, query.Scalar, error) {
	if c.Array {
		return nil, nil, refusal.New(refusal.AggregatePerUnit, fmt.Sprintf("%s of several fractions is not supported inside a per-%s subquery", c.Name, src.UnitName), pgerr.Hint("Write one call for each fraction."))
	}
	x := &expr.Column{Name: c.Text, Type: c.Type, Typmod: -1, Enforced: true, Scale: -1, DeterministicCollation: true, Outside: c.Outside()}
	if c.Name == "count" {
		return x, unitCount(src, c, x, over, some), nil
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
		return nil, nil, refusal.New(refusal.AggregatePerUnit, fmt.Sprintf("%s is not supported inside a per-%s subquery", c.Name, src.UnitName),
			pgerr.Hint("Use count, sum, avg, min, max, mode, a variance, a covariance, corr, regr_slope, a percentile, bool_and or bool_or there."))
	}
	if c.By != nil {
		return nil, nil, refusal.New(refusal.AggregatePerUnit, fmt.Sprintf("a symmetric aggregate is not supported inside a per-%s subquery", src.UnitName), pgerr.Hint("Aggregate the table in a subquery of its own, and join that."))
	}
	a, err := NewArgument(b, src, e, func(a *Argument) bool { return a.FitsUnit(src.MaxRowsPerUnit) })
	if err != nil {
		return nil, nil, err
	}
	if c.Distinct && distinctNumbers[c.Name] {
		if a.PerUnit = nil; !a.exact(e) {
			return nil, nil, refusal.New(refusal.AggregatePerUnit, fmt.Sprintf("%s is not supported inside a per-%s subquery: values that differ by less than its grid would count as one", c.Text, src.UnitName), pgerr.Hint("Round the argument: round(x, 2)."))
		}
	}
	sql, err := unitNumber(src, c, a, x, rows)
	return x, sql, err
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
		return query.F("pg_catalog.{}('{}'::pg_catalog.float8) WITHIN GROUP (ORDER BY {})", c.Name, strconv.FormatFloat(c.Fractions[0], 'g', -1, 64), argument)
	}
	return query.F("pg_catalog.{}({})", c.Name, argument)
}

// unitCount prints a count, which the row bound limits.
func unitCount(src *relation.Relation, c *Call, x *expr.Column, over *query.Over, some bool) query.Scalar {
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
	x.TypeName, x.Bounds, x.Scale = schema.TypeName(c.Type), bounds.Between(least, src.MaxRowsPerUnit), 0
	return query.Clamp{X: rowsOf{condition, over}.call(query.F("count({})", argument)), Hi: query.Integer(src.MaxRowsPerUnit)}
}

// unitPick prints an aggregate that picks one of the unit's values. Equal ones have one text, so that it does not matter
// which of them it is.
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
	return x, rows.call(c.of(canonical)), nil
}

// RowValue prints an expression that is evaluated in some row, and describes its value. A domain's is of its base type.
func RowValue(e *expr.Expr, name string) (*expr.Column, query.Scalar) {
	if c := e.Column(); c != nil && c.Base != 0 {
		e = e.Read()
	}
	return e.AsColumn(nil, name), e.SQL()
}

// unitNumber prints a number that is computed from grid-rounded integers, clamped to what they and the row bound allow. rows is
// the rest of the call: which rows it reads.
func unitNumber(src *relation.Relation, c *Call, a *Argument, x *expr.Column, rows rowsOf) (query.Scalar, error) {
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
		lo, hi := UnitBounds(a.Lo, a.Hi, src.MaxRowsPerUnit, a.PerUnit)
		if !x.Nullable && a.Lo > 0 { // of one value at least
			lo = min(a.Lo, hi)
		}
		steps = bounds.Between(lo, hi)
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
	x.Bounds = steps.Scale(step)
	value := query.F("({})::numeric * {}", rows.call(c.of(argument)), Decimal(step))
	if c.Name == "avg" {
		value = query.F("({})::numeric * {} / NULLIF({}, 0)", rows.call(query.F("sum({})", argument)), Decimal(step), rows.call(query.F("count({})", number)))
	}
	return boundedNumber(c, x, value, step)
}

// boundedNumber clamps a number that counts in steps to the bounds of x, and casts it to the type of the call.
func boundedNumber(c *Call, x *expr.Column, value query.Scalar, step *big.Rat) (query.Scalar, error) {
	if step.Cmp(leastStep) < 0 {
		return nil, TooFine(c.Text)
	}
	if !x.Bounds.Within(representable(c.Type)) {
		return nil, refusal.New(refusal.Overflow, c.Text+" may overflow its type", pgerr.Hint("Narrow the bounds of its argument with LEAST and GREATEST, or cast it to numeric."))
	}
	return numberAs(c.Type, value, x.Bounds), nil
}

// leastStep keeps results far from where a float would underflow, which raises.
var leastStep = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 800))

// representable gives the numbers that a cast of a numeric to a type takes. Beyond them, numberAs would raise an error for some rows and not for others.
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

// numberAs clamps a numeric and casts it; NULL stays NULL.
func numberAs(typ uint32, value query.Scalar, bounds bounds.Interval) query.Scalar {
	clamped := query.F("CASE WHEN ({}) IS NOT NULL THEN {} END", value, query.Clamp{X: value, Lo: query.Raw(Decimal(bounds.Lo)), Hi: query.Raw(Decimal(bounds.Hi))})
	switch typ {
	case pgtype.Int8OID:
		return query.F("({})::pg_catalog.int8", clamped)
	case pgtype.Float4OID:
		return query.F("({})::pg_catalog.float4", clamped)
	case pgtype.Float8OID:
		return query.F("({})::pg_catalog.float8", clamped)
	case pgtype.IntervalOID:
		return query.F("(({})::pg_catalog.float8 * pg_catalog.make_interval(secs => 0.000001))", clamped)
	}
	return clamped
}
