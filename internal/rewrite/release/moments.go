package release

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Variances and regressions are computed from sums of w = 2z − W, where z in [0, W] is the argument on a grid of at most
// 2^14 steps: squares of finer ones would not fit the integers that are measured, and the noise hides the difference.

const momentSteps = 1 << 14

// moment is an argument of a variance or a regression.
type moment struct {
	row   rowText  // w of a row
	width int64    // W
	unit  *big.Rat // value = origin + unit × w
	mid   *big.Rat // origin
}

func newMoment(a *aggregate.Argument) moment {
	d := (a.Hi-a.Lo)/momentSteps + 1
	width := (a.Hi - a.Lo + d/2) / d
	m := moment{width: max(1, width)}
	m.row = func(read reader) query.Scalar {
		z := query.F("(({})::int8 - ({}))", read(a.Measure), a.Lo)
		if d > 1 {
			z = query.F("(({} + {}) / {})", z, d/2, d)
		}
		return query.F("(2 * {} - {})", z, m.width)
	}
	m.unit = new(big.Rat).Mul(a.Step, big.NewRat(d, 2))
	m.mid = new(big.Rat).Mul(a.Step, big.NewRat(a.Lo, 1))
	m.mid.Add(m.mid, new(big.Rat).Mul(m.unit, big.NewRat(m.width, 1)))
	return m
}

// times prints the product with another argument's w.
func (m moment) times(o moment) rowText {
	return func(read reader) query.Scalar { return query.F("{} * {}", m.row(read), o.row(read)) }
}

