package loss

import "math"

// GDP stands in the place of an order for Gaussian differential privacy (Dong, Roth and Su 2022): the cost is μ², where
// no test tells neighbouring data apart better than one can tell N(0, 1) from N(μ, 1). Over draws these add up, as
// divergences do. The proofs are in docs/mechanisms.md, section 20.
const GDP = -1

// binary is the μ² of randomised response with a largest log-ratio of eps, which no other of that log-ratio exceeds:
// 4Φ⁻¹(e^ε/(1+e^ε))². It is star-shaped, and at most 8ε.
func binary(eps float64) float64 {
	const far = 12 // beyond, the hyperbolic tangent is too near 1
	if eps > far {
		return 8 * eps * up
	}
	x := math.Sqrt2 * math.Erfinv(math.Tanh(eps/2))
	return math.Min(8*eps, 4*x*x*(1+muError))
}

// muError bounds the relative error of a μ.
const muError = 1e-9

// mu bounds the μ of values that are a step apart, each with Gaussian noise that nothing bounds. Those further apart
// have as many times that.
func (n Noise) mu() float64 {
	if n.Kappa < fewestKappa {
		return n.smoothed()
	}
	return math.Min(n.enumerated(), n.smoothed())
}

const (
	fewestKappa = .023 // noise that is wider is not enumerated: a scale of 4.66
	farQuantile = 35.  // and none beyond this quantile, so that no number underflows
)

// smoothed is mu for Gaussian noise that nothing bounds, or that is conditioned on a run of integers: it follows from
// Gaussian noise of variance σ² − v, on the line, whose density is multiplied by that of a narrow one on the integers,
// of variance v (proposition 20).
func (n Noise) smoothed() float64 {
	const c = 2 * math.Pi * math.Pi
	variance := 1 / (2 * n.Kappa)
	if variance < 1 {
		return math.Inf(1)
	}
	q := 1 / (4 * c * c * variance * variance)
	left, bend := variance+math.Log(q)/c, 4*c*q/(1-3*q)
	return math.Sqrt(1/(left*(1-bend*left))) * (1 + muError)
}

// conditioned is Plain for Gaussian noise that may be conditioned on a run of integers.
func (n Noise) conditioned(order, d float64) float64 {
	if order == GDP {
		return square(d * n.smoothed())
	}
	return n.Plain(order, d)
}

func square(mu float64) float64 { return mu * mu * up }

// enumerated is the largest difference of neighbouring normal quantiles of Gaussian noise that nothing bounds:
// proposition 20 says from where on none is larger. +Inf where that is too far away.
func (n Noise) enumerated() float64 {
	k, last := n.Kappa, int(math.Ceil(37/math.Sqrt(2*n.Kappa)))+1
	above := make([]float64, last+1) // the weight of all beyond
	for z := last; z > 0; z-- {
		above[z-1] = above[z] + math.Exp(-k*float64(z)*float64(z))
	}
	all := 1 + 2*above[0]
	x := quantile(above[0]/all, .5*math.Sqrt(2*k))
	most := 2 * x * (1 + muError)
	for z := 1; z < last && x < farQuantile; z++ {
		fall, least := k*float64(2*z+1), 2*k/most
		if most*x+most*most/2 >= fall+math.Log1p(math.Exp(-fall)) && x+1/x+least/2 <= most*(float64(z)+.5) {
			return most
		}
		next := quantile(above[z]/all, x+most)
		most, x = math.Max(most, (next-x)*(1+muError)), next
	}
	return math.Inf(1)
}

// quantile is where a standard normal tail is p < ½, by Newton's method for its logarithm from near it.
func quantile(p, x float64) float64 {
	for range 60 {
		tail := math.Erfc(x/math.Sqrt2) / 2
		step := math.Log(tail/p) * tail * math.Sqrt(2*math.Pi) * math.Exp(x*x/2)
		if x += step; math.Abs(step) < 1e-12 {
			break
		}
	}
	return x
}
