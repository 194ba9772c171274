package consistency

import (
	"cmp"
	"math"
	"slices"
)

// share settles parts at whole numbers within their ranges that add up to total, near to the point of the ranges that is nearest to their
// estimates, each in units of its standard deviation. false: the ranges do not allow that total.
func share(parts []*Number, total int64) bool {
	var lo, hi float64
	for _, p := range parts {
		lo, hi = lo+float64(p.Lo), hi+float64(p.Hi)
	}
	if float64(total) < lo || float64(total) > hi || len(parts) == 0 {
		return len(parts) == 0 && total == 0
	}
	by := multiplier(parts, float64(total))
	rest := total
	order := make([]int, len(parts))
	above := make([]float64, len(parts)) // its whole number
	for i, p := range parts {
		x := p.moved(by)
		p.Settled = max(p.Lo, min(p.Hi, int64(math.Floor(x))))
		order[i], above[i], rest = i, x-float64(p.Settled), rest-p.Settled
	}
	// The largest remainders are rounded up.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(above[b], above[a]) })
	if rest < 0 {
		slices.Reverse(order)
	}
	for before := int64(0); rest != 0; {
		if before == rest {
			return false // ranges so wide that their ends are no exact numbers
		}
		before = rest
		for _, i := range order {
			p, each := parts[i], rest/int64(len(parts))
			if each == 0 {
				each = max(-1, min(1, rest))
			}
			step := max(p.Lo, min(p.Hi, p.Settled+each)) - p.Settled
			p.Settled, rest = p.Settled+step, rest-step
		}
	}
	return true
}

// moved is a part's estimate, moved in proportion to its variance, inside of its range.
func (n *Number) moved(by float64) float64 {
	return math.Max(float64(n.Lo), math.Min(float64(n.Hi), n.estimate+by*n.variance))
}

// multiplier finds by how much parts have to be moved for the total: their sum grows with it.
func multiplier(parts []*Number, total float64) float64 {
	var estimate, variance float64
	sum := func(by float64) (s float64) {
		for _, p := range parts {
			s += p.moved(by)
		}
		return s
	}
	for _, p := range parts {
		estimate, variance = estimate+p.estimate, variance+p.variance
	}
	free := (total - estimate) / variance // where no range is in the way
	if math.Abs(sum(free)-total) < .5 {
		return free
	}
	width := math.Abs(free) + 1/variance
	lo, hi := free-width, free+width
	for ; sum(lo) > total && width < math.MaxFloat64/4; lo -= width {
		width *= 2
	}
	for ; sum(hi) < total && width < math.MaxFloat64/4; hi += width {
		width *= 2
	}
	for range 100 {
		middle := lo + (hi-lo)/2
		if middle <= lo || middle >= hi {
			break
		}
		if sum(middle) < total {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}
