package mechanism

import (
	"cmp"
	"math"
	"slices"
)

// gaussianDelta is the δ at ε of telling N(0, 1) from N(μ, 1): Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018,
// theorem 8).
func gaussianDelta(mu, eps float64) float64 {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	return tail(eps/mu-mu/2) - math.Exp(eps)*tail(eps/mu+mu/2)
}

const (
	// gaussianMargin is the relative margin, on the private side, of what is converted from and to a μ. It covers what
	// cancels in gaussianDelta between leastMu and mostMu, and from leastDelta on.
	gaussianMargin  = 1e-8
	leastMu, mostMu = 1e-3, 20
	leastDelta      = 1e-30
)

// gaussianEpsilon is the ε that a μ² gives at δ: 0 where none is needed, +Inf where it is too large to say.
func gaussianEpsilon(square, delta float64) float64 {
	mu := math.Max(leastMu, math.Sqrt(square))
	switch {
	case square == 0:
		return 0
	case !(delta >= leastDelta) || !(mu <= mostMu):
		return math.Inf(1)
	}
	most := mu*mu/2 + mu*math.Sqrt(2*math.Log(1/delta)) // where Φ(μ/2 − ε/μ) alone is at most δ
	_, eps := bisect(most, func(eps float64) bool { return gaussianDelta(mu, eps) > delta*(1-gaussianMargin) })
	return eps
}

// SquareAt is the largest μ² that it finds to give ε at δ: the inverse of EpsilonAt for GDP. 0: none is known.
func SquareAt(eps, delta float64) float64 {
	if !(delta >= leastDelta) {
		return 0
	}
	mu, _ := bisect(mostMu, func(mu float64) bool { return gaussianDelta(mu, eps) <= delta*(1-gaussianMargin) })
	if mu < leastMu {
		return 0
	}
	return mu * mu * (1 - gaussianMargin)
}

// bisect finds two neighbouring numbers between 0 and most of which holds is true and false, as far as it is true below
// some number and false above.
func bisect(most float64, holds func(float64) bool) (low, high float64) {
	high = most
	for range 64 {
		if middle := (low + high) / 2; holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}

// leastError bounds the errors of the tests that Square counts from below: further out, sums of probabilities do not
// say where a normal quantile is.
const leastError = 1e-6

// Square enumerates μ² over all pairs at the given distances: the best test at every threshold of the log-ratio,
// against the one of N(0, 1) and N(μ, 1) with the same errors.
func (t Distribution) Square(distances []int) Worst {
	w, order := Worst{}, make([]int, len(t.Log))
	t.pairs(distances, func(s, u int) {
		p, q := t.Log[s], t.Log[u]
		for z := range order {
			order[z] = z
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[b]-q[b], p[a]-q[a]) })
		ofP, ofQ := 0.0, 0.0
		for _, z := range order {
			ofP, ofQ = ofP+math.Exp(p[z]), ofQ+math.Exp(q[z])
			if math.Min(ofP, ofQ) < leastError || math.Max(ofP, ofQ) > 1-leastError {
				continue
			}
			if mu := math.Sqrt2 * (math.Erfinv(2*ofP-1) - math.Erfinv(2*ofQ-1)); mu*mu > w.Value && mu > 0 {
				w = Worst{mu * mu, t.Lo + int64(s), t.Lo + int64(u), t.Lo + int64(z)}
			}
		}
	})
	return w
}
