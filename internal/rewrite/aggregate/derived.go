package aggregate

// Derived names a function of released values and public quantities (docs/mechanisms.md §8), one value for each
// group. Where an aggregate has none in a group, as an average of no rows, it is NULL there.
type Derived string

const (
	// DerivedLow and DerivedHigh are how far the answer may lie below and above a released aggregate: what its first
	// release has to be lowered or raised by for the end of the 95% interval; grid steps of that release, int8[]. Of an
	// aggregate of moments it is in its own unit, float8[].
	DerivedLow    Derived = "low"
	DerivedHigh   Derived = "high"
	DerivedStddev Derived = "stddev" // of the aggregate's noise, in grid steps of its first release, float8[]
	// DerivedThreshold is the count that noise alone exceeds in at most 5% of the draws; int8[], the same for every
	// group.
	DerivedThreshold Derived = "threshold"

	// What sums over groups are made of (docs/privacy.md P20c). DerivedPlain is the release of an aggregate before it is
	// kept within its range, int8[]; NULL where that is not known. DerivedShown says which groups are shown, bool[].
	DerivedPlain Derived = "plain"
	DerivedShown Derived = "shown"
	// The margin of a sum of n groups is √n times the least DerivedNoise of them, float8[], and DerivedShare is by how
	// much of the sum it is wider for rows that are left out: float8, in the aggregate's unit. NULL where they are not
	// known.
	DerivedNoise Derived = "noise"
	DerivedShare Derived = "share"
)
