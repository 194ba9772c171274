package mechanism

import (
	"fmt"
	"math"
)

// Candidate is one way to make a release: a row of the table that `explain` and `dpproxy mechanism table` show.
type Candidate struct {
	Noise       Noise       `json:"noise"`
	Bounding    Bounding    `json:"bounding"`
	Guarantee   string      `json:"guarantee"` // "pure" or "rdp": what the scale is calibrated for
	Calibration Calibration `json:"calibration"`
	Scale       float64     `json:"scale"`        // λ or σ, in grid steps
	Loss        float64     `json:"loss"`         // the exact ε of one group's release at its δ, as sampled
	RMSEAverage float64     `json:"rmse_average"` // grid steps, over a uniform true value
	RMSEWorst   float64     `json:"rmse_worst"`   // at the worst true value
	Chosen      bool        `json:"chosen"`
	Joint       bool        `json:"joint,omitempty"` // one Gaussian on the box of several releases

	design
	curve func() Curve
	loss  func() float64 // fills in Loss: for display, and dearer than the calibration itself; nil: Loss is known
}

// shown is the candidate with its Loss.
func (c Candidate) shown() Candidate {
	if c.loss != nil {
		c.Loss = c.loss()
	}
	return c
}

// Uses says how many such releases fit into a budget of epsilon at delta, with every order of the curve as the ledger
// sees it; the share of the budget that one takes is 1/Uses.
func (c Candidate) Uses(epsilon, delta float64) int {
	if c.curve == nil {
		return 0
	}
	curve := c.curve()
	most := 0
	if curve.Pure > 0 {
		most = int(math.Min(1e6, epsilon/curve.Pure*(1+1e-9)))
	}
	for i, r := range curve.Renyi {
		if room := epsilon - EpsilonAt(Orders[i], 0, delta); delta > 0 && room > 0 && r > 0 {
			// The conversion is affine in R where it is positive.
			room = epsilon - (EpsilonAt(Orders[i], 1e3, delta) - 1e3)
			most = max(most, int(math.Min(1e6, room/r)))
		}
	}
	return most
}

// task is a scalar or chained release reduced to what calibration needs, for one group.
type task struct {
	v       Range // closed; for chained releases and open ends a finite substitute
	delta   float64
	g       Guarantee // per group
	groups  int
	total   Guarantee
	open    bool // no finite range to calibrate on: one end is open, or the range follows from a count
	endless bool // both ends open
}

func (t task) pure() bool { return t.g.Delta == 0 }

// admissible says why a mechanism cannot be used for this task; nil if it can.
func (t task) admissible(noise Noise, b Bounding, c Calibration) error {
	switch {
	case noise != Laplace && noise != Gaussian:
		return fmt.Errorf("noise %q is unknown: use laplace or gaussian", noise)
	case b != Truncate && b != Fold && b != Denoise && b != Clamp:
		return fmt.Errorf("bounding %q is unknown: use truncate, fold, denoise or clamp", b)
	case c != Tight && c != Paper:
		return fmt.Errorf("calibration %q is unknown: use tight or paper", c)
	case noise == Gaussian && b != Truncate && t.pure():
		return fmt.Errorf("gaussian noise with %s has no pure epsilon: use truncate, laplace noise, or accounting with a delta", b)
	case noise == Gaussian && t.pure() && t.open:
		return fmt.Errorf("gaussian noise has a pure epsilon on a fixed finite range only: use laplace noise")
	case b == Denoise && t.open:
		return fmt.Errorf("denoise needs a fixed finite range: use fold or truncate")
	case b == Denoise && t.v.hull().span() > 1<<52:
		return fmt.Errorf("denoise needs a range of at most 2^52 grid steps: use a coarser grid, fold or truncate")
	case b == Truncate && t.endless:
		return fmt.Errorf("there is no bound to truncate at: use fold")
	case c == Paper && b != Truncate:
		return fmt.Errorf("the papers calibrate truncation only, not %s: use calibration tight", b)
	}
	return nil
}

// candidate calibrates one mechanism and computes its error.
func (t task) candidate(noise Noise, b Bounding, c Calibration) (Candidate, error) {
	if err := t.admissible(noise, b, c); err != nil {
		return Candidate{}, err
	}
	d := design{bounding: b, v: t.v}
	out := Candidate{Noise: noise, Bounding: b, Guarantee: "pure", Calibration: c}
	if !t.pure() {
		out.Guarantee = "rdp"
	}
	kappa := t.kappa(noise, b)
	if c == Paper && kappa < maxKappa { // a one-point range has nothing to calibrate
		kappa = math.Min(kappa, t.paperKappa(noise))
	}
	d.kernel = newKernel(noise, kappa)
	if noise == Gaussian && b == Truncate && len(t.v) > 1 && !d.gapReachable() {
		return Candidate{}, fmt.Errorf("gaussian noise cannot cross a gap of that width: use laplace noise or fold")
	}
	out.design, out.Scale = d, d.scale()
	out.loss = func() float64 { return t.loss(d, c) }
	if t.open {
		out.RMSEAverage = d.openErrors()
		out.RMSEWorst = out.RMSEAverage
	} else {
		out.RMSEAverage, out.RMSEWorst = d.errors()
	}
	out.curve = func() Curve { return t.curve(d) }
	return out, nil
}

