package mechanism

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// MostRunning bounds the groups that are added up one after the other: a draw takes the square of their number.
const MostRunning = 1 << 12

// runningBits: a step of running noise is 2^−16 of the release's own.
const runningBits = 16

// running is Gaussian noise for the groups of a release of which running totals are asked for, and nothing else. With
// A the matrix that adds up, L a power of it and z noise of its own for each group, the totals of x + L⁻¹z err by
// A·L⁻¹·z. Of the square root the variance of the k-th grows with ln k (Henzinger, Upadhyay and Upadhyay 2023); a
// lower power costs less where a unit is in several groups. L is rounded to whole steps, and L⁻¹z to whole numbers,
// one group after the other, so that x + L⁻¹z is a function of L·x + z (docs/mechanisms.md, section 21). It is
// immutable and safe for concurrent use.
type running struct {
	*factor
	kernel  kernel // of z, in its steps
	sampler func() *sampler
}

// factor is L, and how what is made with it errs.
type factor struct {
	column []int64   // the first of L, in steps of z: whole, from a power of two on
	totals []float64 // variance of the running totals over that of z
	group  float64   // that of a group, at most
}

// factors are by number of groups and power.
var factors = memo[[2]int, *factor]{most: 64}

func findFactor(n, eighths int) *factor {
	f, _ := factors.find([2]int{n, eighths}, func() (*factor, error) { return newFactor(n, eighths), nil })
	return f
}

// runningPowers is how many are compared, in eighths: from nearly independent noise to the square root.
const runningPowers = 4

// newFactor is such a power of the matrix of ones for n groups: of the series 1/(1−x), which adds up, f(k) =
// f(k−1)·(k − 1 + power)/k.
func newFactor(n, eighths int) *factor {
	f, inverse := &factor{column: make([]int64, n), totals: make([]float64, n)}, make([]float64, n)
	exact, sum := 1.0, 0.0
	for k := range n {
		if k > 0 {
			exact *= (float64(k) - 1 + float64(eighths)/8) / float64(k)
		} else {
			inverse[0] = 1
		}
		f.column[k] = int64(math.Round(math.Ldexp(exact, runningBits)))
		for j := 1; j <= k; j++ {
			inverse[k] -= math.Ldexp(float64(f.column[j]), -runningBits) * inverse[k-j]
		}
		sum += inverse[k] // A·L⁻¹
		f.totals[k] = sum * sum
		if k > 0 {
			f.totals[k] += f.totals[k-1]
		}
		f.group += inverse[k] * inverse[k]
	}
	return f
}

// rounding is the variance of what L⁻¹z is rounded by, in z.
const rounding = 1. / 12

// variance is that of z with what it is rounded by, in the release's own steps.
func (r *running) variance() float64 {
	deviation := math.Ldexp(r.kernel.scale(), -runningBits)
	return deviation*deviation + rounding
}

// loss is what the noise costs, from the numbers that are drawn with.
func (r *running) loss(n kernel, t task) loss.Running {
	m := loss.Running{
		Noise: n.law(), Unit: t.unit(), Span: float64(t.v.hull().span()), Column: make([]float64, len(r.column)),
	}
	for i, f := range r.column {
		m.Column[i] = float64(f)
	}
	return m
}

// Runs says whether it allows noise for running totals.
func (c Choice) Runs() bool {
	return (c.Noise == "" || c.Noise == Gaussian) && (c.Bounding == "" || c.Bounding == Clamp) && c.Calibration != Paper
}

