package engine

import (
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// interval is that of an aggregate in one group: the answer lies between value − below and value + above. Both are in
// grid steps of the aggregate's first release, an average's in those of its sum, those of moments in the aggregate's own
// unit; infinite: that end is not known. They follow from released values and public quantities alone
// (docs/mechanisms.md §8). Where it is unknown how many rows are left out, it covers the noise alone, and the answer's
// HINT says so.
type interval struct{ below, above float64 }

// mostSteps bounds the ends of an interval: released values lie within ±2^60, and twice as far still fits an int8.
const mostSteps = 1 << 60

// interval is false where an aggregate has none: booleans, averages and intercepts of regressions, whatever is NULL, as
// averages and sums of a group without rows are, and all of a block of which rows are left out, or taken for others, that no
// declared share counts. Where levels were made to add up it is the interval of what was drawn, and reaches to the value
// that is shown: it holds the answer as often (docs/mechanisms.md, section 17).
func (p *calibrated) interval(block int, c rewrite.Column, r released, g int) (interval, bool) {
	if p.nothing(block, c, r, g) || p.plan.Blocks[block].Uncovered {
		return interval{}, false
	}
	i, ok := p.drawnInterval(block, c, r.drawn(), g)
	if r.noisy == nil {
		return i, ok
	}
	is, by := p.steps(block, c, r, g)
	switch {
	case by <= 0:
		return interval{}, false
	case !ok: // no rows were drawn
		return p.drawnInterval(block, c, r, g)
	}
	was, drawnBy := p.steps(block, c, r.drawn(), g)
	i.below = math.Max(0, i.below/drawnBy+is-was) * by
	i.above = math.Max(0, i.above/drawnBy+was-is) * by
	return i, true
}

// nothing says that an aggregate is NULL, as it may be over no rows.
func (p *calibrated) nothing(block int, c rewrite.Column, r released, g int) bool {
	return c.Rows > 0 && r.Values[c.Rows-1][g] <= p.blocks[block].releases[c.Rows-1].EmptyThreshold(p.wrongShare())
}

// steps gives the value of an aggregate in one group, in the steps of its interval, and by what these are divided: 1, or of an average its
// rows; 0 where the value is NULL.
func (p *calibrated) steps(block int, c rewrite.Column, r released, g int) (value, by float64) {
	if c.Moments != nil {
		if e, ok := p.moment(block, c, r, g); ok {
			return e.at, 1
		}
		return 0, 0
	}
	z := float64(r.Values[c.Releases[0]][g])
	if len(c.Releases) == 1 {
		return z, 1
	}
	n := float64(r.Values[c.Releases[1]][g])
	switch {
	case c.Parts:
		return z + n, 1
	case n <= 0:
		return 0, 0
	case c.Average:
		return z / n, n
	}
	return z + float64(c.DoubledCenter)*n, 1
}

// drawnInterval is the interval of an aggregate as it was drawn. Where numbers of one unit are cut it reaches as far beyond as the administrator
// vouches; there is none where nobody does.
func (p *calibrated) drawnInterval(block int, c rewrite.Column, r released, g int) (interval, bool) {
	i, ok := p.keptInterval(block, c, r, g)
	if !ok || c.Cut == nil {
		return i, ok
	}
	z := float64(r.Values[c.Releases[0]][g])
	if first := p.plan.Blocks[block].Releases[c.Releases[0]]; first.Kind == mechanism.Quantile {
		return i.open(first, z, c.Cut.Low, c.Cut.High), true
	}
	if c.Cut.Share == nil {
		return interval{}, false
	}
	value := z
	if len(c.Releases) > 1 {
		value += float64(c.DoubledCenter) * float64(r.Values[c.Releases[1]][g])
	}
	i.above += *c.Cut.Share / (1 - *c.Cut.Share) * (value + i.above)
	return i, true
}

// keptInterval is the interval of what an aggregate adds up.
func (p *calibrated) keptInterval(block int, c rewrite.Column, r released, g int) (interval, bool) {
	b := &p.plan.Blocks[block]
	first := b.Releases[c.Releases[0]]
	z := r.Values[c.Releases[0]][g]
	share := leftOutShare(b, first, c)
	switch {
	case c.Moments != nil:
		return p.moments(block, c, r, g)
	case len(c.Releases) > 2 || c.Choice || c.Type == pgtype.BoolOID:
		return interval{}, false
	case first.Kind == mechanism.Quantile:
		lo, hi := p.blocks[block].releases[c.Releases[0]].Interval(z, 0, p.wrong(r))
		i := interval{float64(z - lo), float64(hi - z)}
		if p.wrong(r) == mechanism.Wrong { // else values choose, and that of the greatest has a say
			i = ofQuantile(first, i.below, i.above)
		}
		if c.Low > 0 && !c.Chooses {
			i.below = float64(z - r.Values[c.Low-1][g])
		}
		if c.High > 0 && !c.Chooses {
			i.above = float64(r.Values[c.High-1][g] - z)
		}
		beyond := c.OutsideUnknown || min(first.Fraction, 1-first.Fraction) < c.Outside // it may itself lie there
		return i.open(first, float64(z), beyond, beyond), len(c.Releases) == 1
	case len(c.Releases) == 1:
		m := p.blocks[block].releases[c.Releases[0]].Margin(z, 0, p.wrong(r))
		i := interval{m, m}
		lo, hi := float64(max(first.Range[0].Lo, -mostSteps)), float64(min(first.Range[len(first.Range)-1].Hi, mostSteps))
		if by := p.blocks[block]; by.threshold != nil && c.Releases[0] == by.by && float64(z)-m < float64(by.threshold.Least) {
			i.below = float64(z) - lo // it is shown since it reached the threshold, from wherever
		}
		if anyBeyond(first, c) {
			return interval{}, false
		}
		i.addLeftOut(share, float64(z), lo, hi)
		i.addRaised(c.Outside, float64(z), lo, hi)
		return i.within(float64(z)-lo, hi-float64(z)), true
	}
	n := r.Values[c.Releases[1]][g]
	margins := func(ratio float64) (z, n float64) {
		return mechanism.PairMargins(p.blocks[block].releases[c.Releases[0]], p.blocks[block].releases[c.Releases[1]], ratio, p.wrong(r))
	}
	if c.Parts {
		m := wholeSteps(margins(1))
		i := interval{m, m}
		i.addLeftOut(share, float64(z+n), 0, mostSteps)
		return i.within(float64(z+n), mostSteps), true
	}
	if n <= 0 {
		return interval{}, false
	}
	sum := chained{row: first.PerRow, z: float64(z), n: float64(n), margins: margins}
	if sum.row.Lo == sum.row.Hi { // z is n times that
		sum.margins = func(r float64) (float64, float64) {
			_, n := margins(r)
			return 0, n
		}
	}
	if c.Average {
		return sum.average(float64(c.DoubledCenter), share, c.Outside), true
	}
	return sum.total(float64(c.DoubledCenter), share, c.Outside), true
}

// ofQuantile gives the interval of a quantile between the ends of its range, which always holds. What is released of the greatest value is not
// above it but for 5%, and of the least not below (docs/mechanisms.md, section 9), unless other quantiles have moved it (keepOrder). Rows that
// are left out lie in such an interval too.
func ofQuantile(r mechanism.Release, below, above float64) interval {
	i := interval{below, above}
	if r.Extreme() && r.Family == 0 {
		if r.Fraction > .5 {
			i.below = 0
		} else {
			i.above = 0
		}
	}
	return i
}

// open has no end where the interval of a quantile reaches an end of its range that values may lie beyond: what is
// released of these is that end. A quantile within the range is that of what is stored.
func (i interval) open(r mechanism.Release, z float64, low, high bool) interval {
	if low && z-i.below <= float64(r.Range[0].Lo) {
		i.below = math.Inf(1)
	}
	if high && z+i.above >= float64(r.Range[len(r.Range)-1].Hi) {
		i.above = math.Inf(1)
	}
	return i
}

// chained is a released sum z of released n rows, n > 0, each of which adds a value within row. The margin of z − r·n is √(z² + r²·n²) of
// margins(r).
type chained struct {
	row     mechanism.Interval
	z, n    float64
	margins func(r float64) (z, n float64)
}

// wholeSteps is the margin of a sum of two released numbers in whole steps, as the sum is.
func wholeSteps(one, other float64) float64 { return math.Floor(math.Hypot(one, other) + 1e-9) }

// average gives the interval of z/n, in steps of z: all r for which z − r·n, whose margin is √(marginZ² + r²·marginN²), may be 0
// (Fieller 1954). That is z/n ± √(marginZ² + (z/n)²·marginN²)/n where n is many times its margin. It is the range of a row where n may be 0.
// What is averaged is half of z/n + center. outside is the part of share that is not left out, but lies beyond the range of a row.
func (s chained) average(center, share, outside float64) interval {
	i := interval{}
	i.below, i.above = s.fieller()
	lo, hi := float64(s.row.Lo), float64(s.row.Hi)
	i = i.within(s.z-lo*s.n, hi*s.n-s.z)
	// The rows that are left out may all lie at an end. What lies beyond an end, where all may lie, is no more than outside of the sum.
	beyond := outside / (1 - outside) * math.Max(math.Abs(lo+center), math.Abs(hi+center))
	down := ((share-outside)/(1-outside)*(hi-lo) + beyond) * s.n
	up := down
	// Where all values have one sign, they are no more than share of the sum either: what is left of rows and of sums is 1 − share or more.
	less, more := share, share/(1-share)
	low, high := s.z-i.below+center*s.n, s.z+i.above+center*s.n
	switch {
	case lo+center >= 0:
		down, up = math.Min(down, less*low), math.Min(up, more*high)
	case hi+center <= 0:
		down, up = math.Min(down, more*-low), math.Min(up, less*-high)
	}
	i.below, i.above = i.below+down, i.above+up
	if outside > 0 {
		return i
	}
	return i.within(s.z-lo*s.n, hi*s.n-s.z)
}

// fieller gives the ends of that, before the range of a row keeps them.
func (s chained) fieller() (below, above float64) {
	marginZ, m := s.margins(s.z / s.n)
	d := s.n*s.n - m*m
	if d <= 0 {
		return math.Inf(1), math.Inf(1)
	}
	root := math.Sqrt(s.z*s.z*m*m+d*marginZ*marginZ) * s.n
	return (root - s.z*m*m) / d, (root + s.z*m*m) / d
}

// widestAverage bounds the margin of z/n, in steps of z, whatever z is: it grows with |z|. It falls with n.
func (s chained) widestAverage() float64 {
	lo, hi := float64(s.row.Lo), float64(s.row.Hi)
	s.z = math.Max(math.Abs(lo), math.Abs(hi)) * s.n
	_, above := s.fieller()
	return math.Min(above/s.n, hi-lo)
}

// total gives the interval of z + center·n, in steps of z. A true sum beyond the range that follows from n is released as that range's
// end, and is further off by the same rows that n lacks: they count at the end instead of the center.
func (s chained) total(center, share, outside float64) interval {
	margin := func(each float64) float64 {
		z, n := s.margins(each)
		return wholeSteps(z, each*n)
	}
	lo, hi := float64(s.row.Lo), float64(s.row.Hi)
	each := math.Abs(center)
	if s.z+margin(hi) >= hi*s.n {
		each = math.Max(each, math.Abs(center+hi))
	}
	if s.z-margin(lo) <= lo*s.n {
		each = math.Max(each, math.Abs(center+lo))
	}
	most := margin(each)
	i := interval{most, most}
	value := s.z + center*s.n
	lowest, highest := -math.Inf(1), math.Inf(1) // of the sum, whatever n is
	if center+lo >= 0 {
		lowest = 0
	}
	if center+hi <= 0 {
		highest = 0
	}
	if lowest < 0 && highest > 0 { // of each sign there may be as much as rows at that end
		_, more := s.margins(0)
		rows := outside / (1 - share) * (s.n + more)
		share = (share - outside) / (1 - outside)
		i.below, i.above = i.below-rows*(center+lo), i.above+rows*(center+hi)
	}
	i.addLeftOut(share, value, lowest, highest)
	i.addRaised(outside, value, lowest, highest)
	return i.within(value-lowest, highest-value)
}

// addLeftOut widens the interval of a count or a sum of values in [lo, hi] by the rows that are left out, a share of all, as if they
// were like the others: what is there is 1 − share of the whole.
func (i *interval) addLeftOut(share, value, lo, hi float64) {
	extra := share / (1 - share) * math.Abs(value)
	if lo < 0 {
		i.below += extra
	}
	if hi > 0 {
		i.above += extra
	}
}

// addRaised widens the interval of a sum by values beyond bounds that count as the bound nearer to 0: a share of the rows, and no more than that of
// what they are counted as.
func (i *interval) addRaised(outside, value, lo, hi float64) {
	if lo >= 0 {
		i.below += outside * math.Abs(value)
	}
	if hi <= 0 {
		i.above += outside * math.Abs(value)
	}
}

// anyBeyond says that what lies beyond bounds may be any part of a sum: that of values of both signs says of neither how much there is.
func anyBeyond(r mechanism.Release, c rewrite.Column) bool {
	return c.Outside > 0 && r.Kind == mechanism.Scalar && r.Range[0].Lo < 0 && r.Range[len(r.Range)-1].Hi > 0
}

// within keeps the interval inside of the aggregate's own range, which begins below and ends above its value.
func (i interval) within(below, above float64) interval {
	i.below, i.above = math.Min(math.Min(i.below, below), 2*mostSteps), math.Min(math.Min(i.above, above), 2*mostSteps)
	return i
}

// leftOutShare is the share of rows that the release leaves out; 0 where it leaves out none, or where that is unknown: where a unit's groups
// are picked, or nobody says how many rows are beyond its bound. What values beyond a column's bounds would add is left out, too.
func leftOutShare(b *rewrite.Block, r mechanism.Release, c rewrite.Column) float64 {
	units := b.Rows > 0 && r.Kind == mechanism.Scalar && r.Groups <= 1 && r.Sensitivity < b.Rows // bounded by less than a unit's rows
	if b.Picked > 0 || units || b.LeftOut == nil {
		return c.Outside
	}
	return *b.LeftOut + c.Outside*(1-*b.LeftOut)
}

// deviation is the root mean squared error of an aggregate in one group if the true values were the released ones, in grid steps of its
// first release, of an average per row; false where it has none.
func (p *calibrated) deviation(block int, c rewrite.Column, r released, g int) (float64, bool) {
	first := p.plan.Blocks[block].Releases[c.Releases[0]]
	z := r.Values[c.Releases[0]][g]
	sd := p.blocks[block].releases[c.Releases[0]].StdDev(z, r.CountOf(first, g))
	if p.nothing(block, c, r, g) {
		return 0, false
	}
	if len(c.Releases) == 1 {
		return sd, true
	}
	n := r.Values[c.Releases[1]][g]
	if c.Parts {
		return math.Hypot(sd, p.blocks[block].releases[c.Releases[1]].StdDev(n, 0)), true
	}
	if n <= 0 {
		return 0, false
	}
	rows := p.blocks[block].releases[c.Releases[1]].StdDev(n, 0)
	if c.Average {
		return math.Hypot(sd, float64(z)/float64(n)*rows) / float64(n), true
	}
	return math.Hypot(sd, float64(c.DoubledCenter)*rows), true
}
