package mechanism

import "math"

// Calibration errs on the private side: κ is the largest found with loss ≤ ε·(1 − epsMargin) − epsFloor, where the
// floor covers the absolute rounding of the logarithms that a loss is made of.
const (
	epsMargin = 1e-9
	epsFloor  = 1e-13
	minEps    = 1e-6            // smaller ε are refused: the floor would no longer be small against them
	minRenyi  = minEps * minEps // the least divergence

	renyiSlack = 1e-9 // the relative margin of divergences

	mostHalvings = 64 // of a first κ
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

// kappa is the tight κ.
func (t task) kappa(noise Noise, b Bounding) float64 {
	switch {
	case t.step() <= 0:
		return maxKappa
	case t.g.atOrder():
		return t.orderKappa(noise, b)
	case noise != Gaussian || t.g.pure():
		return t.pureKappa(noise, b)
	}
	// The search over positions is certified, not exact: on ranges short against the sensitivity's noise the pure
	// calibration, which is (ε, δ)-DP for every δ, may be the better bound.
	one := Guarantee{Epsilon: t.g.Epsilon / t.groups, Delta: t.g.Delta / t.groups}
	kappa := profileKappa(t.step(), one, func(n kernel) float64 { return t.profile(n, b, one.Epsilon) })
	if b == Truncate && !t.open {
		kappa = math.Max(kappa, t.pureKappa(noise, b))
	}
	return kappa
}

// profile is δ(ε) in one group.
func (t task) profile(n kernel, b Bounding, eps float64) float64 {
	switch {
	case b == Cells:
		return n.cellProfile(eps)
	case b == Truncate && !t.open:
		return n.truncatedProfile(t.v, t.delta, eps)
	}
	return n.plainProfile(t.step(), eps)
}

// pureKappa is the tight κ under ε-DP. Plain Laplace noise: κ·Σd = ε.
func (t task) pureKappa(noise Noise, b Bounding) float64 {
	want, all := target(t.g.Epsilon), t.parts()*t.step()
	switch {
	case noise == Staircase || b == Cells:
		return math.Min(maxKappa, want/t.stairs(b))
	case noise == Laplace && b != Truncate:
		return math.Min(maxKappa, want/all)
	}
	f := func(kappa float64) float64 { return t.pureLoss(newKernel(noise, kappa), b) }
	lo, hi := want/(2*all), want/all // κd ≤ loss ≤ 2κd, since |d ln Z/ds| ≤ κ
	if noise == Gaussian {
		lo /= float64(t.v.hull().span()) // loss ≤ 2κdL
		hi = 2 * lo
	}
	return rising(f, lo*(1-1e-11), hi, want)
}

// kernel is noise of that κ, with the period that suits the task.
func (t task) kernel(noise Noise, b Bounding, kappa float64) kernel {
	switch {
	case b == Cells && noise == Staircase:
		return response(kappa)
	case noise == Staircase:
		period, _ := t.stairPeriod()
		return newStaircaseKernel(kappa, uint64(math.Max(1, period)))
	}
	return newKernel(noise, kappa)
}

// orderKappa is the tight κ for a divergence at one order.
func (t task) orderKappa(noise Noise, b Bounding) float64 {
	a, want := t.g.Order, t.g.Epsilon*(1-epsMargin)
	f := func(kappa float64) float64 { return t.renyi(t.kernel(noise, b, kappa), b, t.g.Order) }
	// Plain Gaussian noise costs at most ακΣd², and a μ² of little more than at order 2. The divergence of a loss P is at
	// most P and αP²/2, and P ≤ 2κΣd.
	if a == GDP {
		a = 2
	}
	lo := want / (a * t.parts() * t.step() * t.step() * (1 + 2*renyiSlack))
	switch {
	case noise == Staircase || b == Cells:
		lo = math.Max(want, math.Sqrt(2*want/a)) / (2 * t.stairs(b))
	case noise == Laplace:
		lo = math.Max(want, math.Sqrt(2*want/a)) / (2 * t.parts() * t.step())
	}
	for i := 0; i < mostHalvings && f(lo) > want; i++ { // in vain where noise that wide ends too soon: task.at refuses it
		lo /= 2
	}
	return rising(f, lo, 2*lo, want)
}

// rising is largest with an upper end to be found: hi is doubled up to maxKappa.
func rising(f func(float64) float64, lo, hi, want float64) float64 {
	lo, hi = math.Min(lo, maxKappa), math.Min(hi, maxKappa)
	for hi < maxKappa && f(hi) <= want {
		lo, hi = hi, math.Min(2*hi, maxKappa)
	}
	return largest(f, lo, hi, want)
}

// epsilonAt is the largest ε that it finds at which a divergence that rises with ε, and is at most parts·ε, or a μ² of
// at most 8·parts·ε, is at most want.
func epsilonAt(f func(eps float64) float64, parts, want float64) float64 {
	lo := want / parts * (1 - 1e-12)
	if f(lo) > want {
		lo /= 8
	}
	hi := 2 * lo
	for hi < 1e12 && f(hi) <= want {
		lo, hi = hi, 2*hi
	}
	return largest(f, lo, hi, want)
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
	return rising(f, lo, 2*lo, want)
}
