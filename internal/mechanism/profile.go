package mechanism

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// The privacy profile of a mechanism is δ(ε) = sup Σ_z (p_s(z) − e^ε·p_t(z))₊ over neighbouring true values s, t: the
// mechanism is (ε, δ)-DP exactly for those pairs. Likelihood ratios of truncated log-concave noise are monotone in z,
// so the sum is over a half-line, and the supremum over distances is at Δ (docs/mechanisms.md, proposition 1).

// The certified search over the true value splits at most profileSteps cells, and stops where δ is known to
// profileTolerance, which is worth a thousandth of σ.
const (
	profileSteps     = 48
	profileTolerance = 1e-2
)

// plainProfile is δ(ε) of untruncated noise at distance c. It is also that of every fold, and bounds Gaussian
// truncation (docs/mechanisms.md, proposition 5).
func (n kernel) plainProfile(c, eps float64) float64 {
	if n.noise == Staircase {
		return n.stairProfile(c, eps)
	}
	far := math.Min(math.Ceil(n.reach())+c, limit)
	return n.hockeyStick(Range{{Lo: -int64(far), Hi: int64(far)}}, 0, c, eps, -far)
}

// reach is a distance beyond which weights are below 2^−1000 of the largest.
func (n kernel) reach() float64 { return n.distance(700) }

// truncatedProfile bounds δ(ε) of truncation from above, over all true values: on a cell [p, q] of positions the
// divergence of (s, s+c) is at most that of (p, q+c), because it grows with either distance. The untruncated profile
// caps it for the Gaussian on an interval.
func (n kernel) truncatedProfile(v Range, delta, eps float64) float64 {
	h := v.hull()
	a, b := float64(h.Lo), float64(h.Hi)
	c := math.Min(delta, b-a)
	if c <= 0 {
		return 0
	}
	known := 1.0
	if n.noise == Gaussian && len(v) == 1 {
		known = n.plainProfile(c, eps)
		if b-a > 24*n.scale() {
			return known // attained in the middle
		}
	}
	f := loss.Search{
		At:    func(s float64) float64 { return n.hockeyStick(v, s, s+c, eps, a) },
		Bound: func(x loss.Cell) float64 { return n.hockeyStick(v, x.P, x.Q+c, eps, a) },
		Steps: profileSteps, Tolerance: profileTolerance, Enough: known,
	}
	worst := f.Upper(a, b-c)
	if len(v) > 1 {
		v = mirrored(v)
		a, b = -b, -a
		worst = math.Max(worst, f.Upper(a, b-c))
	}
	return worst
}

func mirrored(v Range) Range {
	m := make(Range, len(v))
	for i, x := range v {
		m[len(v)-1-i] = Interval{-x.Hi, -x.Lo}
	}
	return m
}

// hockeyStick is Σ_z (p_s(z) − e^ε p_t(z))₊ on v; from is a point below which nothing matters (the lower end of v, or a
// far one).
func (n kernel) hockeyStick(v Range, s, t, eps, from float64) float64 {
	if s > t { // mirror
		return n.hockeyStick(mirrored(v), -s, -t, eps, -float64(v.hull().Hi))
	}
	zs, zt := n.at(v, s).log(), n.at(v, t).log()
	// The ratio falls with z: find the last z with ln p_s(z) − ln p_t(z) > ε.
	ratio := func(z float64) float64 { return n.log(z-s) - n.log(z-t) + zt - zs }
	lo, hi := from, float64(v.hull().Hi)
	if ratio(lo) <= eps {
		return 0
	}
	if n.noise == Gaussian {
		z := (t+s)/2 - (eps+zs-zt)/(2*n.kappa*(t-s))
		hi = math.Min(hi, math.Ceil(z)+1)
		lo = math.Max(lo, math.Floor(z)-1)
	} else {
		hi = math.Min(hi, t+1)
		lo = math.Max(lo, s-1)
	}
	if ratio(hi) > eps {
		lo = hi
	}
	for hi-lo > 1 {
		mid := math.Floor((lo + hi) / 2)
		if mid <= lo || mid >= hi {
			break // neighbouring floats: beyond 2^53 steps
		}
		if ratio(mid) > eps {
			lo = mid
		} else {
			hi = mid
		}
	}
	ps, pt := n.below(v, s, from, lo), n.below(v, t, from, lo)
	return math.Max(0, math.Exp(ps.log()-zs)-math.Exp(eps+pt.log()-zt))
}

// below sums the weights of the points of v in [from, to] as seen from s.
func (n kernel) below(v Range, s, from, to float64) sums {
	var total sums
	for _, i := range v {
		lo, hi := math.Max(float64(i.Lo), from), math.Min(float64(i.Hi), to)
		total = total.add(n.sums(lo-s, hi-lo+1))
	}
	if total.m0 == 0 {
		total.ref = math.Inf(-1)
	}
	return total
}
