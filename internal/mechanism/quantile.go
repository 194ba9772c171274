package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// Bin is one distinct value of a column and how many rows have it, after bounding. Histogram is sorted by Step.
type Bin struct{ Step, Count int64 }

// Histogram holds the exact rows of a quantile: sparse, sorted by Step, each Step once.
type Histogram []Bin

// rankBits are the bits behind the point of ranks: a fraction is rounded to a multiple of 2^−20.
const rankBits = 20

// rankSampler is the exponential mechanism on the grid (docs/mechanisms.md, section 9): a point z has weight
// exp(−κ·dist), where dist is the distance of the target rank from [#<z, #≤z]. Adding a unit with up to m rows moves
// the target by q·m and the ranks by up to m in the same direction, so the distance by at most max(q, 1−q)·m = Δ; with
// κ = ε/2Δ the release is ε-DP, and of bounded range ε, hence ε²/8-zCDP (Dong, Durfee and Rogers 2020). The least and
// the greatest value have a score of their own (aside), and the ends of an interval a target that is so many rows
// further out.
type rankSampler struct {
	v        Range
	kernel          // per 2^−20 of a rank
	fraction uint64 // q·2^20
	end      int    // −1, 1: it is the lower, the upper end of the interval of a quantile; v are its bands of over
	over     Interval
	bands    bands
	aside    uint64 // of an end, min, max: the target's distance from the rank that is asked for, in rows
	cells    uint64 // of each point, where it cuts the rows for others of its family
	far      uint64 // the distance that stands for all greater ones there
}

// The rows of a unit may be spread over groups; the divergence is star-shaped in them, so the worst is as many groups
// as possible with Sensitivity rows each (docs/mechanisms.md, section 13).
func (p *Prepared) prepareQuantile() error {
	r, parts := p.release, p.task.parts()
	if !(r.Fraction >= 0 && r.Fraction <= 1) {
		return fmt.Errorf("quantile %g: the fraction must lie between 0 and 1", r.Fraction)
	}
	v, lo, hi := r.Range.closed()
	if lo || hi {
		return fmt.Errorf("a quantile needs a range with both ends")
	}
	s := &rankSampler{v: v, fraction: r.rank(), end: r.End}
	points := 0.0
	for _, i := range v {
		points += float64(i.span()) + 1
	}
	q := float64(s.fraction) / (1 << rankBits)
	delta := math.Max(q, 1-q) * p.task.step()
	eps := target(p.guarantee.Epsilon) / parts
	if p.guarantee.atOrder() {
		f := func(eps float64) float64 { return parts * loss.Ranged(p.guarantee.Order, eps) }
		eps = epsilonAt(f, parts, p.guarantee.Epsilon*(1-epsMargin))
	}
	rank := eps / (2 * delta)
	switch {
	case r.End != 0:
		if err := s.prepareEnd(v.hull(), rank); err != nil {
			return err
		}
	case r.Extreme():
		// At rank 0 every point below the least value would be as good as it: aim where all points beyond it together have
		// 1/20 of the weight of the best. A step towards them counts three times as much as one the other way, so that this
		// is not far.
		rank = eps / ((1 + overshoot) * delta)
		s.aside = uint64(math.Min(1<<40, math.Ceil((math.Log(points)+math.Log(1/(1-confidence)))/(overshoot*rank))))
	}
	s.kernel = newKernel(Laplace, rank/(1<<rankBits))
	s.cutBy(points)
	p.rank = s
	p.curve = func() Curve {
		c := Curve{Pure: parts * eps * (1 + renyiSlack), Renyi: make([]float64, len(Orders))}
		if !p.guarantee.atOrder() {
			c.Pure = p.guarantee.Epsilon // without the rounding of its calibration
		}
		for i, a := range Orders {
			c.Renyi[i] = parts * loss.Ranged(a, eps) * (1 + renyiSlack)
		}
		return c
	}
	return nil
}

// overshoot is how much more it counts that the least or the greatest value would lie beyond its target, towards the
// empty end of the grid, than inside of it. From 2 to 4 errors differ by some percent.
const overshoot = 3

// run is a block of grid points with the same score, or of cells of a point.
type run struct {
	lo   int64
	n    uint64
	dist uint64 // 2^−20 ranks
	rows uint64 // of cells of a point that rows have: how many do
	cell uint64 // the first of them
}

// target is the rank that is aimed at, in 2^−20 ranks, of padded rows.
func (s *rankSampler) target(rows uint64) uint64 {
	switch {
	case s.end < 0: // of the rows; those that are added have the first ranks
		return (rows - s.aside) * s.fraction
	case s.end > 0:
		return (rows-s.aside)*s.fraction + s.aside<<rankBits
	}
	switch s.fraction {
	case 0:
		return s.aside << rankBits
	case 1 << rankBits:
		return (rows - s.aside) << rankBits
	}
	return rows * s.fraction
}

