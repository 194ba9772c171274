package estimate

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Releases of the moments of y in [0, yTop] and x in [0, xTop]: a count, Σ(2y − yTop), Σ(2x − xTop), and sums of 2w² −
// W² and of products.
const yTop, xTop = 120, 50

func momentReleases(choices ...mechanism.Choice) []mechanism.Release {
	list := []mechanism.Release{scalar(0, mechanism.NoUpper, 1, choices[0])}
	list[0].Row, list[0].Total = 1, 1
	for i, m := range []int64{yTop, xTop, yTop * yTop, xTop * xTop, yTop * xTop} {
		list = append(list, mechanism.Release{
			Kind: mechanism.SumGivenCount, Sensitivity: m, Total: m, Row: m, Groups: 1, PerRow: mechanism.Interval{
				Lo: -m, Hi: m,
			},
			Choice: choices[(i+1)%len(choices)], Grid: mechanism.Grid{Step: 1},
		})
	}
	return list
}

// momentColumn is an aggregate of y and x over those.
func momentColumn(name string) rewrite.Column {
	y := rewrite.Moment{Sum: 1, Squares: 3, Width: yTop, Coarse: 1, Unit: .5}
	x := rewrite.Moment{Sum: 2, Squares: 4, Width: xTop, Coarse: 1, Unit: .5}
	switch name {
	case "var_pop", "var_samp", "stddev_pop", "stddev_samp":
		return rewrite.Column{Releases: []int{0, 1, 3}, Moments: &rewrite.Moments{Name: name, Of: []rewrite.Moment{y}}}
	}
	return rewrite.Column{Releases: []int{0, 1, 2, 5}, Moments: &rewrite.Moments{
		Name: name, Of: []rewrite.Moment{y, x},
		Product: 5,
	}}
}

// rowsOf gives the exact integers of rows, and the aggregates of them.
func rowsOf(y, x []float64) (exact [][]int64, truth map[string]float64) {
	n := float64(len(y))
	var sum [6]float64
	var my, mx float64
	for i := range y {
		v, u := 2*y[i]-yTop, 2*x[i]-xTop
		for j, d := range []float64{1, v, u, 2*v*v - yTop*yTop, 2*u*u - xTop*xTop, v * u} {
			sum[j] += d
		}
		my, mx = my+y[i]/n, mx+x[i]/n
	}
	var vy, vx, c float64
	for i := range y {
		vy, vx, c = vy+(y[i]-my)*(y[i]-my)/n, vx+(x[i]-mx)*(x[i]-mx)/n, c+(y[i]-my)*(x[i]-mx)/n
	}
	for _, s := range sum {
		exact = append(exact, []int64{int64(s)})
	}
	sample := n / (n - 1)
	return exact, map[string]float64{
		"var_pop": vy, "var_samp": vy * sample, "stddev_pop": math.Sqrt(vy), "stddev_samp": math.Sqrt(vy * sample),
		"covar_pop": c, "covar_samp": c * sample, "corr": c / math.Sqrt(vx*vy), "regr_r2": c * c / (vx * vy),
	}
}

// valueOf is what PostgreSQL computes of the released integers.
func valueOf(c rewrite.Column, r Block) float64 {
	at := func(i int) float64 { return float64(r.Values[i][0]) }
	n := at(0)
	second := func(factor, square, a, b float64) float64 { return (factor+square)/n - a/n*b/n }
	y := second(at(3)/2, n*yTop*yTop/2, at(1), at(1)) / 4
	x := second(at(4)/2, n*xTop*xTop/2, at(2), at(2)) / 4
	xy := second(at(5), 0, at(1), at(2)) / 4
	y0 := math.Max(0, math.Min(y, yTop*yTop/4))
	root := math.Sqrt(math.Max(x, 0) * math.Max(y, 0))
	switch c.Moments.Name {
	case "var_pop":
		return y0
	case "var_samp":
		return y0 * n / (n - 1)
	case "stddev_pop":
		return math.Sqrt(y0)
	case "stddev_samp":
		return math.Sqrt(y0 * n / (n - 1))
	case "covar_pop":
		return xy
	case "covar_samp":
		return xy * n / (n - 1)
	case "regr_r2":
		return math.Min(1, xy*xy/(root*root))
	}
	return math.Max(-1, math.Min(1, xy/root))
}

