package mechanism

import "math"

// maxSpread is the largest number of rows of one unit whose every spread over groups is tried (docs/mechanisms.md, section 13).
const maxSpread = 64

// knapsack is the largest Σ cost[n_g] over the groups of one unit, of which there are at most groups, with Σ n_g ≤ rows: an unbounded
// knapsack, by dynamic programming. cost[n] is that of up to n rows in one group, cost[0] = 0; more rows cost as much as the last.
func knapsack(cost []float64, rows, groups int) float64 {
	most := make([]float64, rows+1) // by rows, for the groups so far
	for range min(rows, groups) {
		for left := rows; left > 0; left-- { // most[left−n] is still that of one group less
			for n := 1; n < len(cost) && n <= left; n++ {
				most[left] = math.Max(most[left], cost[n]+most[left-n])
			}
		}
	}
	return most[rows]
}

// spread is the largest Σ h(d_g) over the groups of one unit for any cost h that does not fall, by knapsack over its rows; +Inf where it
// has too many, or where a layer shares them with other releases.
func (t task) spread(h func(d float64) float64) float64 {
	rows := math.Ceil(t.total / t.row)
	if rows > maxSpread || t.layered {
		return math.Inf(1)
	}
	cost := []float64{0}
	for moved := 0.0; moved < t.step() && len(cost) <= int(rows); {
		moved = math.Min(t.row*float64(len(cost)), t.step())
		cost = append(cost, h(moved))
	}
	return knapsack(cost, int(rows), int(math.Min(t.groups, rows)))
}
