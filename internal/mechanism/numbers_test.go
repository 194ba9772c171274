package mechanism

import (
	"math"
	"testing"
)

// fine is a grid so fine that the discrete mechanism is the continuum to 1e-9.
const fine = 1 << 30

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if !(math.Abs(got-want) <= rel*math.Abs(want)) {
		t.Errorf("%s: got %.6g, want %.6g within %g", what, got, want, rel)
	}
}

// The tight univariate rows of docs/mechanisms.md, section 2, and the paper's σ beside them, with the paper's true
// loss.
func TestUnivariateGaussian(t *testing.T) {
	for _, c := range []struct{ l, delta, eps, paper, paperLoss, tight float64 }{
		{10, 1, 1, 3.607, .538, 2.758},
		{10, 1, .1, 12.146, .036, 7.498},
		{10, 10, 1, 12.723, math.NaN(), 7.071},
		{1000, 1, 1, 32.03, math.NaN(), 31.22},
	} {
		grid := fine / c.l
		v := Range{{0, fine}}
		tight := newKernel(Gaussian, pureKappa(Gaussian, v, c.delta*grid, c.eps))
		near(t, "tight σ", tight.scale()/grid, c.tight, 3e-4)
		near(t, "tight loss", oneGroup(v, c.delta*grid, Guarantee{}).pureLoss(tight, Truncate), c.eps, 1e-8)
		paper := math.Sqrt(ChenHaleVariance(c.l, c.delta, c.eps))
		near(t, "paper σ", paper, c.paper, 2e-4)
		if !math.IsNaN(c.paperLoss) {
			near(t, "paper loss", oneGroup(v, c.delta*grid, Guarantee{}).pureLoss(
				newKernel(Gaussian, kappaOf(Gaussian, paper*grid)), Truncate), c.paperLoss, 2e-2)
		}
	}
}

// The Rényi rows of §4: Δ = 1, α = 2.
func TestRenyiRows(t *testing.T) {
	for _, c := range []struct{ l, want float64 }{{1, .00102}, {5, .0234}, {20, .1099}, {100, .1111}} {
		grid := math.Round(fine / c.l)
		n := newKernel(Gaussian, kappaOf(Gaussian, 3*grid))
		v := Range{{0, int64(c.l * grid)}}
		near(t, "D_2", oneGroup(v, grid, Guarantee{}).renyi(n, Truncate, 2), c.want, 5e-3)
	}
	for _, c := range []struct{ a, b, s, u, alpha, want float64 }{
		{.2, .8, 0, 1, 2, .11658}, {0, 1, 0, 1, 8, .67866}, {0, 5, 0, 1, 8, 1.0995}, {-3, 3, -1, 0, 8, .9311},
	} {
		got := laplacePairByIntegral(c.a, c.b, c.s, c.u, c.alpha)
		near(t, "Laplace pair", got, c.want, 1e-3)
	}
	near(t, "untruncated", newKernel(Laplace, 1./(1<<24)).law().Plain(8, 1<<24), .9102, 1e-3)
	near(t, "Fu (6)", FuLaplaceRenyi(8, 1, 1), .9102, 1e-3)
}

// laplacePairByIntegral is D_α of two Laplace densities of scale 1 at s and u on [a, b], by the midpoint rule.
func laplacePairByIntegral(a, b, s, u, alpha float64) float64 {
	const n = 200000
	var zs, zu, mix float64
	for i := range n {
		x := a + (b-a)*(float64(i)+.5)/n
		ps, pu := math.Exp(-math.Abs(x-s)), math.Exp(-math.Abs(x-u))
		zs, zu, mix = zs+ps, zu+pu, mix+math.Pow(ps, alpha)*math.Pow(pu, 1-alpha)
	}
	return math.Log(mix/math.Pow(zs, alpha)*math.Pow(zu, alpha-1)) / (alpha - 1)
}

// overEqualSteps is the root mean squared error over equally spaced true values, both bounds among them.
func overEqualSteps(d design, steps float64) float64 {
	h, sum := d.v.hull(), 0.0
	for i := 0.0; i <= steps; i++ {
		sum += d.squaredError(float64(h.Lo) + math.Round(i*float64(h.span())/steps))
	}
	return math.Sqrt(sum / (steps + 1))
}

// The error table of §6.
func TestErrorTable(t *testing.T) {
	type pair [2]float64
	none := pair{}
	for _, c := range []struct {
		l, eps                                       float64
		paper, tight, croft, ltight, fold, clamp, dn pair
	}{
		{
			1, 1,
			pair{.41, .55},
			pair{.38, .50},
			pair{.39, .54},
			pair{.37, .50},
			pair{.40, .55},
			pair{.46, .51},
			pair{.28, .47},
		},
		{
			5, .5,
			pair{1.91, 2.57},
			pair{1.70, 2.19},
			pair{1.79, 2.43},
			pair{1.73, 2.35},
			pair{1.64, 2.17},
			pair{1.67, 1.69},
			pair{1.24, 1.96},
		},
		{
			10, 1,
			pair{2.89, 3.52},
			pair{2.38, 2.75},
			pair{2.14, 2.66},
			pair{1.84, 2.22},
			pair{1.28, 1.41},
			pair{1.25, 1.39},
			pair{1.19, 1.41},
		},
		{
			100, .5,
			pair{13.9, 15.0},
			pair{12.5, 13.4},
			pair{5.43, 5.66},
			pair{4.86, 5.03},
			pair{2.80, 2.83},
			pair{2.74, 2.83},
			none,
		},
		{
			1000, 1,
			pair{31.7, 32.0},
			pair{30.9, 31.2},
			pair{2.83, 2.83},
			pair{2.28, 2.28},
			pair{1.41, 1.41},
			pair{1.38, 1.41},
			none,
		},
	} {
		grid := math.Round(fine / c.l)
		tk := oneGroup(Range{{0, int64(c.l * grid)}}, grid, Guarantee{Epsilon: c.eps})
		for _, m := range []struct {
			noise Noise
			b     Bounding
			c     Calibration
			want  pair
		}{
			{Gaussian, Truncate, Paper, c.paper},
			{Gaussian, Truncate, Tight, c.tight},
			{Laplace, Truncate, Paper, c.croft},
			{Laplace, Truncate, Tight, c.ltight},
			{Laplace, Fold, Tight, c.fold},
			{Laplace, Clamp, Tight, c.clamp},
			{Laplace, Denoise, Tight, c.dn},
		} {
			got, err := tk.candidate(m.noise, m.b, m.c)
			if err != nil {
				t.Fatal(err)
			}
			if m.want == none {
				continue
			}
			average := got.RMSEAverage
			if m.b != Denoise {
				average = overEqualSteps(got.design, 20)
			}
			near(t, string(m.noise)+" "+string(m.b)+" "+string(m.c)+" average", average/grid, m.want[0], .02)
			near(t, string(m.noise)+" "+string(m.b)+" "+string(m.c)+" worst", got.RMSEWorst/grid, m.want[1], .02)
		}
	}
}
