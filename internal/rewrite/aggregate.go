package rewrite

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// plan registers what a call needs to be released and appends its output.
func (b *builder) plan(k *block, c *call) error {
	var output query.Scalar
	var uses []int
	var err error
	switch c.name {
	case "count":
		output, uses, err = k.planCount(c)
	case "sum":
		output, uses, err = b.planSum(k, c)
	case "avg":
		output, uses, err = b.planAvg(k, c)
	case "bool_and", "bool_or":
		output, uses = k.planBool(c)
	case "min", "max", "percentile_cont", "percentile_disc":
		output, uses, err = b.planQuantile(k, c)
	default:
		output, uses, err = b.planMoments(k, c)
	}
	if err != nil {
		return b.refusal(err)
	}
	k.outputs = append(k.outputs, output)
	column := Column{Name: c.text, Type: c.typ, Releases: uses, Average: c.name == "avg"}
	if c.name == "sum" && len(uses) == 2 {
		column.Twice = k.twice[uses[0]]
	}
	k.columns = append(k.columns, column)
	return nil
}

// guard is the condition that an argument is not NULL; nil where it never is.
func guard(e *expr.Expr) query.Scalar {
	if !e.Nullable() {
		return nil
	}
	if c := e.Column(); c != nil {
		return query.F("{} IS NOT NULL", c.Ref)
	}
	if m, err := expr.Measured(e, expr.GridRule{}); err == nil && m.Guard != nil {
		return m.Guard
	}
	return query.F("({} IS NOT NULL)", e.SQL())
}

func (k *block) planCount(c *call) (_ query.Scalar, _ []int, err error) {
	if c.star {
		i := k.count(c.text, c.condition())
		if k.src.preserved != nil && c.filter == nil {
			return query.F("GREATEST(1, {})", r(i)), []int{i}, nil // the public row itself (PRIVACY 5)
		}
		return r(i), []int{i}, nil
	}
	x := c.args[0]
	condition := c.condition(guard(x))
	if !c.distinct {
		i := k.count(c.text, condition)
		return r(i), []int{i}, nil
	}
	if col := x.Column(); col != nil && col.Unit {
		i := k.units(c.text, condition)
		return r(i), []int{i}, nil
	}
	value := x.SQL()
	if k.src.rows > 1 || !k.src.proven {
		// One unit's values are merged and ranked: equal ones have to look alike (PRIVACY 7).
		if value, err = expr.SelectionKey(x); err != nil {
			return nil, nil, err
		}
	}
	i, isNew := k.release("distinct "+query.Key(value)+" "+query.Key(condition), func() mechanism.Release {
		top := int64(mechanism.NoUpper)
		if k.src.max > 0 {
			top = k.src.max
		}
		if col := x.Column(); col != nil && col.Domain != nil {
			top = min(top, int64(len(col.Domain)))
		}
		return mechanism.Release{Name: c.text, Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: top}}, Sensitivity: k.src.rows, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
	})
	if isNew {
		k.measured = append(k.measured, measured{release: i, distinct: value, where: condition, lo: 0, hi: k.src.rows})
	}
	return r(i), []int{i}, nil
}

// numericArg is the integer form of an aggregated argument and what the policy says of it.
type numericArg struct {
	*expr.Measure
	policy  *policy.Column
	perUnit *expr.Interval  // in grid steps
	valid   []expr.Interval // ranges with gaps between them, for averages
}

func (b *builder) measure(k *block, e *expr.Expr) (*numericArg, error) {
	p := policyColumn(e)
	if !b.known && e.Provisional() {
		return &numericArg{Measure: &expr.Measure{SQL: query.Integer(0), Step: big.NewRat(1, 1), Hi: 1}}, nil // bounds come with the values
	}
	grids := []*policy.Grid{}
	if p != nil {
		grids = append(grids, p.Grid)
	}
	for _, t := range k.src.tables {
		if !t.Public {
			grids = append(grids, t.Grid)
		}
	}
	m, err := expr.Measured(e, expr.GridRule{Step: gridStep(baseType(e), grids...), Foreign: b.foreign(k.src)})
	if err != nil {
		return nil, err
	}
	if step, _ := m.Step.Float64(); step < finestStep || step > 1/finestStep {
		return nil, tooFine(e.Text())
	}
	m.SQL = m.Unguarded // every use filters by guard(e)
	a := &numericArg{Measure: m, policy: p}
	if p == nil {
		return a, nil
	}
	origin := e.Column().Source.(*column).origin
	declared := b.schema.Column(origin.Table, origin.Column)
	if declared.PerUnit != nil {
		i := rangeOf(*declared.PerUnit).Scale(new(big.Rat).Inv(m.Step))
		a.perUnit, k.clamped = &i, true
	}
	for _, v := range declared.Valid {
		a.valid = append(a.valid, rangeOf(v))
	}
	return a, nil
}

