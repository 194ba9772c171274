package model

import "math"

// significant is how many standard deviations of noise a count is above 0 that stands for itself.
const significant = 3

// emptied is by how many standard deviations of noise counts that are kept above 0 are too many in sum, for each one
// that is 0: of counts that have no rows half are 0, and the others have √(2/π) of one on average.
var emptied = math.Sqrt(2 / math.Pi)

// surplus estimates how many rows counts have that are below what noise makes.
func surplus(list []float64, noise float64) float64 {
	sum := Sum(list)
	for _, x := range list {
		if x <= 0 {
			sum -= emptied * noise
		}
	}
	return math.Max(0, sum)
}

// Smooth spreads counts of neighbouring cells that noise may have made over all of them, so that what is in a long
// tail of empty cells is near its begin. A run of such cells has the sum that is left when what noise adds to counts
// that are kept above 0 is taken off, and its rows per width fall from those of the denser cell beside it,
// exponentially, as fast as the sum says. Of distributions that the counts cannot tell apart it chooses one.
func Smooth(list, widths []float64, noise float64) []float64 {
	out := make([]float64, len(list))
	copy(out, list)
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to] < significant*noise {
			to++
		}
		if to > from {
			spread(out, list, widths, from, to, surplus(list[from:to], noise))
		}
		from = max(to, from+1)
	}
	return out
}

// spread does so for a run of cells.
func spread(out, list, widths []float64, from, to int, mass float64) {
	density := func(at int) float64 {
		if at < 0 || at >= len(list) {
			return 0
		}
		return list[at] / widths[at]
	}
	left, right := density(from-1), density(to)
	forward := left >= right
	shares := func(rate float64) (sum float64) {
		x := 0.0
		for k := range to - from {
			at := from + k
			if !forward {
				at = to - 1 - k
			}
			out[at] = math.Max(left, right) * between(rate, x, x+widths[at])
			sum, x = sum+out[at], x+widths[at]
		}
		return sum
	}
	low, high := 0.0, 1e3
	for range 60 {
		if middle := (low + high) / 2; shares(middle) > mass {
			low = middle
		} else {
			high = middle
		}
	}
	sum := shares(high)
	for at := from; at < to; at++ {
		if sum > 0 {
			out[at] *= mass / sum
		} else {
			out[at] = mass * widths[at] / Sum(widths[from:to])
		}
	}
}

// between integrates exp(−rate·x).
func between(rate, from, to float64) float64 {
	if rate*(to-from) < 1e-9 {
		return (to - from) * math.Exp(-rate*from)
	}
	return (math.Exp(-rate*from) - math.Exp(-rate*to)) / rate
}

// Scaled multiplies numbers so that they add up to total; any are as good where all are 0.
func Scaled(list []float64, total float64) []float64 {
	sum := Sum(list)
	if !(sum > 0) {
		return Nearest(list, total)
	}
	for i := range list {
		list[i] *= total / sum
	}
	return list
}

// Tilt multiplies counts by the power of one factor to their sizes, which are ascending from 0 on, so that they have
// the sum that they had and the sizes add up to moment, as far as a factor does that.
func Tilt(list, sizes []float64, moment float64) []float64 {
	out, total, top := make([]float64, len(list)), Sum(list), sizes[len(sizes)-1]
	if !(total > 0) || !(top > 0) {
		return list
	}
	tilted := func(by float64) (sum float64) {
		for i, x := range list {
			out[i] = x * math.Exp(by*sizes[i]/top)
		}
		factor := total / Sum(out)
		for i := range out {
			out[i] *= factor
			sum += out[i] * sizes[i]
		}
		return sum
	}
	low, high := -500.0, 500.0
	for range 80 {
		if middle := (low + high) / 2; tilted(middle) < moment {
			low = middle
		} else {
			high = middle
		}
	}
	return out
}

// Shrink replaces counts that noise may have made: those of a row share what it has in them, in proportion to the
// sums of the columns.
func Shrink(y Counts, columns []float64, noise float64) Counts {
	out := New(y.Rows, y.Columns)
	for i := range y.Rows {
		var small []float64
		share := 0.0
		for j, x := range y.Row(i) {
			if x < significant*noise {
				small, share = append(small, x), share+columns[j]
			}
		}
		mass := surplus(small, noise)
		for j, x := range y.Row(i) {
			if x >= significant*noise {
				out.Row(i)[j] = x
			} else if share > 0 {
				out.Row(i)[j] = mass * columns[j] / share
			}
		}
	}
	return out
}
