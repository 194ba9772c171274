package mechanism

import (
	"math"
	"sort"
)

// NoiseTable is noise of several numbers on a small box around 0.
type NoiseTable struct {
	Reach []int64   // noise in [−Reach, Reach] on each axis
	Log   []float64 // logarithms of probabilities, the last axis fastest
}

// newNoiseTable has [−reach, reach] on every axis.
func newNoiseTable(reach []int64) NoiseTable {
	t := NoiseTable{Reach: reach, Log: make([]float64, 1)}
	for _, r := range reach {
		t.Log = make([]float64, len(t.Log)*int(2*r+1))
	}
	return t
}

// Tabulate enumerates the noise on [−reach, reach] on every axis, from the odds that Draw works with: geometric
// variables, coins, points of a box. It is meant for a few thousand points and shells.
func (c *Cube) Tabulate(reach []int64) NoiseTable {
	t := newNoiseTable(reach)
	kappa := c.kernel.kappa
	far := c.skip + uint64(math.Ceil((float64(2*len(c.axes))+2*cubeReach)/kappa))
	for _, a := range c.axes { // all boxes that do not hold the whole table, and the tail behind them
		far = max(far, uint64(reach[a.at]+1)*c.shells/a.row+uint64(math.Ceil(cubeReach/kappa)))
	}
	density := make([]float64, far+2) // Σ probability/points over the boxes from k on: all of them hold what box k holds
	top := math.Inf(-1)
	logs := make([]float64, far+1)
	for k := range logs {
		logs[k] = c.trialLog(uint64(k))
		top = math.Max(top, logs[k])
	}
	sum := 0.0
	for k := int(far); k >= 0; k-- {
		points := 1.0
		for _, a := range c.axes {
			points *= c.half(a.row, uint64(k)).width().float()
		}
		p := math.Exp(logs[k] - top)
		sum += p
		density[k] = density[k+1] + p/points
	}
	t.Each(func(i int, x []int64) { t.Log[i] = math.Log(density[c.firstBox(x, far)] / sum) })
	return t
}

// trialLog is the logarithm of the probability that a trial proposes k and accepts it, up to a constant.
func (c *Cube) trialLog(k uint64) float64 {
	m := k + c.skip
	l := -c.kernel.kappa * float64(m)
	for i, a := range c.axes {
		l += math.Log(float64(m) + float64(i+1)) // a sum of D+1 geometric variables: C(m+D, D) ∝ Π(m+j)
		l += math.Log(c.odds(a, k).float() / c.most(i, a, m).float())
	}
	return l
}

// firstBox is the first box, of those up to far, that holds x.
func (c *Cube) firstBox(x []int64, far uint64) int {
	return sort.Search(int(far), func(k int) bool {
		for _, a := range c.axes {
			if h := c.half(a.row, uint64(k)); h.hi == 0 && h.lo < absDiff(x[a.at], 0) {
				return false
			}
		}
		return true
	})
}

func (w wide) float() float64 { return math.Ldexp(float64(w.hi), 64) + float64(w.lo) }

// norm is N(x) = max ⌈|x_a|·κ/M_a⌉.
func (c *Cube) norm(x []int64) uint64 {
	k := uint64(0)
	for _, a := range c.axes {
		k = max(k, (absDiff(x[a.at], 0)*c.shells+a.row-1)/a.row)
	}
	return k
}

// Each visits the points of the table in order; x is valid during the call only.
func (t NoiseTable) Each(visit func(i int, x []int64)) {
	x := make([]int64, len(t.Reach))
	for a, r := range t.Reach {
		x[a] = -r
	}
	for i := range t.Log {
		visit(i, x)
		for a := len(x) - 1; a >= 0; a-- {
			if x[a]++; x[a] <= t.Reach[a] {
				break
			}
			x[a] = -t.Reach[a]
		}
	}
}

// index is where x stands in the table; false outside.
func (t NoiseTable) index(x []int64) (int, bool) {
	i := 0
	for a, r := range t.Reach {
		if x[a] < -r || x[a] > r {
			return 0, false
		}
		i = i*int(2*r+1) + int(x[a]+r)
	}
	return i, true
}

// LogRatio is the largest log-ratio of the probabilities of two points that are at most shift apart on each axis.
func (t NoiseTable) LogRatio(shift []int64) float64 {
	worst := math.Inf(-1)
	moves := newNoiseTable(shift)
	y := make([]int64, len(shift))
	t.Each(func(i int, x []int64) {
		moves.Each(func(_ int, d []int64) {
			for a := range y {
				y[a] = x[a] + d[a]
			}
			if j, ok := t.index(y); ok {
				worst = math.Max(worst, t.Log[i]-t.Log[j])
			}
		})
	})
	return worst
}

// Worst is the largest log-ratio over everything that a unit's rows can do: move one group by all of them, or two
// groups, drawn independently, by some each.
func (c *Cube) Worst(t NoiseTable) float64 {
	by := make([]float64, c.rows+1) // by[n]: one group, n rows
	for n := int64(1); n <= c.rows; n++ {
		shift := make([]int64, len(c.axes))
		for _, a := range c.axes {
			shift[a.at] = n * int64(a.row)
		}
		by[n] = t.LogRatio(shift)
	}
	worst := 0.0
	for n := range by {
		worst = math.Max(worst, by[n]+by[len(by)-1-n])
	}
	return worst
}

// Misfit is by how much the logarithm of the table's probabilities over q^N(x) varies: 0 but for rounding.
func (c *Cube) Misfit(t NoiseTable) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	t.Each(func(i int, x []int64) {
		l := t.Log[i] + c.kernel.kappa*float64(c.norm(x))
		least, most = math.Min(least, l), math.Max(most, l)
	})
	return most - least
}
