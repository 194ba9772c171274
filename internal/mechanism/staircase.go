package mechanism

import (
	"fmt"
	"math"
)

// Staircase noise has the weight exp(−κ·g(d)), where g(d) = ⌊(|d| + P − r)/P⌋ counts stairs: the first reaches r − 1
// steps to either side of 0, each of the others is P steps long. Values that are at most P steps apart see stairs that
// differ by one at most, so their log-ratio is κ, however far in the tail (Geng and Viswanath 2014; docs/mechanisms.md,
// section 15).

// minStair is the least κ at which auto compares the staircase: below, it is Laplace noise to within a percent. No
// staircase is steeper than maxStair: its first stair would be so short against the others that the sampler needed too
// many blocks.
const minStair, maxStair = .5, 6.

// longestStair is the longest period: up to there, distances are exact in float64. A stair that is a step too short
// would double the loss.
const longestStair = 1 << 52

// newStaircaseKernel is staircase noise of that period with the r of the least variance.
func newStaircaseKernel(kappa float64, period uint64) kernel {
	if period > 1 { // of 1: laplace noise
		kappa = math.Min(kappa, maxStair)
	}
	n := newKernel(Staircase, kappa)
	n.period = period
	at := func(r float64) kernel {
		n.inner = uint64(math.Max(1, math.Min(float64(period), r)))
		return n
	}
	// The least variance on the continuum, and the whole numbers beside it.
	guess := math.Round(innerShare(n.kappa) * float64(period))
	best, least := at(guess), math.Inf(1)
	for _, r := range []float64{guess - 1, guess, guess + 1} {
		if m := at(r); m.openErrors() < least {
			best, least = m, m.openErrors()
		}
	}
	return best
}

// innerShare is r/P of the least variance on the continuum (Geng and Viswanath 2014, section 5).
func innerShare(kappa float64) float64 {
	b := math.Exp(-kappa)
	if kappa < .01 {
		return .5
	}
	return math.Cbrt(b-2*b*b+2*math.Pow(b, 4)-math.Pow(b, 5))/(math.Cbrt(2)*(1-b)*(1-b)) - b/(1-b)
}

// stair is g(d) for a distance d ≥ 0.
func (n kernel) stair(d float64) float64 {
	return math.Floor((d + float64(n.period-n.inner)) / float64(n.period))
}

// stairSums is sums for lo ≥ 0: what is left of the stair that lo is on, whole stairs in closed form, and a part of the
// last one.
func (n kernel) stairSums(lo, count float64) sums {
	period, hi := float64(n.period), lo+count // hi is the first point behind the run
	ref := n.log(lo)
	first := n.stair(lo)
	end := func(j float64) float64 { return float64(n.inner) + j*period } // of stair j
	if hi <= end(first) {
		return level(ref, lo, count)
	}
	total := level(ref, lo, end(first)-lo)
	last := n.stair(hi - 1)
	if whole := last - first - 1; whole > 0 {
		total = total.add(n.wholeStairs(first+1, end(first), whole))
	}
	return total.add(level(-n.kappa*last, end(last-1), hi-end(last-1)))
}

// level are the sums over points of equal weight.
func level(ref, lo, n float64) sums {
	s1, s2 := n*(n-1)/2, (n-1)*n*(2*n-1)/6
	return sums{ref, n, n*lo + s1, n*lo*lo + 2*lo*s1 + s2}
}

// wholeStairs are the sums over whole stairs, the first of which is stair j and begins at lo: over the stairs they are
// those of Laplace noise, one step to a stair.
func (n kernel) wholeStairs(j, lo, whole float64) sums {
	p := float64(n.period)
	a := kernel{noise: Laplace, kappa: n.kappa}.laplaceSums(0, whole)
	one := level(0, 0, p) // from the begin of a stair
	return sums{
		-n.kappa * j, p * a.m0,
		p*(lo*a.m0+p*a.m1) + one.m1*a.m0,
		p*(lo*lo*a.m0+2*lo*p*a.m1+p*p*a.m2) + 2*one.m1*(lo*a.m0+p*a.m1) + one.m2*a.m0,
	}
}

// changed is the probability that noise at distance d ≤ P, with its sign, is one stair nearer to 0 than as seen from a
// true value d away. Where the stairs differ, they do so by one, and d/2 − x mirrors those that are nearer to one value
// on those nearer to the other. So the total variation is changed·(1 − e^−κ), and for symmetric noise that falls with
// the distance it is P(−d/2 ≤ x < d/2).
func (n kernel) changed(d float64) float64 {
	near := math.Ceil(d/2) - 1 // the last x < d/2
	inside := 2*n.sums(0, near+1).m0 - 1
	if math.Mod(d, 2) == 0 { // x = −d/2
		inside += math.Exp(n.log(d / 2))
	}
	return math.Min(1, inside/n.total()/-math.Expm1(-n.kappa))
}

// stairProfile bounds δ(ε) of staircase noise at distance d.
func (n kernel) stairProfile(d, eps float64) float64 {
	stairs := math.Ceil(d / float64(n.period))
	loss := stairs * n.kappa
	if eps >= loss {
		return 0
	}
	response := responseProfile(loss, eps)
	if stairs > 1 {
		return response
	}
	return math.Min(response, n.changed(d)*(1+renyiSlack)*-math.Expm1(eps-n.kappa))
}

// responseProfile is δ(ε) of randomised response, the worst there is with that pure loss.
func responseProfile(loss, eps float64) float64 {
	return math.Max(0, -math.Expm1(eps-loss)/(1+math.Exp(-loss)))
}

// stairs is how many stairs one unit can move over all groups: one in every group that it moves, where the noise is on
// Cells.
func (t task) stairs(b Bounding) float64 {
	if b == Cells {
		return math.Min(t.groups, math.Ceil(t.total/t.row))
	}
	_, stairs := t.stairPeriod()
	return stairs
}

// stairPeriod is how far values may be apart for one stair, and how many stairs one unit can move over all groups: as
// far as a unit moves one group; or one row, where its rows may be spread over groups, of which every one would take a
// stair.
func (t task) stairPeriod() (period, stairs float64) {
	rows := math.Ceil(t.total / t.row)
	touched := math.Min(t.groups, rows)
	if c := t.step(); !t.layered && c*touched <= t.total || rows == 1 {
		return c, touched
	}
	return math.Min(t.row, t.step()), rows
}

// stairsAdmissible says why there is no staircase for this task.
func (t task) stairsAdmissible(b Bounding) error {
	switch period, _ := t.stairPeriod(); {
	case b == Truncate:
		return fmt.Errorf("staircase noise is bounded afterwards: use clamp, fold or denoise")
	case period > longestStair:
		return fmt.Errorf(
			"staircase noise needs a sensitivity of at most 2^52 grid steps: use a coarser grid or laplace noise")
	}
	return nil
}
