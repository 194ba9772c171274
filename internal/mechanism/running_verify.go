package mechanism

import "math"

// TabulateNoise enumerates what all groups of a release with running totals are given, or all parts of a chain, within
// reach on each: from the weights that z is drawn with and the rounding of nearest, without the matrix that either
// inverts. It is meant for noise of a few steps.
func TabulateNoise(members []*Prepared, reach []int64) NoiseTable {
	p := members[0]
	column, weights := make([]int64, len(reach)), p.Chosen().kernel
	column[0] = 1 // noises of their own
	if p.running != nil {
		column, weights = p.running.column, p.running.kernel
	}
	tails := newTails(weights)
	t := newNoiseTable(reach)
	t.Each(func(i int, w []int64) {
		for k := range w { // w[k] is what is left of z, rounded to whole steps of column[0]
			least := -(column[0] / 2)
			for j := range k + 1 {
				least += column[k-j] * w[j]
			}
			t.Log[i] += math.Log(tails.between(least, least+column[0]))
		}
	})
	return t
}

// tails are the sums of weights from each distance on, relative to those of all whole numbers.
type tails []float64

func newTails(n kernel) tails {
	t := make(tails, int(n.distance(600))+2)
	for d := len(t) - 2; d >= 0; d-- {
		t[d] = t[d+1] + math.Exp(n.log(float64(d)))
	}
	total := t[0] + t[1]
	for d := range t {
		t[d] /= total
	}
	return t
}

func (t tails) from(d int64) float64 { return t[min(d, int64(len(t)-1))] }

// between is the probability of [lo, hi).
func (t tails) between(lo, hi int64) float64 {
	switch {
	case lo >= 0:
		return t.from(lo) - t.from(hi)
	case hi <= 0:
		return t.from(1-hi) - t.from(1-lo)
	default:
		return 1 - t.from(hi) - t.from(1-lo)
	}
}

// Divergence is that of order a between the noise and the same noise moved; the largest log-ratio where a is +Inf.
func (t NoiseTable) Divergence(a float64, move []int64) float64 {
	ratio, top, y := make([]float64, len(t.Log)), math.Inf(-1), make([]int64, len(move))
	t.Each(func(i int, x []int64) {
		for k := range y {
			y[k] = x[k] - move[k]
		}
		ratio[i] = math.Inf(-1)
		if j, ok := t.index(y); ok && !math.IsInf(t.Log[i], -1) && !math.IsInf(t.Log[j], -1) {
			ratio[i] = t.Log[i] - t.Log[j]
		}
		top = math.Max(top, ratio[i])
	})
	if math.IsInf(a, 1) {
		return top
	}
	sum := 0.0
	for i, r := range ratio {
		sum += math.Exp(t.Log[i] + (a-1)*(r-top))
	}
	return top + math.Log(sum)/(a-1)
}
