package rewrite

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// unitAggregate adds one aggregate over the rows of one unit in one group. some says that a group has a row.
func (b *builder) unitAggregate(d *derived, c *call, name string, perUnit, some bool) error {
	x, sql, err := b.unitValue(d.src, c, nil, some)
	if err != nil {
		return err
	}
	d.addColumn(x, sql, name, perUnit)
	return nil
}

// unitValue is an aggregate over rows of one unit, with a description of its value, whose bounds the SQL enforces. over is the
// window that it runs over, nil for a group; some says that there is a row at all. What it computes does not depend on
// the order of rows (PRIVACY 7).
func (b *builder) unitValue(src *relation, c *call, over *query.Over, some bool) (*expr.Column, query.Scalar, error) {
	if c.array {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s of several fractions is not supported inside a per-%s subquery", c.name, src.kind), pgerr.Hint("Write one call for each fraction."))
	}
	x := &expr.Column{Name: c.text, Type: c.typ, Typmod: -1, Enforced: true, Scale: -1, DeterministicCollation: true}
	if c.name == "count" {
		return x, b.unitCount(src, c, x, over, some), nil
	}
	e := c.args[0]
	rows := rowsOf{c.condition(guard(e)), over}
	x.TypeName, x.OfUnit = typeName(c.typ), e.OfUnit()
	x.Nullable = e.Nullable() || c.filter != nil || !some
	switch c.name {
	case "bool_and", "bool_or":
		x.Nullable = true
		return x, rowsOf{c.condition(), over}.call(c.of(e.SQL())), nil
	case "min", "max", "percentile_disc":
		if c.typ != pgtype.IntervalOID { // equal intervals may differ in days and hours: those are computed as numbers
			return unitPick(c, x.Nullable, rows)
		}
	case "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "percentile_cont":
	default:
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s is not supported inside a per-%s subquery", c.name, src.kind),
			pgerr.Hint("Use count, sum, avg, min, max, a variance, a percentile, bool_and or bool_or there."))
	}
	a, err := b.measure(&block{src: src}, e)
	if err != nil {
		return nil, nil, err
	}
	sql, err := unitNumber(src, c, a, x, rows)
	return x, sql, err
}

// rowsOf is which rows an aggregate over one unit's reads.
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

// of is the aggregate of an argument.
func (c *call) of(argument query.Scalar) query.Scalar {
	switch c.name {
	case "sum", "min", "max", "bool_and", "bool_or":
		return query.F("{}({})", c.name, argument)
	case "percentile_cont", "percentile_disc":
		if c.descending {
			argument = query.F("{} DESC", argument)
		}
		return query.F("pg_catalog.{}('{}'::pg_catalog.float8) WITHIN GROUP (ORDER BY {})", c.name, strconv.FormatFloat(c.fractions[0], 'g', -1, 64), argument)
	}
	return query.F("pg_catalog.{}({})", c.name, argument)
}

// unitCount prints a count, which the row bound limits.
func (b *builder) unitCount(src *relation, c *call, x *expr.Column, over *query.Over, some bool) query.Scalar {
	argument := query.Scalar(query.Raw("*"))
	condition := c.condition()
	if !c.star {
		condition = c.condition(guard(c.args[0]))
	}
	if c.distinct {
		argument = query.F("DISTINCT {}", c.args[0].SQL())
	}
	least := int64(0)
	if condition == nil && some {
		least = 1
	}
	x.TypeName, x.Bounds, x.Scale = typeName(c.typ), expr.Between(least, src.rows), 0
	return query.Clamp{X: rowsOf{condition, over}.call(query.F("count({})", argument)), Hi: query.Integer(src.rows)}
}

// unitPick prints an aggregate that picks one of the unit's values. Equal ones are spelled alike, so that it does not matter
// which of them it is.
func unitPick(c *call, nullable bool, rows rowsOf) (*expr.Column, query.Scalar, error) {
	x, sql := rowValue(c.args[0], c.text)
	alike, err := spelledAlike(sql, x)
	if err != nil {
		return nil, nil, err
	}
	if x.Type != c.typ { // min(varchar) is a text
		x.Type, x.Typmod, x.TypeName = c.typ, -1, typeName(c.typ)
	}
	x.Nullable = nullable
	return x, rows.call(c.of(alike)), nil
}