// momentSum releases Σ over rows of an integer in [lo, hi], given the count n.
func (k *Block) momentSum(name string, row rowText, condition query.Scalar, lo, hi int64, n int) (int, error) {
	key := "moment " + query.Key(row(Direct)) + " " + query.Key(condition)
	if i, ok := k.index[key]; ok {
		return i, nil
	}
	ulo, uhi := aggregate.UnitBounds(lo, hi, k.Source.MaxRowsPerUnit, nil, 1)
	if d := max(bounds.Abs(ulo), bounds.Abs(uhi)); d > aggregate.MaxSensitivity {
		return 0, aggregate.TooFine(name)
	}
	i, _ := k.release(key, func() mechanism.Release {
		return mechanism.Release{Name: name, Kind: mechanism.SumGivenCount, Sensitivity: max(bounds.Abs(ulo), bounds.Abs(uhi)), PerRow: mechanism.Interval{Lo: lo, Hi: hi}, CountRef: n, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
	})
	k.Measurements = append(k.Measurements, Measurement{Release: i, row: &summand{of: row, factor: 1, lo: lo, hi: hi}, Where: condition, lo: ulo, Hi: uhi, SumGivenCount: true, Count: n})
	return i, nil
}

// planMoments plans variances, standard deviations, covariances and regressions.
func (b *Planner) planMoments(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	guards := make([]query.Scalar, 0, 2)
	for _, e := range c.Args {
		guards = append(guards, aggregate.NotNull(e))
	}
	condition := c.Condition(guards...)
	n := k.count("count("+c.Args[0].Text()+")", condition)
	if c.Name == "regr_count" {
		return ReleasedColumn(n), []int{n}, nil
	}
	var m []moment
	var s, q []int
	for _, e := range c.Args {
		a, err := b.measured(k, e)
		if err != nil {
			return nil, nil, err
		}
		x := newMoment(a)
		si, err := k.momentSum(fmt.Sprintf("sum of %s in %s", e.Text(), c.Text), x.row, condition, -x.width, x.width, n)
		if err != nil {
			return nil, nil, err
		}
		m, s = append(m, x), append(s, si)
		if c.Name == "covar_pop" || c.Name == "covar_samp" || strings.HasPrefix(c.Name, "regr_avg") {
			continue
		}
		qi, err := k.momentSum(fmt.Sprintf("sum of %s² in %s", e.Text(), c.Text), x.times(x), condition, 0, x.width*x.width, n)
		if err != nil {
			return nil, nil, err
		}
		q = append(q, qi)
	}
	uses := append(append([]int{n}, s...), q...)
	if len(c.Args) == 1 {
		return variance(c, m[0], ReleasedColumn(n), ReleasedColumn(s[0]), ReleasedColumn(q[0])), uses, nil
	}
	if strings.HasPrefix(c.Name, "regr_avg") {
		i := 0 // regr_avgy is the first argument's
		if c.Name == "regr_avgx" {
			i = 1
		}
		return query.F("CASE WHEN {} > 0 THEN ({} + {} * GREATEST(-1, LEAST(1, {}::numeric / ({} * {}))) * {})::float8 END", ReleasedColumn(n), aggregate.Decimal(m[i].mid), aggregate.Decimal(m[i].unit), ReleasedColumn(s[i]), ReleasedColumn(n), m[i].width, m[i].width), uses, nil
	}
	w := m[0].width * m[1].width
	p, err := k.momentSum(fmt.Sprintf("sum of %s·%s in %s", c.Args[0].Text(), c.Args[1].Text(), c.Text), m[0].times(m[1]), condition, -w, w, n)
	if err != nil {
		return nil, nil, err
	}
	return pair(c.Name, m, ReleasedColumn(n), s, q, ReleasedColumn(p)), append(uses, p), nil
}

// variance prints var and stddev: at least 0, at most what the bounds allow; NULL where PostgreSQL's is.
func variance(c *aggregate.Call, m moment, n, s, q query.Scalar) query.Scalar {
	least := 0
	divisor := n
	if strings.HasSuffix(c.Name, "_samp") {
		least, divisor = 1, query.F("({} - 1)", n)
	}
	unit2 := new(big.Rat).Mul(m.unit, m.unit)
	top := new(big.Rat).Mul(unit2, big.NewRat(m.width, 1))
	top.Mul(top, big.NewRat(m.width, 1))
	value := query.F("LEAST(GREATEST(({}::numeric - {}::numeric * {} / {}) * {} / {}, 0), {} * {} / {})", q, s, s, n, aggregate.Decimal(unit2), divisor, aggregate.Decimal(top), n, divisor)
	if strings.HasPrefix(c.Name, "stddev") {
		value = query.F("sqrt({})", value)
	}
	if c.Type == pgtype.Float8OID {
		value = query.F("({})::float8", value)
	}
	return query.F("CASE WHEN {} > {} THEN {} END", n, least, value)
}

// pair prints the statistics of two arguments (y, x), in PostgreSQL's order.
func pair(name string, m []moment, n query.Scalar, s, q []int, p query.Scalar) query.Scalar {
	f := func(x query.Scalar) query.Scalar { return query.F("{}::float8", x) }
	u := func(i int) string { return aggregate.Decimal(m[i].unit) + "::float8" }
	sxy := query.F("({} - {} * {} / {})", f(p), f(ReleasedColumn(s[0])), f(ReleasedColumn(s[1])), f(n))
	square := func(i int) query.Scalar {
		return query.F("GREATEST({} - {} * {} / {}, 0)", f(ReleasedColumn(q[i])), f(ReleasedColumn(s[i])), f(ReleasedColumn(s[i])), f(n))
	}
	switch name {
	case "covar_pop":
		return query.F("CASE WHEN {} > 0 THEN {} * {} * {} / {} END", n, sxy, u(0), u(1), f(n))
	case "covar_samp":
		return query.F("CASE WHEN {} > 1 THEN {} * {} * {} / ({} - 1) END", n, sxy, u(0), u(1), f(n))
	case "corr":
		return query.F("CASE WHEN {} > 0 THEN GREATEST(-1::float8, LEAST(1::float8, {} / NULLIF(sqrt({}) * sqrt({}), 0))) END", n, sxy, square(0), square(1))
	case "regr_r2":
		return query.F("CASE WHEN {} > 0 THEN GREATEST(0::float8, LEAST(1::float8, {} * {} / NULLIF({} * {}, 0))) END", n, sxy, sxy, square(0), square(1))
	}
	slope := query.F("({} / NULLIF({}, 0) * {} / {})", sxy, square(1), u(0), u(1))
	if name == "regr_slope" {
		return query.F("CASE WHEN {} > 0 THEN {} END", n, slope)
	}
	mean := func(i int) query.Scalar {
		return query.F("({}::float8 + {} * {} / {})", aggregate.Decimal(m[i].mid), u(i), f(ReleasedColumn(s[i])), f(n))
	}
	return query.F("CASE WHEN {} > 0 THEN {} - {} * {} END", n, mean(0), slope, mean(1))
}
