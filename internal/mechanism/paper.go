package mechanism

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// paperKappa is the κ of the paper that describes truncation with this noise, on the continuum that the grid stands
// for. Prepare never uses less noise than the tight calibration of the grid (docs/mechanisms.md says where that
// matters). The papers know one group: several share the guarantee.
func (t task) paperKappa(noise Noise) float64 {
	g, parts := t.g, t.parts()
	if g.Order == GDP {
		return maxKappa // no paper says: it is that of the tight calibration
	}
	if g.atOrder() && noise == Gaussian {
		return g.Epsilon / (g.Order * t.delta * t.delta * parts) // Fu et al., theorem 3.1: αΔ²/2σ²
	}
	if g.atOrder() { // Croft et al. know ε alone: the largest at which every mechanism keeps the divergence
		g.Epsilon = epsilonAt(func(eps float64) float64 { return loss.Response(g.Order, eps) }, 1, g.Epsilon/parts)
	} else {
		g.Epsilon, g.Delta = g.Epsilon/parts, g.Delta/parts
	}
	if noise == Laplace {
		return 1 / CroftScale(t.v, t.delta, g.Epsilon)
	}
	if span := float64(t.v.hull().span()); g.pure() {
		return kappaOf(Gaussian, math.Sqrt(ChenHaleVariance(span, math.Min(t.delta, span), g.Epsilon)))
	}
	return kappaOf(Gaussian, FuGaussianSigma(g)*t.delta)
}

// ChenHaleVariance is Algorithm 1 of Chen and Hale: the fixed point of (2.3), σ² = [(b−a) + Δ/2]Δ/(ε − ln ΔC(σ)), for a
// range of length l.
func ChenHaleVariance(l, delta, eps float64) float64 {
	return chenHale((l+delta/2)*delta, eps, func(sigma float64) float64 {
		// Lemma 2.3: ΔC = C(a)/C(a + min(Δ, L/2)).
		return lnNormalMass(l, math.Min(delta, l/2), sigma) - lnNormalMass(l, 0, sigma)
	})
}

// chenHale is the bisection of both algorithms, from σ₀² of (2.5) and (3.6) to the bound that it gives.
func chenHale(numerator, eps float64, lnC func(sigma float64) float64) float64 {
	bound := func(v float64) float64 { return numerator / (eps - lnC(math.Sqrt(v))) }
	left := numerator / eps
	right := bound(left)
	for size := 2 * right; size > right-left; {
		size = right - left
		mid := (left + right) / 2
		if b := bound(mid); b >= mid {
			left = mid
		} else {
			right = mid
		}
	}
	return right
}

// lnNormalMass is ln ∫_0^l exp(−(x−s)²/2σ²) dx.
func lnNormalMass(l, s, sigma float64) float64 {
	r := sigma * math.Sqrt2
	return math.Log(math.Erf((l-s)/r)+math.Erf(s/r)) + math.Log(sigma*math.Sqrt(math.Pi/2))
}

// FuGaussianSigma is the σ of Fu et al., theorem 3.1, in units of the sensitivity: the least for which α/2σ², converted
// by lemma 2.6 at the best order, gives (ε, δ).
func FuGaussianSigma(g Guarantee) float64 {
	lo, hi := 1e-9, 1e12
	for hi > lo*(1+1e-12) {
		sigma := math.Sqrt(lo * hi)
		best := math.Inf(1)
		for _, a := range RenyiOrders {
			best = math.Min(best, EpsilonAt(a, a/(2*sigma*sigma), g.Delta))
		}
		if best <= g.Epsilon {
			hi = sigma
		} else {
			lo = sigma
		}
	}
	return hi
}

// FuLaplaceRenyi is (6), the curve of Fu et al., theorem 4.1: the divergence of order a of the untruncated Laplace at
// distance mu. It is a bound for truncation in the theorem's three regimes only, none of which covers a range that
// holds its true values: for study, no scale is derived from it.
func FuLaplaceRenyi(a, mu, lambda float64) float64 {
	x := mu / lambda
	return ((a-1)*x + math.Log(a/(2*a-1)+(a-1)/(2*a-1)*math.Exp((1-2*a)*x))) / (a - 1)
}
