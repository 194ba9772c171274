package consistency

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// free has no range that could be in the way.
func free(value, deviation float64, parts ...*Number) *Number {
	n := &Number{Value: value, Deviation: deviation, Lo: -1 << 50, Hi: 1 << 50}
	if parts != nil {
		n.Sums = []Sum{{Parts: parts}}
	}
	return n
}

// leaves lists the numbers without parts below one, in order.
func (n *Number) leaves() (out []*Number) {
	if len(n.Sums) == 0 {
		return []*Number{n}
	}
	for _, p := range n.Sums[0].Parts {
		out = append(out, p.leaves()...)
	}
	return out
}

// all lists a number and those below it.
func (n *Number) all() []*Number {
	out := []*Number{n}
	for _, s := range n.Sums {
		for _, p := range s.Parts {
			out = append(out, p.all()...)
		}
	}
	return out
}

// grow makes a tree of so many levels whose values are a truth with noise of the deviation of each level.
func grow(r *rand.Rand, levels int, scale float64) (n *Number, truth float64) {
	deviation := scale * (1 + r.Float64())
	if levels == 0 {
		truth = math.Round(1000 * scale * (1 + r.Float64()))
		return free(math.Round(truth+deviation*r.NormFloat64()), deviation), truth
	}
	var parts []*Number
	for range 1 + r.IntN(5) {
		p, t := grow(r, levels-1, scale)
		parts, truth = append(parts, p), truth+t
	}
	return free(math.Round(truth+deviation*r.NormFloat64()), deviation, parts...), truth
}

// leastSquares solves the weighted least squares for the leaves of a tree as a dense system: each number is the sum of
// its leaves.
func leastSquares(t *testing.T, root *Number) []float64 {
	t.Helper()
	leaves, all := root.leaves(), root.all()
	at := map[*Number]int{}
	for i, l := range leaves {
		at[l] = i
	}
	a, b := mat.NewDense(len(all), len(leaves), nil), mat.NewVecDense(len(all), nil)
	for row, n := range all {
		for _, l := range n.leaves() {
			a.Set(row, at[l], 1/n.Deviation)
		}
		b.SetVec(row, n.Value/n.Deviation)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	return x.RawVector().Data
}

// TestSettleIsLeastSquares: where no range is in the way, the leaves are within the rounding of the weighted
// least-squares solution, and so is the root.
func TestSettleIsLeastSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		root, _ := grow(r, 1+r.IntN(3), 100)
		want, sum := leastSquares(t, root), 0.0
		Settle([]*Number{root})
		for i, l := range root.leaves() {
			if sum += want[i]; math.Abs(float64(l.Settled)-want[i]) > 2 {
				t.Errorf("leaf %d of %d is %d, and %.2f by least squares", i, len(want), l.Settled, want[i])
			}
		}
		if math.Abs(float64(root.Settled)-sum) > .5+1e-6 {
			t.Errorf("the root is %d, and %.2f by least squares", root.Settled, sum)
		}
	}
}

// consistent says what is wrong with a settled tree; empty: nothing.
func consistent(n *Number) string {
	for _, x := range n.all() {
		if x.Settled < x.Lo || x.Settled > x.Hi {
			return "a number is outside of its range"
		}
		for _, s := range x.Sums {
			sum := int64(0)
			for _, p := range s.Parts {
				sum += p.Settled
			}
			if !s.Dropped && sum != x.Settled {
				return "parts do not add up"
			}
		}
	}
	return ""
}

