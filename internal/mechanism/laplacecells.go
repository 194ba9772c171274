package mechanism

import "math"

// Laplace cells have Laplace noise on their numbers, clamped to these. All cells but the first and the last are as long
// as one unit can move the value, Δ, so a unit moves it to the next cell at most, and that costs κ however far it is
// moved within. Noise on the values themselves tells more of where in its cell a value is than the rounding to the few
// points of a short range leaves.

// newLaplaceCells has the cells of the least mean squared error over a uniform true value of h, the first of which is
// at most step long, and the last shorter than two steps.
func newLaplaceCells(h Interval, kappa float64, step int) *cellPartition {
	n := int(h.span()) + 1
	best, least := &cellPartition{last: []int64{h.Hi}, point: []int64{h.Lo + int64(n-1)/2}}, math.Inf(1)
	for first := 1; first <= min(step, n-1); first++ {
		starts := []int{0, first} // of the cells, and the end of the last
		for at := first + step; at < n; at += step {
			starts = append(starts, at)
		}
		// Without the last cut the last cell is the longer one.
		for m := len(starts); m >= max(2, len(starts)-1); m-- {
			ends := append(starts[1:m:m], n)
			if cost, points := laplaceCellsCost(ends, kappa); cost < least {
				least, best = cost, &cellPartition{}
				for i, end := range ends {
					best.last, best.point = append(best.last, h.Lo+int64(end)-1), append(best.point, h.Lo+points[i])
				}
			}
		}
	}
	return best
}

// laplaceCellsCost is the sum of the squared errors over [0, last end), cut at ends, with the best points.
func laplaceCellsCost(ends []int, kappa float64) (sum float64, points []int64) {
	for i := range ends {
		all, from := powers{}, 0
		for own, end := range ends {
			w, p := math.Exp(laplaceCellLog(kappa, own, i, len(ends))), powerSums(from, end)
			all = powers{all.s0 + w*p.s0, all.s1 + w*p.s1, all.s2 + w*p.s2}
			from = end
		}
		point := math.Round(all.s1 / all.s0)
		sum, points = sum+all.around(point), append(points, int64(point))
	}
	return sum, points
}

// laplaceCellLog is the logarithm of the probability of cell i of so many where the true value is in cell own. The
// first and the last have all that lies beyond.
func laplaceCellLog(kappa float64, own, i, cells int) float64 {
	l := -kappa*math.Abs(float64(i-own)) - math.Log1p(math.Exp(-kappa))
	switch {
	case cells == 1:
		return 0
	case 0 < i && i < cells-1:
		l += math.Log(-math.Expm1(-kappa))
	}
	return l
}

// cellProfile is δ(ε) of it.
func (n kernel) cellProfile(eps float64) float64 {
	if n.noise == Laplace {
		return n.plainProfile(1, eps)
	}
	return responseProfile(n.kappa, eps)
}
