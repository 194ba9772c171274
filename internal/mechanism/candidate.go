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
	Scale       float64     `json:"scale"` // λ or σ, in grid steps; the mean length of Cells
	// what the guarantee bounds, over all groups: the exact ε or divergence, as sampled
	Loss        float64 `json:"loss"`
	RMSEAverage float64 `json:"rmse_average"` // grid steps, over a uniform true value
	RMSEWorst   float64 `json:"rmse_worst"`   // at the worst true value
	Chosen      bool    `json:"chosen"`
	Joint       bool    `json:"joint,omitempty"` // one noise for several numbers: on a box, or a Cube

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

// admissible says why a mechanism cannot be used for this task; nil if it can.
func (t task) admissible(noise Noise, b Bounding, c Calibration) error {
	switch {
	case noise != Laplace && noise != Gaussian && noise != Staircase:
		return fmt.Errorf("noise %q is unknown: use laplace, gaussian or staircase", noise)
	case b != Truncate && b != Fold && b != Denoise && b != Clamp && b != Cells:
		return fmt.Errorf("bounding %q is unknown: use truncate, fold, denoise, clamp or cells", b)
	case c != Tight && c != Paper:
		return fmt.Errorf("calibration %q is unknown: use tight or paper", c)
	case noise == Gaussian && t.g.pure() && t.open:
		return fmt.Errorf("gaussian noise has a pure epsilon on a fixed finite range only: use laplace noise")
	case noise == Gaussian && b != Truncate && t.g.pure():
		return fmt.Errorf(
			"gaussian noise with %s has no pure epsilon: use truncate, laplace noise, or accounting with a delta", b)
	case b == Denoise && t.open:
		return fmt.Errorf("denoise needs a fixed finite range: use fold or truncate")
	case b == Denoise && t.v.hull().span() > 1<<52:
		return fmt.Errorf("denoise needs a range of at most 2^52 grid steps: use a coarser grid, fold or truncate")
	case b == Truncate && t.endless:
		return fmt.Errorf("there is no bound to truncate at: use fold")
	case b == Truncate && !t.g.atOrder() && t.g.Epsilon < minEps*t.most():
		return fmt.Errorf("truncation over %g groups leaves epsilon %g each: the least that can be calibrated is %g",
			t.most(), t.g.Epsilon/t.most(), minEps)
	case c == Paper && b != Truncate:
		return fmt.Errorf("the papers calibrate truncation only, not %s: use calibration tight", b)
	case b == Cells:
		return t.cellsAdmissible(noise)
	case noise == Staircase:
		return t.stairsAdmissible(b)
	}
	return nil
}

// farExponent: noise that is bounded afterwards is drawn only where its weight beyond the sampler's support
// (everywhere) is at most exp(−farExponent) of all. With more, values near that end would tell neighbours apart.
const farExponent = 128

// candidate calibrates one mechanism and computes its error.
func (t task) candidate(noise Noise, b Bounding, c Calibration) (Candidate, error) {
	if err := t.admissible(noise, b, c); err != nil {
		return Candidate{}, err
	}
	kappa := t.kappa(noise, b)
	if c == Paper && kappa < maxKappa { // a one-point range has nothing to calibrate
		kappa = math.Min(kappa, t.paperKappa(noise))
	}
	if b == Cells && kappa < minStair {
		return Candidate{}, fmt.Errorf("cells of epsilon %.3g in one group tell next to nothing: use denoise", kappa)
	}
	return t.at(t.kernel(noise, b, kappa), b, c)
}

// at is the mechanism with that noise, and its error.
func (t task) at(n kernel, b Bounding, c Calibration) (Candidate, error) {
	noise, d := n.noise, design{kernel: n, bounding: b, v: t.v}
	out := Candidate{Noise: noise, Bounding: b, Guarantee: "pure", Calibration: c}
	if !t.g.pure() {
		out.Guarantee = "rdp"
	}
	if b != Truncate && d.kernel.log(2*limit) > -farExponent {
		return Candidate{},
			fmt.Errorf(
				"%s noise of scale %.3g is too wide to %s: its sampler ends at 2^61 grid steps: use a coarser grid or a larger epsilon", noise, d.scale(), b)
	}
	if noise == Gaussian && b == Truncate && len(t.v) > 1 && !d.gapReachable() {
		return Candidate{}, fmt.Errorf("gaussian noise cannot cross a gap of that width: use laplace noise or fold")
	}
	out.Scale = d.scale()
	if b == Cells {
		d.cells = t.cellPartition(n)
		out.Scale = float64(t.v.hull().span()+1) / float64(len(d.cells.point))
	}
	out.design = d
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

// loss is what the guarantee bounds, as found: the pure ε or the divergence of its order over all groups; with a δ, the
// exact ε of one group, K times. It is an upper bound where the range is not fixed.
func (t task) loss(d design, calibration Calibration) float64 {
	switch {
	case t.step() <= 0:
		return 0
	case t.g.atOrder():
		return t.renyi(d.kernel, d.bounding, t.g.Order)
	case t.g.pure():
		return t.pureLoss(d.kernel, d.bounding)
	case d.noise == Gaussian && calibration == Tight:
		return t.g.Epsilon // calibrated on this very profile
	}
	lo, hi := 0.0, t.g.Epsilon
	if d.noise != Gaussian {
		hi = t.pureLoss(d.kernel, d.bounding)
	}
	for range 24 {
		if mid := (lo + hi) / 2; t.profile(d.kernel, d.bounding, mid/t.groups) <= t.g.Delta/t.groups {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
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
