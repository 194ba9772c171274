package mechanism

import "fmt"

// check says what is wrong with a range, in the words of the error that a policy author sees.
func (r Range) check() error {
	if len(r) == 0 {
		return fmt.Errorf("range is empty: give at least one interval")
	}
	for i, v := range r {
		switch {
		case v.Lo > v.Hi:
			return fmt.Errorf("range: lower end %d is above upper end %d", v.Lo, v.Hi)
		case v.Lo != NoLower && (v.Lo < -limit || v.Lo > limit), v.Hi != NoUpper && (v.Hi < -limit || v.Hi > limit):
			return fmt.Errorf("range: [%d, %d] reaches beyond 2^60 grid steps: use a coarser grid", v.Lo, v.Hi)
		case v.Lo == NoLower && i > 0, v.Hi == NoUpper && i < len(r)-1:
			return fmt.Errorf("range: only its outer ends may be open")
		case i > 0 && r[i-1].Hi >= v.Lo:
			return fmt.Errorf("range: [%d, %d] and [%d, %d] overlap or are out of order", r[i-1].Lo, r[i-1].Hi, v.Lo, v.Hi)
		}
	}
	return nil
}

// Between is the range of all integers from lo to hi. An end that lies beyond every release is left open.
func Between(lo, hi int64) Range {
	v := Interval{lo, hi}
	if lo < -limit {
		v.Lo = NoLower
	}
	if hi > limit {
		v.Hi = NoUpper
	}
	return Range{v}
}

// closed returns the range with open ends replaced by ±limit and intervals without a gap joined, and says which ends
// were open.
func (r Range) closed() (c Range, openLo, openHi bool) {
	for _, v := range r {
		if v.Lo == NoLower {
			v.Lo, openLo = -limit, true
		}
		if v.Hi == NoUpper {
			v.Hi, openHi = limit, true
		}
		if n := len(c); n > 0 && c[n-1].Hi+1 == v.Lo {
			c[n-1].Hi = v.Hi
			continue
		}
		c = append(c, v)
	}
	return c, openLo, openHi
}

// hull is [min, max] of a closed range. A mean of valid values may lie in a gap, so true values range over the hull
// (docs/mechanisms.md, Setting).
func (r Range) hull() Interval { return Interval{r[0].Lo, r[len(r)-1].Hi} }

// span is L, the length of the hull.
func (v Interval) span() uint64 { return uint64(v.Hi) - uint64(v.Lo) }

// clamp is the nearest point of the interval.
func (v Interval) clamp(x int64) int64 { return max(v.Lo, min(v.Hi, x)) }

// has says whether a closed range has a point.
func (r Range) has(x int64) bool {
	for _, v := range r {
		if v.Lo <= x && x <= v.Hi {
			return true
		}
	}
	return false
}

// nearest is the nearest point of a closed range; of two equally near ones the lower.
func (r Range) nearest(x int64) int64 {
	best := r[0].clamp(x)
	for _, v := range r[1:] {
		if c := v.clamp(x); absDiff(c, x) < absDiff(best, x) {
			best = c
		}
	}
	return best
}

func absDiff(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}

// fold reflects x at the ends of the interval until it lies inside. The mirrors stand half a step outside, so that
// every point of the interval has the same number of images: a grid interval [A, B] behaves like [A−½, B+½]. An
// interval with an open end has one mirror: 2^60 is too far for the other to matter, and the period cannot overflow.
func (v Interval) fold(x int64) int64 {
	if x >= v.Lo && x <= v.Hi {
		return x
	}
	n := v.span() + 1 // ≤ 2^61 + 1
	var away uint64   // distance beyond the nearer mirror, counted from 0
	low := x < v.Lo
	if low {
		away = uint64(v.Lo) - uint64(x) - 1
	} else {
		away = uint64(x) - uint64(v.Hi) - 1
	}
	away %= 2 * n
	if away >= n {
		away = 2*n - 1 - away
	}
	if low {
		return v.Lo + int64(away)
	}
	return v.Hi - int64(away)
}

// segments are the distances of the valid points as seen from s, a point of the hull.
func (r Range) segments(s int64, into []segment) []segment {
	for _, v := range r {
		if v.Lo < s {
			into = append(into, segment{from: uint64(s - min(v.Hi, s-1)), to: uint64(s - v.Lo), left: true})
		}
		if v.Hi >= s {
			into = append(into, segment{from: uint64(max(v.Lo, s) - s), to: uint64(v.Hi - s)})
		}
	}
	return into
}

// shift subtracts the least distance from all segments: Laplace noise has no memory, so only differences of distances
// matter, and in a wide gap the weights themselves would vanish.
func shift(list []segment) (by uint64) {
	by = list[0].from
	for _, g := range list[1:] {
		by = min(by, g.from)
	}
	for i := range list {
		list[i].from -= by
		list[i].to -= by
	}
	return by
}
