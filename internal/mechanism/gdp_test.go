package mechanism

import (
	"math"
	"testing"
)

// TestGaussianConversion holds the δ of a μ against the integral of (p − e^ε·q)₊, and both conversions against each
// other: what is converted back and forth is never less private.
func TestGaussianConversion(t *testing.T) {
	for _, mu := range []float64{.002, .02, .3, 1, 3.2, 8, 19} {
		for _, delta := range []float64{1e-20, 1e-9, 2.5e-7, 5e-4} {
			eps := EpsilonAt(GDP, mu*mu, delta)
			const steps = 1000000 // from where p is e^ε·q on
			from := eps/mu + mu/2
			sum, h := 0., 12./steps
			for i := range steps {
				z := from + h*(float64(i)+.5)
				gained := mu*z - mu*mu/2 - eps
				sum += h * math.Exp(-(z-mu)*(z-mu)/2) / math.Sqrt(2*math.Pi) * -math.Expm1(-gained)
			}
			if sum > delta || sum < delta*(1-1e-6) {
				t.Errorf("μ = %g has δ(%g) = %g, want %g", mu, eps, sum, delta)
			}
			if back := SquareAt(eps, delta); back > mu*mu || back < mu*mu*(1-1e-6) {
				t.Errorf("μ² = %g has ε %g at δ = %g, which has μ² = %g", mu*mu, eps, delta, back)
			}
		}
	}
	for _, c := range []struct{ square, delta, want float64 }{
		{0, 1e-6, 0},
		{1, 0, math.Inf(1)},
		{1, 1e-31, math.Inf(1)},
		{1, 1, 0},
		{math.Inf(1), 1e-6, math.Inf(1)},
		{401, 1e-6, math.Inf(1)},
		{math.NaN(), 1e-6, math.Inf(1)},
	} {
		if got := EpsilonAt(GDP, c.square, c.delta); got != c.want {
			t.Errorf("μ² = %g has ε %g at δ = %g, want %g", c.square, got, c.delta, c.want)
		}
	}
	for _, c := range []struct{ eps, delta float64 }{{1, 0}, {1, 1e-31}, {1e-4, 1e-6}, {0, 1e-6}, {math.NaN(), 1e-6}} {
		if got := SquareAt(c.eps, c.delta); got != 0 {
			t.Errorf("ε %g at δ = %g has μ² = %g", c.eps, c.delta, got)
		}
	}
}

// TestPaidAsGaussianDP: whatever is calibrated for a μ² is charged no more, and nearly that; and no test tells
// neighbouring values apart better, by enumeration.
func TestPaidAsGaussianDP(t *testing.T) {
	for _, choice := range []Choice{
		{},
		{Noise: Laplace},
		{Noise: Gaussian, Bounding: Clamp},
		{Noise: Gaussian, Bounding: Fold},
		{Noise: Gaussian, Bounding: Truncate},
		{Noise: Laplace, Bounding: Truncate},
		{Noise: Staircase},
		{Noise: Gaussian, Bounding: Denoise},
		{Bounding: Cells},
	} {
		for _, square := range []float64{.02, .19, 1.5} {
			for _, v := range []Range{{{0, 30}}, {{0, 4}, {9, 30}}} {
				r := Release{Kind: Scalar, Range: v, Sensitivity: 2, Choice: choice}
				p, err := Prepare(r, Guarantee{Epsilon: square, Order: GDP})
				if err != nil {
					if choice.Bounding != Cells {
						t.Errorf("%v on %v: %v", choice, v, err)
					}
					continue
				}
				if err := p.Verify(r); err != nil {
					t.Errorf("%v on %v: %v", choice, v, err)
				}
				charged := p.Curve().Renyi[orderCount]
				if charged > square || charged < square*(1-1e-6) && p.Chosen().kappa < maxKappa {
					t.Errorf("%v on %v: μ² = %g is charged %g", choice, v, square, charged)
				}
				if w := p.Tabulate().Square([]int{1, 2}); w.Value > charged*(1+1e-7) {
					t.Errorf("%v on %v: %+v, charged %g", choice, v, w, charged)
				}
			}
		}
	}
	for _, r := range []Release{
		{Kind: Quantile, Range: Range{{0, 100}}, Sensitivity: 3, Total: 9, Groups: 5, Fraction: .5},
		{Kind: SumGivenCount, PerRow: Interval{-3, 5}, Sensitivity: 5, Choice: Choice{Noise: Gaussian, Bounding: Truncate}},
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 7, Total: 30, Groups: 9, Row: 7},
	} {
		p, err := Prepare(r, Guarantee{Epsilon: .19, Order: GDP})
		if err != nil {
			t.Fatal(err)
		}
		if charged := p.Curve().Renyi[orderCount]; charged > .19 || charged < .19*(1-1e-6) {
			t.Errorf("%v: %g is charged", r.Kind, charged)
		}
		if err := p.Verify(r); err != nil {
			t.Errorf("%v: %v", r.Kind, err)
		}
	}
	units := Release{Kind: Selection, Sensitivity: 1, Groups: 4}
	p, err := Prepare(units, Guarantee{Epsilon: .19, Delta: 1e-9, Order: GDP})
	if err != nil {
		t.Fatal(err)
	}
	if charged := p.Curve().Renyi[orderCount]; charged > .19 || charged < .18 || p.Verify(units) != nil {
		t.Errorf("a selection is charged %g: %v", charged, p.Verify(units))
	}
}
