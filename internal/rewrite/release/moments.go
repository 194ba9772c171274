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

// Variances and regressions are computed from sums of w = 2z − W, where z in [0, W] is the argument on a grid of at
// most 2^14 steps, and of the squares and products of such w: squares of finer ones would not fit the integers that are
// measured, and the noise hides the difference. The sum of w itself follows from that of the argument, which averages
// and sums release too.

const momentSteps = 1 << 14

// Moments says how a variance, a covariance or a correlation follows from what is released of its rows: their number,
// which is the first release of its column, and sums of w, w² and of the products of two w. With their means per row, a
// variance is the mean of w² less the square of that of w, a covariance that of w·w′ less their product; a correlation
// is a covariance over the root of two variances.
type Moments struct {
	Name    string // of the aggregate
	Of      []Moment
	Product int // the release of Σ w·w′ of two arguments
}

// Moment is an argument of them.
type Moment struct {
	Sum     int     // the release z with Σw = (z + Offset·n)/Coarse
	Squares int     // the release of Σ(2w² − Width²); 0: there is none
	Width   int64   // W: w lies in ±W
	Coarse  int64   // how many steps of the argument's grid are one of w/2; 1: squares and products are of exact values
	Offset  int64   // of Σw
	Unit    float64 // how much a step of w is
}

// moment is an argument of a variance or a regression.
type moment struct {
	argument *aggregate.Argument
	row      rowText      // w of a row
	unit     *big.Rat     // value = origin + unit × w
	mid      *big.Rat     // origin
	sum      query.Scalar // Σw, released
	Moment
}

func newMoment(a *aggregate.Argument) moment {
	d := (a.Hi-a.Lo)/momentSteps + 1
	width := (a.Hi - a.Lo + d/2) / d
	m := moment{argument: a, Moment: Moment{Width: max(1, width), Coarse: d}}
	m.row = func(read reader) query.Scalar {
		z := query.F("(({})::int8 - ({}))", read(a.Measure), a.Lo)
		if d > 1 {
			z = query.F("(({} + {}) / {})", z, d/2, d)
		}
		return query.F("(2 * {} - {})", z, m.Width)
	}
	m.unit = new(big.Rat).Mul(a.Step, big.NewRat(d, 2))
	m.mid = new(big.Rat).Mul(a.Step, big.NewRat(a.Lo, 1))
	m.mid.Add(m.mid, new(big.Rat).Mul(m.unit, big.NewRat(m.Width, 1)))
	m.Unit, _ = m.unit.Float64()
	return m
}

// release releases Σ(2x − 2c) of the argument, and derives Σw = Σ(2x − 2·Lo)/coarse − W·n from it.
func (m *moment) release(k *Block, name string, of read, n int) (int, error) {
	i, doubledCenter, err := k.sumGivenCount(name, m.argument, of, n)
	if err != nil {
		return 0, err
	}
	m.sum, m.Sum = ReleasedColumn(i), i
	m.Offset = doubledCenter - 2*m.argument.Lo - m.Coarse*m.Width
	if m.Offset != 0 || m.Coarse > 1 {
		m.sum = query.F("(({}::numeric + ({})::numeric * {}) / {})", ReleasedColumn(i), m.Offset, ReleasedColumn(n), m.Coarse)
	}
	return i, nil
}

// times prints the product with another argument's w.
func (m moment) times(o moment) rowText {
	return func(read reader) query.Scalar { return query.F("{} * {}", m.row(read), o.row(read)) }
}

// squared prints 2w² − W², which is as far from 0 on either side.
func (m moment) squared() rowText {
	return func(read reader) query.Scalar {
		w := m.row(read)
		return query.F("(2 * {} * {} - {})", w, w, m.Width*m.Width)
	}
}

// squares gives Σw² from the released Σ(2w² − W²).
func (m moment) squares(q, n int) query.Scalar {
	return query.F("(({}::numeric + {} * {}::numeric) / 2)", ReleasedColumn(q), m.Width*m.Width, ReleasedColumn(n))
}

// momentSum releases Σ over rows of an integer in [−most, most], given the count n.
func (k *Block) momentSum(name string, row rowText, of read, most int64, n int) (int, error) {
	key := "moment " + query.Key(row(Direct)) + " " + of.key()
	if i, ok := k.index[key]; ok {
		return i, nil
	}
	d := bounds.WideMul(most, of.most)
	if d > aggregate.MaxSensitivity {
		return 0, aggregate.TooFine(name)
	}
	inGroup := d
	if of.distinct == nil {
		inGroup = bounds.WideMul(most, k.rowsInGroup)
	}
	i, _ := k.release(key, func() mechanism.Release {
		r := mechanism.Release{
			Name: name, Kind: mechanism.SumGivenCount, Sensitivity: inGroup, Total: d,
			PerRow: mechanism.Interval{Lo: -most, Hi: most}, CountRef: n, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1},
		}
		if of.distinct == nil {
			r.Row = most
		}
		return r
	})
	k.Measurements = append(k.Measurements, of.measurement(
		Measurement{
			Release: i, row: &summand{of: row, factor: 1, lo: -most, hi: most}, lo: -inGroup, Hi: inGroup, ByRows: true,
			given: true, Count: n,
		}))
	return i, nil
}

