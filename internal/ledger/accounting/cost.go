package accounting

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// pureTolerance bounds, relatively, how far a curve's pure ε may exceed the ε that pure accounting charges for the
// statement. It allows for the rounding of adding up the shares of at most some thousand releases.
const pureTolerance = 1e-12

// cost converts a charge into exact sums, or says why it is invalid. Nothing rounds to 0: every part is rounded up, and
// an ε below one unit (10⁻¹⁸) is refused.
func cost(c ledger.Charge, method policy.Method) (sums, error) {
	if !(c.Epsilon >= 1e-18) || math.IsInf(c.Epsilon, 0) {
		return sums{}, fmt.Errorf("epsilon %v of a charge is not a number of at least 1e-18", c.Epsilon)
	}
	if !(c.SelectionDelta >= 0 && c.SelectionDelta < 1) {
		return sums{}, fmt.Errorf("selection delta %v of a charge is not in [0, 1)", c.SelectionDelta)
	}
	curve, err := complete(c.Curve, c.Epsilon)
	if err != nil {
		return sums{}, err
	}
	out := sums{selection: decimal(c.SelectionDelta, deltaDigits), renyi: make([]Amount, len(curve.Renyi))}
	for i, d := range curve.Renyi {
		out.renyi[i] = ceil(float64(roundUp(d)))
	}
	switch {
	case method != policy.Pure:
		out.pure = decimal(curve.Pure, epsilonDigits)
	case curve.Pure > c.Epsilon*(1+pureTolerance):
		return sums{}, fmt.Errorf("a curve with pure epsilon %v is charged as epsilon %v", curve.Pure, c.Epsilon)
	default:
		out.pure = decimal(c.Epsilon, epsilonDigits)
	}
	return out, nil
}

// complete checks a curve and fills in what it leaves out. A curve that costs nothing (a range of one value) is charged
// as ε-DP. One without Rényi divergences gets the bounds that follow from its pure ε.
func complete(c mechanism.Curve, epsilon float64) (mechanism.Curve, error) {
	if math.IsNaN(c.Pure) || c.Pure < 0 {
		return c, fmt.Errorf("pure epsilon %v of a curve is not a number ≥ 0", c.Pure)
	}
	if c.Renyi == nil && math.IsInf(c.Pure, 1) {
		return c, errors.New("a curve is unbounded at every order")
	}
	if c.Renyi != nil && len(c.Renyi) != len(mechanism.Orders) {
		return c, fmt.Errorf("a curve has %d orders, not %d", len(c.Renyi), len(mechanism.Orders))
	}
	largest := c.Pure
	for i, d := range c.Renyi {
		if math.IsNaN(d) || d < 0 {
			return c, fmt.Errorf("divergence %v at order %v of a curve is not a number ≥ 0", d, mechanism.Orders[i])
		}
		largest = max(largest, d)
	}
	switch {
	case largest == 0:
		return mechanism.PureCurve(epsilon), nil
	case c.Renyi == nil:
		return mechanism.PureCurve(c.Pure), nil
	}
	return c, nil
}