// TestSettledNumbersAddUp: whatever was released, numbers end up within their ranges, and what is still said to be
// parts adds up.
func TestSettledNumbersAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var counts func(levels int) *Number
		counts = func(levels int) *Number {
			n := &Number{Value: float64(r.IntN(30)), Deviation: 6 * r.Float64(), Hi: 1 << 40}
			for range r.IntN(3) {
				var parts []*Number
				for range r.IntN(6) {
					if levels > 0 {
						parts = append(parts, counts(levels-1))
					}
				}
				n.Sums = append(n.Sums, Sum{Parts: parts, More: r.IntN(2) == 0, Less: r.IntN(2) == 0})
			}
			return n
		}
		root := counts(3)
		before := root.all()
		Settle([]*Number{root})
		for _, n := range before {
			if wrong := consistent(n); wrong != "" {
				t.Fatalf("%s: %+v", wrong, n)
			}
			if !n.Joined && n.Settled != int64(n.Value) {
				t.Fatalf("%+v is in no sum, and was changed", n)
			}
		}
	}
}

// TestSettleKeepsWhatAddsUp: numbers that add up stay what they are.
func TestSettleKeepsWhatAddsUp(t *testing.T) {
	for _, deviation := range []float64{0, 1e-30, 1, 1e9} {
		parts := []*Number{
			{Value: 3, Deviation: deviation, Hi: 9},
			{Value: 0, Deviation: 2 * deviation, Hi: 9},
			{Value: 1 << 51, Deviation: deviation, Hi: 1 << 60},
		}
		root := &Number{Value: 1<<51 + 3, Deviation: deviation, Hi: 1 << 60, Sums: []Sum{{Parts: parts}}}
		Settle([]*Number{root})
		if root.Settled != 1<<51+3 || parts[0].Settled != 3 || parts[1].Settled != 0 || parts[2].Settled != 1<<51 ||
			!root.Joined {
			t.Errorf("deviation %g: %d = %d + %d + %d", deviation, root.Settled, parts[0].Settled, parts[1].Settled,
				parts[2].Settled)
		}
	}
}

// TestSettleLeavesWhatNoiseDoesNotExplain: rows that are in no part are not shared over the parts, where there can be
// any.
func TestSettleLeavesWhatNoiseDoesNotExplain(t *testing.T) {
	explained := apart * 2 * math.Sqrt(3)
	for _, c := range []struct {
		by         float64
		more, less bool
		dropped    bool
	}{
		{math.Floor(explained), true, true, false},
		{-math.Floor(explained), true, true, false},
		{math.Ceil(explained), true, false, true},
		{math.Ceil(explained), false, true, false},
		{-math.Ceil(explained), true, false, false},
		{-math.Ceil(explained), false, true, true},
		{1000, false, false, false},
	} {
		root := free(3000+c.by, 2, free(1000, 2), free(2000, 2))
		root.Sums[0].More, root.Sums[0].Less = c.more, c.less
		Settle([]*Number{root})
		if root.Sums[0].Dropped != c.dropped || root.Joined == c.dropped || c.dropped && root.Settled != 3000+int64(c.by) ||
			consistent(root) != "" {
			t.Errorf("%+v: %+v", c, root)
		}
	}
}

// TestManySmallPartsSayLittleOfTheirSum: noise that is bounded below by 0 has a mean, so many empty groups are far
// above their total.
func TestManySmallPartsSayLittleOfTheirSum(t *testing.T) {
	var parts []*Number
	for i := range 500 {
		parts = append(parts, &Number{Value: float64(i % 5), Deviation: 2.8, Hi: 1 << 40})
	}
	root := &Number{Value: 40, Deviation: 2.8, Hi: 1 << 40, Sums: []Sum{{Parts: parts}}}
	Settle([]*Number{root})
	if wrong := consistent(root); wrong != "" || root.Settled < 40 || root.Settled > 43 {
		t.Errorf("%s, total %d", wrong, root.Settled)
	}
}

