package rewrite

import (
	"fmt"
	"math/big"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// block is a release block while it is planned: groups of rows of one relation, and what is released of each group.
type block struct {
	src      *relation
	steps    int64 // the most that main does for the rows of one unit (work.go)
	keys     []*groupKey
	groups   int64 // C: in how many groups one unit may be
	pick     bool  // C has to be enforced by choosing groups (PRIVACY 9)
	selected bool  // partition selection decides which groups exist
	clamped  bool  // the policy bounds one unit's sum (per_unit): the SQL has to clamp it, even over one row

	proofs []Proof // of the keys' values

	measured  []measured  // integers, in the order of the measure query's columns
	hists     []histogram // quantile releases by expression
	releases  []mechanism.Release
	index     map[string]int // what is released already
	twice     map[int]int64  // doubled centre of each centred sum
	derived   []derivedArg
	columns   []Column
	intervals []query.Scalar // each dpproxy.interval_low, interval_high and noise_stddev
	outputs   []query.Scalar // each call, over the released columns r1, r2…
}

// histogram is one argument whose quantiles are released.
type histogram struct {
	sql, where query.Scalar
	releases   []int
	rows       int64
}

// derivedArg is a quantity of a release that the finish query needs beside the released integer.
type derivedArg struct {
	name    string
	release int
	what    Derived
}

// derive asks for a derived quantity of a release and names its column.
func (k *block) derive(release int, what Derived) query.Scalar {
	name := fmt.Sprintf("%s%d", what, release+1)
	for _, d := range k.derived {
		if d.name == name {
			return query.Name(name)
		}
	}
	k.derived = append(k.derived, derivedArg{name, release, what})
	return query.Name(name)
}

// release registers a release once; make fills it in where it is new.
func (k *block) release(key string, make func() mechanism.Release) (int, bool) {
	if i, ok := k.index[key]; ok {
		return i, false
	}
	k.index[key] = len(k.releases)
	r := make()
	r.Groups = int(k.groups)
	if r.Weight == 0 {
		r.Weight = 1
	}
	k.releases = append(k.releases, r)
	return len(k.releases) - 1, true
}

// single says that a unit has at most one row, proven, and that nothing narrower than a row's bounds is promised of it:
// no per-unit aggregation is needed.
func (k *block) single() bool { return k.src.rows == 1 && k.src.proven && !k.clamped }

// count releases the number of rows where condition holds.
func (k *block) count(name string, condition query.Scalar) int {
	i, isNew := k.release("count "+query.Key(condition), func() mechanism.Release {
		top := int64(mechanism.NoUpper)
		if k.src.max > 0 {
			top = k.src.max
		}
		return mechanism.Release{Name: name, Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: top}}, Sensitivity: k.src.rows, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
	})
	if isNew {
		k.measured = append(k.measured, measured{release: i, where: condition, lo: 0, hi: k.src.rows})
	}
	return i
}

// units releases the number of units with a row where condition holds.
func (k *block) units(name string, condition query.Scalar) int {
	i, isNew := k.release("units "+query.Key(condition), func() mechanism.Release {
		top := int64(mechanism.NoUpper)
		if k.src.max > 0 {
			top = k.src.max
		}
		return mechanism.Release{Name: name, Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: top}}, Sensitivity: 1, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1}}
	})
	if isNew {
		k.measured = append(k.measured, measured{release: i, where: condition, lo: 0, hi: 1})
	}
	return i
}

// centred releases Σ(2x − 2c), whose range follows from the count n (PRIVACY 15). x is the argument.
func (k *block) centred(name string, arg *expr.Measure, condition query.Scalar, perUnit *expr.Interval, count int, p *policy.Column) (release int, twice int64, err error) {
	lo, hi := arg.Lo, arg.Hi
	best := mechanism.Release{Sensitivity: -1}
	var ulo, uhi int64
	for _, m := range []int64{lo + hi, 2 * lo, 2 * hi, 0} {
		l, h := unitClamp(2*lo-m, 2*hi-m, k.src.rows, nil, 2)
		if perUnit != nil {
			// The policy bounds Σx; so Σ(2x − m) over 1…rows rows lies in 2·[lo, hi] − m·[1, rows].
			once, often := m, wideMul(m, k.src.rows)
			l = min(max(l, 2*floorInt(perUnit.Lo)-max(once, often)), h)
			h = max(min(h, 2*ceilInt(perUnit.Hi)-min(once, often)), l)
		}
		d := max(abs(l), abs(h))
		if best.Sensitivity < 0 || d < best.Sensitivity {
			best = mechanism.Release{Name: name, Kind: mechanism.Chained, Sensitivity: d, PerRow: mechanism.Interval{Lo: 2*lo - m, Hi: 2*hi - m}, CountRef: count, Choice: k.choice(p)}
			twice, ulo, uhi = m, l, h
		}
	}
	if best.Sensitivity > maxSensitivity {
		return 0, 0, tooFine(name)
	}
	release, isNew := k.release(fmt.Sprintf("centred %s %d %s", query.Key(arg.SQL), twice, query.Key(condition)), func() mechanism.Release { return best })
	k.twice[release] = twice
	if isNew {
		k.measured = append(k.measured, measured{release: release, row: ofArgument(arg, 2, -twice), where: condition, lo: ulo, hi: uhi, chained: true, count: count})
	}
	return release, twice, nil
}

