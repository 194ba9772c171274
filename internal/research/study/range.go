package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// validRange is the value of --range: the intervals of a valid set, in order.
type validRange struct{ intervals [][2]float64 }

// UnmarshalText reads a length L, which stands for 0:L, or intervals A:B,C:D.
func (r *validRange) UnmarshalText(text []byte) error {
	r.intervals = nil
	if l, err := strconv.ParseFloat(string(text), 64); err == nil {
		r.intervals = [][2]float64{{0, l}}
		return nil
	}
	for _, part := range strings.Split(string(text), ",") {
		from, to, _ := strings.Cut(part, ":")
		lo, errLo := strconv.ParseFloat(from, 64)
		hi, errHi := strconv.ParseFloat(to, 64)
		if errLo != nil || errHi != nil || !(lo <= hi) || math.IsInf(hi-lo, 0) {
			return fmt.Errorf("%q is no interval: write a length, as 10, or intervals, as 0:1,20:21", part)
		}
		if n := len(r.intervals); n > 0 && !(r.intervals[n-1][1] < lo) {
			return fmt.Errorf("%q begins before the interval before it ends", part)
		}
		r.intervals = append(r.intervals, [2]float64{lo, hi})
	}
	return nil
}

// length is that of the hull.
func (r validRange) length() float64 { return r.intervals[len(r.intervals)-1][1] - r.intervals[0][0] }

// farthest is the largest magnitude in the range.
func (r validRange) farthest() float64 {
	return math.Max(-r.intervals[0][0], r.intervals[len(r.intervals)-1][1])
}

// on is the range on a grid. Intervals between which no step is left become one.
func (r validRange) on(grid float64) mechanism.Range {
	var v mechanism.Range
	for _, x := range r.intervals {
		lo, hi := int64(math.Round(x[0]/grid)), int64(math.Round(x[1]/grid))
		if n := len(v); n > 0 && v[n-1].Hi >= lo {
			v[n-1].Hi = max(v[n-1].Hi, hi)
			continue
		}
		v = append(v, mechanism.Interval{Lo: lo, Hi: hi})
	}
	return v
}
