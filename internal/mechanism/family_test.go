package mechanism

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// familyOf makes quantiles of one family.
func familyOf(v Range, rows int64, fractions ...float64) (list []Release, members []int) {
	for i, q := range fractions {
		list = append(list, Release{Kind: Quantile, Range: v, Sensitivity: rows, Fraction: q, Family: 1})
		members = append(members, i)
	}
	return list, members
}

func prepareAll(t testing.TB, list []Release, g Guarantee) []*Prepared {
	t.Helper()
	prepared, err := PrepareVector(context.Background(), list, g)
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

var deciles = []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9}

// What is drawn is what is enumerated: points with one row, with more rows than cells, with none.
func TestFamilyMatchesLaw(t *testing.T) {
	const draws = 15000
	src := seededSource(7)
	for _, v := range []Range{{{0, 6}}, {{0, 2}, {5, 6}}} {
		list, members := familyOf(v, 2, .5, .25, .8)
		prepared := prepareAll(t, list, Guarantee{Epsilon: 2})
		for i, h := range []Histogram{nil, {{3, 1}}, {{-4, 2}, {1, 3}, {4, 7}, {6, 2}}, {{0, 30}, {2, 300}, {6, 40}}} {
			counts := map[string]int{}
			for range draws {
				z := DrawFamily(src, list, members, prepared, h)
				counts[fmt.Sprint(z[1], " ", z[0], " ", z[2], " ")]++
			}
			law := map[string]float64{}
			for text, p := range NewFamilyDistributions(list, members, prepared).Of(h) {
				law[text] += p
			}
			if got, limit := stattest.ChiSquare(counts, law); got > limit {
				t.Errorf("histogram %d on %v: chi-square %.1f above %.1f", i, v, got, limit)
			}
		}
	}
}

// The deciles rise, and each takes three words by halving, whatever the rows are.
func TestFamilyRises(t *testing.T) {
	src := seededSource(8)
	list, members := familyOf(Range{{0, 1000}}, 3, deciles...)
	prepared := prepareAll(t, list, Guarantee{Epsilon: .02, Order: Orders[20]})
	for _, h := range append(slices.Clone(histograms), Histogram{{7, 1 << 40}},
		Histogram{{0, 5}, {500, 1 << 20}, {999, 3}}) {
		for range 200 {
			before := src.Draws()
			z := DrawFamily(src, list, members, prepared, h)
			if !slices.IsSorted(z) {
				t.Fatalf("%v does not rise", z)
			}
			if got := src.Draws() - before; got != 27 {
				t.Fatalf("%d words instead of 27", got)
			}
		}
	}
}

// Every way down costs what was asked for, and the family costs that once.
func TestFamilyCost(t *testing.T) {
	for n := 1; n <= 20; n++ {
		var fractions []float64
		for i := range n {
			fractions = append(fractions, float64(i+1)/float64(n+1))
		}
		for _, g := range []Guarantee{{Epsilon: .7}, {Epsilon: .02, Order: Orders[20]}} {
			list, _ := familyOf(Range{{0, 100}}, 4, fractions...)
			list = append(list, Release{Kind: Quantile, Range: Range{{0, 100}}, Sensitivity: 1, Fraction: 1, Family: 1})
			curve := Compose(list, prepareAll(t, list, g))
			got := curve.Pure
			if g.atOrder() {
				got = curve.Renyi[20]
			}
			if got > g.Epsilon*(1+1e-6) || got < g.Epsilon*(1-1e-6) {
				t.Errorf("%d quantiles at order %g cost %g instead of %g", n, g.Order, got, g.Epsilon)
			}
		}
	}
}

// The runs of a point are its cells.
func TestRunsAreCells(t *testing.T) {
	list, _ := familyOf(Range{{0, 6}}, 2, .5, .25)
	s := *prepareAll(t, list, Guarantee{Epsilon: 2})[0].rank
	s.cells = 1 << 10
	for _, far := range []uint64{1 << 61, 700 << rankBits, 3 << rankBits, 1} {
		s.far = far
		for _, rows := range []uint64{1, 2, 3, 700, 1 << 10, 1<<10 + 1, 5000} {
			for _, below := range []uint64{0, 1, 2500} {
				for _, target := range []uint64{0, 5 << rankBits, 1700<<rankBits + 77, 2600 << rankBits, 9000 << rankBits} {
					u := uint64(0)
					for _, r := range s.cellsOf(nil, 4, rows, below, target) {
						if r.cell != u || r.n == 0 || r.lo != 4 || r.rows != rows {
							t.Fatalf("run %+v at cell %d", r, u)
						}
						for end := u + r.n; u < end; u++ {
							low, high := s.ranks(u, rows)
							if d := min(distance(target, below+low, below+high), far); d != r.dist {
								t.Fatalf("cell %d of %d rows behind %d, target %d, far %d: %d instead of %d", u, rows, below, target, far,
									r.dist, d)
							}
							if b := s.below(u, rows); b < low || b > high {
								t.Fatalf("cell %d of %d rows has %d to %d and puts %d below", u, rows, low, high, b)
							}
						}
					}
					if u != s.cells {
						t.Fatalf("%d cells", u)
					}
				}
			}
		}
	}
}

// Deciles at equal cost, against nine releases that share the price. Rows of a column with a long tail have less than a
// tenth of the error; where they lie close everywhere, and the noise is small against their number, it is less than a
// third.
func TestDecilesAreSharper(t *testing.T) {
	src := seededSource(9)
	const n, times = 20_000, 25
	for _, c := range []struct {
		name         string
		points, rows int64
		draw         func(u float64) float64
		goal         float64
	}{
		{"log-normal", 2_000_000, 20, func(u float64) float64 {
			return 100 * math.Exp(6.5+1.1*math.Sqrt2*math.Erfinv(2*u-1))
		}, 10},
		{"uniform", 10_000, 1, func(u float64) float64 { return 500 + 9000*u }, 2.8},
	} {
		h := Histogram{}
		for i := range n {
			h = append(h, Bin{int64(c.draw((float64(i) + .5) / n)), 1})
		}
		list, members := familyOf(Range{{0, c.points}}, c.rows, deciles...)
		together := prepareAll(t, list, Guarantee{Epsilon: .5})
		for i := range list {
			list[i].Family = 0
		}
		apart := prepareAll(t, list, Guarantee{Epsilon: .5})
		var one, nine float64
		for range times {
			for i, z := range DrawFamily(src, list, members, together, h) {
				one += math.Pow(float64(z)-c.draw(deciles[i]), 2)
				nine += math.Pow(float64(apart[i].DrawQuantile(src, h))-c.draw(deciles[i]), 2)
			}
		}
		if ratio := math.Sqrt(nine / one); ratio < c.goal {
			t.Errorf("%s: RMSE %.4g together, %.4g apart: %.1f times", c.name, math.Sqrt(one/9/times), math.Sqrt(nine/9/times),
				ratio)
		}
	}
}

// Fractions that are one when they are rounded are quantiles like others.
func TestFamilyOfEqualRanks(t *testing.T) {
	var fractions []float64
	for i := range 15 {
		fractions = append(fractions, .5+1e-12*float64(i))
	}
	list, members := familyOf(Range{{0, 100}}, 1, fractions...)
	z := DrawFamily(seededSource(9), list, members, prepareAll(t, list, Guarantee{Epsilon: 1}),
		Histogram{{0, 50}, {50, 900}, {100, 50}})
	if !slices.IsSorted(z) {
		t.Errorf("%v", z)
	}
}
