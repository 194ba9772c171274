package mechanism

import (
	"math"
)

// boxDistribution is the distribution of the box that a Cube's noise is drawn from, in floating point: errors and
// margins come from it, no released value does.
type boxDistribution struct {
	shell  []float64 // k, rising
	weight []float64 // its probability; they add up to 1
	log    float64   // ln Σ q^k·V(k)
}

// cubeReach is how far below the most likely box boxes are left out, as a logarithm.
const cubeReach = 36

// boxes tabulates the distribution. Boxes come in steps of at most 1/128 of 1/kappa: the midpoint rule is then off by
// 3e-6 of a moment. Steps above 1 occur where κ was set to 1, and box k reaches k rows to either side.
func (c *Cube) boxes() *boxDistribution {
	kappa := c.kernel.kappa
	step := math.Max(1, math.Floor(1/(128*kappa)))
	d := float64(len(c.axes))
	most := int((d+cubeReach+math.Sqrt(2*d*cubeReach))/(kappa*step)) + 2 // about
	law := &boxDistribution{shell: make([]float64, 0, most), weight: make([]float64, 0, most)}
	peak, top, sum := d/kappa, math.Inf(-1), 0.0
	for k := (step - 1) / 2; ; k += step {
		l, volume := -kappa*k, 1.0
		for _, a := range c.axes {
			if volume *= 2*c.halfAt(a, k) + 1; volume > 1e200 { // one axis takes 1e60 at most
				l, volume = l+math.Log(volume), 1
			}
		}
		l += math.Log(volume)
		if k > peak && l < top-cubeReach {
			break
		}
		top = math.Max(top, l)
		law.shell, law.weight = append(law.shell, k), append(law.weight, l)
	}
	for i, l := range law.weight {
		law.weight[i] = math.Exp(l - top)
		sum += law.weight[i]
	}
	for i := range law.weight {
		law.weight[i] /= sum
	}
	law.log = top + math.Log(sum*step)
	return law
}

// acceptance is the probability that a trial of Draw succeeds: Σ q^k·V(k) against Σ q^(m−skip)·Π (2M_j/κ)(m+j), where
// Σ q^m·Π(m+j) = D!/(1−q)^(D+1).
func (c *Cube) acceptance() float64 {
	kappa, d := c.kernel.kappa, float64(len(c.axes))
	factorial, _ := math.Lgamma(d + 1)
	l := c.law.log - kappa*float64(c.skip) + (d+1)*math.Log(-math.Expm1(-kappa)) - factorial
	for _, a := range c.axes {
		l -= math.Log(2 * float64(a.row) / float64(c.shells))
	}
	return math.Exp(l)
}

func (c *Cube) halfAt(a axis, k float64) float64 {
	if c.shells == 1 {
		return k * float64(a.row)
	}
	return math.Floor(k * float64(a.row) / float64(c.shells))
}

// marginal is the distribution of one coordinate's noise: p(x) = Σ weight/(2h+1) over the boxes with h ≥ |x|. Between
// two boxes it is constant, so that sums over a run of points need two searches.
type marginal struct {
	half   []float64 // how far the boxes reach, rising and different
	point  []float64 // p(x) for half[i−1] < |x| ≤ half[i]
	inside []sums    // over 0 ≤ x ≤ half[i]
}

// marginals memoises newMarginal. A mechanism has none of its own: half a megabyte for each coordinate would be kept
// with every statement that is planned. They have room for those of a vector of most coordinates, and of some more.
var marginals = memo[coordinate, *marginal]{
	most: 48 << 20,
	size: func(c coordinate, m *marginal) int { return m.bytes() + c.law.bytes() },
}

// coordinate is one of a vector, which its distribution names.
type coordinate struct {
	law *boxDistribution
	at  int
}

// marginal is that of coordinate at.
func (c *Cube) marginal(at int) *marginal {
	m, _ := marginals.find(coordinate{c.law, at}, func() (*marginal, error) { return c.newMarginal(at), nil })
	return m
}

func (m *marginal) bytes() int { return 6 * 8 * len(m.half) }

