package study

import "math"

// lambertW is the real Lambert W function of x ≥ −1/e: the w with w·e^w = x, on the principal branch (w ≥ −1) or, for
// x < 0, on the branch −1 (w ≤ −1). NaN where the branch has no real value.
func lambertW(x float64, branch int) float64 {
	if x < -1/math.E {
		if x > -1/math.E*(1+1e-12) {
			return -1 // rounding at the branch point
		}
		return math.NaN()
	}
	if branch == -1 && x >= 0 {
		return math.NaN()
	}
	// Both branches are monotone: bisect on a bracket. It is a study, not an inner loop.
	lo, hi := -1.0, math.Max(1, math.Log1p(x)+1)
	if branch == -1 {
		lo, hi = math.Min(-2, 2*math.Log(-x)-2), -1
	}
	for range 200 {
		mid := (lo + hi) / 2
		if above := mid*math.Exp(mid) > x; above == (branch == 0) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return (lo + hi) / 2
}