// padded adds rows at the far end of the grid to those that a least or a greatest value is of, as many as its target is
// aside: where there are fewer, that end is the target, and not what lies beyond the rows. An end of an interval has
// them at its own end of the grid.
func (s *rankSampler) padded(h Histogram, hull Interval) Histogram {
	switch {
	case s.end < 0:
		return append(Histogram{{hull.Lo, int64(s.aside)}}, h...).within(hull)
	case s.end > 0:
		return append(h[:len(h):len(h)], Bin{hull.Hi, int64(s.aside)}).within(hull)
	}
	switch s.fraction {
	case 0:
		return append(h[:len(h):len(h)], Bin{hull.Hi, int64(s.aside)}).within(hull)
	case 1 << rankBits:
		return append(Histogram{{hull.Lo, int64(s.aside)}}, h...).within(hull)
	}
	return h
}

// score is the distance from the target to the ranks below to upTo.
func (s *rankSampler) score(target, below, upTo uint64) uint64 {
	dist := distance(target, below, upTo)
	if s.end == 0 && (s.fraction == 0 && target > upTo<<rankBits || s.fraction == 1<<rankBits &&
		target < below<<rankBits) {
		return overshoot * dist
	}
	return dist
}

// distance is how far the target is from the ranks below to upTo.
func distance(target, below, upTo uint64) uint64 {
	below, upTo = below<<rankBits, upTo<<rankBits
	switch {
	case target < below:
		return below - target
	case target > upTo:
		return target - upTo
	}
	return 0
}

// runs cuts the grid of v at the values of h, which is bounded by it.
func (s *rankSampler) runs(h Histogram, v Range) []run {
	h = s.padded(h, v.hull())
	target := s.target(h.rows())
	list := make([]run, 0, 2*len(h)+len(v))
	add := func(lo, hi int64, below, upTo uint64) {
		dist := s.score(target, below, upTo)
		for _, i := range v {
			if a, b := max(lo, i.Lo), min(hi, i.Hi); a <= b {
				list = append(list, run{lo: a, n: uint64(b-a) + 1, dist: dist})
			}
		}
	}
	hull, below := v.hull(), uint64(0)
	next := hull.Lo
	for _, bin := range h {
		if next < bin.Step {
			add(next, bin.Step-1, below, below)
		}
		add(bin.Step, bin.Step, below, below+uint64(bin.Count))
		below += uint64(bin.Count)
		next = bin.Step + 1
	}
	if next <= hull.Hi {
		add(next, hull.Hi, below, below)
	}
	return list
}

// within moves values into a range, adds up those that are equal then, and leaves out counts that are not positive.
func (h Histogram) within(hull Interval) Histogram {
	out := make(Histogram, 0, len(h))
	for _, b := range h {
		at := hull.clamp(b.Step)
		switch last := len(out) - 1; {
		case b.Count <= 0:
		case last >= 0 && out[last].Step == at:
			out[last].Count += b.Count
		default:
			out = append(out, Bin{at, b.Count})
		}
	}
	return out
}

// rows counts them.
func (h Histogram) rows() (n uint64) {
	for _, b := range h {
		n += uint64(b.Count)
	}
	return n
}

// DrawQuantile releases a grid point. It draws the same number of random words whatever the histogram is, but for a
// rejection with a probability below |grid|/2^64; its time grows with the number of distinct values, as that of the
// measure query does.
func (p *Prepared) DrawQuantile(src *Source, h Histogram) int64 {
	list := p.rank.runs(h.within(p.rank.v.hull()), p.rank.v)
	r, offset := p.rank.choose(src, list)
	return r.lo + int64(offset)
}

// choose draws a run by its weight, and one of its points or cells.
func (s *rankSampler) choose(src *Source, list []run) (chosen run, offset uint64) {
	best := list[0].dist
	for _, r := range list {
		best = min(best, r.dist)
	}
	u1, u0 := src.Uint64(), src.Uint64()
	i := chooseShare(src, runShares{s, list, best}, u1, u0)
	for {
		if offset, ok := uniform64(src.Uint64(), list[i].n); ok {
			return list[i], offset
		}
	}
}

// runShares are runs by their weights over that of one point of the best: exp(−κ·distance) for each of their points.
type runShares struct {
	s    *rankSampler
	list []run
	best uint64
}

func (r runShares) count() int { return len(r.list) }

func (r runShares) short(i int) (hi, lo uint64) {
	return bits.Mul64(expNeg(r.s.exponent(r.list[i].dist-r.best)), r.list[i].n)
}

// The true place and every end of a run are within expSlack·points + 2 of the computed ones.
func (r runShares) shortSlack() (hi, lo uint64) {
	hi, lo = bits.Mul64(r.points(), 2*expSlack)
	lo, c := bits.Add64(lo, 4, 0)
	return hi + c, lo
}

func (r runShares) points() (n uint64) {
	for _, run := range r.list {
		n += run.n
	}
	return n
}

func (r runShares) long(i int, digits uint) *big.Int {
	num, m := r.s.bigExponent(r.list[i].dist - r.best)
	n := new(big.Int).SetUint64(r.list[i].n)
	return n.Mul(bigExp(num, m, digits), n)
}

func (r runShares) longSlack() *big.Int {
	slack := new(big.Int).SetUint64(r.points())
	return slack.Lsh(slack, 3).Add(slack, big.NewInt(2))
}
