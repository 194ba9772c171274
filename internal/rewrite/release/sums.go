package release

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// sumGivenCount releases Σ(2x − 2c), whose range follows from the count n (docs/privacy.md P13). x is the argument.
func (k *Block) sumGivenCount(name string, a *aggregate.Argument, of read, count int) (release int, doubledCenter int64,
	err error,
) {
	center := centerOf(a, of.most)
	if center.most > aggregate.MaxSensitivity {
		return 0, 0, aggregate.TooFine(name)
	}
	byRows := !center.byPolicy && of.distinct == nil
	if of.distinct == nil {
		lo, hi := aggregate.UnitBounds(center.row.Lo, center.row.Hi, k.rowsInGroup, nil)
		center.lo, center.hi = max(center.lo, lo), min(center.hi, hi)
	}
	release, isNew := k.release(givenKey(a, of), func() mechanism.Release {
		r := mechanism.Release{Name: name, Kind: mechanism.SumGivenCount, Sensitivity: max(bounds.Abs(center.lo),
			bounds.Abs(center.hi)), Total: center.most, PerRow: center.row, CountRef: count, Choice: k.choice(a.Policy)}
		if byRows {
			r.Row = center.most / k.Source.MaxRowsPerUnit
		}
		step, _ := a.Step.Float64()
		r.Grid = mechanism.Grid{Step: step / 2}
		return r
	})
	k.doubledCenter[release] = center.doubled
	if isNew {
		k.Measurements = append(k.Measurements, of.measurement(Measurement{
			Release: release, row: ofArgument(a.Measure, 2, -center.doubled), argument: a.SQL,
			lo: center.lo, Hi: center.hi, ByRows: true, Total: center.byPolicy, given: true, Count: count,
		}))
	}
	return release, center.doubled, nil
}

// givenKey names the release of Σ(2x − 2c) of what is read.
func givenKey(a *aggregate.Argument, of read) string {
	return fmt.Sprintf("sum given count %s %s", query.Key(a.SQL), of.key())
}

// center is a choice of 2c for Σ(2x − 2c), with what one unit adds to that sum.
type center struct {
	doubled  int64              // 2c
	row      mechanism.Interval // what one row adds
	lo, hi   int64              // what a unit adds to one group
	most     int64              // what it moves all groups by
	byPolicy bool               // most is less than what the rows allow
}

// centerOf takes the c of {mid, lo, hi, 0} for which one unit with so many rows moves the sum least.
func centerOf(a *aggregate.Argument, rows int64) center {
	best := center{most: -1}
	for _, m := range []int64{a.Lo + a.Hi, 2 * a.Lo, 2 * a.Hi, 0} {
		c := center{doubled: m, row: mechanism.Interval{Lo: 2*a.Lo - m, Hi: 2*a.Hi - m}}
		c.lo, c.hi = aggregate.UnitBounds(c.row.Lo, c.row.Hi, rows, nil)
		byRows := max(bounds.Abs(c.lo), bounds.Abs(c.hi))
		if a.PerUnit != nil {
			// The policy bounds Σx; so Σ(2x − m) over 1…rows rows lies in 2·[lo, hi] − m·[1, rows], and over none it is 0.
			once, often := m, bounds.WideMul(m, rows)
			c.lo = min(0, max(c.lo, 2*bounds.FloorInt(a.PerUnit.Lo)-max(once, often)))
			c.hi = max(0, min(c.hi, 2*bounds.CeilInt(a.PerUnit.Hi)-min(once, often)))
		}
		c.most = max(bounds.Abs(c.lo), bounds.Abs(c.hi))
		c.byPolicy = c.most < byRows
		if best.most < 0 || c.most < best.most {
			best = c
		}
	}
	return best
}

// plainSum releases Σx with a range that the policy's max_rows fixes.
func (k *Block) plainSum(name string, a *aggregate.Argument, condition query.Scalar) (int, error) {
	ulo, uhi := aggregate.UnitBounds(a.Lo, a.Hi, k.Source.MaxRowsPerUnit, a.PerUnit)
	d := max(bounds.Abs(ulo), bounds.Abs(uhi))
	if d > aggregate.MaxSensitivity {
		return 0, aggregate.TooFine(name)
	}
	byRows := d == bounds.WideMul(max(bounds.Abs(a.Lo), bounds.Abs(a.Hi)), k.Source.MaxRowsPerUnit)
	ulo, uhi = aggregate.UnitBounds(a.Lo, a.Hi, k.rowsInGroup, a.PerUnit)
	step, _ := a.Step.Float64()
	// nothing else bounds the groups that a unit's magnitudes are in
	follows := k.Selected && k.ManyGroupsPerUnit && !k.PicksGroups && !k.Source.Proven
	i, isNew := k.release("sum "+query.Key(a.SQL)+" "+query.Key(condition), func() mechanism.Release {
		return mechanism.Release{
			Name: name, Kind: mechanism.Scalar, Range: k.sumRange(max(a.Lo, ulo), min(a.Hi, uhi)),
			Sensitivity: max(bounds.Abs(ulo), bounds.Abs(uhi)), Total: d, Groups: k.touched(), Choice: k.choice(a.Policy),
			Grid: mechanism.Grid{Step: step},
		}
	})
	if isNew {
		k.Measurements = append(k.Measurements, Measurement{
			Release: i, row: ofArgument(a.Measure, 1, 0), argument: a.SQL,
			Where: condition, lo: ulo, Hi: uhi, ByRows: follows, Total: !follows || !byRows, byRows: byRows,
		})
	}
	return i, nil
}

// touched returns the most groups that a sum alone is moved in by one unit: rows beyond its row bound are not taken
// from it, but under selection.
func (k *Block) touched() int {
	switch {
	case !k.ManyGroupsPerUnit:
		return 1
	case k.PicksGroups, k.Selected:
		return int(k.MaxPartitionsContributed)
	case k.groups > 0:
		return int(k.groups)
	}
	return int(KeyLimits.Of(false))
}
