package loss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// normalQuantile is where a standard normal tail is exp(ln), for any ln below ln ½, by bisection of its logarithm:
// beyond 30 from the bounds of the Mills ratio by a continued fraction.
func normalQuantile(ln float64) float64 {
	lnTail := func(x float64) float64 {
		if x < 30 {
			return math.Log(math.Erfc(x/math.Sqrt2) / 2)
		}
		fraction := x
		for i := 40.; i > 0; i-- {
			fraction = x + i/fraction
		}
		return -x*x/2 - math.Log(2*math.Pi)/2 - math.Log(fraction)
	}
	low, high := 0., math.Sqrt(-2*ln)+1
	for range 80 {
		if middle := (low + high) / 2; lnTail(middle) > ln {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// signedQuantile is Φ⁻¹ of below/(below+above), from the logarithms of both.
func signedQuantile(below, above float64) float64 {
	all := math.Max(below, above) + math.Log1p(math.Exp(-math.Abs(below-above)))
	if below < above {
		return -normalQuantile(math.Min(below-all, -math.Ln2))
	}
	return normalQuantile(math.Min(above-all, -math.Ln2))
}

// lnSums are the logarithms of Σ_{z ≤ k} and Σ_{z > k} of the weights of integers from lo to hi, seen from s.
func lnSums(kappa, s float64, lo, hi int) (below, above []float64) {
	n := hi - lo + 1
	add := func(a, b float64) float64 {
		return math.Max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
	}
	weight := func(i int) float64 { d := float64(lo+i) - s; return -kappa * d * d }
	below, above = make([]float64, n), make([]float64, n)
	below[0], above[n-1] = weight(0), math.Inf(-1)
	for i := 1; i < n; i++ {
		below[i] = add(below[i-1], weight(i))
		above[n-1-i] = weight(n - i)
		if i > 1 {
			above[n-1-i] = add(above[n-i], weight(n-i))
		}
	}
	return below, above
}

// TestPlainGaussianIsGaussian: no threshold tells discrete Gaussian noise around 0 and around d apart better than it
// would N(0, 1) and N(μ, 1), far into the tails, and some threshold does it as well where μ is enumerated.
func TestPlainGaussianIsGaussian(t *testing.T) {
	for _, sigma := range []float64{.0885, .15, .3, .5, .71, 1, 1.3, 2.37, 3.5, 4.7, 4.99, 5.01, 8, 20, 60} {
		n := Noise{Law: Gaussian, Kappa: 1 / (2 * sigma * sigma)}
		far := int(30*sigma) + 60
		below, above := lnSums(n.Kappa, 0, -far, far)
		at := make([]float64, 0, 2*far)
		for i := range 2 * far {
			at = append(at, signedQuantile(below[i], above[i]))
		}
		for _, d := range []int{1, 2, 7} {
			bound, worst := math.Sqrt(n.Plain(GDP, float64(d))), 0.
			for i := far / 4; i+d < len(at)-far/4; i++ { // where nothing is cut off
				worst = math.Max(worst, at[i+d]-at[i])
			}
			if worst > bound {
				t.Errorf("σ = %g: values %d apart have μ = %.12g, the bound is %.12g", sigma, d, worst, bound)
			}
			if n.Kappa >= fewestKappa && d == 1 && worst < bound*(1-1e-8) {
				t.Errorf("σ = %g: the bound %.12g is attained by %.12g alone", sigma, bound, worst)
			}
		}
		if variance := sigma * sigma; variance > 1 { // rounding costs a twelfth at least
			if mu := n.mu(); mu*mu*variance < 1+1/(12.5*variance) || mu*mu*variance > 1+1.5/variance {
				t.Errorf("σ = %g: μ is %g", sigma, mu)
			}
		}
	}
}

// TestConditionedGaussianIsGaussian: nor on any run of integers, for any two true values in it.
func TestConditionedGaussianIsGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		sigma := math.Exp(r.Float64() * 3)
		n := Noise{Law: Gaussian, Kappa: 1 / (2 * sigma * sigma)}
		length := 1 + r.IntN(int(6*sigma)+3)
		s := r.IntN(length)
		d := 1 + r.IntN(length-s)
		mu := math.Sqrt(Scalar{
			Noise: n, Unit: Unit{Delta: float64(d), Total: float64(d), Row: 1, Groups: 1},
			Span: float64(length), In: []Interval{{0, int64(length)}},
		}.Bound(GDP))
		belowS, aboveS := lnSums(n.Kappa, float64(s), 0, length)
		belowT, aboveT := lnSums(n.Kappa, float64(s+d), 0, length)
		for k := range length {
			if got := signedQuantile(belowS[k], aboveS[k]) - signedQuantile(belowT[k], aboveT[k]); got > mu*(1+1e-9) {
				t.Fatalf("σ = %g on [0, %d]: %d and %d have μ = %g at %d, the bound is %g", sigma, length, s, s+d, got, k, mu)
			}
		}
	}
}

// TestBinaryIsGaussian: the μ² of randomised response, and of a draw of bounded range, is that of the test that it
// allows, and is star-shaped.
func TestBinaryIsGaussian(t *testing.T) {
	last := 0.
	for eps := 1e-6; eps < 200; eps *= 1.07 {
		got := Response(GDP, eps)
		if got/eps < last*(1-1e-8) {
			t.Errorf("ε = %g: μ² is %g, %g of it, after %g", eps, got, got/eps, last)
		}
		last = got / eps
		want := 2 * normalQuantile(-eps-math.Log1p(math.Exp(-eps)))
		if want *= want; got < want*(1-1e-9) || eps > 1e-3 && eps < 12 && got > want*(1+1e-6) {
			t.Errorf("ε = %g: μ² is %g, want %g", eps, got, want)
		}
		for _, shift := range []float64{-.3, 0, .2} { // two outcomes whose log-ratios are eps apart
			p, q := -eps/2+shift, eps/2+shift
			mu := signedQuantile(q, 0) - signedQuantile(p, 0)
			if bound := Ranged(GDP, eps); mu*mu > bound*(1+1e-6) || eps > 1e-3 && eps < 24 && shift == 0 && mu*mu < bound*(1-1e-6) {
				t.Errorf("range %g, from %g: μ² is %g, the bound is %g", eps, p, mu*mu, bound)
			}
		}
	}
}

// TestSmoothedKernel holds the bound on how far the logarithm of Σ_z exp(−(z−x)²/2v) bends against itself, in many
// digits: 4cq/(1−3q) with c = 2π² and q = exp(−cv), for the v that smoothed takes.
func TestSmoothedKernel(t *testing.T) {
	const c = 2 * math.Pi * math.Pi
	for _, variance := range []float64{1, 2, 5, 40, 1000} {
		q := 1 / (4 * c * c * variance * variance)
		v, bend := -math.Log(q)/c, 4*c*q/(1-3*q)
		for x := 0.; x < 1; x += 1. / 64 {
			m0, m1, m2 := new(big.Float), new(big.Float), new(big.Float)
			for z := -40.; z <= 40; z++ {
				w := math.Exp(-(z - x) * (z - x) / (2 * v))
				for i, m := range []*big.Float{m0, m1, m2} {
					m.Add(m, new(big.Float).SetPrec(200).SetFloat64(w*math.Pow(z-x, float64(i))))
				}
			}
			a, _ := m0.Float64()
			b, _ := m1.Float64()
			d, _ := m2.Float64()
			if got := ((d/a)-(b/a)*(b/a))/(v*v) - 1/v; got > bend+1e-14/v {
				t.Errorf("v = %g: at %g it bends by %g, the bound is %g", v, x, got, bend)
			}
		}
	}
}
