package optimum

import (
	"math"
	"testing"
)

// TestKnown compares with optima in closed form: randomised response of L+1 values where it is optimal, and at Δ = 1
// the geometric mechanism, clamped, at an ε where the posterior mean of every noisy value rounds to it.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		length, sensitivity int
		epsilon             float64
	}{{1, 1, .1}, {1, 1, 1}, {2, 2, 5}, {5, 5, 5}, {2, 1, 2}, {10, 1, 2}, {20, 1, 5}} {
		b, err := RMSE(c.length, c.sensitivity, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		n, sum := float64(c.length+1), 0.0
		for x := range c.length + 1 {
			for z := range c.length + 1 {
				p := 1 / (math.Exp(c.epsilon) + n - 1)
				if c.sensitivity == 1 {
					q := math.Exp(-c.epsilon)
					p = (1 - q) / (1 + q) * math.Pow(q, math.Abs(float64(x-z)))
					if z == 0 || z == c.length {
						p /= 1 - q
					}
				}
				sum += p * float64((x-z)*(x-z))
			}
		}
		want := math.Sqrt(sum / n)
		if b.Lower > want*(1+1e-9) || b.Upper < want*(1-1e-9) || b.Lower < want*(1-1e-3) || b.Upper > want*(1+1e-3) {
			t.Errorf("%+v: %v, want %.6g", c, b, want)
		}
	}
}

// TestRays: what pricing returns lies in the cone.
func TestRays(t *testing.T) {
	p := pricer{length: 12, window: 3, up: math.Exp(.7)}
	prices := []float64{9, 1, 14, 3, 8, 2, 20}
	for z := range 13 {
		ray, _ := p.price(z, prices, 0)
		for x := range ray {
			for y := x + 1; y <= min(12, x+3); y++ {
				if math.Abs(math.Log(ray[x]/ray[y])) > .7+1e-12 {
					t.Errorf("output %d: %v at %d and %d", z, ray, x, y)
				}
			}
		}
	}
}
