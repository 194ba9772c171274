package mechanism

import "math"

// A box is a product of intervals with one Gaussian of the same σ in every coordinate, truncated to it (Chen and Hale,
// definition 3.1). Coordinates are independent, so the log-ratio of a pair at distance c is Σ l_i(|c_i|) with
//
//	l(c) = κc(2L−c) + ln Z(a) − ln Z(a+c),
//
// the univariate loss, which is concave in c. Neighbours have ‖c‖₂ ≤ Δ, 0 ≤ c_i ≤ L_i.

// BoxLoss is the largest log-ratio of truncated Gaussian noise of variance variance on a box of the given side lengths
// (grid steps) for L2 sensitivity delta. It is computed from the dual, so it errs upwards.
func BoxLoss(lengths []float64, delta, variance float64) float64 {
	n := newKernel(Gaussian, 1/(2*variance))
	loss := func(i int, c float64) float64 {
		v := boxSide(lengths[i])
		return n.kappa*c*(2*lengths[i]-c) + n.lnRatio(v, 0, c)
	}
	slope := func(i int, c float64) float64 { return 2 * n.kappa * (lengths[i] - n.mean(boxSide(lengths[i]), c)) }
	_, dual := maximise(lengths, delta, loss, slope)
	return dual
}

// BoxVariance is the tight σ²: the least with BoxLoss ≤ ε.
func BoxVariance(lengths []float64, delta, eps float64) float64 {
	f := func(kappa float64) float64 { return BoxLoss(lengths, delta, 1/(2*kappa)) }
	diagonal := 0.0
	for _, l := range lengths {
		diagonal += l * l
	}
	lo := eps / (2 * delta * math.Sqrt(diagonal)) * (1 - 2e-9) // loss ≤ 2κ c·L ≤ 2κΔ‖L‖
	hi := 2 * lo
	for f(hi) <= target(eps) && hi < maxKappa {
		lo, hi = hi, 2*hi
	}
	return 1 / (2 * largest(f, lo, hi, target(eps)))
}

// ChenHaleBoxVariance is Algorithm 2 of Chen and Hale, with c* of problem (3.3) by one Lagrange multiplier.
func ChenHaleBoxVariance(lengths []float64, delta, eps float64) float64 {
	diagonal := 0.0
	for _, l := range lengths {
		diagonal += l * l
	}
	return chenHale((math.Sqrt(diagonal)+delta/2)*delta, eps, func(sigma float64) float64 {
		n := newKernel(Gaussian, 1/(2*sigma*sigma))
		lnC := func(i int, c float64) float64 { return -n.lnRatio(boxSide(lengths[i]), 0, c) }
		slope := func(i int, c float64) float64 { return 2 * n.kappa * (n.mean(boxSide(lengths[i]), c) - c) }
		best, _ := maximise(lengths, delta, lnC, slope)
		return best
	})
}

// GeneralisedGaussianVariance is the other column of their table 1: (2 Σ L_iΔ_i + Σ Δ_i²)/ε.
func GeneralisedGaussianVariance(lengths, deltas []float64, eps float64) float64 {
	sum := 0.0
	for i, l := range lengths {
		sum += 2*l*deltas[i] + deltas[i]*deltas[i]
	}
	return sum / eps
}

func boxSide(l float64) Range { return Range{{0, int64(math.Round(l))}} }

// mean is the mean of the released value when the noise is centred at s.
func (n kernel) mean(v Range, s float64) float64 {
	u := n.at(v, s)
	return s + u.m1/u.m0
}

// maximise finds max Σ f_i(c_i) over ‖c‖₂ ≤ delta, 0 ≤ c_i ≤ top_i, for concave f_i with derivatives slope: for a
// multiplier μ each coordinate maximises f_i(c) − μc², i.e. slope(c) = 2μc. It returns the value at the feasible point
// found and the dual bound Σ max(f_i − μc²) + μΔ², between which the maximum lies.
func maximise(top []float64, delta float64, f, slope func(i int, c float64) float64) (primal, dual float64) {
	c := make([]float64, len(top))
	solve := func(mu float64) (norm float64) {
		for i := range c {
			lo, hi := 0.0, math.Min(top[i], delta)
			if slope(i, hi) > 2*mu*hi {
				lo = hi
			}
			for hi-lo > 1e-11*hi {
				if mid := (lo + hi) / 2; slope(i, mid) > 2*mu*mid {
					lo = mid
				} else {
					hi = mid
				}
			}
			c[i] = (lo + hi) / 2
			norm += c[i] * c[i]
		}
		return math.Sqrt(norm)
	}
	mu := 0.0
	if solve(0) > delta {
		lo, hi := 0.0, slope(0, 0)/delta+1e-300
		for solve(hi) > delta {
			lo, hi = hi, 2*hi
		}
		for range 60 {
			if mid := (lo + hi) / 2; solve(mid) > delta {
				lo = mid
			} else {
				hi = mid
			}
			if hi-lo < 1e-12*hi {
				break
			}
		}
		mu = hi
		solve(mu)
	}
	for i := range c {
		v := f(i, c[i])
		primal += v
		dual += v - mu*c[i]*c[i]
	}
	return primal, dual + mu*delta*delta
}

// BoxErrors are the average and worst root mean squared error, in the L2 norm, of independent noise of one scale in
// every coordinate of a box.
func BoxErrors(noise Noise, b Bounding, scale float64, lengths []float64) (average, worst float64) {
	for _, l := range lengths {
		d := design{kernel: newKernel(noise, kappaOf(noise, scale)), bounding: b, v: boxSide(l)}
		a, w := d.errors()
		average += a * a
		worst += w * w
	}
	return math.Sqrt(average), math.Sqrt(worst)
}

// lnRatio is ln Z(s) − ln Z(t), where Z is the weight inside v as seen from a true value.
func (n kernel) lnRatio(v Range, s, t float64) float64 { return n.at(v, s).log() - n.at(v, t).log() }
