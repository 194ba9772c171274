// Package optimum computes how little error ε-differential privacy permits on a short range, by linear programming:
// what the mechanisms of internal/mechanism are measured against (docs/mechanisms.md, section 12).
//
// Unknown are the probabilities P(z | x) of releasing z at the true value x, 0 ≤ x, z ≤ L. The sum of P(z | x)·(x−z)²
// is to be least, where Σ_z P(z | x) = 1 and P(z | x) ≤ e^ε·P(z | y) for |x−y| ≤ Δ. For a fixed z the last condition
// cuts out a cone, whose extreme rays are v(x) = e^{εk(x)} with whole k that differ by at most 1 within any distance Δ.
// A mechanism is therefore a sum of rays with weights ≥ 0, and only L+1 equations are left. The rays are too many to
// list; the one that helps most, given prices of the equations, is found by dynamic programming along x (price.go).
//
// Prices also prove a bound: no mechanism costs less than their sum, if no ray costs less than they pay for it. So the
// lower bound rests on neither the simplex method nor its rounding.
package optimum

import (
	"fmt"
	"math"
)

// Bounds are what is known of the least root mean squared error over all true values of [0, L]: Lower is proven, and
// Upper is what the linear programme has reached.
type Bounds struct{ Lower, Upper float64 }

// tolerance is the relative distance of the squared bounds at which the search ends.
const tolerance = 1e-3

// widest is the largest sensitivity: dynamic programming remembers as many values.
const widest = 16

// RMSE bounds the least average error on [0, length] at a sensitivity and a pure ε.
func RMSE(length, sensitivity int, epsilon float64) (Bounds, error) {
	sensitivity = min(sensitivity, length)
	if length < 1 || sensitivity < 1 || sensitivity > widest || !(epsilon > 0) {
		return Bounds{}, fmt.Errorf("optimum: length %d, sensitivity %d (1 to %d), epsilon %g", length, sensitivity, widest,
			epsilon)
	}
	p := pricer{length: length, window: sensitivity, up: math.Exp(epsilon)}
	m := newMaster(length)
	n, proven := float64(length+1), 0.0
	for range 1000 {
		m.solve()
		extra := 0.0
		for z := 0; z <= length/2; z++ { // the other outputs are mirror images
			if ray, cost := p.price(z, m.prices, 0); cost < 0 {
				m.add(ray, z)
				extra = math.Max(extra, p.extra(z, m.prices, ray, cost))
			}
		}
		// Σ P·(x−z)² ≥ Σ P·(prices[x] − extra) = Σ prices − n·extra.
		proven = math.Max(proven, m.worth()-n*extra)
		if reached := m.cost(); reached-proven <= tolerance*reached {
			return Bounds{math.Sqrt(proven / n), math.Sqrt(reached / n)}, nil
		}
	}
	return Bounds{}, fmt.Errorf("optimum: length %d, sensitivity %d, epsilon %g: between %g and %g after 1000 rounds",
		length, sensitivity, epsilon,
		math.Sqrt(proven/n), math.Sqrt(m.cost()/n))
}
