package mechanism

import "math"

// Calibration errs on the private side: κ is the largest found with loss ≤ ε·(1 − epsMargin) − epsFloor, where the floor
// covers the absolute rounding of the logarithms that a loss is made of.
const (
	epsMargin = 1e-9
	epsFloor  = 1e-13
	minEps    = 1e-6 // smaller ε are refused: the floor would no longer be small against them
)

func target(eps float64) float64 { return eps*(1-epsMargin) - epsFloor }

// largest returns the largest κ in [lo, hi] that it finds with f(κ) ≤ want, for a rising f with f(lo) ≤ want: regula
// falsi in log–log with bisection as a guard. The κ returned was itself tested.
func largest(f func(float64) float64, lo, hi, want float64) float64 {
	fhi := f(hi)
	if fhi <= want {
		return hi
	}
	flo := f(lo)
	for range 100 {
		if hi-lo <= 1e-11*lo {
			break
		}
		mid := math.Sqrt(lo * hi)
		if flo > 0 && !math.IsInf(fhi, 0) {
			// Where log f is a straight line; a hair to the left, so that the tested side is the one kept.
			w := math.Log(want/flo) / math.Log(fhi/flo)
			guess := lo * math.Pow(hi/lo, w) * (1 - 2e-13)
			if guess > lo*(1+1e-13) && guess < hi*(1-1e-13) {
				mid = guess
			}
		}
		old := hi - lo
		if fm := f(mid); fm <= want {
			if want-fm <= 1e-11*want {
				return mid
			}
			lo, flo = mid, fm
		} else {
			hi, fhi = mid, fm
		}
		if hi-lo > old/2 { // regula falsi creeps: bisect once
			mid = math.Sqrt(lo * hi)
			if fm := f(mid); fm <= want {
				lo, flo = mid, fm
			} else {
				hi, fhi = mid, fm
			}
		}
	}
	return lo
}

// pureKappa is the tight κ of truncation to v under ε-DP.
func pureKappa(noise Noise, v Range, delta, eps float64) float64 {
	span := float64(v.hull().span())
	c := math.Min(delta, span)
	if c <= 0 {
		return maxKappa
	}
	f := func(kappa float64) float64 { return newKernel(noise, kappa).pureLoss(v, delta) }
	if noise == Laplace {
		// κc ≤ loss ≤ 2κc, since |d ln Z/ds| ≤ κ.
		return largest(f, math.Min(maxKappa, eps/(2*c)*(1-2e-9)), math.Min(maxKappa, eps/c), target(eps))
	}
	lo := eps / (2 * c * span) * (1 - 2e-9) // loss ≤ 2κcL
	hi := 2 * lo
	for hi < maxKappa && f(hi) <= target(eps) {
		lo, hi = hi, 2*hi
	}
	return largest(f, math.Min(lo, maxKappa), math.Min(hi, maxKappa), target(eps))
}

// plainKappa is the κ of untruncated Laplace noise under ε-DP: κΔ = ε.
func plainKappa(delta, eps float64) float64 { return math.Min(maxKappa, target(eps)/delta) }

// openKappa is the κ of Laplace noise truncated at one bound: κΔ + ln(1 + q − q^{Δ+1}) ≤ ε with q = e^−κ, the limit of
// the finite ranges, whose loss rises with their length. On the continuum λ = Δ/ln((1+e^ε)/2).
func openKappa(delta, eps float64) float64 {
	f := func(k float64) float64 {
		q := math.Exp(-k)
		return k*delta + math.Log1p(q*-math.Expm1(-k*delta))
	}
	return largest(f, math.Min(maxKappa, eps/(2*delta)*(1-2e-9)), math.Min(maxKappa, eps/delta), target(eps))
}

// profileKappa is the tight κ of Gaussian noise under (ε, δ)-DP, on the exact profile: profile(κ) is δ(ε).
func profileKappa(delta float64, g Guarantee, profile func(kernel) float64) float64 {
	f := func(kappa float64) float64 { return profile(newKernel(Gaussian, kappa)) }
	want := g.Delta * (1 - 1e-6)
	// ακΔ² at the best order: κ = ε²/(4Δ²(ε + 2 ln 1/δ)) is always enough noise (Bun and Steinke 2016).
	lo := g.Epsilon * g.Epsilon / (4 * delta * delta * (g.Epsilon + 2*math.Log(1/g.Delta)))
	for f(lo) > want {
		lo /= 2
	}
	hi := 2 * lo
	for hi < maxKappa && f(hi) <= want {
		lo, hi = hi, 2*hi
	}
	if hi > maxKappa {
		hi = maxKappa
		if lo >= hi {
			return maxKappa
		}
	}
	return largest(f, lo, hi, want)
}
