package mechanism

import "math"

// CroftScale is the uniform λ of Croft et al., theorem 2 and corollary 1, for a closed range: the largest of
// CroftBounds.
func CroftScale(v Range, delta, eps float64) float64 {
	worst := 0.0
	for _, b := range CroftBounds(v, delta, eps) {
		worst = math.Max(worst, b.Scale)
	}
	return worst
}

// CroftBound is one of the lower bounds on the scale of Croft et al.
type CroftBound struct {
	Lemma int     // 7: for one span; 9: across a gap
	At    float64 // the location, in grid steps: an end of a span; the right end of a gap
	Scale float64
}

// CroftBounds are their 3n+2 lower bounds, n the number of finite gaps, each found by bisection in (0, 2Δ/ε] (lemma
// 10). What is not in the range is a constraint; the outer two span to infinity. A grid interval [A, B] stands for
// [A−½, B+½].
func CroftBounds(v Range, delta, eps float64) (bounds []CroftBound) {
	top := 2 * delta / eps
	try := func(lemma int, at float64, ok func(lambda float64) bool) {
		lo, hi := 0.0, top
		for hi-lo > 1e-12*top {
			if mid := (lo + hi) / 2; ok(mid) {
				hi = mid
			} else {
				lo = mid
			}
		}
		bounds = append(bounds, CroftBound{lemma, at, hi})
	}
	for i, x := range v {
		a, b := float64(x.Lo)-.5, float64(x.Hi)+.5
		// Lemma 7, formula (60), at the right end of the span and, mirrored, at its left end.
		try(7, b, func(l float64) bool {
			left, right := constraintMass(v, b, l)
			return croftSlope(left, right, delta, l) <= eps
		})
		try(7, a, func(l float64) bool {
			left, right := constraintMass(v, a, l)
			return croftSlope(right, left, delta, l) <= eps
		})
		if i+1 < len(v) {
			// Lemma 9, formula (37), for the two ends of the gap.
			d1 := float64(v[i+1].Lo) - .5
			gap := d1 - b
			try(9, d1, func(l float64) bool {
				left, right := constraintMass(v, d1, l)
				s := -math.Expm1(-gap/l) / 2
				grow := gap / l
				mass := 1 - (math.Exp(grow)*(left-s) + right*math.Exp(-grow) + s)
				return math.Log(mass/(1-left-right))+grow <= eps*gap/delta
			})
		}
	}
	return bounds
}

// croftSlope is the left side of (60), Δ(2L₁−1)/(λ(L₁+R₁−1)).
func croftSlope(left, right, delta, lambda float64) float64 {
	return delta * (1 - 2*left) / (lambda * (1 - left - right))
}

// constraintMass is (4) and (5): the probability that untruncated Laplace noise around x puts on the constraints to the
// left and to the right of x, which is at the end of a span.
func constraintMass(v Range, x, lambda float64) (left, right float64) {
	at := func(d float64) float64 { return math.Exp(-d/lambda) / 2 }
	left, right = at(x-(float64(v[0].Lo)-.5)), at(float64(v[len(v)-1].Hi)+.5-x)
	for i := 1; i < len(v); i++ {
		lo, hi := float64(v[i-1].Hi)+.5, float64(v[i].Lo)-.5
		if hi <= x {
			left += at(x-hi) - at(x-lo)
		} else {
			right += at(lo-x) - at(hi-x)
		}
	}
	return left, right
}
