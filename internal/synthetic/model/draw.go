package model

import (
	"math"
	"math/rand/v2"
)

// Edge says that an attribute is drawn given another; From is -1 where it is drawn alone.
type Edge struct{ From, To int }

// Tree spans n attributes by the edges whose weights add up to most, in an order in which each is drawn after what it
// is given. The first known attributes are there already: each of the others hangs on one of them or on another, or
// is drawn alone where no weight is above 0.
func Tree(n, known int, weight func(i, j int) float64) []Edge {
	from, by, in := make([]int, n), make([]float64, n), make([]bool, n)
	var edges []Edge
	join := func(i int) {
		in[i] = true
		for j := known; j < n; j++ {
			if w := weight(i, j); !in[j] && w > by[j] {
				from[j], by[j] = i, w
			}
		}
	}
	for j := range from {
		from[j] = -1
	}
	for i := range known {
		join(i)
	}
	for len(edges) < n-known {
		next := -1
		for j := known; j < n; j++ {
			if !in[j] && (next < 0 || by[j] > by[next]) {
				next = j
			}
		}
		edges = append(edges, Edge{from[next], next})
		join(next)
	}
	return edges
}

// Draw draws a value for each row by the value that it is given. Of the rows with one given value, each value gets
// its share up to one row: the rows are chosen at random, their numbers are not. Shares need not add up to 1; where
// they are all 0, any value is as likely.
func Draw(r *rand.Rand, given []uint16, shares Counts) []uint16 {
	groups := make([][]int32, shares.Rows)
	for row, g := range given {
		groups[g] = append(groups[g], int32(row))
	}
	out := make([]uint16, len(given))
	for g, rows := range groups {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		at := 0
		for value, n := range quotas(r, len(rows), shares.Row(g)) {
			for range n {
				out[rows[at]] = uint16(value)
				at++
			}
		}
	}
	return out
}

// quotas divides n by shares, each rounded up or down so that its mean is exact (systematic sampling).
func quotas(r *rand.Rand, n int, shares []float64) []int {
	out := make([]int, len(shares))
	total, sum, before, last := Sum(shares), r.Float64(), 0, len(shares)-1
	for i, x := range shares {
		if total > 0 {
			sum += float64(n) * x / total
		} else {
			sum += float64(n) / float64(len(shares))
		}
		upTo := min(int(math.Floor(sum)), n)
		out[i], before = upTo-before, upTo
		if x > 0 {
			last = i
		}
	}
	out[last] += n - before // what rounding of the sum has left
	return out
}

// Tally counts values.
func Tally(values []uint16, n int) []float64 {
	out := make([]float64, n)
	for _, v := range values {
		out[v]++
	}
	return out
}
