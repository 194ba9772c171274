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

// Variances and regressions are computed from sums of w = 2z − W, where z in [0, W] is the argument on a grid of at most 2^14 steps, and
// of the squares and products of such w: squares of finer ones would not fit the integers that are measured, and the noise hides the
// difference. The sum of w itself follows from that of the argument, which averages and sums release too.

const momentSteps = 1 << 14

// moment is an argument of a variance or a regression.
type moment struct {
	argument *aggregate.Argument
	row      rowText      // w of a row
	width    int64        // W
	coarse   int64        // how many steps of the argument's grid are one of z
	unit     *big.Rat     // value = origin + unit × w
	mid      *big.Rat     // origin
	sum      query.Scalar // Σw, released
}

func newMoment(a *aggregate.Argument) moment {
	d := (a.Hi-a.Lo)/momentSteps + 1
	width := (a.Hi - a.Lo + d/2) / d
	m := moment{argument: a, width: max(1, width), coarse: d}
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

// release releases Σ(2x − 2c) of the argument, and derives Σw = Σ(2x − 2·Lo)/coarse − W·n from it.
func (m *moment) release(k *Block, name string, of read, n int) (int, error) {
	i, doubledCenter, err := k.sumGivenCount(name, m.argument, of, n)
	if err != nil {
		return 0, err
	}
	m.sum = ReleasedColumn(i)
	if offset := doubledCenter - 2*m.argument.Lo - m.coarse*m.width; offset != 0 || m.coarse > 1 {
		m.sum = query.F("(({}::numeric + ({})::numeric * {}) / {})", ReleasedColumn(i), offset, ReleasedColumn(n), m.coarse)
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
		return query.F("(2 * {} * {} - {})", w, w, m.width*m.width)
	}
}

// squares gives Σw² from the released Σ(2w² − W²).
func (m moment) squares(q, n int) query.Scalar {
	return query.F("(({}::numeric + {} * {}::numeric) / 2)", ReleasedColumn(q), m.width*m.width, ReleasedColumn(n))
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
	i, _ := k.release(key, func() mechanism.Release {
		r := mechanism.Release{Name: name, Kind: mechanism.SumGivenCount, Sensitivity: d, PerRow: mechanism.Interval{Lo: -most, Hi: most}, CountRef: n, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
		if of.distinct == nil {
			r.Row = most
		}
		return r
	})
	k.Measurements = append(k.Measurements, of.measurement(Measurement{Release: i, row: &summand{of: row, factor: 1, lo: -most, hi: most}, lo: -d, Hi: d, ByRows: true, given: true, Count: n}))
	return i, nil
}

// planMoments plans variances, standard deviations, covariances and regressions.
func (b *Planner) planMoments(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	of, count, err := k.readBy(c, c.Rows())
	if err != nil {
		return nil, nil, err
	}
	n := count()
	if c.Name == "regr_count" {
		return ReleasedColumn(n), []int{n}, nil
	}
	uses := []int{n}
	var m []moment
	for _, e := range c.Args {
		a, err := b.measured(k, c, e)
		if err != nil {
			return nil, nil, err
		}
		x := newMoment(a)
		i, err := x.release(k, fmt.Sprintf("sum of %s in %s", e.Text(), c.Text), of, n)
		if err != nil {
			return nil, nil, err
		}
		m, uses = append(m, x), append(uses, i)
	}
	if strings.HasPrefix(c.Name, "regr_avg") {
		x := m[0] // regr_avgy is the first argument's
		if c.Name == "regr_avgx" {
			x = m[1]
		}
		return query.F("CASE WHEN {} > 0 THEN ({} + {} * GREATEST(-1, LEAST(1, {}::numeric / ({} * {}))) * {})::float8 END", ReleasedColumn(n), aggregate.Decimal(x.mid), aggregate.Decimal(x.unit), x.sum, ReleasedColumn(n), x.width, x.width), uses, nil
	}
	var q []query.Scalar
	for i, x := range m {
		if strings.HasPrefix(c.Name, "covar") {
			break
		}
		j, err := k.momentSum(fmt.Sprintf("sum of %s² in %s", c.Args[i].Text(), c.Text), x.squared(), of, x.width*x.width, n)
		if err != nil {
			return nil, nil, err
		}
		q, uses = append(q, x.squares(j, n)), append(uses, j)
	}
	if len(m) == 1 {
		return variance(c, m[0], ReleasedColumn(n), q[0]), uses, nil
	}
	p, err := k.momentSum(fmt.Sprintf("sum of %s·%s in %s", c.Args[0].Text(), c.Args[1].Text(), c.Text), m[0].times(m[1]), of, m[0].width*m[1].width, n)
	if err != nil {
		return nil, nil, err
	}
	return pair(c.Name, m, ReleasedColumn(n), q, ReleasedColumn(p)), append(uses, p), nil
}

// variance prints var and stddev: at least 0, at most what the bounds allow; NULL where PostgreSQL's is.
func variance(c *aggregate.Call, m moment, n, q query.Scalar) query.Scalar {
	least := 0
	divisor := n
	if strings.HasSuffix(c.Name, "_samp") {
		least, divisor = 1, query.F("({} - 1)", n)
	}
	unit2 := new(big.Rat).Mul(m.unit, m.unit)
	top := new(big.Rat).Mul(unit2, big.NewRat(m.width, 1))
	top.Mul(top, big.NewRat(m.width, 1))
	value := query.F("LEAST(GREATEST(({} - {}::numeric * {} / {}) * {} / {}, 0), {} * {} / {})", q, m.sum, m.sum, n, aggregate.Decimal(unit2), divisor, aggregate.Decimal(top), n, divisor)
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
		return query.F("CASE WHEN {} > 0 THEN GREATEST(-1::float8, LEAST(1::float8, {} / NULLIF(sqrt({}) * sqrt({}), 0))) END", n, sxy, square(0), square(1))
	case "regr_r2":
		return query.F("CASE WHEN {} > 0 THEN GREATEST(0::float8, LEAST(1::float8, {} * {} / NULLIF({} * {}, 0))) END", n, sxy, sxy, square(0), square(1))
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
