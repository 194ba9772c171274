package consistency

import (
	"cmp"
	"math"
	"slices"
)

// share settles parts at whole numbers within their ranges that add up to total, near to the point of the ranges that
// is nearest to their estimates, each in units of its standard deviation. false: the ranges do not allow that total.
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

// multiplier finds by how much parts have to be moved for the total. Their sum grows with it in straight lines, so this
// is Newton's method, which halves what is left where it would leave that. It ends where rounding decides the rest.
func multiplier(parts []*Number, total float64) float64 {
	by, lo, hi := 0., math.Inf(-1), math.Inf(1)
	for range 200 {
		sum, up, down := slopes(parts, by)
		missing, s := total-sum, up
		if math.Abs(missing) < .25 {
			break
		}
		if missing > 0 {
			lo = by
		} else {
			hi, s = by, down
		}
		next := s.corner
		if s.slope > 0 {
			next = by + missing/s.slope
		}
		if next <= lo || next >= hi {
			next = lo + (hi-lo)/2
		}
		if next == by || math.IsNaN(next) || math.IsInf(next, 0) {
			break
		}
		by = next
	}
	return by
}

// side is how the sum of parts changes to one side of a multiplier: with which slope, and where the next part begins to
// move.
type side struct{ slope, corner float64 }

func slopes(parts []*Number, by float64) (sum float64, up, down side) {
	up.corner, down.corner = math.Inf(1), math.Inf(-1)
	for _, p := range parts {
		sum += p.moved(by)
		lo, hi := (float64(p.Lo)-p.estimate)/p.variance, (float64(p.Hi)-p.estimate)/p.variance
		switch {
		case by < lo:
			up.corner = math.Min(up.corner, lo)
		case by < hi:
			up.slope += p.variance
		}
		switch {
		case by > hi:
			down.corner = math.Max(down.corner, hi)
		case by > lo:
			down.slope += p.variance
		}
	}
	return sum, up, down
}