// plainSum releases Σx with a range that the policy's max_rows fixes.
func (k *block) plainSum(name string, m *expr.Measure, condition query.Scalar, perUnit *expr.Interval, p *policy.Column) (int, error) {
	ulo, uhi := unitClamp(m.Lo, m.Hi, k.src.rows, perUnit, 1)
	d := max(abs(ulo), abs(uhi))
	if d > maxSensitivity {
		return 0, tooFine(name)
	}
	step, _ := m.Step.Float64()
	i, isNew := k.release("sum "+query.Key(m.SQL)+" "+query.Key(condition), func() mechanism.Release {
		return mechanism.Release{Name: name, Kind: mechanism.Scalar, Range: k.sumRange(ulo, uhi), Sensitivity: d, Choice: k.choice(p), Grid: mechanism.Grid{Step: step}}
	})
	if isNew {
		k.measured = append(k.measured, measured{release: i, row: ofArgument(m, 1, 0), where: condition, lo: ulo, hi: uhi})
	}
	return i, nil
}

// sumRange bounds a sum by the public bound on rows.
func (k *block) sumRange(ulo, uhi int64) mechanism.Range {
	end := func(u int64, open int64) int64 {
		if u == 0 {
			return 0
		}
		if k.src.max == 0 || abs(u) > maxTotal/k.src.max {
			return open
		}
		return u * k.src.max
	}
	return mechanism.Range{{Lo: end(min(0, ulo), mechanism.NoLower), Hi: end(max(0, uhi), mechanism.NoUpper)}}
}

const (
	maxSensitivity = 1 << 50 // grid steps; sums of 2^12 such units still fit
	maxTotal       = 1 << 62 // a measured integer fits int64 with room for noise
	finestStep     = 1e-280  // released values are integers of grid steps; with such a step, or its inverse, all are finite as float8
)

func tooFine(name string) error {
	return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("the bounds of %s are too wide for its grid", name),
		pgerr.Hint("Narrow the bounds with LEAST and GREATEST, or ask the administrator for a coarser grid."))
}

// unitClamp bounds one unit's sum in one group: rows × [min(0,lo), max(0,hi)], or less if the policy says so. factor is the
// number of integers per grid step.
func unitClamp(lo, hi, rows int64, perUnit *expr.Interval, factor int64) (int64, int64) {
	l, h := wideMul(min(0, lo), rows), wideMul(max(0, hi), rows)
	if perUnit != nil {
		l, h = max(l, floorInt(perUnit.Lo)*factor), min(h, ceilInt(perUnit.Hi)*factor)
		if l > h {
			l = h
		}
	}
	return l, h
}

func wideMul(a, b int64) int64 {
	p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	if p.IsInt64() && abs(p.Int64()) <= maxTotal {
		return p.Int64()
	}
	if p.Sign() < 0 {
		return -maxTotal
	}
	return maxTotal
}

func floorInt(r *big.Rat) int64 {
	q := new(big.Int)
	q.Div(r.Num(), r.Denom()) // Euclidean: floor for positive denominators
	if !q.IsInt64() || abs(q.Int64()) > maxTotal/4 {
		return int64(q.Sign()) * (maxTotal / 4)
	}
	return q.Int64()
}

func ceilInt(r *big.Rat) int64 { return -floorInt(new(big.Rat).Neg(r)) }

func abs(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// choice is the mechanism that the policy asks for: the column's, else the first table's.
func (k *block) choice(p *policy.Column) mechanism.Choice {
	if p != nil && p.Mechanism != nil {
		return *p.Mechanism
	}
	for _, t := range k.src.tables {
		if !t.Public {
			return t.Mechanism
		}
	}
	return mechanism.Choice{}
}

// newBlock cuts an aggregating query over private rows and plans its releases. It returns the block's number and the cut.
func (b *builder) newBlock(src *relation, sc *scope, groups []*pg_query.Node, calls []*pg_query.FuncCall) (*block, error) {
	k := &block{src: src, index: map[string]int{}, twice: map[int]int64{}}
	if err := b.groupKeys(k, sc, groups); err != nil {
		return nil, err
	}
	var typed []*call
	for _, f := range calls {
		c, err := b.newCall(f, sc)
		if err != nil {
			return nil, err
		}
		typed = append(typed, c)
	}
	if err := b.preservedBlock(k, typed); err != nil {
		return nil, err
	}
	// Sums are chained only to counts that are released anyway: averages first.
	for _, c := range typed {
		if c.name != "sum" {
			if err := b.locatedCall(b.plan(k, c), c); err != nil {
				return nil, err
			}
		}
	}
	k.outputs, k.columns = nil, nil
	for _, c := range typed {
		if err := b.locatedCall(b.plan(k, c), c); err != nil {
			return nil, err
		}
	}
	k.weigh(typed)
	return k, b.boundedBlock(k, typed)
}

func (b *builder) locatedCall(err error, c *call) error {
	return b.located(err, &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: &pg_query.FuncCall{Location: int32(c.location)}}})
}
