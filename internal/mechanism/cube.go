package mechanism

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// CubeNoise is the noise of a coordinate of a Cube. No policy can ask for it: PrepareVector takes it where it is
// better.
const CubeNoise Noise = "cube"

const (
	shellsPerEpsilon = 64            // q = e^−1/64 or more: a finer N(x) would buy less than one percent of the error
	cubeShells       = 1 << 40       // the largest κ
	cubeRows         = 1 << 40       // the largest R
	cubeStep         = 1. / cubeRows // the least −ln q, so that geometricLimit is out of reach
	cubeAxes         = 64            // the largest D
	geometricLimit   = 1 << 56       // beyond it lies at most exp(−2^16) of a geometric variable
	cubeAcceptance   = 1. / 50       // the least probability that a trial succeeds
	noiseLimit       = 4 * limit
)

// Cube is noise for D integers at once, by the K-norm mechanism of the ℓ∞ ball (Hardt and Talwar 2010): P(x) ∝ q^N(x),
// where N(x) is the least k with |x_a| ≤ ⌊k·M_a/κ⌋ in every coordinate a. A row moves coordinate a by at most M_a, so
// it moves N by at most κ, and q^κ = exp(−ε/R): a unit with R rows in the whole answer costs ε, however many
// coordinates and groups they are in (docs/mechanisms.md, section 14). It is immutable and safe for concurrent use.
type Cube struct {
	axes    []axis // by falling row
	rows    int64  // R
	shells  uint64 // κ
	epsilon float64
	kernel  kernel // q = exp(−kernel.kappa)
	skip    uint64 // what is subtracted from the proposal: a trial proposes k = m − skip
	shell   func() *geometric
	law     *boxDistribution
	pairs   *quantiles[pair]
	combine *quantiles[combination]
}

// axis is a coordinate: at is its place in the vector, row is M.
type axis struct {
	row uint64
	at  int
}

// geometric draws the number of failures before a success, P(n) ∝ q^n.
type geometric struct {
	*sampler
	side proposal
}

// CubeShape says what one unit can do to the coordinates of a vector.
type CubeShape struct {
	Moves []int64 // M: how far one row moves each coordinate, in grid steps
	Rows  int64   // R: how many rows a unit has in the whole answer
	// κ: boxes per row; any number gives the same guarantee; 0: enough of them for the error of the continuum
	Shells int64
}

// NewCube calibrates noise. Errors say which public number is out of bounds, or that too few trials of the sampler
// would succeed.
func NewCube(shape CubeShape, epsilon float64) (*Cube, error) {
	rows := float64(shape.Rows)
	shells := float64(shape.Shells)
	if shells == 0 {
		shells = math.Max(1, math.Ceil(shellsPerEpsilon*epsilon/rows))
	}
	switch {
	case !(epsilon >= minEps) || math.IsInf(epsilon, 0):
		return nil, fmt.Errorf("epsilon is %g: the least that can be calibrated is %g", epsilon, minEps)
	case shape.Rows < 1 || shape.Rows > cubeRows:
		return nil, fmt.Errorf("%d rows per unit: joint noise needs between 1 and 2^40", shape.Rows)
	case len(shape.Moves) < 1 || len(shape.Moves) > cubeAxes:
		return nil, fmt.Errorf("%d coordinates: joint noise needs between 1 and %d", len(shape.Moves), cubeAxes)
	case !(shells >= 1 && shells <= cubeShells):
		return nil, fmt.Errorf("%g boxes per row for epsilon %g: joint noise needs between 1 and 2^40", shells, epsilon)
	}
	c := &Cube{
		rows: shape.Rows, shells: uint64(shells), epsilon: epsilon, pairs: &quantiles[pair]{},
		combine: &quantiles[combination]{},
	}
	c.kernel = newKernel(Laplace, target(epsilon)/(rows*shells))
	if c.kernel.kappa < cubeStep {
		return nil, fmt.Errorf("epsilon %g for %d rows per unit is too small for joint noise", epsilon, shape.Rows)
	}
	for i, m := range shape.Moves {
		if m < 1 || m > limit {
			return nil, fmt.Errorf("a row moves coordinate %d by %d grid steps: joint noise needs between 1 and 2^60", i, m)
		}
		c.axes = append(c.axes, axis{uint64(m), i})
	}
	slices.SortStableFunc(c.axes, func(a, b axis) int { return cmp.Compare(b.row, a.row) })
	for i, a := range c.axes {
		if need := (c.shells + 2*a.row - 1) / (2 * a.row); need > uint64(i+1) { // ⌈κ/2M⌉ − j
			c.skip = max(c.skip, need-uint64(i+1))
		}
	}
	c.law = c.boxes()
	if p := c.acceptance(); p < cubeAcceptance {
		return nil, fmt.Errorf("epsilon %g for %d rows per unit is too large for joint noise", epsilon, shape.Rows)
	}
	c.shell = sync.OnceValue(func() *geometric {
		g := &geometric{sampler: newSampler(c.kernel)}
		g.propose(&g.side, []segment{{0, geometricLimit, false}})
		return g
	})
	return c, nil
}