// addRunning compares such noise, where running totals are asked for and the policy allows it, at a finite order.
func (p *Prepared) addRunning(c Choice) {
	t, n := p.task, p.release.Running
	if n < 2 || n > MostRunning || !t.g.atOrder() || p.release.Kind != Scalar || len(t.v) > 1 || t.step() <= 0 ||
		!c.Runs() {
		return
	}
	var least *running
	for power := range runningPowers {
		if r := t.running(n, power+1); r != nil && (least == nil || r.error() < least.error()) {
			least = r
		}
	}
	if least == nil {
		return
	}
	each := least.group
	if p.release.InChain() {
		each = least.totals[p.release.Place-1]
	}
	group := newKernel(Gaussian, kappaOf(Gaussian, math.Sqrt(least.variance()*each)))
	candidate, err := t.at(group, Clamp, Tight)
	if err != nil {
		return
	}
	cost := least.loss(least.kernel, t).Bound()
	candidate.Joint = true
	candidate.RMSEAverage = least.error()
	candidate.RMSEWorst = candidate.RMSEAverage
	candidate.curve = func() Curve { return curveOf(cost) }
	candidate.loss = func() float64 { return cost(t.g.Order) }
	p.candidates = append(p.candidates, candidate)
	if p.chosen = best(p.candidates); p.chosen == len(p.candidates)-1 {
		p.running = least
		if p.release.InChain() {
			chosen := &p.candidates[p.chosen]
			chosen.RMSEAverage = math.Sqrt(least.variance() * each)
			chosen.RMSEWorst = chosen.RMSEAverage
		}
	}
}

// running calibrates such noise; nil: it is too wide for its sampler.
func (t task) running(n, power int) *running {
	r, one := &running{factor: findFactor(n, power)}, newKernel(Gaussian, 1)
	squared := r.loss(one, t).Squared()
	cost := func(kappa float64) float64 { return squared * newKernel(Gaussian, kappa).law().Plain(t.g.Order, 1) }
	lo := t.g.Epsilon / squared / max(t.g.Order, 2) / 2
	r.kernel = newKernel(Gaussian, rising(cost, lo, 4*lo, target(t.g.Epsilon)))
	r.sampler = sync.OnceValue(func() *sampler { return newSampler(r.kernel) })
	if !(r.loss(r.kernel, t).Bound()(t.g.Order) <= t.g.Epsilon) {
		return nil
	}
	return r
}

// error is how much each of as many independent noises may err for equal totals: the last and the mean of all count
// alike, by their product.
func (r *running) error() float64 {
	n, sum := float64(len(r.totals)), 0.0
	for _, variance := range r.totals {
		sum += variance
	}
	mean, last := sum/n/((n+1)/2), r.totals[len(r.totals)-1]/n
	return math.Sqrt(r.variance() * math.Sqrt(mean*last))
}

// Running says whether the noise is of all groups at once, drawn by DrawRunning.
func (p *Prepared) Running() bool { return p.running != nil && !p.release.InChain() }

// DrawRunning draws the noise of all groups, which BoundPlain adds. order lists them, each once, as they are added
// up: every stretch of the length that the release was prepared for by itself.
func (p *Prepared) DrawRunning(s *Source, order []int) ([]int64, error) {
	noise, drawn := make([]int64, len(order)), make([]bool, len(order))
	smp := p.running.sampler()
	for chain := range slices.Chunk(order, len(p.running.column)) {
		z := make([]int64, len(chain))
		for i := range z {
			z[i] = signed(smp.draw(s, &smp.plain))
		}
		p.running.nearest(z)
		for i, g := range chain {
			if g < 0 || g >= len(order) || drawn[g] {
				return nil, fmt.Errorf("group %d is not in the order once", g)
			}
			noise[g], drawn[g] = z[i], true
		}
	}
	return noise, nil
}

// nearest puts the whole numbers w in the place of z that L·w comes near to it with, one after the other (Babai's
// nearest plane): where z is L·x more, they are x more.
func (f *factor) nearest(z []int64) {
	step := bits.TrailingZeros64(uint64(f.column[0]))
	for i, left := range z {
		for j, w := range z[:i] {
			left -= f.column[i-j] * w // what is left at last is below 2^63, whatever overflows on the way
		}
		z[i] = (left + f.column[0]/2) >> step
	}
}

// margin is how far the total of the first k groups may be off, but for that probability.
func (r *running) margin(k int, wrong float64) float64 {
	k = min(k, len(r.totals))
	return normalQuantile(1-wrong)*math.Sqrt(r.variance()*r.totals[k-1]) + sumStep
}
