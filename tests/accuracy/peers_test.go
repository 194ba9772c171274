package main

import (
	"math"
	"testing"
)

// TestPlainNoise: the simulated peers have the errors that theory gives them. 200,000 draws know a standard deviation
// to about a quarter of a percent, so that 5 % are passed by chance with a probability below 1e-12.
func TestPlainNoise(t *testing.T) {
	if s := gaussianSigma(0.5, 1e-6); math.Abs(s-8.06) > 0.01 {
		t.Errorf("σ = %v; Balle and Wang have 8.06", s)
	}
	groups := map[string]tally{}
	truth := answer{}
	for i := range 100 {
		groups[wardName(i)], truth[wardName(i)] = tally{1000, 50000}, []float64{1000, 50}
	}
	list := []aggregate{single(count(3)), mean(count(3), sum(1, 40, 180), 40)}
	perPart := 3 / 0.5 // ε is split over a count, and the count and the sum of a mean
	for _, c := range []struct {
		name   string
		draw   plainNoise
		column int
		want   float64
	}{
		{"count, Laplace", plainLaplace, 0, math.Sqrt2 * 3 * perPart},
		{"mean, Laplace", plainLaplace, 1, math.Sqrt2 * perPart * math.Hypot(180, 3*10) / 1000},
		{"count, Gaussian", plainGaussian, 0, 3 * gaussianSigma(1/perPart, 1e-6/3)},
	} {
		got := plain(c.draw, []map[string]tally{groups}, list, c.column, truth, 0.5, 1e-6, false, rootMeanSquare)
		if math.Abs(got/c.want-1) > 0.05 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestGroupsBeyondC: a unit's groups of a rank above C are not in a peer's sums.
func TestGroupsBeyondC(t *testing.T) {
	all := tallied([][]float64{{1, 10, 100}, {2, 5, 50}, {1, 7, 70}}, []string{"a", "a", "b"})
	if len(all) != 2 || all[0]["a"][0] != 10 || all[1]["a"][1] != 150 || all[0]["b"][1] != 70 || all[1]["b"][0] != 7 {
		t.Errorf("%v", all)
	}
}

func TestFigures(t *testing.T) {
	errors := []float64{-3, 1, 2, -4}
	if got := rootMeanSquare(errors).value; math.Abs(got-math.Sqrt(7.5)) > 1e-12 {
		t.Errorf("root mean square %v", got)
	}
	if got := medianSize([]float64{-3, 1, 2}).value; got != 2 {
		t.Errorf("median %v", got)
	}
	r := releases{answer{"a": {10}, "b": {20}}, []answer{
		{"a": {11, 9, 13}, "b": {17, 15, 19}},
		{"a": {10, 10, 10}, "b": {25, 21, 29}},
	}}
	if got := r.covered(0); got.value != 0.5 {
		t.Errorf("covered %v", got)
	}
	if got := medianSize(r.errors(0, true)).value; math.Abs(got-0.15) > 1e-12 {
		t.Errorf("relative %v", got)
	}
	f := newFigure("q", "what", estimate{0.0155, 0.001})
	f.percent, f.most = true, 0.015
	if f.missed() || f.goal() != "≤ 1.5 %" || f.measured() != "1.55 ± 0.1 %" {
		t.Errorf("%v, %s, %s", f.missed(), f.goal(), f.measured())
	}
	if f.err = 0.0001; !f.missed() {
		t.Error("beyond the goal by five standard errors, and not missed")
	}
	if f.value = math.NaN(); !f.missed() {
		t.Error("no number, and not missed")
	}
}
