package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Sums in closed form against sums one by one, over all regimes: near, far, short, long, on either side.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		noise := []Noise{Laplace, Gaussian}[r.IntN(2)]
		scale := math.Pow(10, -.5+3.5*r.Float64())
		n := newKernel(noise, kappaOf(noise, scale))
		lo, count := math.Round((r.Float64()-.5)*8*scale), math.Ceil(math.Pow(10, 4*r.Float64()))
		if noise == Gaussian && r.IntN(2) == 0 {
			lo += r.Float64() // centres between grid points, as in Rényi mixtures
		}
		got := n.sums(lo, count)
		var m0, m1, m2, size float64
		for i := 0.0; i < count; i++ {
			w := math.Exp(n.log(lo+i) - got.ref)
			m0, m1, m2, size = m0+w, m1+w*(lo+i), m2+w*(lo+i)*(lo+i), size+w*math.Abs(lo+i)
		}
		moments := map[Noise]float64{Laplace: 1e-6, Gaussian: 1e-8}[noise]
		if math.Abs(got.m0/m0-1) > 2e-12 || math.Abs(got.m1-m1) > moments*size || math.Abs(got.m2/m2-1) > moments && m2 > 0 {
			t.Fatalf("%s scale %g from %g, %g points: %g %g %g, want %g %g %g", noise, scale, lo, count, got.m0, got.m1, got.m2,
				m0, m1, m2)
		}
	}
}

// The closed-form worst pair of a range with gaps against all pairs.
func TestPureLossIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		v := randomRange(r, 60)
		noise := []Noise{Laplace, Gaussian}[r.IntN(2)]
		n := newKernel(noise, kappaOf(noise, math.Pow(10, -.3+2.3*r.Float64())))
		delta := 1 + r.IntN(int(v.hull().span())+5)
		d := design{kernel: n, bounding: Truncate, v: v}
		table := d.tabulate()
		var all []int
		for c := 1; c <= delta; c++ {
			all = append(all, c)
		}
		want := table.LogRatio(all).Value
		if got := oneGroup(v, float64(delta), Guarantee{}).pureLoss(n, Truncate); math.Abs(got-want) > 1e-10*math.Max(
			1, want) {
			t.Fatalf("%s %g on %v, sensitivity %d: loss %.15g, by enumeration %.15g", noise, n.scale(), v, delta, got, want)
		}
	}
}

func randomRange(r *rand.Rand, most int64) Range {
	v := Range{}
	at := -r.Int64N(most)
	for range 1 + r.IntN(4) {
		hi := at + r.Int64N(most/3)
		v = append(v, Interval{at, hi})
		at = hi + 2 + r.Int64N(most/2)
	}
	if v.hull().span() == 0 {
		v[0].Hi++
	}
	return v
}

// The tight scale never needs more noise than Croft's on the continuum.
func TestTightIsBelowCroft(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		v := randomRange(r, 60)
		for i := range v { // a fine grid stands for the continuum
			v[i].Lo, v[i].Hi = v[i].Lo*1000, v[i].Hi*1000+500
		}
		delta, eps := float64(1000*(1+r.IntN(20))), math.Pow(10, -1+1.5*r.Float64())
		tight, croft := 1/pureKappa(Laplace, v, delta, eps), CroftScale(v, delta, eps)
		if tight > croft*(1+1e-3) || croft > 2*delta/eps*(1+1e-9) {
			t.Errorf("%v, sensitivity %g, ε %g: tight %g, Croft %g", v, delta, eps, tight, croft)
		}
	}
}

// One bound: λ = Δ/ln((1+e^ε)/2) on the continuum, and the limit of long ranges.
func TestOpenScale(t *testing.T) {
	for _, eps := range []float64{.01, .5, 1, 5} {
		const delta = 1 << 30
		near(t, "λ", 1/openKappa(delta, eps), delta/math.Log((1+math.Exp(eps))/2), 1e-6)
		near(t, "long range", 1/pureKappa(Laplace, Range{{0, 1 << 50}}, delta, eps), 1/openKappa(delta, eps), 1e-6)
	}
}

// Proposition 1 on the grid: every divergence grows with the distance of the true values, from either end.
func TestDivergencesGrowWithDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		v := randomRange(r, 24)
		noise := []Noise{Laplace, Gaussian}[r.IntN(2)]
		table := design{
			kernel: newKernel(noise, kappaOf(noise, math.Pow(10, -.3+1.6*r.Float64()))), bounding: Truncate,
			v: v,
		}.tabulate()
		n := len(table.Log)
		value := func(s, u int) [3]float64 {
			pair := Distribution{Log: [][]float64{table.Log[s], table.Log[u]}}
			return [3]float64{pair.LogRatio([]int{1}).Value, pair.Renyi(3, []int{1}).Value, pair.HockeyStick(.3, []int{1}).Value}
		}
		for s := 0; s < n; s++ {
			for u := s + 1; u+1 < n; u++ {
				a, b := value(s, u), value(s, u+1)
				for k := range a {
					if a[k] > b[k]*(1+1e-9)+1e-12 {
						t.Fatalf("%s on %v: divergence %d of (%d, %d) is %g, of (%d, %d) %g", noise, v, k, s, u, a[k], s, u+1, b[k])
					}
				}
			}
		}
	}
}

