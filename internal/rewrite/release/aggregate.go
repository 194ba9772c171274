package release

import (
	"fmt"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// plan registers what a call needs to be released and appends its output.
func (b *Planner) plan(k *Block, c *aggregate.Call) error {
	var output query.Scalar
	var uses []int
	var moments *Moments
	var err error
	rows := -1 // the count that decides whether it is NULL
	k.call = c
	switch c.Name {
	case "count":
		output, uses, err = k.planCount(c)
	case "sum":
		output, uses, err = b.planSum(k, c)
	case "avg":
		if output, uses, err = b.planAvg(k, c); err == nil && !k.isGroupCount(uses[1]) {
			rows = uses[1]
		}
	case "bool_and", "bool_or":
		output, uses = k.planBool(c)
	case "mode":
		output, uses = k.planMode(c)
	case "min", "max", "percentile_cont", "percentile_disc":
		if output, uses, err = b.planQuantile(k, c); err == nil {
			output, rows = k.nullOverNothing(c, c.Rows(), output)
		}
	default:
		output, uses, moments, err = b.planMoments(k, c)
	}
	if err != nil {
		return b.Refusal(err)
	}
	k.Outputs = append(k.Outputs, output)
	column := Column{Name: c.Text, Type: c.Type, Releases: uses, Average: c.Name == "avg", Parts: c.Name == "count" &&
		len(uses) == 2, Choice: c.Mode != nil, Moments: moments, Rows: 1 + rows}
	if (c.Name == "sum" || c.Name == "avg") && len(uses) == 2 {
		column.DoubledCenter = k.doubledCenter[uses[0]]
	}
	if c.Name == "sum" || c.Name == "avg" {
		column.Difference = differenceOf(c.Args[0])
	}
	if len(uses) == 1 && k.Releases[uses[0]].Kind == mechanism.Quantile && !c.Array {
		column.Low, column.High = 1+k.quantileEnd(c, uses[0], aggregate.DerivedLow),
			1+k.quantileEnd(c, uses[0], aggregate.DerivedHigh)
	}
	column.Cut = k.cutOf(c)
	if c.Filter != nil {
		b.NoteBeyond(relation.Condition, c.Filter.OutOfBounds())
	}
	b.NoteBeyond(relation.Nearest, c.OutOfBounds())
	if share := expr.OutOfBoundsShare(c.OutOfBounds()); share != nil {
		column.Outside = *share
	} else {
		column.OutsideUnknown = true
	}
	k.Columns = append(k.Columns, column)
	return nil
}

// differenceOf describes the difference in an aggregated argument, if there is one.
func differenceOf(argument *expr.Expr) *Difference {
	d := argument.Difference()
	if d == nil {
		return nil
	}
	lo, _ := d.Bounds().Lo.Float64()
	hi, _ := d.Bounds().Hi.Float64()
	return &Difference{d.Text(), d.Type(), lo, hi}
}

func (k *Block) planCount(c *aggregate.Call) (query.Scalar, []int, error) {
	if c.Star {
		_, released := k.index["count "+query.Key(c.Condition())] // an average needs it, and says the same number
		if parts := k.parts[c]; parts != nil && k.Source.Preserved == nil && !released {
			i, j := k.countOf(parts[0]), k.countOf(parts[1])
			return query.F("{} + {}", ReleasedColumn(i), ReleasedColumn(j)), []int{i, j}, nil
		}
		i := k.count(c.Text, c.Condition())
		if k.Source.Preserved != nil && c.Filter == nil {
			return query.F("GREATEST(1, {})", ReleasedColumn(i)), []int{i}, nil // the public row itself (docs/privacy.md P6)
		}
		return ReleasedColumn(i), []int{i}, nil
	}
	if c.Row != nil {
		i, err := k.countRowValues(c)
		return ReleasedColumn(i), []int{i}, err
	}
	x := c.Args[0]
	condition := c.Condition(aggregate.NotNull(x))
	if !c.Distinct {
		i := k.count(c.Text, condition)
		return ReleasedColumn(i), []int{i}, nil
	}
	if col := x.Column(); col != nil && col.Unit {
		i := k.units(c.Text, condition)
		return ReleasedColumn(i), []int{i}, nil
	}
	values, err := k.distinct(x, condition)
	if err != nil {
		return nil, nil, err
	}
	i := k.countDistinct(c.Text, x, values)
	return ReleasedColumn(i), []int{i}, nil
}

// countOf releases count(*) under the filter of a call.
func (k *Block) countOf(c *aggregate.Call) int {
	k.call = c
	return k.count(c.Text, c.Condition())
}

// mostParts bounds the counts under a filter that are compared with each other.
const mostParts = 16

// partsOf finds counts of all rows that follow from two others, of the rows where a condition holds and of those where
// it does not: these share one price, and the third integer is their sum.
func partsOf(calls []*aggregate.Call) map[*aggregate.Call][]*aggregate.Call {
	parts := map[*aggregate.Call][]*aggregate.Call{}
	var filtered []*aggregate.Call
	for _, c := range calls {
		if c.Star && c.Filter != nil {
			filtered = append(filtered, c)
		}
	}
	if len(filtered) > mostParts {
		return parts
	}
	for _, all := range calls {
		if !all.Star || all.Filter != nil {
			continue
		}
		for i, a := range filtered {
			for _, b := range filtered[:i] {
				if parts[all] == nil && expr.Complement(a.Filter, b.Filter) {
					parts[all] = []*aggregate.Call{b, a}
				}
			}
		}
	}
	return parts
}

func (b *Planner) planSum(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	if c.Values() != nil {
		return b.planDistinctSum(k, c)
	}
	a, err := b.measured(k, c, c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	condition := c.Rows()
	if one := big.NewRat(1, 1); a.Lo == 1 && a.Hi == 1 && a.Step.Cmp(one) == 0 {
		i := k.count(c.Text, condition) // as pivots count: sum(CASE WHEN … THEN 1 ELSE 0 END)
		return convert(c.Type, query.F("{}::numeric", k.orNull(ReleasedColumn(i))), one), []int{i}, nil
	}
	if n, ok := k.index["count "+query.Key(condition)]; ok && n != k.unasked-1 && k.betterGivenCount(a, condition) {
		i, doubledCenter, err := k.sumGivenCount(c.Text, a, k.rows(condition), n)
		if err != nil {
			return nil, nil, err
		}
		sum := convert(c.Type, query.F("round(({}::numeric + ({})::numeric * {}) / 2)", ReleasedColumn(i), doubledCenter,
			ReleasedColumn(n)), a.Step)
		return query.F("CASE WHEN {} > 0 THEN {} ELSE {} END", ReleasedColumn(n), sum, c.None()), []int{i, n}, nil
	}
	i, err := k.plainSum(c.Text, a, condition)
	return convert(c.Type, query.F("{}::numeric", k.orNull(ReleasedColumn(i))), a.Step), []int{i}, err
}

// betterGivenCount reports whether a sum is less noisy as Σ(2x − 2c) beside the count of its rows, which is released
// anyway, than by itself: with noise in proportion to what one unit moves, 4·U² against those of Σ(2x − 2c) and 2c·n.
// Where an average has released the former it costs nothing.
func (k *Block) betterGivenCount(a *aggregate.Argument, condition query.Scalar) bool {
	if _, known := k.index[givenKey(a, k.rows(condition))]; known {
		return true
	}
	c := centerOf(a, k.Source.MaxRowsPerUnit)
	ulo, uhi := aggregate.UnitBounds(a.Lo, a.Hi, k.Source.MaxRowsPerUnit, a.PerUnit)
	alone, count := 2*float64(max(bounds.Abs(ulo), bounds.Abs(uhi))), float64(c.doubled)*float64(k.Source.MaxRowsPerUnit)
	return float64(c.most)*float64(c.most)+count*count < alone*alone
}

// orNull gives a released column; NULL over no rows at all, as every aggregate but a count is there.
func (k *Block) orNull(column query.Scalar) query.Scalar {
	if k.Source.Empty {
		return query.Raw("NULL")
	}
	return column
}

func (b *Planner) planAvg(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	a, err := b.measured(k, c, c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	values, count, err := k.readBy(c, c.Rows())
	if err != nil {
		return nil, nil, err
	}
	n := count()
	s, doubledCenter, err := k.sumGivenCount(c.Text, a, values, n)
	if err != nil {
		return nil, nil, err
	}
	sum := query.F("({}::numeric + ({})::numeric * {})", ReleasedColumn(s), doubledCenter, ReleasedColumn(n))
	lo, hi := new(big.Rat).Mul(a.Step, big.NewRat(a.Lo, 1)), new(big.Rat).Mul(a.Step, big.NewRat(a.Hi, 1))
	value := average(c.Type, sum, ReleasedColumn(n), a.Step, lo, hi, a.Gaps())
	return query.F("CASE WHEN {} THEN {} END", k.someRows(n), value), []int{s, n}, nil
}

// average prints sum × step / (2n), clamped to the argument's bounds, in the type that PostgreSQL's avg has.
func average(typ uint32, sum, n query.Scalar, step, lo, hi *big.Rat, gaps []bounds.Interval) query.Scalar {
	var value query.Scalar
	switch typ {
	case pgtype.Float8OID:
		value = query.F("LEAST(GREATEST(({} * {})::float8 / (2 * {})::float8, {}::float8), {}::float8)", sum,
			aggregate.Decimal(step), n, aggregate.Decimal(lo), aggregate.Decimal(hi))
	case pgtype.IntervalOID:
		value = query.F("(LEAST(GREATEST(round({} * {} / (2 * {})), {}), {})::float8 * interval '1 microsecond')", sum,
			aggregate.Decimal(step), n, aggregate.Decimal(lo), aggregate.Decimal(hi))
	default:
		value = query.F("LEAST(GREATEST(({} * {}) / (2 * {}), {}), {})", sum, aggregate.Decimal(step), n,
			aggregate.Decimal(lo), aggregate.Decimal(hi))
	}
	if len(gaps) > 0 && typ != pgtype.IntervalOID {
		value = nearestValid(value, gaps)
	}
	return value
}

// nearestValid moves a value out of gaps, to the nearest valid one: post-processing (docs/privacy.md P13).
func nearestValid(value query.Scalar, gaps []bounds.Interval) query.Scalar {
	cases := ""
	for _, g := range gaps {
		lo, hi := aggregate.Decimal(g.Lo), aggregate.Decimal(g.Hi)
		cases += fmt.Sprintf(" WHEN y.v > %s AND y.v < %s THEN CASE WHEN y.v - %s <= %s - y.v THEN %s ELSE %s END", lo, hi,
			lo, hi, lo, hi)
	}
	return query.F("(SELECT CASE{} ELSE y.v END FROM (SELECT {} AS v) AS y)", cases, value)
}

// planBool compares a noisy count with the noise's own 95% threshold: of the units with a row that decides
// (docs/privacy.md P12c).
func (k *Block) planBool(c *aggregate.Call) (query.Scalar, []int) {
	test := query.F("({})", c.Args[0].SQL())
	if c.Name == "bool_and" {
		test = query.F("(NOT {})", test)
	}
	condition := c.Condition(test)
	decide := k.units
	if k.oneRow() { // rows are units, and share a layer with other rows
		decide = k.count
	}
	i := decide(c.Text, condition)
	hit := query.F("({} > {})", k.orNull(ReleasedColumn(i)), k.derive(i, aggregate.DerivedThreshold))
	if c.Name == "bool_and" {
		hit = query.F("(NOT {})", hit)
	}
	return hit, []int{i}
}

// convert prints steps × step in a result type. Numbers are rounded only where the type is an integer.
func convert(typ uint32, steps query.Scalar, step *big.Rat) query.Scalar {
	value := steps
	if step.Cmp(big.NewRat(1, 1)) != 0 {
		value = query.F("({}) * {}", steps, aggregate.Decimal(step))
	}
	switch typ {
	case pgtype.Int2OID:
		return query.F("round({})::int2", value)
	case pgtype.Int4OID:
		return query.F("round({})::int4", value)
	case pgtype.Int8OID:
		return query.F("round({})::int8", value)
	case pgtype.Float4OID:
		// A sum may exceed what one value may: PostgreSQL would raise an error, after the charge.
		return query.F("LEAST(GREATEST({}, -{}), {})::float4", value, mostFloat4, mostFloat4)
	case pgtype.Float8OID:
		return query.F("({})::float8", value)
	case pgtype.DateOID:
		return query.F("(date '1970-01-01' + round({})::int4)", value)
	case pgtype.TimestampOID:
		return query.F("(timestamp '1970-01-01' + ({})::float8 * interval '1 microsecond')", value)
	case pgtype.TimestamptzOID:
		return query.F("(timestamptz '1970-01-01 00:00:00+00' + ({})::float8 * interval '1 microsecond')", value)
	case pgtype.IntervalOID:
		return query.F("(({})::float8 * interval '1 microsecond')", value)
	}
	return query.F("({})", value)
}

// mostFloat4 is the largest float4.
const mostFloat4 = "340282346638528859811704183484516925440"