// foreign says that a relation reads a foreign table: postgres_fdw pushes CASE down, LEAST and GREATEST not.
func (b *builder) foreign(r *relation) bool {
	return slices.ContainsFunc(r.tables, func(t *policy.Table) bool {
		m := b.schema.Relations[t.Name]
		return m != nil && m.Kind == 'f'
	})
}

func (b *builder) planSum(k *block, c *call) (query.Scalar, []int, error) {
	a, err := b.measure(k, c.args[0])
	if err != nil {
		return nil, nil, err
	}
	condition := c.condition(guard(c.args[0]))
	if n, ok := k.index["count "+query.Key(condition)]; ok {
		i, twice, err := k.centred(c.text, a.Measure, condition, a.perUnit, n, a.policy)
		if err != nil {
			return nil, nil, err
		}
		k.halfGrid(i, a.Step)
		sum := convert(c.typ, query.F("round(({}::numeric + ({})::numeric * {}) / 2)", r(i), twice, r(n)), a.Step)
		return query.F("CASE WHEN {} > 0 THEN {} END", r(n), sum), []int{i, n}, nil
	}
	i, err := k.plainSum(c.text, a.Measure, condition, a.perUnit, a.policy)
	return convert(c.typ, query.F("{}::numeric", k.orNull(r(i))), a.Step), []int{i}, err
}

// orNull is a released column, or NULL over no rows at all: what every aggregate but a count is there.
func (k *block) orNull(column query.Scalar) query.Scalar {
	if k.src.empty {
		return query.Raw("NULL")
	}
	return column
}

func (b *builder) planAvg(k *block, c *call) (query.Scalar, []int, error) {
	a, err := b.measure(k, c.args[0])
	if err != nil {
		return nil, nil, err
	}
	condition := c.condition(guard(c.args[0]))
	n := k.count("count("+c.args[0].Text()+")", condition)
	s, twice, err := k.centred(c.text, a.Measure, condition, a.perUnit, n, a.policy)
	if err != nil {
		return nil, nil, err
	}
	k.halfGrid(s, a.Step)
	sum := query.F("({}::numeric + ({})::numeric * {})", r(s), twice, r(n))
	lo, hi := new(big.Rat).Mul(a.Step, big.NewRat(a.Lo, 1)), new(big.Rat).Mul(a.Step, big.NewRat(a.Hi, 1))
	return average(c.typ, sum, r(n), a.Step, lo, hi, a.gaps()), []int{s, n}, nil
}

// gaps are the open ranges between the policy's valid ranges, in the argument's units.
func (a *numericArg) gaps() []expr.Interval {
	var out []expr.Interval
	for i := 1; i < len(a.valid); i++ {
		out = append(out, expr.Interval{Lo: a.valid[i-1].Hi, Hi: a.valid[i].Lo})
	}
	return out
}

// halfGrid says that a centred sum counts halves of an argument's grid step.
func (k *block) halfGrid(release int, step *big.Rat) {
	s, _ := step.Float64()
	k.releases[release].Grid = mechanism.Grid{Step: s / 2}
}

// average prints sum × step / (2n), clamped to the argument's bounds, in the type that PostgreSQL's avg has.
func average(typ uint32, sum, n query.Scalar, step, lo, hi *big.Rat, gaps []expr.Interval) query.Scalar {
	var value query.Scalar
	switch typ {
	case pgtype.Float8OID:
		value = query.F("LEAST(GREATEST(({} * {})::float8 / (2 * {})::float8, {}::float8), {}::float8)", sum, decimal(step), n, decimal(lo), decimal(hi))
	case pgtype.IntervalOID:
		value = query.F("(LEAST(GREATEST(round({} * {} / (2 * {})), {}), {})::float8 * interval '1 microsecond')", sum, decimal(step), n, decimal(lo), decimal(hi))
	default:
		value = query.F("LEAST(GREATEST(({} * {}) / (2 * {}), {}), {})", sum, decimal(step), n, decimal(lo), decimal(hi))
	}
	if len(gaps) > 0 && typ != pgtype.IntervalOID {
		value = nearestValid(value, gaps)
	}
	return query.F("CASE WHEN {} > 0 THEN {} END", n, value)
}