// kappa is the tight κ.
func (t task) kappa(noise Noise, b Bounding) float64 {
	c := math.Min(t.delta, float64(t.v.hull().span()))
	if c <= 0 {
		return maxKappa
	}
	switch {
	case noise == Laplace && b == Truncate && t.open:
		return openKappa(t.delta, t.g.Epsilon)
	case b == Truncate && (noise == Laplace || t.pure()):
		return pureKappa(noise, t.v, t.delta, t.g.Epsilon)
	case noise == Laplace:
		return plainKappa(c, t.g.Epsilon)
	case b == Truncate && !t.open:
		// The search over positions is certified, not exact: on ranges short against the sensitivity's noise the pure
		// calibration, which is (ε, δ)-DP for every δ, may be the better bound.
		kappa := profileKappa(c, t.g, func(n kernel) float64 { return n.truncatedProfile(t.v, t.delta, t.g.Epsilon) })
		return math.Max(kappa, pureKappa(noise, t.v, t.delta, t.g.Epsilon))
	}
	return profileKappa(c, t.g, func(n kernel) float64 { return n.plainProfile(c, t.g.Epsilon) })
}

// loss is the exact ε of the release in one group at its δ; an upper bound (the guarantee itself) where the range is not
// fixed.
func (t task) loss(d design, calibration Calibration) float64 {
	c := math.Min(t.delta, float64(t.v.hull().span()))
	switch {
	case c <= 0:
		return 0
	case t.pure():
		return t.pureLossOf(d, c)
	case d.noise == Gaussian && calibration == Tight:
		return t.g.Epsilon // calibrated on this very profile
	}
	profile := func(eps float64) float64 { return d.plainProfile(c, eps) }
	if d.bounding == Truncate && !t.open {
		profile = func(eps float64) float64 { return d.truncatedProfile(t.v, t.delta, eps) }
	}
	lo, hi := 0.0, t.g.Epsilon
	if d.noise == Laplace {
		hi = t.pureLossOf(d, c)
	}
	for range 24 {
		if mid := (lo + hi) / 2; profile(mid) <= t.g.Delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// pureLossOf is the pure ε of Laplace noise, or of Gaussian noise truncated to a fixed range.
func (t task) pureLossOf(d design, c float64) float64 {
	switch {
	case d.bounding == Truncate && !t.open:
		return d.pureLoss(t.v, t.delta)
	case d.bounding == Truncate:
		return d.kappa*c + math.Log1p(math.Exp(-d.kappa)*-math.Expm1(-d.kappa*c))
	}
	return d.kappa * c
}

// curve is what the release costs over all its groups (for a range that follows from a count, the supremum
// over all of them: docs/mechanisms.md, section 11).
func (t task) curve(d design) Curve {
	c := math.Min(t.delta, float64(t.v.hull().span()))
	if c <= 0 {
		return Curve{}
	}
	one := Curve{Pure: math.Inf(1), Renyi: make([]float64, len(Orders))}
	if d.noise == Laplace || t.pure() {
		one.Pure = t.g.Epsilon
	} else if d.bounding == Truncate && !t.open {
		one.Pure = d.pureLoss(t.v, t.delta) * (1 + renyiSlack)
	}
	for i, a := range Orders {
		switch {
		case d.bounding == Truncate && t.pure():
			// Pure accounting adds up Pure alone: no search for a curve that nobody reads.
			one.Renyi[i] = pureRenyi(a, one.Pure)
		case d.bounding == Truncate && !t.open:
			one.Renyi[i] = d.truncatedRenyi(t.v, a, t.delta, one.Pure)
		case d.bounding == Truncate && d.noise == Laplace:
			one.Renyi[i] = pureRenyi(a, one.Pure)
		default:
			one.Renyi[i] = d.plainRenyi(a, c)
		}
	}
	all := one.Times(t.groups)
	if d.noise == Laplace || t.pure() {
		all.Pure = t.total.Epsilon // C·(ε/C) without its rounding
	}
	return all
}

// gapReachable says whether the sampler's 44-bit envelopes resolve the weights on the far side of every gap.
func (d design) gapReachable() bool {
	for i := 1; i < len(d.v); i++ {
		half := float64(d.v[i].Lo-d.v[i-1].Hi) / 2
		if d.kappa*half*half > 16 {
			return false
		}
	}
	return true
}
