package mechanism

import "math"

// threshold keeps a group if its number of units plus discrete Gaussian noise reaches tau: a group with one unit with
// probability at most δ, and none without units.
type threshold struct {
	kernel
	tau     int64
	sampler *sampler
}

// newThreshold finds the least tau with P(noise ≥ tau − 1) ≤ delta.
func newThreshold(n kernel, delta float64) *threshold {
	enough := leastInteger(math.Ceil(n.reach()), func(m float64) bool { return n.tail(m) <= delta*(1-1e-9) })
	return &threshold{kernel: n, tau: int64(enough) + 1, sampler: newSampler(n)}
}

// tail bounds P(noise ≥ m), m ≥ 0, from above.
func (n kernel) tail(m float64) float64 {
	far := math.Ceil(n.reach())
	return math.Exp(n.sums(m, far+1).log()-math.Log(2*n.sums(0, far+1).m0-1)) * (1 + 1e-9)
}

// keep consumes as many words for every number of units.
func (t *threshold) keep(src *Source, units int64) bool {
	noise := signed(t.sampler.draw(src, &t.sampler.plain))
	return units > 0 && noise >= t.tau-units
}

func (t *threshold) thresholds() (half, always int64) {
	reach := leastInteger(math.Ceil(t.reach()), func(m float64) bool { return t.tail(m+1) <= 1e-9 })
	return t.tau, t.tau + int64(reach)
}

// curve is that of the noise in every group; no pure ε bounds it.
func (t *threshold) curve(groups float64) Curve {
	c := Curve{Pure: math.Inf(1), Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = groups * t.plainRenyi(a, 1)
	}
	return c
}