// TestShareIsNearest: of all whole numbers within the ranges that have the total, those chosen are the nearest but for
// rounding.
func TestShareIsNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		parts := make([]*Number, 3)
		for i := range parts {
			parts[i] = &Number{Hi: int64(2 + r.IntN(8)), estimate: 12*r.Float64() - 2, variance: .5 + 3*r.Float64()}
		}
		total := int64(r.IntN(int(parts[0].Hi + parts[1].Hi + parts[2].Hi + 1)))
		distance := func(x ...int64) (d float64) {
			for i, p := range parts {
				d += (float64(x[i]) - p.estimate) * (float64(x[i]) - p.estimate) / p.variance
			}
			return d
		}
		best, at := math.Inf(1), []int64{}
		for x := range parts[0].Hi + 1 {
			for y := range parts[1].Hi + 1 {
				if z := total - x - y; z >= 0 && z <= parts[2].Hi && distance(x, y, z) < best {
					best, at = distance(x, y, z), []int64{x, y, z}
				}
			}
		}
		if !share(parts, total) {
			t.Fatalf("no share of %d", total)
		}
		for i, p := range parts {
			if d := p.Settled - at[i]; d < -1 || d > 1 {
				t.Errorf("total %d: part %d is %d, and %d is nearest", total, i, p.Settled, at[i])
			}
		}
	}
	if share([]*Number{{Hi: 3}, {Hi: 3}}, 7) {
		t.Error("7 of two that are 3 at most")
	}
}

// TestShareOfDistantParts: estimates far outside of their ranges, with noise as different as can be.
func TestShareOfDistantParts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		parts := make([]*Number, 1+r.IntN(6))
		var top int64
		for i := range parts {
			parts[i] = &Number{
				Hi: 1 + r.Int64N(1000), estimate: 1e6 * (r.Float64() - .5),
				variance: math.Pow(10, 12*r.Float64()-6),
			}
			top += parts[i].Hi
		}
		total := r.Int64N(top + 1)
		if by := multiplier(parts, float64(total)); !share(parts, total) {
			t.Fatalf("no share of %d", total)
		} else if sum, _, _ := slopes(parts, by); math.Abs(sum-float64(total)) > float64(len(parts)) {
			t.Errorf("total %d: the multiplier gives %g", total, sum)
		}
	}
}

// TestErrorsFall: of noise without bounds, the squared errors of the total and of the groups are those of theory:
// k/(k+1) of what they were.
func TestErrorsFall(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const k, rounds, deviation = 4, 20000, 50.
	var total, group float64
	for range rounds {
		var parts []*Number
		for range k {
			parts = append(parts, free(1e6+math.Round(deviation*r.NormFloat64()), deviation))
		}
		root := free(k*1e6+math.Round(deviation*r.NormFloat64()), deviation, parts...)
		Settle([]*Number{root})
		total += math.Pow(float64(root.Settled)-k*1e6, 2) / rounds
		group += math.Pow(float64(parts[0].Settled)-1e6, 2) / rounds
	}
	for name, got := range map[string]float64{"total": total, "group": group} {
		if ratio := got / (deviation * deviation); math.Abs(ratio-k/(k+1.)) > .04 {
			t.Errorf("%s: %.3f of the squared error, want %.3f", name, ratio, k/(k+1.))
		}
	}
}

// TestUnseenParts: what nobody sees takes nothing from a total where noise explains that the others are all of it, and
// its share where not.
func TestUnseenParts(t *testing.T) {
	for _, c := range []struct {
		name          string
		total, unseen float64
		want          [3]int64 // the total, a part that is seen, one that is not
	}{
		{"explained", 101, 3, [3]int64{102, 102, 0}},
		{"rows that nobody sees", 150, 50, [3]int64{150, 100, 50}},
	} {
		seen := &Number{Value: 100, Deviation: 2, Hi: 1 << 50}
		unseen := &Number{Value: c.unseen, Deviation: 2, Hi: 1 << 50, Unseen: true}
		total := &Number{Value: c.total, Deviation: 2, Hi: 1 << 50, Sums: []Sum{{Parts: []*Number{seen, unseen}}}}
		Settle([]*Number{total})
		if got := [3]int64{total.Settled, seen.Settled, unseen.Settled}; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