// rowKinds are rows in the middle of their bounds, at one end, at both, and with x that follows y.
var rowKinds = []struct {
	name string
	draw func(r *rand.Rand) (y, x float64)
}{
	{"ages", func(r *rand.Rand) (y, x float64) {
		return math.Round(math.Max(0, math.Min(110, 47+22*r.NormFloat64()))), math.Round(math.Min(xTop, 10*r.ExpFloat64()))
	}},
	{"rows at one end", func(*rand.Rand) (y, x float64) { return 0, xTop }},
	{"rows at both ends", func(r *rand.Rand) (y, x float64) { s := float64(r.IntN(2)); return s * yTop, s * xTop }},
	{"rows that differ little", func(r *rand.Rand) (y, x float64) {
		y = float64(90 + r.IntN(5))
		return y, xTop - math.Round(y/3)
	}},
}

// TestMomentIntervalsCover draws variances, covariances and correlations and counts how often the interval holds the
// answer: in 95% of the draws at least. Each of the cases fails by chance with a probability of at most
// stattest.FalseAlarm.
func TestMomentIntervalsCover(t *testing.T) {
	const draws = 1000
	source, random := mechanism.NewSource(), rand.New(rand.NewPCG(7, 1))
	names := []string{"var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr", "regr_r2"}
	for _, noise := range []struct {
		name    string
		choices []mechanism.Choice
		delta   float64
	}{
		{"joint", []mechanism.Choice{{}}, 0},
		{"laplace", []mechanism.Choice{laplace}, 0},
		{"gaussian", []mechanism.Choice{gaussian}, 1e-6},
		{"either", []mechanism.Choice{laplace, gaussian}, 1e-6},
	} {
		for _, epsilon := range []float64{.1, 1, 5} {
			list := momentReleases(noise.choices...)
			prepared, err := mechanism.PrepareVector(context.Background(), list, mechanism.Guarantee{
				Epsilon: epsilon, Delta: noise.delta,
			})
			if err != nil {
				t.Fatal(err)
			}
			b := gate.Mechanisms{Releases: prepared}
			p := &Statement{Plan: &rewrite.Plan{Blocks: []rewrite.Block{{Releases: list}}}, Mechanisms: []gate.Mechanisms{b}}
			for _, rows := range []int{100, 2000, 20000} {
				for _, kind := range rowKinds {
					y, x := make([]float64, rows), make([]float64, rows)
					for i := range y {
						y[i], x[i] = kind.draw(random)
					}
					exact, truth := rowsOf(y, x)
					hits, all := map[string]int{}, map[string]int{}
					for range draws {
						r := draw(source, b, list, measured{Keys: make(rewrite.KeyRows, 1), Values: exact})
						for _, name := range names {
							c := momentColumn(name)
							i, ok := p.interval(0, c, r, 0)
							if !ok {
								continue
							}
							all[name]++
							if v := valueOf(c, r); v-i.Below <= truth[name]+1e-9 && truth[name]-1e-9 <= v+i.Above {
								hits[name]++
							}
						}
					}
					for _, name := range names {
						if math.IsNaN(truth[name]) || all[name] == 0 {
							continue
						}
						if !stattest.AtLeast(hits[name], all[name], .95) {
							t.Errorf("%s, epsilon %g, %d %s: the interval of %s holds %g in %d of %d draws", noise.name, epsilon, rows,
								kind.name, name, truth[name], hits[name], all[name])
						}
					}
				}
			}
		}
	}
}
