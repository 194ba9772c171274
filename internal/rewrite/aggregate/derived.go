package aggregate

// Derived names a function of a released value and public quantities.
type Derived string

const (
	DerivedLow    Derived = "low"    // grid step of the 95% interval's lower end, int8[]
	DerivedHigh   Derived = "high"   // upper end, int8[]
	DerivedStddev Derived = "stddev" // of the noise, in grid steps, float8[]
	// DerivedThreshold is the count that noise alone exceeds in at most 5% of the draws; int8[], the same for every group.
	DerivedThreshold Derived = "threshold"
)
