package mechanism

import (
	"math/big"
	"slices"
)

// cuts holds the sums from which cuts are drawn. Between two gaps, and before the first and behind the last cut,
// base^|rows between them − target| is what they weigh. What is in the same gap is drawn as so many cells of it, and
// sorted.
type cuts struct {
	*jointQuantiles
	*powerTable
	gaps    []gap
	rows    uint64
	targets []uint64     // of the parts below each cut, and of the last part
	inner   [][]floating // [j][m]: base^targets[j]/m, of a cut j that is the m-th from the last of a gap, counted from 1
	// [r·k + j]: the sum over all cuts before cut j, which are below gap r, where j is the first in it
	t []floating
}

// sums adds up everything, one level for each cut.
func (q *jointQuantiles) sums(h Histogram, count int64) *cuts {
	k := len(q.fractions)
	c := &cuts{jointQuantiles: q, powerTable: q.powers(), gaps: q.grid.gaps(h), rows: h.rows()}
	last := uint64(0)
	for _, f := range q.fractions {
		rank := (f*uint64(count) + 1<<(rankBits-1)) >> rankBits
		c.targets = append(c.targets, rank-last)
		last = rank
	}
	c.targets = append(c.targets, uint64(count)-last)
	for j := range k {
		row := make([]floating, k+2)
		for m := 1; m < len(row); m++ {
			row[m] = c.of(c.targets[j]).times(rounded(new(big.Float).SetPrec(powerDigits).Quo(big.NewFloat(1),
				big.NewFloat(float64(m)))))
		}
		c.inner = append(c.inner, row)
	}
	c.t = make([]floating, len(c.gaps)*k)
	for r, g := range c.gaps {
		c.t[r*k] = c.part(0, 0, g.below)
	}
	before, front := make([]floating, len(c.gaps)), make([]floating, len(c.gaps))
	for j := 1; j < k; j++ {
		c.all(j-1, before)
		c.level(j, before, front)
	}
	return c
}

// part weighs the part between two numbers of rows below.
func (c *cuts) part(j int, from, to uint64) floating {
	if rows := to - from; rows < c.targets[j] {
		return c.of(c.targets[j] - rows)
	}
	return c.of(to - from - c.targets[j])
}

// level sums, for each gap r, before[i]·base^|rows between − target| over all gaps i below it. Those up to the target
// before r are one running sum. Those nearer to r are a queue of two: the front half is summed from its end, the back
// half from its beginning, and the front half is made anew when it is used up. Nothing is ever subtracted.
func (c *cuts) level(j int, before, front []floating) {
	k, target := len(c.fractions), c.targets[j]
	far, farAt := floatingZero, uint64(0)
	lo, mid, back := 0, 0, floatingZero // the queue holds [lo, r), its front half [lo, mid)
	for r, g := range c.gaps {
		for ; lo < r && c.gaps[lo].below+target <= g.below; lo++ {
			far = far.times(c.of(c.gaps[lo].below - farAt)).plus(before[lo])
			farAt = c.gaps[lo].below
		}
		if lo >= mid {
			mid, back = r, floatingZero
			for i, sum := r-1, floatingZero; i >= lo; i-- {
				if i+1 < r {
					sum = sum.times(c.of(c.gaps[i+1].below - c.gaps[i].below))
				}
				sum = sum.plus(before[i])
				front[i] = sum
			}
		}
		sum := floatingZero
		if lo > 0 {
			sum = far.times(c.of(g.below - target - farAt))
		}
		if lo < mid {
			sum = sum.plus(front[lo].times(c.of(c.gaps[lo].below + target - g.below)))
		}
		if mid < r {
			sum = sum.plus(back.times(c.of(c.gaps[mid].below + target - g.below)))
		}
		c.t[r*k+j] = sum
		back = back.plus(before[r].times(c.of(g.below - c.gaps[mid].below)))
	}
}

// all sums over all first cuts up to j, of which j is in gap r.
func (c *cuts) all(j int, out []floating) {
	k := len(c.fractions)
	for r := range out {
		cells, t := floatingInt(c.gaps[r].n), c.t[r*k:r*k+j+1]
		sum := t[0]
		for i := 1; i <= j; i++ {
			sum = sum.times(cells).times(c.inner[i][j-i+2]).plus(t[i])
		}
		out[r] = sum.times(cells)
	}
}

// runs are the parts of that sum of 1, 2, … cuts in the gap.
func (c *cuts) runs(r, j int) []floating {
	k := len(c.fractions)
	cells := floatingInt(c.gaps[r].n)
	each, out := cells, make([]floating, 0, j+1)
	for m := 1; m <= j+1; m++ {
		out = append(out, c.t[r*k+j-m+1].times(each))
		each = each.times(cells).times(c.inner[j-m+1][m+1])
	}
	return out
}

// draw draws all quantiles of a family; false where the cuts are none of its, or the released number of rows is too
// large for it.
func (q *jointQuantiles) draw(src *Source, sorted []int, h Histogram, out map[int]int64) bool {
	if q == nil {
		return false
	}
	count := q.count.Draw(src, int64(min(h.rows(), limit)), 0)
	if count > q.most {
		return false
	}
	for j, z := range q.sums(h, count).draw(src) {
		out[sorted[j]] = z
	}
	return true
}

// draw draws the cuts from the last to the first: a gap, and how many are in it. It takes five words for each, whatever
// the rows are, but for what chooseShare and uniform64 take more.
func (c *cuts) draw(src *Source) []int64 {
	k := len(c.fractions)
	words := make([][4]uint64, k)
	for j := range words {
		for i := range words[j] {
			words[j][i] = src.Uint64()
		}
	}
	cells, weights := make([]uint64, 0, k), make([]floating, len(c.gaps))
	for j, upTo := k-1, c.rows; j >= 0; {
		c.all(j, weights)
		for r := range weights {
			weights[r] = weights[r].times(c.part(j+1, c.gaps[r].below, upTo))
		}
		r := chooseShare(src, newFloatings(weights), words[j][0], words[j][1])
		m := 1 + chooseShare(src, newFloatings(c.runs(r, j)), words[j][2], words[j][3])
		for range m {
			cells = append(cells, c.gaps[r].first+uniformWord(src, c.gaps[r].n))
		}
		j, upTo, weights = j-m, c.gaps[r].below, weights[:r]
	}
	slices.Sort(cells)
	out := make([]int64, k)
	for j, cell := range cells {
		out[j] = c.grid.point(cell)
	}
	return out
}

// uniformWord is uniform in [0, n).
func uniformWord(src *Source, n uint64) uint64 {
	for {
		if x, ok := uniform64(src.Uint64(), n); ok {
			return x
		}
	}
}
