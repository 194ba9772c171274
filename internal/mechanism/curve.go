package mechanism

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// orderCount is the number of finite Rényi orders that a Curve holds.
const orderCount = 64

// GDP is the last of Orders: what stands there is no divergence, but the μ² of Gaussian differential privacy.
const GDP = loss.GDP

// Orders are those of every Curve, GDP the last. RenyiOrders are the others: α−1 is geometric from 0.05 to 10⁵−1. With
// a largest order of 64 no Gaussian below ε = 0.138 at δ = 1e-6 could be expressed, hence the long tail.
var (
	Orders      = orders()
	RenyiOrders = Orders[:orderCount]
)

func orders() []float64 {
	const first, last = 0.05, 1e5 - 1
	list := make([]float64, orderCount, orderCount+1)
	for i := range list {
		list[i] = 1 + first*math.Pow(last/first, float64(i)/(orderCount-1))
	}
	list[0], list[orderCount-1] = 1.05, 1e5
	return append(list, GDP)
}

// Curve is a bound on the Rényi divergence between the outputs on neighbouring databases, and on their μ², at Orders,
// and its limit at order ∞ (pure ε, may be +Inf). The zero Curve costs nothing.
type Curve struct {
	Pure  float64
	Renyi []float64 // nil: all zero; else one per Orders
}

// Add composes two releases: Rényi divergences of independent draws add, order by order (Mironov 2017, proposition 1),
// and so do their μ² (Dong, Roth and Su 2022, corollary 3.3).
func (c Curve) Add(d Curve) Curve {
	if c.Renyi == nil {
		return Curve{Pure: c.Pure + d.Pure, Renyi: append([]float64(nil), d.Renyi...)}
	}
	sum := Curve{Pure: c.Pure + d.Pure, Renyi: append([]float64(nil), c.Renyi...)}
	for i := range d.Renyi {
		sum.Renyi[i] += d.Renyi[i]
	}
	return sum
}

// Times composes k equal releases. k ≤ 0 costs nothing.
func (c Curve) Times(k int) Curve {
	if k <= 0 {
		return Curve{}
	}
	out := Curve{Pure: c.Pure * float64(k)}
	if c.Renyi != nil {
		out.Renyi = make([]float64, len(c.Renyi))
		for i, r := range c.Renyi {
			out.Renyi[i] = r * float64(k)
		}
	}
	return out
}

// Epsilon is the least ε that the curve gives at δ, over all orders; at δ = 0 it is Pure.
func (c Curve) Epsilon(delta float64) float64 {
	best := c.Pure
	if delta > 0 {
		for i, order := range Orders {
			r := 0.0
			if c.Renyi != nil {
				r = c.Renyi[i]
			}
			best = math.Min(best, EpsilonAt(order, r, delta))
		}
	}
	return math.Max(best, 0)
}

// EpsilonAt converts a Rényi divergence at one finite order > 1 to ε at δ: ε = R + ln((α−1)/α) − (ln δ + ln α)/(α−1)
// (Balle et al. 2020, theorem 21; lemma 2.6 of Fu et al.); and a μ² where the order is GDP. Never negative; +Inf where
// δ ≤ 0. At δ ≥ 1 it is 0.
func EpsilonAt(order, renyi, delta float64) float64 {
	switch {
	case delta >= 1:
		return 0
	case order == GDP:
		return gaussianEpsilon(renyi, delta)
	case !(delta > 0) || !(order > 1) || math.IsNaN(renyi):
		return math.Inf(1)
	}
	return math.Max(0, renyi+math.Log1p(-1/order)-(math.Log(delta)+math.Log(order))/(order-1))
}

// PureCurve bounds every ε-DP mechanism at once. The worst pair under ε-DP is randomised response.
func PureCurve(eps float64) Curve {
	if !(eps > 0) {
		return Curve{}
	}
	c := Curve{Pure: eps, Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = loss.Response(a, eps)
	}
	return c
}

// LaplaceCurve is what one release with Laplace noise of pure ε eps costs on the continuum, where the noise is Δ/eps
// wide: ln[α/(2α−1)·e^{(α−1)ε} + (α−1)/(2α−1)·e^{−αε}]/(α−1) (Mironov 2017, proposition 6). Nothing is released at this
// cost: the price of a statement is compared with it.
func LaplaceCurve(eps float64) Curve {
	if !(eps > 0) {
		return Curve{}
	}
	c := Curve{Pure: eps, Renyi: make([]float64, len(Orders))}
	for i, a := range RenyiOrders {
		near, far := a/(2*a-1), (a-1)/(2*a-1)
		// The terms of first order cancel: where they are small, so do the digits of a logarithm.
		x := math.Log1p(near*math.Expm1((a-1)*eps) + far*math.Expm1(-a*eps))
		if (a-1)*eps > 1 {
			x = (a-1)*eps + math.Log(near+far*math.Exp(-(2*a-1)*eps))
		}
		c.Renyi[i] = math.Min(eps, math.Max(0, x/(a-1)))
	}
	c.Renyi[orderCount] = loss.Response(GDP, eps)
	return c
}