// nearestValid moves a value out of gaps, to the nearest valid one: post-processing (PRIVACY 20).
func nearestValid(value query.Scalar, gaps []expr.Interval) query.Scalar {
	cases := ""
	for _, g := range gaps {
		lo, hi := decimal(g.Lo), decimal(g.Hi)
		cases += fmt.Sprintf(" WHEN y.v > %s AND y.v < %s THEN CASE WHEN y.v - %s <= %s - y.v THEN %s ELSE %s END", lo, hi, lo, hi, lo, hi)
	}
	return query.F("(SELECT CASE{} ELSE y.v END FROM (SELECT {} AS v) AS y)", cases, value)
}

// planBool compares a noisy count with the noise's own 95% threshold (PRIVACY 18).
func (k *block) planBool(c *call) (query.Scalar, []int) {
	test := query.F("({})", c.args[0].SQL())
	if c.name == "bool_and" {
		test = query.F("(NOT {})", test)
	}
	i := k.count(c.text, c.condition(test))
	hit := query.F("({} > {})", k.orNull(r(i)), k.derive(i, DerivedThreshold))
	if c.name == "bool_and" {
		hit = query.F("(NOT {})", hit)
	}
	return hit, []int{i}
}

func (b *builder) planQuantile(k *block, c *call) (query.Scalar, []int, error) {
	e := c.args[0]
	if !schema.IsNumber(c.typ) && c.typ != pgtype.DateOID && (!schema.IsTime(c.typ) || c.typ == pgtype.TimeOID) {
		return nil, nil, pgerr.New(pgerr.InsufficientPrivilege, fmt.Sprintf("%s would return a value of a private row", c.text), pgerr.Hint("Ask for min, max and percentiles of numbers, dates and times with bounds."))
	}
	a, err := b.measure(k, e)
	if err != nil {
		return nil, nil, err
	}
	switch c.name {
	case "min":
		c.fractions = []float64{0}
	case "max":
		c.fractions = []float64{1}
	}
	condition := c.condition(guard(e))
	step, _ := a.Step.Float64()
	var uses []int
	var values []query.Scalar
	for _, q := range c.fractions {
		if c.descending {
			q = 1 - q
		}
		i, isNew := k.release(fmt.Sprintf("quantile %s %s %g", query.Key(a.SQL), query.Key(condition), q), func() mechanism.Release {
			return mechanism.Release{Name: c.text, Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: a.Lo, Hi: a.Hi}}, Sensitivity: k.src.rows, Choice: k.choice(a.policy), Grid: mechanism.Grid{Step: step}, Fraction: q}
		})
		if isNew {
			k.histogram(a.SQL, condition, i)
		}
		uses = append(uses, i)
		values = append(values, convert(c.typ, query.F("{}::numeric", k.orNull(r(i))), a.Step))
	}
	if !c.array {
		if len(values) != 1 {
			return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "a percentile needs one fraction")
		}
		return values[0], uses, nil
	}
	return query.F("ARRAY[{}]", query.List{Between: ", ", Of: values}), uses, nil
}

// histogram adds a release to the histogram of its argument.
func (k *block) histogram(sql, where query.Scalar, release int) {
	for i := range k.hists {
		if query.Equal(k.hists[i].sql, sql) && query.Equal(k.hists[i].where, where) {
			k.hists[i].releases = append(k.hists[i].releases, release)
			return
		}
	}
	k.hists = append(k.hists, histogram{sql: sql, where: where, releases: []int{release}, rows: k.src.rows})
}

// convert prints steps × step in a result type. Numbers are rounded only where the type is an integer.
func convert(typ uint32, steps query.Scalar, step *big.Rat) query.Scalar {
	value := steps
	if step.Cmp(big.NewRat(1, 1)) != 0 {
		value = query.F("({}) * {}", steps, decimal(step))
	}
	switch typ {
	case pgtype.Int2OID:
		return query.F("round({})::int2", value)
	case pgtype.Int4OID:
		return query.F("round({})::int4", value)
	case pgtype.Int8OID:
		return query.F("round({})::int8", value)
	case pgtype.Float4OID:
		return query.F("({})::float4", value)
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

// r names a released column in the finish query.
func r(i int) query.Name { return query.Name(fmt.Sprintf("r%d", i+1)) }

// decimal prints a grid constant exactly: every step of expr is a decimal or a binary fraction.
func decimal(x *big.Rat) string {
	if x.IsInt() {
		if x.Sign() < 0 {
			return "(" + x.Num().String() + ")"
		}
		return x.Num().String()
	}
	digits, exact := x.FloatPrec()
	if !exact {
		digits = 20
	}
	s := x.FloatString(digits)
	if x.Sign() < 0 {
		return "(" + s + ")"
	}
	return s
}
