package estimate

import (
	"cmp"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// mostSteps bounds the ends of an interval: released values lie within ±2^60, and twice as far still fits an int8.
const mostSteps = 1 << 60

// Aggregate is one in one group: its value is (At/By + Center)·Step, and the truth lies between At − Below and
// At + Above in place of At. At is in grid steps of its first release, an average's of its sum, which By divides, and
// that of moments in the aggregate's own unit. They follow from released values and public quantities alone
// (docs/mechanisms.md §8). Where it is unknown how many rows are left out, the interval covers the noise alone, and the
// answer's HINT says so.
type Aggregate struct {
	At, By, Center, Step float64
	interval
	Null  bool // it has no value, as over no rows
	Known bool // it has an interval
}

// interval says how far below and above a value the truth may lie; infinite: that end is not known.
type interval struct{ Below, Above float64 }

// Margin is how far the further end is off, in the aggregate's unit.
func (a Aggregate) Margin() float64 { return math.Max(a.Below, a.Above) * a.Step / a.By }

// Size is how large the number is, and Off how far it may be off, in steps.
func (a Aggregate) Size() float64 { return math.Abs(a.At/a.By + a.Center) }

// Off is Margin as a part of a size.
func (a Aggregate) Off(size float64) float64 { return math.Max(a.Below, a.Above) / a.By / size }

// estimate has the value and the ends in the aggregate's unit.
func (a Aggregate) estimate() estimate {
	at := a.At/a.By + a.Center
	return estimate{at * a.Step, span{(at - a.Below/a.By) * a.Step, (at + a.Above/a.By) * a.Step}}
}

// cell is an aggregate in one group of a block.
type cell struct {
	rewrite.Column
	statement *Statement
	block     int
	values    [][]int64
	group     int
	wrong     float64 // how often its interval may not hold the truth
}

// value is that of its i-th release.
func (c cell) value(i int) float64 { return float64(c.values[c.Releases[i]][c.group]) }

func (c cell) release(i int) mechanism.Release { return c.plan().Releases[c.Releases[i]] }
func (c cell) plan() *rewrite.Block            { return &c.statement.Plan.Blocks[c.block] }
func (c cell) mechanism(release int) *mechanism.Prepared {
	return c.statement.Mechanisms[c.block].Releases[release]
}

// cell finds an aggregate. So many intervals of a block do not hold the truth that of the groups that are shown at most
// 5% do not (Benjamini and Yekutieli 2005; docs/privacy.md P17a).
func (s *Statement) cell(block int, c rewrite.Column, r Block, g int) cell {
	return cell{c, s, block, r.Values, g, cmp.Or(r.chosen, 1) * s.Wrong()}
}

// Aggregate gives one with its interval. There is none of booleans, of choices, of regressions, of what is NULL, and of
// a block of which rows are left out, or taken for others, that no declared share counts. Where levels were made to add
// up it is the interval of what was drawn, and reaches to the value that is shown: it holds the answer as often
// (docs/mechanisms.md, section 17).
func (s *Statement) Aggregate(block int, c rewrite.Column, r Block, g int) Aggregate {
	at := s.cell(block, c, r, g)
	a := at.aggregate()
	a.Null = a.Null || at.nothing()
	if r.drawn != nil && !a.Null {
		at.values = r.drawn
		if was := at.aggregate(); was.Known { // else no rows were drawn
			up := a.At/a.By - was.At/was.By
			a.Below = math.Max(0, was.Below/was.By+up) * a.By
			a.Above = math.Max(0, was.Above/was.By-up) * a.By
			a.Known = true
		}
	}
	a.Known = a.Known && !a.Null && !s.Plan.Blocks[block].Uncovered
	return a
}

// nothing says that an aggregate is NULL, as its rows cannot be told from none.
func (c cell) nothing() bool {
	return c.Rows > 0 && c.values[c.Rows-1][c.group] <= c.statement.Threshold(c.block, c.Rows-1)
}

// aggregate has the interval of what was drawn.
func (c cell) aggregate() Aggregate {
	a := Aggregate{At: c.value(0), By: 1, Step: c.release(0).Grid.Step}
	if len(c.Releases) > 1 && c.Moments == nil {
		n := c.value(1)
		switch a.Null = n <= 0; {
		case c.Parts:
			a.At, a.Null = a.At+n, false
		case c.Average:
			a.By, a.Center = n, float64(c.DoubledCenter)
		default:
			a.At += float64(c.DoubledCenter) * n
		}
	}
	quantile := c.release(0).Kind == mechanism.Quantile
	switch {
	case c.Moments != nil:
		e, ok := c.moment()
		a.At, a.interval, a.Null, a.Known = e.at, interval{math.Max(0, e.at-e.lo), math.Max(0, e.hi-e.at)}, !ok, ok
	case a.Null, len(c.Releases) > 2, c.Choice, c.Type == pgtype.BoolOID:
		return a
	case quantile:
		a.interval, a.Known = c.quantile(), len(c.Releases) == 1
	case len(c.Releases) == 1:
		a.interval, a.Known = c.alone(), !anyBeyond(c.release(0), c.Column)
	case c.Parts:
		m := wholeSteps(c.pairMargins(1))
		a.interval, a.Known = interval{m, m}.beyond(a.At, 0, mostSteps, c.leftOut(), 0), true
	case c.Average:
		a.interval, a.Known = c.chained().average(a.Center, c.leftOut(), c.Outside), true
	default:
		a.interval, a.Known = c.chained().total(float64(c.DoubledCenter), c.leftOut(), c.Outside), true
	}
	if c.Cut != nil && !quantile { // it reaches as far beyond as the administrator vouches
		if a.Known = a.Known && c.Cut.Share != nil; a.Known {
			a.Above += *c.Cut.Share / (1 - *c.Cut.Share) * (a.At + a.Center*a.By + a.Above)
		}
	}
	return a
}

// quantile is the interval of a quantile between the ends of its range, which always holds. What is released of the
// greatest value is not above it but for 5%, and of the least not below (docs/mechanisms.md, section 9), unless other
// quantiles have moved it, or values choose, and that of the greatest has a say. Rows that are left out lie in such an
// interval too.
func (c cell) quantile() interval {
	r, z := c.release(0), c.value(0)
	lo, hi := c.mechanism(c.Releases[0]).Interval(int64(z), 0, c.wrong)
	i := interval{z - float64(lo), float64(hi) - z}
	if extreme := c.wrong == mechanism.Wrong && r.Extreme() && r.Family == 0; extreme && r.Fraction > .5 {
		i.Below = 0
	} else if extreme {
		i.Above = 0
	}
	if c.Low > 0 && !c.Chooses {
		i.Below = z - float64(c.values[c.Low-1][c.group])
	}
	if c.High > 0 && !c.Chooses {
		i.Above = float64(c.values[c.High-1][c.group]) - z
	}
	beyond := c.OutsideUnknown || min(r.Fraction, 1-r.Fraction) < c.Outside // it may itself lie there
	i = i.open(r, z, beyond, beyond)
	if c.Cut != nil {
		i = i.open(r, z, c.Cut.Low, c.Cut.High)
	}
	return i
}

// open has no end where the interval of a quantile reaches an end of its range that values may lie beyond: what is
// released of these is that end. A quantile within the range is that of what is stored.
func (i interval) open(r mechanism.Release, z float64, low, high bool) interval {
	if low && z-i.Below <= float64(r.Range[0].Lo) {
		i.Below = math.Inf(1)
	}
	if high && z+i.Above >= float64(r.Range[len(r.Range)-1].Hi) {
		i.Above = math.Inf(1)
	}
	return i
}

// alone is the interval of a count, or of a sum with noise of its own.
func (c cell) alone() interval {
	r, z := c.release(0), c.value(0)
	lo, hi := float64(max(r.Range[0].Lo, -mostSteps)), float64(min(r.Range[len(r.Range)-1].Hi, mostSteps))
	m := c.mechanism(c.Releases[0]).Margin(int64(z), 0, c.wrong)
	i := interval{m, m}
	by := &c.statement.Mechanisms[c.block]
	if by.Threshold != nil && c.Releases[0] == by.By && z-m < float64(by.Threshold.Least) {
		i.Below = z - lo // it is shown since it reached the threshold, from wherever
	}
	return i.beyond(z, lo, hi, c.leftOut(), c.Outside)
}

// beyond widens the interval of a count or a sum of values in [lo, hi] by the rows that are left out, a share of all,
// as if they were like the others: what is there is 1 − share of the whole. Values that count as the bound nearer to 0
// are a share of the rows, outside, and no more than that of what they are counted as.
func (i interval) beyond(value, lo, hi, share, outside float64) interval {
	less, more := outside*math.Abs(value), share/(1-share)*math.Abs(value)
	if lo < 0 {
		i.Below += more
	} else {
		i.Below += less
	}
	if hi > 0 {
		i.Above += more
	} else {
		i.Above += less
	}
	return i.within(value-lo, hi-value)
}

// within keeps the interval inside of the aggregate's own range, which begins below and ends above its value.
func (i interval) within(below, above float64) interval {
	return interval{math.Min(math.Min(i.Below, below), 2*mostSteps), math.Min(math.Min(i.Above, above), 2*mostSteps)}
}

// wholeSteps is the margin of a sum of two released numbers in whole steps, as the sum is.
func wholeSteps(one, other float64) float64 { return math.Floor(math.Hypot(one, other) + 1e-9) }

// anyBeyond says that what lies beyond bounds may be any part of a sum: that of values of both signs says of neither
// how much there is.
func anyBeyond(r mechanism.Release, c rewrite.Column) bool {
	return c.Outside > 0 && r.Kind == mechanism.Scalar && r.Range[0].Lo < 0 && r.Range[len(r.Range)-1].Hi > 0
}

func (c cell) leftOut() float64 { return leftOutShare(c.plan(), c.release(0), c.Column) }

// leftOutShare is the share of rows that the release leaves out; 0 where it leaves out none, or where that is unknown:
// where a unit's groups are picked, or nobody says how many rows are beyond its bound. What values beyond a column's
// bounds would add is left out, too.
func leftOutShare(b *rewrite.Block, r mechanism.Release, c rewrite.Column) float64 {
	// bounded by less than a unit's rows
	units := b.Rows > 0 && r.Kind == mechanism.Scalar && r.Groups <= 1 && r.Sensitivity < b.Rows
	if b.Picked > 0 || units || b.LeftOut == nil {
		return c.Outside
	}
	return *b.LeftOut + c.Outside*(1-*b.LeftOut)
}

// Deviation is the root mean squared error of an aggregate in one group if the true values were the released ones, in
// grid steps of its first release, of an average per row; false where it has none.
func (s *Statement) Deviation(block int, c rewrite.Column, r Block, g int) (float64, bool) {
	at := s.cell(block, c, r, g)
	if at.nothing() {
		return 0, false
	}
	z := at.value(0)
	sd := at.mechanism(c.Releases[0]).StdDev(int64(z), r.CountOf(at.release(0), g))
	if len(c.Releases) == 1 {
		return sd, true
	}
	n, each := at.value(1), float64(c.DoubledCenter)
	rows := at.mechanism(c.Releases[1]).StdDev(int64(n), 0)
	switch {
	case c.Parts:
		return math.Hypot(sd, rows), true
	case n <= 0:
		return 0, false
	case c.Average:
		return math.Hypot(sd, z/n*rows) / n, true
	}
	return math.Hypot(sd, each*rows), true
}
