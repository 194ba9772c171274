package mechanism

import "testing"

// 10⁶ releases per second and core: 1000 ns each, for ranges up to 2³² and scales up to 2⁴⁰.
func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name  string
		noise Noise
		scale float64
		b     Bounding
		v     Range
	}{
		{"laplace/fold/small", Laplace, 2, Fold, Range{{0, 100}}},
		{"laplace/fold/2^32", Laplace, 1 << 20, Fold, Range{{0, 1 << 32}}},
		{"laplace/truncate/small", Laplace, 5, Truncate, Range{{0, 20}}},
		{"laplace/truncate/2^40", Laplace, 1 << 40, Truncate, Range{{0, 1 << 32}}},
		{"laplace/truncate/gaps", Laplace, 500, Truncate, Range{{0, 99}, {200, 400}, {1000, 1010}}},
		{"gaussian/truncate/2^20", Gaussian, 1 << 20, Truncate, Range{{0, 1 << 32}}},
		{"gaussian/truncate/2^40", Gaussian, 1 << 40, Truncate, Range{{0, 1 << 32}}},
		{"gaussian/fold/2^32", Gaussian, 1 << 30, Fold, Range{{0, 1 << 32}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := fixed(design{kernel: newKernel(c.noise, kappaOf(c.noise, c.scale)), bounding: c.b, v: c.v})
			src := NewSource()
			h := c.v.hull()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Draw(src, h.Lo+int64(uint64(i)*7919%(h.span()+1)), 0)
			}
		})
	}
}

// Calibration within 1 ms, cold.
func BenchmarkPrepare(b *testing.B) {
	for _, c := range []struct {
		name string
		r    Release
		g    Guarantee
	}{
		{"count/pure", Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 1}, Guarantee{Epsilon: .5}},
		{"count/rdp", Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 1}, Guarantee{Epsilon: .5, Delta: 1e-6}},
		{"narrow/rdp", Release{Kind: Scalar, Range: Range{{0, 20}}, Sensitivity: 4}, Guarantee{Epsilon: .5, Delta: 1e-6}},
		{"open/rdp", Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 3}, Guarantee{Epsilon: .5, Delta: 1e-6}},
		{
			"chained/rdp",
			Release{Kind: SumGivenCount, PerRow: Interval{-50, 50}, Sensitivity: 50},
			Guarantee{Epsilon: .5, Delta: 1e-6},
		},
		{
			"gaps/pure",
			Release{Kind: Scalar, Range: Range{{0, 99}, {200, 400}, {1000, 1010}}, Sensitivity: 30},
			Guarantee{Epsilon: 1},
		},
		{
			"count/order",
			Release{Kind: Scalar, Range: Range{{0, 1 << 20}}, Sensitivity: 1},
			Guarantee{Epsilon: .05, Order: 12},
		},
		{
			"groups/order",
			Release{Kind: Scalar, Range: Range{{0, 1 << 20}}, Sensitivity: 8, Total: 8, Groups: 10},
			Guarantee{Epsilon: .05, Order: 12},
		},
		{
			"narrow groups/order",
			Release{Kind: Scalar, Range: Range{{0, 40}}, Sensitivity: 8, Total: 16, Groups: 10},
			Guarantee{Epsilon: .05, Order: 12},
		},
		{"groups of 50 rows/order", Release{
			Kind: Scalar, Range: Range{{0, 1 << 20}}, Sensitivity: 50, Total: 50, Row: 1,
			Groups: 10,
		}, Guarantee{Epsilon: .05, Order: 12}},
		{
			"chained/order",
			Release{Kind: SumGivenCount, PerRow: Interval{-50, 50}, Sensitivity: 500, Total: 500, Groups: 10},
			Guarantee{Epsilon: .05, Order: 12},
		},
		{
			"gaps/order",
			Release{Kind: Scalar, Range: Range{{0, 99}, {200, 400}, {1000, 1010}}, Sensitivity: 30},
			Guarantee{Epsilon: .05, Order: 12},
		},
		{"wide/pure", Release{Kind: Scalar, Range: Range{{0, 1 << 32}}, Sensitivity: 1 << 20}, Guarantee{Epsilon: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p, err := prepare(c.r, c.g)
				if err != nil {
					b.Fatal(err)
				}
				p.sampler()
			}
		})
		b.Run(c.name+"/curve", func(b *testing.B) {
			for b.Loop() {
				p, err := prepare(c.r, c.g)
				if err != nil {
					b.Fatal(err)
				}
				p.Curve()
			}
		})
	}
}