func (l *boxDistribution) bytes() int { return 2 * 8 * len(l.shell) }

func (c *Cube) newMarginal(at int) *marginal {
	m := &marginal{}
	for _, a := range c.axes {
		if a.at != at {
			continue
		}
		for i, k := range c.law.shell {
			h := c.halfAt(a, k)
			if n := len(m.half); n == 0 || m.half[n-1] != h {
				m.half, m.point = append(m.half, h), append(m.point, 0)
			}
			m.point[len(m.point)-1] += c.law.weight[i] / (2*h + 1)
		}
	}
	for i := len(m.point) - 2; i >= 0; i-- {
		m.point[i] += m.point[i+1]
	}
	m.inside = make([]sums, len(m.half))
	var before sums
	from := 0.0
	for i, h := range m.half {
		before = before.add(uniformSums(from, h-from+1, m.point[i]))
		m.inside[i], from = before, h+1
	}
	return m
}

// uniformSums is the sums of n points from lo on with equal probability.
func uniformSums(lo, n, p float64) sums {
	s1, s2 := n*(n-1)/2, (n-1)*n*(2*n-1)/6
	return sums{0, p * n, p * (lo*n + s1), p * (lo*lo*n + 2*lo*s1 + s2)}
}

// upTo is the sums over 0 ≤ x ≤ h.
func (m *marginal) upTo(h float64) sums {
	lo, hi := 0, len(m.half)
	for lo < hi {
		if mid := (lo + hi) / 2; m.half[mid] < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var s sums
	from := 0.0
	if lo > 0 {
		s, from = m.inside[lo-1], m.half[lo-1]+1
	}
	if lo == len(m.half) || h < from {
		return s
	}
	return s.add(uniformSums(from, h-from+1, m.point[lo]))
}

// sums adds the probabilities of the points lo, lo+1, …, lo+n−1, all whole.
func (m *marginal) sums(lo, n float64) sums {
	hi := lo + n - 1
	switch {
	case !(n >= 1):
		return sums{}
	case hi <= 0 && lo < 0:
		s := m.sums(-hi, n)
		s.m1 = -s.m1
		return s
	case lo < 0:
		return m.sums(lo, -lo).add(m.sums(0, hi+1))
	case lo == 0:
		return m.upTo(hi)
	}
	a, b := m.upTo(lo-1), m.upTo(hi)
	return sums{0, b.m0 - a.m0, b.m1 - a.m1, b.m2 - a.m2}
}

// reach is how far the noise goes.
func (m *marginal) reach() float64 { return m.half[len(m.half)-1] }

// rmse is the root mean squared noise.
func (m *marginal) rmse() float64 { return math.Sqrt(2 * m.upTo(m.reach()).m2) }

// errorQuantile is the least margin that |noise| exceeds with probability at most 1 − probability; it holds for folded
// noise too (docs/mechanisms.md, proposition 8).
func (m *marginal) errorQuantile(probability float64) float64 {
	const rounding = 1e-5 // of the midpoint rule
	return leastInteger(m.reach(), func(h float64) bool {
		return 2*m.upTo(h).m0-m.point[0] >= probability+rounding*(1-probability)
	})
}

// squaredError is E(z−s)² of noise that is folded into the interval v, at the true value s. Ends that the noise cannot
// reach are moved to where it just cannot, so that no digits are lost to them.
func (m *marginal) squaredError(v Interval, s float64) float64 {
	far := m.reach() + 1
	return foldedError(math.Max(float64(v.Lo), s-far), math.Min(float64(v.Hi), s+far), s, 1, far, m.sums)
}

// errors are the average and the worst root mean squared error of noise that is folded into v, as design.errors has
// them.
func (m *marginal) errors(v Interval) (average, worst float64) {
	return averaged(v, m.rmse(), func(s float64) float64 { return m.squaredError(v, s) })
}

// loss is the exact ε of the noise as sampled.
func (c *Cube) loss() float64 { return c.kernel.kappa * float64(c.rows) * float64(c.shells) }