// The divergence of truncated noise on a range with gaps is charged as it is: never below enumeration, and hardly above
// it.
func TestRenyiWithGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	check := func(v Range, noise Noise, scale, a float64, delta int) {
		n := newKernel(noise, kappaOf(noise, scale))
		found := design{kernel: n, bounding: Truncate, v: v}.tabulate().Renyi(
			a, Distances(delta, int(v.hull().span())+1)).Value
		charged := oneGroup(v, float64(delta), Guarantee{}).renyi(n, Truncate, a)
		if found > charged*(1+1e-9)+1e-12 || charged > found*1.01+1e-9 {
			t.Errorf("%s noise of scale %g on %v, Δ %d, order %g: charged %g, enumerated %g", noise, scale, v, delta, a, charged,
				found)
		}
	}
	for _, scale := range []float64{.5, 4, 40} {
		for _, a := range []float64{1.05, 2, 64} {
			check(Range{{8, 12}, {14, 18}}, Laplace, scale, a, 1)
		}
	}
	for range 200 {
		v := randomRange(r, 40)
		check(v, []Noise{Laplace, Gaussian}[r.IntN(2)], math.Pow(10, -.3+2*r.Float64()), 1+math.Pow(10, -1.3+4*r.Float64()),
			1+r.IntN(int(v.hull().span())))
	}
	// Seen from the middle of a wide gap all weights vanish, and their logarithms are large.
	check(Range{{0, 3}, {1500, 1503}}, Laplace, .05, 1e5, 1)
	check(Range{{0, 3}, {1500, 1503}}, Laplace, 2, 1.05, 700)
}

// Proposition 5 on the grid: truncating Gaussian noise to an interval increases neither δ(ε) nor any Rényi divergence.
func TestTruncatedGaussianIsBelowPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		length := 1 + r.Int64N(60)
		n := newKernel(Gaussian, kappaOf(Gaussian, math.Pow(10, -.5+2*r.Float64())))
		delta := 1 + r.IntN(int(length))
		eps := math.Pow(10, -2+3*r.Float64())
		table := design{kernel: n, bounding: Truncate, v: Range{{0, length}}}.tabulate()
		found := table.HockeyStick(eps, []int{delta}).Value
		if plain := n.plainProfile(float64(delta), eps); found > plain*(1+1e-9)+1e-15 {
			t.Fatalf("σ %g, L %d, Δ %d, ε %g: δ %g, untruncated %g", n.scale(), length, delta, eps, found, plain)
		}
		if exact := n.truncatedProfile(Range{{0, length}}, float64(delta), eps); found > exact*(1+1e-9)+1e-15 {
			t.Fatalf("σ %g, L %d, Δ %d, ε %g: δ %g, claimed %g", n.scale(), length, delta, eps, found, exact)
		}
		a := math.Pow(10, .1+2*r.Float64())
		if d := table.Renyi(a, []int{delta}).Value; d > n.law().Plain(a, float64(delta))*(1+1e-9)+1e-13 {
			t.Fatalf("σ %g, L %d, Δ %d, order %g: %g", n.scale(), length, delta, a, d)
		}
	}
}

// The analytic Gaussian mechanism: σ = 8.06 at ε = .5, δ = 1e-6 (docs/mechanisms.md, section 5; Balle and Wang 2018).
func TestProfileCalibration(t *testing.T) {
	g := Guarantee{Epsilon: .5, Delta: 1e-6}
	const grid = 1 << 20
	k := profileKappa(grid, g, func(n kernel) float64 { return n.plainProfile(grid, g.Epsilon) })
	near(t, "σ", newKernel(Gaussian, k).scale()/grid, 8.06, 1e-3)
}

// pureKappa and openKappa are the tight κ of truncation in one group.
func pureKappa(noise Noise, v Range, delta, eps float64) float64 {
	return oneGroup(v, delta, Guarantee{Epsilon: eps}).kappa(noise, Truncate)
}

func openKappa(delta, eps float64) float64 {
	t := oneGroup(Range{{-limit, limit}}, delta, Guarantee{Epsilon: eps})
	t.open = true
	return t.kappa(Laplace, Truncate)
}
