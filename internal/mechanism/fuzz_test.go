package mechanism

import "testing"

// FuzzPrepare: whatever a policy says, Prepare gives an error or a mechanism whose releases stay in range and whose
// figures are finite and not negative.
func FuzzPrepare(f *testing.F) {
	f.Add(int64(0), int64(10), int64(0), int64(0), int64(1), 1, 1.0, 0.0, uint8(0), int64(5))
	f.Add(int64(-5), int64(-5), int64(7), int64(9), int64(3), 2, .1, 1e-6, uint8(1), int64(1)<<62)
	f.Add(int64(NoLower), int64(NoUpper), int64(0), int64(0), int64(1)<<50, 1, 1e-5, 1e-9, uint8(7), int64(-1))
	f.Add(int64(0), int64(1)<<60, int64(0), int64(0), int64(1), 1, 50.0, 0.5, uint8(9), int64(3))
	f.Add(int64(0), int64(3), int64(1)<<59, int64(1)<<60, int64(1)<<59, 3, 9.0, 0.0, uint8(4), int64(3))
	f.Add(int64(0), int64(1)<<20, int64(0), int64(0), int64(5), 2003, .1, 12.0, uint8(0), int64(5))
	f.Add(int64(0), int64(12), int64(0), int64(0), int64(40), 4003, 3.0, 1.5, uint8(150), int64(5))
	f.Fuzz(func(t *testing.T, lo, hi, lo2, hi2, delta int64, groups int, eps, del float64, choice uint8, exact int64) {
		r := Release{
			Kind: Scalar, Range: Range{{lo, hi}}, Sensitivity: delta, Groups: groups % 100,
			Total: int64(groups / 100),
		}
		if lo2 > hi {
			r.Range = append(r.Range, Interval{lo2, hi2})
		}
		r.Choice.Noise = []Noise{"", Laplace, Gaussian}[choice%3]
		r.Choice.Bounding = []Bounding{"", Truncate, Fold, Denoise, Clamp}[choice/3%5]
		r.Choice.Calibration = []Calibration{"", Tight, Paper}[choice/15%3]
		g := Guarantee{Epsilon: eps, Delta: del}
		if del > 1 { // no δ: an order
			g = Guarantee{Epsilon: eps, Order: del}
		}
		if choice >= 120 && choice < 200 {
			r.Layer = 1
		}
		if choice >= 200 {
			r.Kind, r.PerRow = SumGivenCount, Interval{lo, hi}
		}
		p, err := prepare(r, g)
		if err != nil {
			return
		}
		src := seededSource(1)
		count := exact%1000 + 1
		v := p.rangeAt(count)
		for range 8 {
			z := p.Draw(src, exact, count)
			if v.nearest(z) != z && !(r.Kind == SumGivenCount && count <= 0 && z == 0) {
				t.Fatalf("%+v, %v: released %d outside %v", r, p.guarantee, z, v)
			}
			if m, s := p.Margin(z, count, Wrong), p.StdDev(z, count); !(m >= 0 && s >= 0 && m < 1e19 && s < 1e19) {
				t.Fatalf("%+v, %v: margin %g, standard deviation %g", r, p.guarantee, m, s)
			}
		}
		for _, c := range p.Candidates() {
			if !(c.Scale > 0 && c.RMSEAverage >= 0 && c.RMSEWorst >= 0 && c.Loss >= 0 && c.Loss <= eps*(1+1e-9)) {
				t.Fatalf("%+v, %v: %v scale %g loss %g rmse %g, %g", r, p.guarantee, c, c.Scale, c.Loss, c.RMSEAverage, c.RMSEWorst)
			}
		}
		curve := p.Curve()
		for i, x := range curve.Renyi {
			if most := curve.Pure * (1 + 1e-9); !(x >= 0) || Orders[i] != GDP && x > most || x > 8*most {
				t.Fatalf("%+v, %v: order %g costs %g, pure %g", r, p.guarantee, Orders[i], x, curve.Pure)
			}
		}
	})
}

// FuzzQuantile: any histogram gives a point of the range.
func FuzzQuantile(f *testing.F) {
	f.Add(int64(0), int64(100), int64(5), int64(3), int64(50), int64(-4), .5, 1.0)
	f.Add(int64(-9), int64(-9), int64(1)<<62, int64(1), int64(1)<<62, int64(1)<<40, 0.0, 1e-5)
	f.Fuzz(func(t *testing.T, lo, hi, s1, c1, s2, c2 int64, q, eps float64) {
		p, err := prepare(Release{Kind: Quantile, Range: Range{{lo, hi}}, Sensitivity: 1, Fraction: q},
			Guarantee{Epsilon: eps})
		if err != nil {
			return
		}
		if s2 < s1 {
			s1, s2 = s2, s1
		}
		src := seededSource(2)
		for range 4 {
			if z := p.DrawQuantile(src, Histogram{{s1, c1}, {s2, c2}}); z < lo || z > hi {
				t.Fatalf("released %d outside [%d, %d]", z, lo, hi)
			}
		}
	})
}