// Epsilon is what one draw for each of any number of groups costs.
func (c *Cube) Epsilon() float64 { return c.epsilon }

// Dimension is D, the length of the vector that Draw fills.
func (c *Cube) Dimension() int { return len(c.axes) }

// Draw fills noise, of length Dimension, with one vector for one group, in grid steps; a coordinate beyond ±2^62 is set
// there.
//
// q^N(x) is a mixture: the weight of all shells from k on is q^k/(1−q), so k is drawn with weight q^k·V(k), V(k) the
// number of points of its box, and then a point of the box uniformly. For k, m = k + skip is the sum of D+1 geometric
// variables, hence of weight q^m·Π(m+j), j = 1 … D, and it is accepted with probability Π (2h_j+1)/((2M_j/κ)·(m+j)): D
// coins with whole numbers as odds.
//
// The noise does not depend on the exact values at all. A trial takes the same number of random words whatever it
// proposes, and the number of trials says nothing about the vector that is accepted in the end.
func (c *Cube) Draw(s *Source, noise []int64) {
	g := c.shell()
	for {
		m := uint64(0)
		for range len(c.axes) + 1 {
			n, _ := g.draw(s, &g.side)
			m += n
		}
		k := m - min(m, c.skip)
		ok := m >= c.skip
		for i, a := range c.axes {
			ok = coin(s, c.odds(a, k), c.most(i, a, m)) && ok
		}
		if ok {
			for _, a := range c.axes {
				noise[a.at] = uniformBox(s, c.half(a.row, k))
			}
			return
		}
	}
}

// wide is a number of 128 bits.
type wide struct{ hi, lo uint64 }

// half is ⌊k·M/κ⌋, how far box k reaches to either side.
func (c *Cube) half(row, k uint64) wide {
	hi, lo := bits.Mul64(k, row)
	q, _ := bits.Div64(hi%c.shells, lo, c.shells)
	return wide{hi / c.shells, q}
}

// width is 2h + 1, the number of points on an axis of a box.
func (h wide) width() wide { return wide{h.hi<<1 | h.lo>>63, h.lo<<1 | 1} }

// odds is (2h+1)·κ, the numerator of an axis's coin: at most 2kM + κ < 2^126.
func (c *Cube) odds(a axis, k uint64) wide {
	w := c.half(a.row, k).width()
	hi, lo := bits.Mul64(w.lo, c.shells)
	return wide{hi + w.hi*c.shells, lo}
}

// most is 2M·(m+j), the coin's denominator. It is no less than odds, since k + κ/2M ≤ k + skip + j.
func (c *Cube) most(i int, a axis, m uint64) wide {
	hi, lo := bits.Mul64(2*a.row, m+uint64(i+1))
	return wide{hi, lo}
}

// coin is true with probability odds/most, exactly.
func coin(s *Source, odds, most wide) bool {
	u := uniform(s, most)
	return u.hi < odds.hi || u.hi == odds.hi && u.lo < odds.lo
}

// uniform is uniform on [0, n). For n < 2^100 the first two words are enough but for one time in 2^28; that depends on
// n alone.
func uniform(s *Source, n wide) wide {
	for {
		u1, u0 := s.Uint64(), s.Uint64()
		if hi, lo, ok := uniform128(u1, u0, n.hi, n.lo); ok {
			return wide{hi, lo}
		}
	}
}

// uniformBox is uniform on [−h, h]; what lies beyond ±noiseLimit is set there.
func uniformBox(s *Source, h wide) int64 {
	u := uniform(s, h.width())
	lo, borrow := bits.Sub64(u.lo, h.lo, 0)
	hi, negative := bits.Sub64(u.hi, h.hi, borrow)
	if negative == 1 {
		lo, borrow = bits.Sub64(0, lo, 0)
		hi = -hi - borrow
	}
	if hi != 0 || lo > noiseLimit {
		lo = noiseLimit
	}
	return signed(lo, negative == 1)
}
