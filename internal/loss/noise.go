// Package loss says what noise costs at most, from how it is sampled and how far one unit can move what it is added to.
// It believes nobody: not the search that found the scale, and no bound that was claimed for it. The gate refuses
// whatever costs more than it is charged (docs/certify.md); the calibration of internal/mechanism searches with the
// same numbers.
//
//	noise.go                       noise of its own, at one distance
//	groups.go                      over all groups of a unit
//	weight.go, truncated.go,       conditioned on a set of values: sums of weights, enumeration or in closed form,
//	search.go                      and their supremum
//	rank.go                        quantiles, joint noise, partition selection
//	running.go                     one noise for all groups, for their running totals
//	gdp.go                         Gaussian differential privacy
//
// A cost is a Rényi divergence of an order above 1, in nats; order +Inf is the largest log-ratio, and GDP stands for
// the μ² of Gaussian differential privacy (gdp.go). Every number is rounded up by a bound on its error: functions of
// package math are taken to be off by 2⁻⁵¹ of their results. The proofs are in docs/mechanisms.md, section 19.
package loss

import "math"

// Law is the family of a noise.
type Law uint8

const (
	Laplace   Law = iota + 1 // g(d) = |d|
	Gaussian                 // g(d) = d²
	Staircase                // g(d) = ⌊(|d| + Period − Inner)/Period⌋
)

// Noise is on the integers: d has the weight exp(−Kappa·g(d)).
type Noise struct {
	Law           Law
	Kappa         float64
	Period, Inner float64 // Staircase: whole, 1 ≤ Inner ≤ Period ≤ 2⁵²
}

const (
	up           = 1 + 0x1p-46 // above the relative error of some dozen operations on numbers of one sign
	lnError      = 2e-14       // of the logarithm of a sum of weights, beside that of its size
	lnUlps       = 0x1p-50     // of the size of logarithms that are subtracted
	farthest     = 0x1p61      // where noise ends that is not conditioned on a set
	farExponent  = 128         // its weight there is at most exp(−farExponent) of all
	longestStair = float64(1 << 52)
)

// valid reports whether the sampler's noise is what it says: finite, with ends out of reach.
func (n Noise) valid() bool {
	stairs := n.Law != Staircase || n.Inner >= 1 && n.Inner <= n.Period && n.Period <= longestStair
	return n.Law >= Laplace && n.Law <= Staircase && n.Kappa > 0 && !math.IsInf(n.Kappa, 1) && stairs
}

// endsTooSoon reports whether noise of its own is so wide that values could be told apart by where it ends.
func (n Noise) endsTooSoon() bool {
	switch n.Law {
	case Laplace:
		return n.Kappa*farthest < farExponent
	case Gaussian:
		return n.Kappa*farthest*farthest < farExponent
	}
	return n.Kappa*math.Floor((farthest+n.Period-n.Inner)/n.Period) < farExponent
}

// Response is the divergence of randomised response with a largest log-ratio of eps, which no other of that log-ratio
// exceeds (Bun and Steinke 2016, lemma 14): ln[(e^{αε} + e^{(1−α)ε})/(1+e^ε)]/(α−1). Where the quotient is near 1 it is
// 1 + a product, so that no digits cancel.
func Response(order, eps float64) float64 {
	switch {
	case math.IsInf(order, 1) || math.IsInf(eps, 1):
		return eps
	case !(eps > 0):
		return 0
	case order == GDP:
		return binary(eps)
	}
	ln := 0.0
	if order*eps < 1 {
		ln = math.Log1p(math.Expm1(order*eps) * -math.Expm1((1-order)*eps) / (1 + math.Exp(eps)))
	} else {
		ln = math.Log1p(math.Exp(-(2*order-1)*eps)) + order*eps - eps - math.Log1p(math.Exp(-eps))
	}
	return math.Min(eps, math.Max(0, ln/(order-1))*(1+1e-12))
}

// Plain bounds the divergence of values that are d steps apart, d whole, each with noise that nothing bounds. It grows
// with d.
func (n Noise) Plain(order, d float64) float64 {
	k := n.Kappa
	switch {
	case !(d > 0):
		return 0
	case n.Law == Gaussian && order == GDP:
		return square(d * n.mu())
	case n.Law == Gaussian: // Canonne, Kamath and Steinke 2020, proposition 5
		return order * k * d * d * up
	case n.Law == Staircase:
		return n.stair(order, d)
	case math.IsInf(order, 1) || order == GDP:
		return Response(order, k*d*up)
	}
	// Over the grid Σ p_s^α·p_t^{1−α} = (1−b)·exp((α−1)κd) + b·exp(−ακd).
	rise, fall := (order-1)*k*d, order*k*d
	q := math.Exp(-k)
	b := q * math.Expm1(-2*(order-1)*k) / math.Expm1(-(2*order-1)*k) / (1 + q)
	ln := rise*up + math.Log((1-b)*up+b*math.Exp(-rise-fall))
	if rise < 1 { // terms of first order cancel
		more, less := (1-b)*math.Expm1(rise), -b*math.Expm1(-fall)
		ln = math.Log1p(more*up - less/up)
	}
	return math.Min(Response(order, k*d*up), math.Max(0, ln)/(order-1)*up)
}

// stair bounds the divergence of staircase noise: for one stair it is exact, ln(1 + A·(e^u−1)(1−e^{−κ−u}))/(α−1) with u
// = (α−1)κ and A(1−e^{−κ}) the total variation, which is the probability of −d/2 ≤ x < d/2: there the stairs are 0 and
// 1.
func (n Noise) stair(order, d float64) float64 {
	k, stairs := n.Kappa, math.Ceil(d/n.Period)
	known := Response(order, stairs*k*up)
	if stairs > 1 || math.IsInf(order, 1) || order == GDP {
		return known
	}
	flat := math.Min(math.Floor(d/2), n.Inner-1) + math.Min(math.Ceil(d/2)-1, n.Inner-1) + 1 // points of the first stair
	variation := (flat + (d-flat)*math.Exp(-k)) / (2*n.Inner - 1 + 2*n.Period/math.Expm1(k))
	u := (order - 1) * k
	f := math.Min(1, variation/-math.Expm1(-k)) * math.Expm1(u) * -math.Expm1(-k-u)
	if math.IsInf(f, 1) {
		return known
	}
	return math.Min(known, math.Log1p(f*up)/(order-1)*up)
}

// Tail bounds the probability that noise reaches m ≥ 0.
func (n Noise) Tail(m float64) float64 {
	return math.Exp(n.run(m, math.Inf(1)).ln()-n.all().ln()) * (1 + 1e-9)
}
