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

// Nearest returns the numbers of at least 0 that add up to total and are nearest to those of a list, by least
// squares. Where the positive ones add up to total or more, those that are below 0 make no difference: counts that
// are kept above 0 give what the counts before would have given.
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

// Margin is what blocks of counts add up to: it has the block of each row and of each column.
type Margin struct {
	Rows, Columns []int
	Counts
}

// rakeRounds bounds the rounds of Rake; margins that agree need some ten.
const rakeRounds = 60

// Rake multiplies blocks of counts by one factor each, in turns, until those of each margin have its sums, which
// those of the last one have exactly (iterative proportional fitting). What is 0 stays 0.
func Rake(x Counts, margins ...Margin) Counts {
	for range rakeRounds {
		off := 0.0
		for _, m := range margins {
			sums := New(m.Counts.Rows, m.Counts.Columns)
			for i := range x.Rows {
				to := sums.Row(m.Rows[i])
				for j, n := range x.Row(i) {
					to[m.Columns[j]] += n
				}
			}
			for i, n := range sums.At {
				off += math.Abs(n - m.At[i])
				if n > 0 {
					sums.At[i] = m.At[i] / n
				}
			}
			for i := range x.Rows {
				by := sums.Row(m.Rows[i])
				for j := range x.Row(i) {
					x.Row(i)[j] *= by[m.Columns[j]]
				}
			}
		}
		if off <= 1e-6*Sum(x.At) {
			break
		}
	}
	return x
}

// RowSums is the margin of sums by rows of counts with so many columns.
func RowSums(sums []float64, columns int) Margin {
	return Margin{Rows: each(len(sums)), Columns: make([]int, columns), Counts: Counts{len(sums), 1, sums}}
}

// ColumnSums is that of sums by columns.
func ColumnSums(sums []float64, rows int) Margin {
	return Margin{Rows: make([]int, rows), Columns: each(len(sums)), Counts: Counts{1, len(sums), sums}}
}

// each has a block for each of n.
func each(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Surprise returns how far counts are from those that are expected, in total variation, less what noise of a standard
// deviation makes of that in the counts that are above 0, four standard deviations of that included. Both are as
// many.
func Surprise(y, expected Counts, noise float64) float64 {
	off, filled := 0.0, 0.0
	for i, x := range y.At {
		off += math.Abs(x - expected.At[i])
		if x > 0 {
			filled++
		}
	}
	return math.Max(0, off-(filled+3*math.Sqrt(filled))*noise*math.Sqrt(2/math.Pi)) / (2 * math.Max(Sum(y.At), 1))
}

// Dependence is how far counts surprise who expects independent attributes with the same sums.
func Dependence(y Counts, noise float64) float64 {
	expected, columns, total := New(y.Rows, y.Columns), make([]float64, y.Columns), Sum(y.At)
	for i := range y.Rows {
		for j, x := range y.Row(i) {
			columns[j] += x
		}
	}
	for i := range y.Rows {
		for j, x := range columns {
			expected.Row(i)[j] = Sum(y.Row(i)) * x / math.Max(total, 1)
		}
	}
	return Surprise(y, expected, noise)
}
