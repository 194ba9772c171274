// Package model makes columns of a table of noisy counts by one attribute and by two: counts that add up, the tree of
// pairs that say most, and values drawn by it. It is pure, and a function of its arguments and the generator's seed.
package model

import (
	"math"
	"slices"
)

// Counts are numbers of rows by two attributes, row by row.
type Counts struct {
	Rows, Columns int
	At            []float64
}

// New returns counts of 0.
func New(rows, columns int) Counts { return Counts{rows, columns, make([]float64, rows*columns)} }

// Row are the counts of one value of the first attribute; they are not copied.
func (c Counts) Row(i int) []float64 { return c.At[i*c.Columns : (i+1)*c.Columns] }

// Transposed exchanges the attributes.
func (c Counts) Transposed() Counts {
	t := New(c.Columns, c.Rows)
	for i := range c.Rows {
		for j, x := range c.Row(i) {
			t.At[j*c.Rows+i] = x
		}
	}
	return t
}

// Sum adds numbers up.
func Sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}

// Nearest returns the numbers of at least 0 that add up to total and are nearest to those of a list, by least squares.
// Where the positive ones add up to total or more, those that are below 0 make no difference: counts that are kept
// above 0 give what the counts before would have given.
func Nearest(list []float64, total float64) []float64 {
	shift := level(list, total)
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = math.Max(0, x+shift)
	}
	return out
}

// level returns the t at which Σ max(0, x+t) is total.
func level(list []float64, total float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	slices.Reverse(sorted)
	if !(total > 0) {
		return -sorted[0]
	}
	sum := 0.0
	for i, x := range sorted {
		sum += x
		t := (total - sum) / float64(i+1)
		if i+1 == len(sorted) || sorted[i+1]+t <= 0 {
			return t
		}
	}
	return 0 // not reached: the last of the list returns
}

// fitRounds bounds the rounds of Fit; some twenty do.
const fitRounds = 300

// Fit returns the counts of at least 0 that have given sums by rows and by columns, which add up to the same, and are
// nearest to those that were released, by least squares: x = max(0, y + u + v) with the u and v that make the sums
// right, found in turns (dual coordinate ascent). The sums by rows are exact, those by columns up to a millionth of all.
func Fit(y Counts, rows, columns []float64) Counts {
	u, v := make([]float64, y.Rows), make([]float64, y.Columns)
	of, shifted := y.Transposed(), make([]float64, max(y.Rows, y.Columns))
	plus := func(list, shift []float64) []float64 {
		for i, x := range list {
			shifted[i] = x + shift[i]
		}
		return shifted[:len(list)]
	}
	total := Sum(rows)
	for range fitRounds {
		off := 0.0
		for j := range columns {
			t := level(plus(of.Row(j), u), columns[j])
			off, v[j] = off+math.Abs(t-v[j]), t
		}
		for i := range rows {
			u[i] = level(plus(y.Row(i), v), rows[i])
		}
		if off <= 1e-6*total/float64(len(columns)) {
			break
		}
	}
	out := New(y.Rows, y.Columns)
	for i := range rows {
		for j, x := range y.Row(i) {
			out.Row(i)[j] = math.Max(0, x+u[i]+v[j])
		}
	}
	return out
}

// Dependence returns how far counts are from those of independent attributes with the same sums, in total variation,
// less what noise of a standard deviation makes of that in the counts that are above 0.
func Dependence(y Counts, noise float64) float64 {
	rows, columns := make([]float64, y.Rows), make([]float64, y.Columns)
	total, filled := 0.0, 0.0
	for i := range rows {
		for j, x := range y.Row(i) {
			rows[i], columns[j], total = rows[i]+x, columns[j]+x, total+x
			if x > 0 {
				filled++
			}
		}
	}
	if total <= 0 {
		return 0
	}
	off := 0.0
	for i := range rows {
		for j, x := range y.Row(i) {
			off += math.Abs(x - rows[i]*columns[j]/total)
		}
	}
	return math.Max(0, off-filled*noise*math.Sqrt(2/math.Pi)) / (2 * total)
}
