package mechanism

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// byWeights is a selection among groups of which a unit is in k at most, with a weight of whole in one group alone.
func byWeights(k int, whole int64) Release {
	return Release{
		Kind: Selection, Groups: k, Sensitivity: whole, Total: int64(k) * whole, Squares: whole * whole,
		Range: Range{{0, NoUpper}},
	}
}

// weight is what a unit weighs in each of j groups.
func weight(whole int64, j int) int64 {
	w := int64(0)
	for (w+1)*(w+1)*int64(j) <= whole*whole {
		w++
	}
	return w
}

// TestWeightsArePrivate: by enumeration, with units of every number of groups: those that a unit is alone in are kept
// with probability δ at most, by no lower threshold too, and deciding about others costs what is charged.
func TestWeightsArePrivate(t *testing.T) {
	const whole = 12
	for _, order := range []int{-1, 5, 20} {
		for _, k := range []int{1, 2, 7, 30} {
			g := Guarantee{Epsilon: .8, Delta: 1e-6}
			if order >= 0 {
				g.Epsilon, g.Order = .1, Orders[order]
			}
			p, err := Prepare(byWeights(k, whole), g)
			if err != nil {
				t.Fatal(err)
			}
			s := p.units.(*threshold)
			reach := int64(60 * s.scale())
			from := []float64{0} // by reach − d, the mass of d and all above
			for d := reach; d >= -reach; d-- {
				from = append(from, from[len(from)-1]+math.Exp(s.log(float64(d))))
			}
			above := func(d int64) float64 { return from[min(max(reach-d, -1), 2*reach)+1] / from[2*reach+1] }
			keep := func(n int64) float64 { return above(s.tau - n) }
			drop := func(n int64) float64 { return above(n - s.tau + 1) }
			alone, lower := 0.0, 0.0
			for j := 1; j <= k; j++ {
				alone = math.Max(alone, float64(j)*keep(weight(whole, j)))
				lower = math.Max(lower, float64(j)*keep(weight(whole, j)+1))
			}
			if alone > g.Delta || lower < g.Delta {
				t.Errorf("order %d, %d groups: a unit's own are kept with %g, from one less on with %g", order, k, alone, lower)
			}
			curve := p.Curve()
			for i := 0; i < len(Orders); i += 7 {
				a := Orders[i]
				if a > 100 { // e^a is no number
					break
				}
				for j := 1; j <= k; j++ {
					w := weight(whole, j)
					for n := w + 1; n < 2*s.tau; n += 1 + s.tau/50 {
						for _, pair := range [][2]int64{{n, n - w}, {n - w, n}} {
							sum := 0.0
							for _, q := range []func(int64) float64{keep, drop} {
								sum += math.Exp(a*math.Log(q(pair[0])) + (1-a)*math.Log(q(pair[1])))
							}
							if d := float64(j) * math.Log(sum) / (a - 1); d > curve.Renyi[i]*(1+1e-9)+1e-13 {
								t.Fatalf("order %g, %d groups, %d against %d: %g above %g", a, j, pair[0], pair[1], d, curve.Renyi[i])
							}
						}
					}
				}
			}
			if want := g.Epsilon; order < 0 && curve.Pure != want || order >= 0 && (curve.Renyi[order] > want ||
				curve.Renyi[order] < want*(1-1e-6)) {
				t.Errorf("order %d, %d groups: charged %g, at the order %v", order, k, curve.Pure, curve.Renyi[max(order, 0)])
			}
		}
	}
}

// TestWeightedDraws: sums of weights are kept as often as their noise says, and none of 0 is.
func TestWeightedDraws(t *testing.T) {
	const draws, whole = 50000, 1 << 20
	for _, g := range []Guarantee{{Epsilon: .3, Delta: 1e-6}, {Epsilon: .02, Delta: 1e-6, Order: 20}} {
		p, err := Prepare(byWeights(5, whole), g)
		if err != nil {
			t.Fatal(err)
		}
		s, src := p.units.(*threshold), seededSource(11)
		half, always := p.SelectThreshold()
		if spread := p.SpreadThreshold(); (half-1)*whole >= s.tau || half*whole < s.tau || always <= half ||
			spread != (s.tau+weight(whole, 5)-1)/weight(whole, 5) {
			t.Errorf("%v: thresholds %d, %d and %d, tau %d", g, half, always, spread, s.tau)
		}
		for _, n := range []int64{-1, 0, 1, s.tau / 2, s.tau - whole, s.tau, s.tau + whole, always * whole, math.MaxInt64} {
			want := 0.0
			switch m := s.tau - n; {
			case n <= 0:
			case m <= 0:
				want = 1 - s.tail(float64(1-m))
			default:
				want = s.tail(float64(m))
			}
			hits := 0
			for range draws {
				if p.Select(src, n) {
					hits++
				}
			}
			if !stattest.AtLeast(hits, draws, want) || !stattest.AtMost(hits, draws, want) || n <= 0 && hits > 0 {
				t.Errorf("%v, %d: kept %d of %d, want a fraction %g", g, n, hits, draws, want)
			}
		}
	}
}

// TestWeightsGrowSlowly: the threshold of units that are in one group hardly rises with how many they may be in, and
// where all are in as many as they may be it is no worse than by their number.
func TestWeightsGrowSlowly(t *testing.T) {
	g, first := Guarantee{Epsilon: .12, Delta: 1e-8, Order: 2.58}, int64(0)
	for _, k := range []int{2, 5, 20, 50, 1 << 20} {
		p, err := Prepare(byWeights(k, 1<<20), g)
		if err != nil {
			t.Fatal(err)
		}
		same, err := Prepare(Release{Kind: Selection, Groups: k, Range: Range{{0, NoUpper}}}, g)
		if err != nil {
			t.Fatal(err)
		}
		half, _ := p.SelectThreshold()
		number, _ := same.SelectThreshold()
		if first == 0 {
			first = half
		}
		if spread := p.SpreadThreshold(); half > first*3/2 || float64(spread) > 1.05*float64(number) {
			t.Errorf("%d groups: from %d on, or %d; by number %d", k, half, spread, number)
		}
	}
}

// TestWeightsAreVerified: a selection by weights is not one by number, nor one of larger weights or more groups.
func TestWeightsAreVerified(t *testing.T) {
	for _, g := range []Guarantee{{Epsilon: .5, Delta: 1e-8}, {Epsilon: .1, Delta: 1e-8, Order: Orders[15]}} {
		p, err := Prepare(byWeights(20, 1<<20), g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(byWeights(20, 1<<20)); err != nil {
			t.Error(err)
		}
		number, err := Prepare(Release{Kind: Selection, Groups: 20, Range: Range{{0, NoUpper}}}, g)
		if err != nil {
			t.Fatal(err)
		}
		if number.Verify(byWeights(20, 1<<20)) == nil {
			t.Error("numbers of units are taken for weights")
		}
		unbounded := byWeights(20, 1<<20)
		unbounded.Squares = 0
		for _, r := range []Release{byWeights(400, 1<<20), byWeights(20, 1<<20+1<<14), unbounded} {
			if p.Verify(r) == nil {
				t.Errorf("%v: %+v is verified", g, r)
			}
		}
	}
}
