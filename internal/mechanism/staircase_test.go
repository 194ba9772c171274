package mechanism

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

var someStairs = []kernel{
	newStaircaseKernel(.5, 2), newStaircaseKernel(.8, 7), newStaircaseKernel(2, 10),
	newStaircaseKernel(5, 3), newStaircaseKernel(5, 100), newStaircaseKernel(6, 1), newStaircaseKernel(.03, 5),
}

// TestStairSums compares the closed sums with the weights added one by one.
func TestStairSums(t *testing.T) {
	for _, n := range someStairs {
		for _, run := range [][2]float64{{0, 1}, {0, 5}, {-3, 9}, {-40, 81}, {17, 64}, {-250, 100}, {3, 1}, {0, 400}} {
			var m0, m1, m2 float64
			for d := run[0]; d < run[0]+run[1]; d++ {
				w := math.Exp(n.log(d))
				m0, m1, m2 = m0+w, m1+w*d, m2+w*d*d
			}
			s := n.sums(run[0], run[1])
			e := math.Exp(s.ref)
			near(t, "m0", s.m0*e, m0, 1e-12)
			near(t, "m2", s.m2*e, m2, 1e-6)
			if math.Abs(s.m1*e-m1) > 1e-6*math.Sqrt(m0*m2) {
				t.Errorf("%+v, %v: m1 %g, want %g", n, run, s.m1*e, m1)
			}
		}
	}
}

// TestStairDivergences adds up the log-ratio, the divergence and δ(ε) of plain noise at every distance up to two
// stairs.
func TestStairDivergences(t *testing.T) {
	for _, n := range someStairs {
		last := 0.0
		for d := 1.0; d <= 2*float64(n.period); d++ {
			far, total := n.distance(200/1.), n.total()
			ratio, mix, delta := 0.0, 0.0, 0.0
			const a, eps = 3, .3
			for z := -math.Ceil(far); z <= far; z++ {
				p, q := n.log(z), n.log(z-d)
				ratio = math.Max(ratio, p-q)
				mix += math.Exp(a*p+(1-a)*q) / total
				delta += math.Max(0, math.Exp(p)-math.Exp(eps+q)) / total
			}
			stairs := math.Ceil(d / float64(n.period))
			renyi, bound := math.Log(mix)/(a-1), n.law().Plain(a, d)
			if ratio > stairs*n.kappa*(1+1e-12) || renyi > bound*(1+1e-9) || delta > n.plainProfile(d, eps)*(1+1e-9)+1e-15 {
				t.Errorf("κ %g, P %d, r %d, distance %g: ratio %g, divergence %g of %g, δ %g of %g",
					n.kappa, n.period, n.inner, d, ratio, renyi, bound, delta, n.plainProfile(d, eps))
			}
			if stairs == 1 {
				near(t, "divergence", renyi, bound, 1e-6)
				if n.kappa > eps {
					near(t, "δ", n.plainProfile(d, eps), delta, 1e-6)
				}
			}
			if bound < last*(1-1e-9) {
				t.Errorf("κ %g, P %d: the divergence falls at distance %g", n.kappa, n.period, d)
			}
			last = bound
		}
	}
}

// TestStairSampler draws noise of long stairs, whose blocks do not fit them, and counts the stairs.
func TestStairSampler(t *testing.T) {
	src := seededSource(11)
	for _, n := range []kernel{
		newStaircaseKernel(1, 1000), newStaircaseKernel(5, 12345), newStaircaseKernel(6, 1<<40),
		newStaircaseKernel(2, 1<<52),
	} {
		s := newSampler(n)
		if len(s.env) > 1<<14 {
			t.Errorf("κ %g, P %d: %d blocks", n.kappa, n.period, len(s.env))
		}
		counts, want := map[int64]int{}, map[int64]float64{}
		for range 100000 {
			d, left := s.draw(src, &s.plain)
			stair := int64(n.stair(float64(d)))
			if left {
				stair = -stair - 1
			}
			counts[stair]++
		}
		total := n.total()
		for j := range int64(60) {
			points := float64(n.period)
			if j == 0 {
				points = float64(n.inner)
			}
			want[j] = points * math.Exp(-n.kappa*float64(j)) / total
			want[-j-1] = want[j]
		}
		want[-1] -= 1 / total // 0 is on the right
		if got, limit := stattest.ChiSquare(counts, want); got > limit {
			t.Errorf("κ %g, P %d, r %d: chi-square %.1f, limit %.1f", n.kappa, n.period, n.inner, got, limit)
		}
	}
}

// TestStairLimits: beyond 2^52 steps a distance might be rounded to more than a stair.
func TestStairLimits(t *testing.T) {
	for _, c := range []struct {
		r  Release
		ok bool
	}{
		{Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1 << 52}, true},
		{Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1<<52 + 1}, false},
		{Release{Kind: Scalar, Range: Range{{0, 20}}, Sensitivity: 1}, true},
	} {
		c.r.Choice.Noise = Staircase
		p, err := Prepare(c.r, Guarantee{Epsilon: 9})
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.r, err)
		} else if err == nil && p.Curve().Pure > 9 {
			t.Errorf("%+v: charged %g", c.r, p.Curve().Pure)
		}
	}
	// Rows over groups take a stair each, as long as one row moves a group.
	p, err := Prepare(Release{
		Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 400, Total: 400, Row: 100, Groups: 9,
		Layer: 1, Choice: Choice{Noise: Staircase},
	}, Guarantee{Epsilon: 4})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Chosen().kernel; n.period != 100 || math.Abs(n.kappa-1) > 1e-6 {
		t.Errorf("four rows of 100: period %d, κ %g", n.period, n.kappa)
	}
}
