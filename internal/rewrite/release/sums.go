package release

import (
	"fmt"
	"math/big"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// sumGivenCount releases Σ(2x − 2c), whose range follows from the count n (docs/privacy.md P13). x is the argument.
func (k *Block) sumGivenCount(name string, arg *expr.Measure, condition query.Scalar, perUnit *bounds.Interval, count int, p *policy.Column) (release int, doubledCenter int64, err error) {
	lo, hi := arg.Lo, arg.Hi
	best := mechanism.Release{Sensitivity: -1}
	var ulo, uhi int64
	for _, m := range []int64{lo + hi, 2 * lo, 2 * hi, 0} {
		l, h := aggregate.UnitBounds(2*lo-m, 2*hi-m, k.Source.MaxRowsPerUnit, nil, 2)
		if perUnit != nil {
			// The policy bounds Σx; so Σ(2x − m) over 1…rows rows lies in 2·[lo, hi] − m·[1, rows].
			once, often := m, bounds.WideMul(m, k.Source.MaxRowsPerUnit)
			l = min(max(l, 2*bounds.FloorInt(perUnit.Lo)-max(once, often)), h)
			h = max(min(h, 2*bounds.CeilInt(perUnit.Hi)-min(once, often)), l)
		}
		d := max(bounds.Abs(l), bounds.Abs(h))
		if best.Sensitivity < 0 || d < best.Sensitivity {
			best = mechanism.Release{Name: name, Kind: mechanism.SumGivenCount, Sensitivity: d, PerRow: mechanism.Interval{Lo: 2*lo - m, Hi: 2*hi - m}, CountRef: count, Choice: k.choice(p)}
			doubledCenter, ulo, uhi = m, l, h
		}
	}
	if best.Sensitivity > aggregate.MaxSensitivity {
		return 0, 0, aggregate.TooFine(name)
	}
	release, isNew := k.release(fmt.Sprintf("sum given count %s %d %s", query.Key(arg.SQL), doubledCenter, query.Key(condition)), func() mechanism.Release { return best })
	k.doubledCenter[release] = doubledCenter
	if isNew {
		k.Measurements = append(k.Measurements, Measurement{Release: release, row: ofArgument(arg, 2, -doubledCenter), Where: condition, lo: ulo, Hi: uhi, SumGivenCount: true, Count: count})
	}
	return release, doubledCenter, nil
}

// plainSum releases Σx with a range that the policy's max_rows fixes.
func (k *Block) plainSum(name string, m *expr.Measure, condition query.Scalar, perUnit *bounds.Interval, p *policy.Column) (int, error) {
	ulo, uhi := aggregate.UnitBounds(m.Lo, m.Hi, k.Source.MaxRowsPerUnit, perUnit, 1)
	d := max(bounds.Abs(ulo), bounds.Abs(uhi))
	if d > aggregate.MaxSensitivity {
		return 0, aggregate.TooFine(name)
	}
	step, _ := m.Step.Float64()
	i, isNew := k.release("sum "+query.Key(m.SQL)+" "+query.Key(condition), func() mechanism.Release {
		return mechanism.Release{Name: name, Kind: mechanism.Scalar, Range: k.sumRange(ulo, uhi), Sensitivity: d, Choice: k.choice(p), Grid: mechanism.Grid{Step: step}}
	})
	if isNew {
		k.Measurements = append(k.Measurements, Measurement{Release: i, row: ofArgument(m, 1, 0), Where: condition, lo: ulo, Hi: uhi})
	}
	return i, nil
}

// halfGrid says that a sum given its count counts halves of an argument's grid step.
func (k *Block) halfGrid(release int, step *big.Rat) {
	s, _ := step.Float64()
	k.Releases[release].Grid = mechanism.Grid{Step: s / 2}
}
