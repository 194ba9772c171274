package mechanism

import "math"

// Noise is the distribution that is added to the exact value.
type Noise string

// Bounding keeps a noisy value inside its valid set.
type Bounding string

// Blurs says whether 0 may not be among what is released, so that no threshold may rest on it.
func (b Bounding) Blurs() bool { return b == Denoise || b == Cells }

// Calibration says whose scale is used for a noise, a bounding and a guarantee.
type Calibration string

const (
	Laplace   Noise = "laplace"
	Gaussian  Noise = "gaussian"
	Staircase Noise = "staircase"

	Truncate Bounding = "truncate" // condition on the valid set
	Fold     Bounding = "fold"     // reflect at the bounds
	Denoise  Bounding = "denoise"  // posterior mean under a uniform prior on the range
	Clamp    Bounding = "clamp"    // nearest valid value
	Cells    Bounding = "cells"    // of a short range: randomised response, with Staircase, or Laplace noise

	Tight Calibration = "tight"
	Paper Calibration = "paper"
)

// Choice is what a policy asks for. An empty field is chosen by expected error ("auto").
type Choice struct {
	Noise       Noise
	Bounding    Bounding
	Calibration Calibration // empty: tight
}

// Guarantee is what a release must satisfy over all groups of a unit: a Rényi divergence of at most Epsilon at the
// finite order Order, where that is set, or a μ² of at most Epsilon where Order is GDP; else ε-DP where Delta is 0,
// else (ε, δ)-DP. A Selection needs a Delta besides, whatever the rest is.
type Guarantee struct {
	Epsilon, Delta float64
	Order          float64
}

// atOrder says whether the guarantee is a divergence of a finite order.
func (g Guarantee) atOrder() bool { return g.Order == GDP || g.Order > 0 && !math.IsInf(g.Order, 1) }

// pure says whether it is ε-DP.
func (g Guarantee) pure() bool { return g.Delta == 0 && !g.atOrder() }

// Unbounded marks an open end of an Interval.
const (
	NoLower = -1 << 63
	NoUpper = 1<<63 - 1
)

// Interval is a closed interval of grid steps; NoLower and NoUpper leave an end open.
type Interval struct{ Lo, Hi int64 }

// Range is a public valid set: sorted, disjoint intervals of grid steps.
type Range []Interval

// Grid maps grid steps to real values: value = Origin + Step·z. It is for display only; no released value passes
// through it.
type Grid struct{ Origin, Step float64 }

// Kind selects how a release is measured and drawn.
type Kind string

const (
	Scalar Kind = "scalar" // one integer, range fixed by policy or type
	// a sum whose range follows from a count released before it (docs/mechanisms.md, section 11)
	SumGivenCount Kind = "chained"
	Quantile      Kind = "quantile"  // exponential mechanism on the grid of Range (docs/mechanisms.md, section 9)
	Selection     Kind = "selection" // (ε,δ) partition selection on the number of units (docs/mechanisms.md, section 10)
)

// Release describes one noisy answer before any data is read: the one object that ledger, explain, cache, NOTICE and
// margins read. All integers are grid steps.
type Release struct {
	Name        string // as the analyst would call it: "avg(cost)"
	Kind        Kind
	Range       Range
	Sensitivity int64 // Δ: how far one unit moves the exact value in one group
	Total       int64 // Δ₁: how far it moves the values of all groups together, Σ|·|; 0: Sensitivity in each of Groups
	Groups      int   // K: in how many groups one unit may be; the charge covers all of them
	Row         int64 // how far one row moves it, where Total is Row × the rows of a unit in the whole answer; else 0
	// releases of one layer (> 0, numbered over the statement) read disjoint rows: one unit's shares of their Totals add
	// up to 1; 0: alone
	Layer int
	// Selection: a unit adds the same number to each of its groups, whose square times their number is at most this
	// (docs/mechanisms.md, section 10); 0: it adds 1
	Squares int64 `json:",omitempty"`
	Weight  int   // share of the statement's ε, which a layer has once (docs/privacy.md P18)
	Choice  Choice
	Grid    Grid
	// decides which groups are shown: a denoised one reaches no threshold, and is never 0
	Decides bool `json:"-"`
	// 95% margin to keep, in place of a share of ε by Weight; 0 means that none is asked for
	Margin int64 `json:",omitempty"`

	// SumGivenCount: 95% margin to keep of what it is per row, in grid steps. It is chosen once the count is released; 0:
	// none is asked for.
	RowMargin float64 `json:",omitempty"`

	// SumGivenCount: the exact sum of n rows lies in [n·PerRow.Lo, n·PerRow.Hi]; CountRef is the index, in the block's
	// releases, of the count n̂ that fixes the range.
	PerRow   Interval
	CountRef int // of an End: that of the quantile

	// Scalar: the length of the runs of groups, or of the Chain, of which sums from the first on are asked for, and
	// nothing else; 0: of none
	Running int `json:",omitempty"`
	// Scalar: in a chain (> 0, numbered over the block) a release is the sum of the parts that are measured for its
	// members up to its Place, from 1 on; 0: it is in none
	Chain int `json:",omitempty"`
	Place int `json:",omitempty"`

	// Quantile: the fraction in [0,1]; 0 is min, 1 is max. Quantiles of one Family (> 0, numbered over the statement) are
	// of the same rows: those between the ends are drawn together (docs/mechanisms.md, section 9).
	Fraction float64
	Family   int
	End      int `json:",omitempty"` // −1, 1: what is released is below, above the quantile but for 2.5%, for its interval
}
