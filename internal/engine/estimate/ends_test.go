package estimate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestQuantileIntervalsCover draws quantiles with the ends of their intervals, which hold the answer in 95% of the
// draws or more, and are near it where there are many rows. Each of the cases fails by chance with a probability of at
// most stattest.FalseAlarm.
func TestQuantileIntervalsCover(t *testing.T) {
	const draws = 1000
	source, random := mechanism.NewSource(), rand.New(rand.NewPCG(7, 2))
	column := rewrite.Column{Releases: []int{0}, Low: 2, High: 3}
	for _, g := range []mechanism.Guarantee{{Epsilon: .1}, {Epsilon: 1}, {Epsilon: 5}, {Epsilon: .05, Order: 8}} {
		for _, q := range []float64{.05, .5, .75} {
			list := make([]mechanism.Release, 3)
			for i, end := range []int{0, -1, 1} {
				list[i] = mechanism.Release{
					Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: 0, Hi: 120}}, Sensitivity: 1,
					Groups: 1, Fraction: q, End: end,
				}
			}
			prepared, err := mechanism.PrepareVector(context.Background(), list, g)
			if err != nil {
				t.Fatal(err)
			}
			b := gate.Mechanisms{Releases: prepared}
			p := &Statement{Plan: &rewrite.Plan{Blocks: []rewrite.Block{{Releases: list}}}, Mechanisms: []gate.Mechanisms{b}}
			for _, rows := range []int{100, 20000} {
				for _, kind := range rowKinds {
					values := make([]float64, rows)
					var h mechanism.Histogram
					for i := range values {
						values[i], _ = kind.draw(random)
					}
					slices.Sort(values)
					for _, y := range values {
						if n := len(h); n > 0 && h[n-1].Step == int64(y) {
							h[n-1].Count++
						} else {
							h = append(h, mechanism.Bin{Step: int64(y), Count: 1})
						}
					}
					rank := q*float64(rows-1) + 1 // percentile_cont
					low, part := math.Floor(rank), rank-math.Floor(rank)
					truth := values[int(low)-1]*(1-part) + values[int(math.Ceil(rank))-1]*part
					hits, width := 0, 0.0
					for range draws {
						r := draw(source, b, list, measured{Keys: make(rewrite.KeyRows, 1), Histograms: [][]mechanism.Histogram{
							{h}, {h}, {h},
						}})
						i, ok := p.interval(0, column, r, 0)
						if !ok {
							t.Fatal("no interval")
						}
						z := float64(r.Values[0][0])
						if z-i.Below <= truth && truth <= z+i.Above {
							hits++
						}
						width += (i.Below + i.Above) / draws
					}
					if !stattest.AtLeast(hits, draws, .95) {
						t.Errorf("epsilon %g, quantile %g of %d %s: the interval holds %g in %d of %d draws", g.Epsilon, q, rows,
							kind.name, truth, hits, draws)
					}
					if rows == 20000 && g.Epsilon >= 1 && kind.name == "ages" && width > 3 {
						t.Errorf("epsilon %g, quantile %g of %d %s: the interval is %g years wide", g.Epsilon, q, rows, kind.name, width)
					}
				}
			}
		}
	}
}