// rowValue prints an expression that is evaluated in some row, and describes its value. A domain's is of its base type.
func rowValue(e *expr.Expr, name string) (*expr.Column, query.Scalar) {
	if c := e.Column(); c != nil && c.Base != 0 {
		e = e.Read()
	}
	return e.AsColumn(nil, name), e.SQL()
}

// unitNumber prints a number that is computed from grid-rounded integers, clamped to what they and the row bound allow. rows is
// the rest of the call: which rows it reads.
func unitNumber(src *relation, c *call, a *numericArg, x *expr.Column, rows rowsOf) (query.Scalar, error) {
	argument, step, steps := a.SQL, a.Step, expr.Between(a.Lo, a.Hi)
	of := func(share *big.Rat, widths ...*big.Rat) expr.Interval {
		for _, w := range widths {
			share = new(big.Rat).Mul(share, w)
		}
		return expr.Interval{Lo: new(big.Rat), Hi: share}
	}
	switch width := steps.Width(); c.name {
	case "sum":
		lo, hi := unitClamp(a.Lo, a.Hi, src.rows, a.perUnit, 1)
		if !x.Nullable && a.Lo > 0 { // of one value at least
			lo = min(a.Lo, hi)
		}
		steps = expr.Between(lo, hi)
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
	if step.Cmp(leastStep) < 0 {
		return nil, tooFine(c.text)
	}
	x.Bounds = steps.Scale(step)
	if !x.Bounds.Within(representable(c.typ)) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, c.text+" may overflow its type", pgerr.Hint("Narrow the bounds of its argument with LEAST and GREATEST, or cast it to numeric."))
	}
	value := query.F("({})::numeric * {}", rows.call(c.of(argument)), decimal(step))
	if c.name == "avg" {
		value = query.F("({})::numeric * {} / NULLIF({}, 0)", rows.call(query.F("sum({})", argument)), decimal(step), rows.call(query.Raw("count(*)")))
	}
	return numberAs(c.typ, value, x.Bounds), nil
}

// leastStep keeps results far from where a float would underflow, which raises.
var leastStep = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 800))

// representable is what a cast of a numeric to a type takes: beyond it, numberAs would raise an error for some rows and not for others.
func representable(typ uint32) expr.Interval {
	most := new(big.Rat)
	switch typ {
	case pgtype.Int8OID, pgtype.IntervalOID: // an interval counts microseconds
		most.SetInt64(maxTotal)
	case pgtype.Float4OID:
		most.SetFloat64(math.MaxFloat32)
	case pgtype.Float8OID:
		most.SetFloat64(math.MaxFloat64)
	default:
		return expr.Interval{}
	}
	return expr.Interval{Lo: new(big.Rat).Neg(most), Hi: most}
}

// numberAs clamps a numeric and casts it; NULL stays NULL.
func numberAs(typ uint32, value query.Scalar, bounds expr.Interval) query.Scalar {
	clamped := query.F("CASE WHEN ({}) IS NOT NULL THEN {} END", value, query.Clamp{X: value, Lo: query.Raw(decimal(bounds.Lo)), Hi: query.Raw(decimal(bounds.Hi))})
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

// typeName prints a result type of an aggregate.
func typeName(oid uint32) string {
	names := map[uint32]string{
		pgtype.Int2OID: "int2", pgtype.Int4OID: "int4", pgtype.Int8OID: "int8", pgtype.NumericOID: "numeric", pgtype.Float4OID: "float4", pgtype.Float8OID: "float8",
		pgtype.IntervalOID: "interval", pgtype.DateOID: "date", pgtype.TimestampOID: "timestamp", pgtype.TimestamptzOID: "timestamptz", pgtype.BoolOID: "bool", pgtype.TextOID: "text", pgtype.TimeOID: "time",
		pgtype.VarcharOID: "varchar", pgtype.BPCharOID: "bpchar", pgtype.NameOID: "name", pgtype.UUIDOID: "uuid",
	}
	return "pg_catalog." + names[oid]
}
