package mechanism

import (
	"math"
	"testing"
)

// exceeds is P(|x − r·y| > m) of two coordinates, from the distribution of the boxes and every point of theirs.
func exceeds(c *Cube, r, m float64) float64 {
	p := 0.0
	for i, k := range c.law.shell {
		if c.law.weight[i] < 1e-9 {
			continue
		}
		hx, hy := math.Floor(k*c.move(0)/float64(c.shells)), math.Floor(k*c.move(1)/float64(c.shells))
		outside := 0.0
		for y := -hy; y <= hy; y++ {
			lo, hi := math.Max(-hx, math.Ceil(r*y-m-1e-9)), math.Min(hx, math.Floor(r*y+m+1e-9))
			outside += 2*hx + 1 - math.Max(0, hi-lo+1)
		}
		p += c.law.weight[i] * outside / (2*hx + 1) / (2*hy + 1)
	}
	return p
}

// TestPairMarginsAreQuantiles compares margins of two coordinates with the enumerated law: 95% lie within, and fewer
// within a step less of the finer one; so do 99.9%, also between the ratios that are told apart.
func TestPairMarginsAreQuantiles(t *testing.T) {
	for _, axes := range []int{2, 3, 12} {
		for _, epsilon := range []float64{1, 8} {
			for _, move := range []int64{1, 3, 60} {
				moves := make([]int64, axes)
				for i := range moves {
					moves[i] = 1
				}
				moves[0] = move
				c, err := NewCube(CubeShape{Moves: moves, Rows: 2}, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				x, y := &Prepared{cube: c}, &Prepared{cube: c, coordinate: 1}
				for _, r := range []float64{0, .3, 1, 2.5, 7, 150, -150, 1e6} {
					ratio := math.Abs(r) / float64(move)
					if steps := ratio * ratioSteps; ratio < 1 && steps != math.Floor(steps) {
						r = math.Round(steps) / ratioSteps * float64(move) // between these it is that of the nearest
					}
					for _, at := range []float64{r, 1.3 * r} {
						const wrong = .001
						mx, my := PairMargins(x, y, at, wrong)
						if p := exceeds(c, at, math.Hypot(mx, at*my)*(1+1e-3)); p > wrong*1.002 {
							t.Errorf("%d coordinates, epsilon %g, move %d, r %g: the margin of 99.9%% is exceeded with probability %g", axes,
								epsilon, move, at, p)
						}
					}
					mx, my := PairMargins(x, y, r, Wrong)
					m := math.Hypot(mx, r*my)
					fine := math.Min(1, math.Abs(r))
					if p := exceeds(c, r, m*(1+1e-3)); p > .0501 {
						t.Errorf("%d coordinates, epsilon %g, move %d, r %g: ±%g is exceeded with probability %g", axes, epsilon, move, r,
							m, p)
					}
					if p := exceeds(c, r, (m-fine)*(1-2*ratioEnd)-1e-6); p < .0499 && m > fine {
						t.Errorf("%d coordinates, epsilon %g, move %d, r %g: ±%g less a step is exceeded with probability %g", axes,
							epsilon, move, r, m, p)
					}
				}
			}
		}
	}
}

// continuum is P(|x − r·y| > m) of two of axes coordinates without a grid, r > 0: k of the box is a gamma variable and
// both are uniform on it.
func continuum(axes int, r, m float64) float64 {
	d := float64(axes)
	poisson := func(n int, x float64) float64 { // P(fewer than n)
		term, sum := math.Exp(-x), 0.0
		for i := range n {
			sum += term
			term *= x / float64(i+1)
		}
		return sum
	}
	g := func(c float64) float64 { // E (c − m/k)² over k > m/c
		if c == 0 {
			return 0
		}
		x := m / c
		return c*c*poisson(axes+1, x) - 2*c*m*poisson(axes, x)/d + m*m*poisson(axes-1, x)/(d*(d-1))
	}
	return (g(1+r) - g(math.Abs(1-r))) / (4 * r)
}

// TestPairDeviations compares with the continuum, and with the table of docs/mechanisms.md, section 8.
func TestPairDeviations(t *testing.T) {
	ratios := []float64{1e-4, .5, 1, 3}
	for axes, want := range map[int][]float64{
		2: {2.06, 2.09, 2.12}, 3: {2.01, 2.05, 2.09}, 6: {1.92, 1.99, 2.03},
		12: {1.83, 1.93, 1.98}, 40: {1.72, 1.86, 1.92},
	} {
		moves := make([]int64, axes)
		for i := range moves {
			moves[i] = 1000
		}
		c, err := NewCube(CubeShape{Moves: moves, Rows: 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range ratios {
			got := c.deviations(0, 1, r, Wrong)
			if i < len(want) && math.Abs(got-want[i]) > .006 {
				t.Errorf("%d coordinates, r %g: %g deviations, want %g", axes, r, got, want[i])
			}
			d := float64(axes)
			if p := continuum(axes, r, got*math.Sqrt((d+1)*(d+2)/3*(1+r*r))); math.Abs(p-(1-confidence)) > 2e-4 {
				t.Errorf("%d coordinates, r %g: %g deviations are exceeded with probability %g in the continuum", axes, r, got, p)
			}
		}
	}
}