// planMoments plans variances, standard deviations, covariances and regressions.
func (b *Planner) planMoments(k *Block, c *aggregate.Call) (query.Scalar, []int, *Moments, error) {
	of, count, err := k.readBy(c, c.Rows())
	if err != nil {
		return nil, nil, nil, err
	}
	n := count()
	if c.Name == "regr_count" {
		return ReleasedColumn(n), []int{n}, nil, nil
	}
	uses := []int{n}
	var m []moment
	for _, e := range c.Args {
		a, err := b.measured(k, c, e)
		if err != nil {
			return nil, nil, nil, err
		}
		x := newMoment(a)
		i, err := x.release(k, fmt.Sprintf("sum of %s in %s", e.Text(), c.Text), of, n)
		if err != nil {
			return nil, nil, nil, err
		}
		m, uses = append(m, x), append(uses, i)
	}
	if strings.HasPrefix(c.Name, "regr_avg") {
		x := m[0] // regr_avgy is the first argument's
		if c.Name == "regr_avgx" {
			x = m[1]
		}
		return query.F("CASE WHEN {} > 0 THEN ({} + {} * GREATEST(-1, LEAST(1, {}::numeric / ({} * {}))) * {})::float8 END",
				ReleasedColumn(n), aggregate.Decimal(x.mid), aggregate.Decimal(x.unit), x.sum, ReleasedColumn(n), x.Width, x.Width),
			uses, nil, nil
	}
	var q []query.Scalar
	for i, x := range m {
		if strings.HasPrefix(c.Name, "covar") {
			break
		}
		j, err := k.momentSum(fmt.Sprintf("sum of %s² in %s", c.Args[i].Text(), c.Text), x.squared(), of, x.Width*x.Width, n)
		if err != nil {
			return nil, nil, nil, err
		}
		q, uses = append(q, x.squares(j, n)), append(uses, j)
		m[i].Squares = j
	}
	if len(m) == 1 {
		return variance(c, m[0], ReleasedColumn(n), q[0]), uses, &Moments{Name: c.Name, Of: []Moment{m[0].Moment}}, nil
	}
	p, err := k.momentSum(fmt.Sprintf("sum of %s·%s in %s", c.Args[0].Text(), c.Args[1].Text(), c.Text), m[0].times(m[1]),
		of, m[0].Width*m[1].Width, n)
	if err != nil {
		return nil, nil, nil, err
	}
	moments := &Moments{Name: c.Name, Of: []Moment{m[0].Moment, m[1].Moment}, Product: p}
	if c.Name == "regr_slope" || c.Name == "regr_intercept" {
		moments = nil // a slope has no bound where the variance that it is over may be 0
	}
	return pair(c.Name, m, ReleasedColumn(n), q, ReleasedColumn(p)), append(uses, p), moments, nil
}

// variance prints var and stddev: at least 0, at most what the bounds allow; NULL where PostgreSQL's is.
func variance(c *aggregate.Call, m moment, n, q query.Scalar) query.Scalar {
	least := 0
	divisor := n
	if strings.HasSuffix(c.Name, "_samp") {
		least, divisor = 1, query.F("({} - 1)", n)
	}
	unit2 := new(big.Rat).Mul(m.unit, m.unit)
	top := new(big.Rat).Mul(unit2, big.NewRat(m.Width, 1))
	top.Mul(top, big.NewRat(m.Width, 1))
	value := query.F("LEAST(GREATEST(({} - {}::numeric * {} / {}) * {} / {}, 0), {}::numeric * {} / {})", q, m.sum, m.sum,
		n, aggregate.Decimal(unit2), divisor, aggregate.Decimal(top), n, divisor)
	if strings.HasPrefix(c.Name, "stddev") {
		value = query.F("sqrt({})", value)
	}
	if c.Type == pgtype.Float8OID {
		value = query.F("({})::float8", value)
	}
	return query.F("CASE WHEN {} > {} THEN {} END", n, least, value)
}

// pair prints the statistics of two arguments (y, x), in PostgreSQL's order.
func pair(name string, m []moment, n query.Scalar, q []query.Scalar, p query.Scalar) query.Scalar {
	f := func(x query.Scalar) query.Scalar { return query.F("{}::float8", x) }
	u := func(i int) string { return aggregate.Decimal(m[i].unit) + "::float8" }
	sxy := query.F("({} - {} * {} / {})", f(p), f(m[0].sum), f(m[1].sum), f(n))
	square := func(i int) query.Scalar {
		return query.F("GREATEST({} - {} * {} / {}, 0)", f(q[i]), f(m[i].sum), f(m[i].sum), f(n))
	}
	switch name {
	case "covar_pop":
		return query.F("CASE WHEN {} > 0 THEN {} * {} * {} / {} END", n, sxy, u(0), u(1), f(n))
	case "covar_samp":
		return query.F("CASE WHEN {} > 1 THEN {} * {} * {} / ({} - 1) END", n, sxy, u(0), u(1), f(n))
	case "corr":
		return query.F(
			"CASE WHEN {} > 0 THEN GREATEST(-1::float8, LEAST(1::float8, {} / NULLIF(sqrt({}) * sqrt({}), 0))) END", n, sxy,
			square(0), square(1))
	case "regr_r2":
		return query.F("CASE WHEN {} > 0 THEN GREATEST(0::float8, LEAST(1::float8, {} * {} / NULLIF({} * {}, 0))) END", n,
			sxy, sxy, square(0), square(1))
	}
	slope := query.F("({} / NULLIF({}, 0) * {} / {})", sxy, square(1), u(0), u(1))
	if name == "regr_slope" {
		return query.F("CASE WHEN {} > 0 THEN {} END", n, slope)
	}
	mean := func(i int) query.Scalar {
		return query.F("({}::float8 + {} * {} / {})", aggregate.Decimal(m[i].mid), u(i), f(m[i].sum), f(n))
	}
	return query.F("CASE WHEN {} > 0 THEN {} - {} * {} END", n, mean(0), slope, mean(1))
}
