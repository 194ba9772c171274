package estimate

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// chained is a released sum z of released n rows, n > 0, each of which adds a value within row. The margin of z − r·n
// is √(z² + r²·n²) of margins(r).
type chained struct {
	row     mechanism.Interval
	z, n    float64
	margins func(r float64) (z, n float64)
}

// pairMargins are the margins of both releases of an aggregate, as that of z − r·n is made of them.
func (c cell) pairMargins(r float64) (z, n float64) {
	return mechanism.PairMargins(c.mechanism(c.Releases[0]), c.mechanism(c.Releases[1]), r, c.wrong)
}

func (c cell) chained() chained {
	s := chained{row: c.release(0).PerRow, z: c.value(0), n: c.value(1), margins: c.pairMargins}
	if s.row.Lo == s.row.Hi { // z is n times that
		s.margins = func(r float64) (float64, float64) {
			_, n := c.pairMargins(r)
			return 0, n
		}
	}
	return s
}

// average gives the interval of z/n, in steps of z: all r for which z − r·n, whose margin is √(marginZ² + r²·marginN²),
// may be 0 (Fieller 1954). That is z/n ± √(marginZ² + (z/n)²·marginN²)/n where n is many times its margin. It is the
// range of a row where n may be 0. What is averaged is half of z/n + center. outside is the part of share that is not
// left out, but lies beyond the range of a row.
func (s chained) average(center, share, outside float64) interval {
	i := interval{}
	i.Below, i.Above = s.fieller()
	lo, hi := float64(s.row.Lo), float64(s.row.Hi)
	i = i.within(s.z-lo*s.n, hi*s.n-s.z)
	// The rows that are left out may all lie at an end. What lies beyond an end, where all may lie, is no more than
	// outside of the sum.
	beyond := outside / (1 - outside) * math.Max(math.Abs(lo+center), math.Abs(hi+center))
	down := ((share-outside)/(1-outside)*(hi-lo) + beyond) * s.n
	up := down
	// Where all values have one sign, they are no more than share of the sum either: what is left of rows and of sums is 1
	// − share or more.
	less, more := share, share/(1-share)
	low, high := s.z-i.Below+center*s.n, s.z+i.Above+center*s.n
	switch {
	case lo+center >= 0:
		down, up = math.Min(down, less*low), math.Min(up, more*high)
	case hi+center <= 0:
		down, up = math.Min(down, more*-low), math.Min(up, less*-high)
	}
	i.Below, i.Above = i.Below+down, i.Above+up
	if outside > 0 {
		return i
	}
	return i.within(s.z-lo*s.n, hi*s.n-s.z)
}

// fieller gives the ends of that, before the range of a row keeps them.
func (s chained) fieller() (below, above float64) {
	marginZ, m := s.margins(s.z / s.n)
	d := s.n*s.n - m*m
	if d <= 0 {
		return math.Inf(1), math.Inf(1)
	}
	root := math.Sqrt(s.z*s.z*m*m+d*marginZ*marginZ) * s.n
	return (root - s.z*m*m) / d, (root + s.z*m*m) / d
}

// WidestAverage bounds the margin of an average of n rows, each of which adds a value within row, in steps of their sum
// per row, whose size is at most most; z and rows are the margins of the sum and of n. It falls with n.
func WidestAverage(row mechanism.Interval, n int64, most, z, rows float64) float64 {
	s := chained{row, most * float64(n), float64(n), func(float64) (float64, float64) { return z, rows }}
	_, above := s.fieller() // it grows with |z|
	return math.Min(above/s.n, float64(row.Hi)-float64(row.Lo))
}

// total gives the interval of z + center·n, in steps of z. A true sum beyond the range that follows from n is released
// as that range's end, and is further off by the same rows that n lacks: they count at the end instead of the center.
func (s chained) total(center, share, outside float64) interval {
	margin := func(each float64) float64 {
		z, n := s.margins(each)
		return wholeSteps(z, each*n)
	}
	lo, hi := float64(s.row.Lo), float64(s.row.Hi)
	each := math.Abs(center)
	if s.z+margin(hi) >= hi*s.n {
		each = math.Max(each, math.Abs(center+hi))
	}
	if s.z-margin(lo) <= lo*s.n {
		each = math.Max(each, math.Abs(center+lo))
	}
	most := margin(each)
	i := interval{most, most}
	lowest, highest := math.Inf(-1), math.Inf(1) // of the sum, whatever n is
	if center+lo >= 0 {
		lowest = 0
	}
	if center+hi <= 0 {
		highest = 0
	}
	if lowest < 0 && highest > 0 { // of each sign there may be as much as rows at that end
		_, more := s.margins(0)
		rows := outside / (1 - share) * (s.n + more)
		share = (share - outside) / (1 - outside)
		i.Below, i.Above = i.Below-rows*(center+lo), i.Above+rows*(center+hi)
	}
	return i.beyond(s.z+center*s.n, lowest, highest, share, outside)
}
