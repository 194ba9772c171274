package release

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// read says what of a relation an aggregate reads: rows, or distinct values of them.
type read struct {
	where    query.Scalar // condition of the rows; nil: all
	distinct query.Scalar // each value of this counts once; nil: each row does
	most     int64        // rows, or pairs of a value and a group, that a unit counts with
}

// key is equal for what reads the same.
func (r read) key() string {
	if r.distinct == nil {
		return query.Key(r.where)
	}
	return query.Key(r.where) + " distinct " + query.Key(r.distinct)
}

// measurement measures one integer of what is read.
func (r read) measurement(m Measurement) Measurement {
	m.Where, m.Distinct = r.where, r.distinct
	if r.distinct != nil {
		m.lo, m.Hi = 0, r.most
		m.ByRows, m.Total, m.given = false, false, false
	}
	return m
}

// rows reads every row where condition holds.
func (k *Block) rows(condition query.Scalar) read {
	return read{where: condition, most: k.Source.MaxRowsPerUnit}
}

// distinct reads the distinct values of x where condition holds and x is not NULL. Where one unit's values are merged
// and ranked, equal ones have to look alike (docs/privacy.md P15).
func (k *Block) distinct(x *expr.Expr, condition query.Scalar) (read, error) {
	r := read{where: condition, distinct: x.SQL(), most: k.mostValues(x)}
	if k.oneRow() {
		return r, nil
	}
	var err error
	r.distinct, err = expr.SelectionKey(x)
	return r, err
}

// mostValues is how many values a unit counts with: one in each group, of what is a function of the unit. In one group
// a column has no more of them than its table has rows of the unit, however many rows a join makes of these.
func (k *Block) mostValues(x *expr.Expr) int64 {
	most := k.Source.MaxRowsPerUnit
	if c := relation.SourceOf(x); c != nil && c.HoldsUnit || relation.PerUnit(x) {
		return min(most, k.MaxPartitionsContributed)
	}
	if x.Column() == nil || k.ManyGroupsPerUnit {
		return most
	}
	c, ok := x.Column().Source.(*relation.Column)
	if !ok || c.Policy == nil {
		return most
	}
	for _, t := range k.Source.Tables {
		if t.Name == c.Origin.Table && !t.Public && t.MaxRowsPerUnit > 0 {
			most = min(most, int64(t.MaxRowsPerUnit))
		}
	}
	return most
}

// countDistinct releases the number of distinct values of x.
func (k *Block) countDistinct(name string, x *expr.Expr, values read) int {
	return k.countValues(name, values, mostOf(x))
}

// mostOf is how many values an expression has: those of its domain, if it has one.
func mostOf(x *expr.Expr) int64 {
	if col := x.Column(); col != nil && col.Domain != nil {
		return int64(len(col.Domain))
	}
	return mechanism.NoUpper
}

// countValues releases the number of distinct values that are read, of at most so many.
func (k *Block) countValues(name string, values read, most int64) int {
	i, isNew := k.release("distinct "+values.key(), func() mechanism.Release {
		return mechanism.Release{
			Name: name, Kind: mechanism.Scalar, Range: mechanism.Between(0, min(k.mostRows(), most)),
			Sensitivity: values.most, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1},
		}
	})
	if isNew {
		k.Measurements = append(k.Measurements, values.measurement(Measurement{Release: i}))
	}
	return i
}

// ReadsDomains reports whether a key is computed from a column of a domain, or whole rows are counted: what the
// workers of a Citus cluster do not send as the types that the coordinator expects.
func (k *Block) ReadsDomains() bool {
	domain := func(c *expr.Column) bool { return c.Base != 0 }
	return slices.ContainsFunc(k.Keys, func(g *Key) bool { return slices.ContainsFunc(g.Columns(), domain) }) ||
		slices.ContainsFunc(k.Measurements, func(m Measurement) bool { return query.IsRow(m.Distinct) })
}

// countRowValues releases the number of distinct rows of values. In a row NULL is a value like any other, so each
// column has to be in the form in which equal values look alike, and the row is never NULL (docs/privacy.md P15).
func (k *Block) countRowValues(c *aggregate.Call) (int, error) {
	values := read{where: c.Condition(), most: k.Source.MaxRowsPerUnit}
	keys := make([]query.Scalar, len(c.Row))
	most := int64(1)
	for i, x := range c.Row {
		var err error
		if keys[i], err = expr.SelectionKey(x); err != nil {
			return 0, err
		}
		if n := mostOf(x); n >= bounds.MaxTotal/most {
			most = mechanism.NoUpper
		} else if most < mechanism.NoUpper {
			most *= n + 1 // NULL
		}
	}
	values.distinct = query.Row(keys)
	return k.countValues(c.Text, values, most), nil
}

// readBy finds what an aggregate of numbers reads, and the number of it that it needs.
func (k *Block) readBy(c *aggregate.Call, condition query.Scalar) (values read, count func() int, err error) {
	x := c.Values()
	if x == nil {
		return k.rows(condition), func() int { return k.count("count("+c.Args[0].Text()+")", condition) }, nil
	}
	values, err = k.distinct(x, condition)
	return values, func() int { return k.countDistinct("count(DISTINCT "+x.Text()+")", x, values) }, err
}

// planDistinctSum releases the sum of an argument that counts once for each of the values that it goes by.
func (b *Planner) planDistinctSum(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	a, err := b.measured(k, c, c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	values, count, err := k.readBy(c, c.Rows())
	if err != nil {
		return nil, nil, err
	}
	if _, known := k.index[givenKey(a, values)]; known { // by an average
		n := count()
		i, doubledCenter, err := k.sumGivenCount(c.Text, a, values, n)
		sum := query.F("round(({}::numeric + ({})::numeric * {}) / 2)", ReleasedColumn(i), doubledCenter, ReleasedColumn(n))
		return query.F("CASE WHEN {} > 0 THEN {} ELSE {} END", ReleasedColumn(n), c.Scaled(convert(c.Type, sum, a.Step)),
			c.None()), []int{i, n}, err
	}
	lo, hi := aggregate.UnitBounds(a.Lo, a.Hi, values.most, nil)
	most := max(-lo, hi)
	if most > aggregate.MaxSensitivity {
		return nil, nil, aggregate.TooFine(c.Text)
	}
	step, _ := a.Step.Float64()
	i, isNew := k.release(fmt.Sprintf("sum %s %s", query.Key(a.SQL), values.key()), func() mechanism.Release {
		return mechanism.Release{
			Name: c.Text, Kind: mechanism.Scalar, Range: k.sumRange(a.Lo, a.Hi), Sensitivity: most,
			Choice: k.choice(a.Policy), Grid: mechanism.Grid{Step: step},
		}
	})
	if isNew {
		k.Measurements = append(k.Measurements, values.measurement(Measurement{
			Release: i, row: ofArgument(a.Measure, 1, 0),
			argument: a.SQL,
		}))
	}
	return c.Scaled(convert(c.Type, query.F("{}::numeric", k.orNull(ReleasedColumn(i))), a.Step)), []int{i}, nil
}
