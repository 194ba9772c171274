package aggregate

import (
	"math/big"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// unitPairs are aggregates of pairs (y, x) of which UnitValue computes one unit's.
var unitPairs = map[string]bool{
	"corr": true, "covar_pop": true, "covar_samp": true,
	"regr_count": true, "regr_avgx": true, "regr_avgy": true, "regr_r2": true, "regr_slope": true,
}

// pairs prints what statistics of pairs are made of, in grid steps: exact sums of integers, so that the order of rows
// does not matter, nor can they overflow or cancel as PostgreSQL's floats might (docs/privacy.md P8).
type pairs struct {
	y, x *Argument
	rows rowsOf
}

// unitPair prints an aggregate of pairs over rows of one unit: those in which neither argument is NULL.
func unitPair(b *relation.Base, src *relation.Relation, c *Call, over *query.Over) (*expr.Column, query.Scalar, error) {
	out := &expr.Column{
		Name: c.Text, Type: c.Type, Typmod: -1, TypeName: schema.TypeName(c.Type), Nullable: true, Enforced: true,
		OutOfBounds: c.OutOfBounds(), Scale: -1,
		DeterministicCollation: true, OfUnit: c.Args[0].OfUnit() || c.Args[1].OfUnit(),
	}
	rows := rowsOf{c.Rows(), over}
	if c.Name == "regr_count" {
		out.Nullable, out.Scale = false, 0
		return out, counted(b, src, out, 0, rows.call(query.Raw("count(*)"))), nil
	}
	var of [2]*Argument
	fits := func(a *Argument) bool { return a.FitsUnit(src.MaxRowsPerUnit) }
	for i, e := range c.Args {
		var err error
		if of[i], err = NewArgument(b, src, e, fits); err != nil {
			return nil, nil, err
		}
	}
	p := pairs{of[0], of[1], rows}
	switch c.Name {
	case "regr_avgy", "regr_avgx":
		mean, argument := *c, p.y
		if mean.Name = "avg"; c.Name == "regr_avgx" {
			argument = p.x
		}
		sql, err := unitNumber(b, src, &mean, argument, out, rows)
		return out, sql, err
	}
	value, step, _ := p.statistic(c.Name, src.MaxRowsPerUnit)
	held := reach(b, src, out, func(rows int64, _ bool) bounds.Interval {
		_, step, most := p.statistic(c.Name, rows)
		return bounds.Interval{Lo: new(big.Rat).Neg(most), Hi: most}.Scale(step).Short()
	})
	sql, err := boundedNumber(c, out, held, value, step)
	return out, sql, err
}

// statistic prints a statistic, says in which step it counts, and how many of those it is at most. With the widths v
// and w of y and x, the variances are at most v²/4 and w²/4, and a covariance at most the root of their product; a
// sample's is at most twice as much. Where x varies over n integers its variance is at least (n − 1)/n², so a slope is
// at most v·n/(2·√(n − 1)) ≤ v·n/2 for n ≥ 2.
func (p pairs) statistic(name string, rows int64) (value query.Scalar, step, most *big.Rat) {
	y, x, n := p.variance(p.y), p.variance(p.x), p.count()
	ofPopulation := p.covariance(n)
	one, v := big.NewRat(1, 1), bounds.Between(p.y.Lo, p.y.Hi).Width()
	switch name {
	case "corr":
		return query.F("{} / NULLIF(pg_catalog.sqrt({} * {}), 0)", ofPopulation, y, x), one, one
	case "regr_r2": // 1 where y is the same in all rows
		return query.F("CASE WHEN {} > 0 AND {} = 0 THEN 1 ELSE {} * {} / NULLIF({} * {}, 0) END", x, y, ofPopulation,
			ofPopulation, y, x), one, one
	case "regr_slope":
		value = query.F("{} / NULLIF({}, 0) * {} / {}", ofPopulation, x, Decimal(p.y.Step), Decimal(p.x.Step))
		return value, new(big.Rat).Quo(p.y.Step, p.x.Step), new(big.Rat).Mul(v, big.NewRat(max(2, rows), 2))
	}
	step, most = new(big.Rat).Mul(p.y.Step, p.x.Step), new(big.Rat).Mul(v, bounds.Between(p.x.Lo, p.x.Hi).Width())
	if name == "covar_samp" {
		return query.F("{} * {}", p.covariance(query.F("({} - 1)", n)), Decimal(step)), step, most.Mul(most, big.NewRat(1, 2))
	}
	return query.F("{} * {}", ofPopulation, Decimal(step)), step, most.Mul(most, big.NewRat(1, 4))
}

func (p pairs) count() query.Scalar { return p.aggregate("count(*)") }

func (p pairs) aggregate(format string, of ...any) query.Scalar {
	return query.F("({})::pg_catalog.numeric", p.rows.call(query.F(format, of...)))
}

// variance is exact but for its last division, and 0 if and only if all are equal.
func (p pairs) variance(of *Argument) query.Scalar {
	return p.aggregate("pg_catalog.var_pop({})", of.SQL)
}

// covariance is (n·Σxy − Σx·Σy)/n, divided by n or n − 1; NULL where that is 0.
func (p pairs) covariance(by query.Scalar) query.Scalar {
	n := p.count()
	products := p.aggregate("sum(({})::pg_catalog.numeric * ({}))", p.y.SQL, p.x.SQL)
	return query.F("(({} * {} - {} * {}) / NULLIF({} * {}, 0))", n, products, p.aggregate("sum({})", p.y.SQL),
		p.aggregate("sum({})", p.x.SQL), n, by)
}
