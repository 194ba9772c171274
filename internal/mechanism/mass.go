package mechanism

import "math"

// sums holds Σ w(d)·d^k over a run of points, k = 0, 1, 2, all divided by exp(ref).
type sums struct{ ref, m0, m1, m2 float64 }

// add joins two runs.
func (a sums) add(b sums) sums {
	switch {
	case b.m0 == 0:
		return a
	case a.m0 == 0:
		return b
	case a.ref < b.ref:
		a, b = b, a
	}
	f := math.Exp(b.ref - a.ref)
	return sums{a.ref, a.m0 + f*b.m0, a.m1 + f*b.m1, a.m2 + f*b.m2}
}

// log is ln Σ w.
func (a sums) log() float64 { return a.ref + math.Log(a.m0) }

// sums adds the weights of the points lo, lo+1, …, lo+n−1 (lo any real for the Gaussian, an integer for Laplace noise),
// to a relative error below 2e-12 for m0, 1e-8 for the Gaussian's others and 1e-6 for the Laplace's.
func (n kernel) sums(lo, count float64) sums {
	hi := lo + count - 1
	switch {
	case !(count >= 1):
		return sums{}
	case hi <= 0 && lo < 0: // mirror: the run lies on the right of 0
		s := n.sums(-hi, count)
		s.m1 = -s.m1
		return s
	case n.noise != Gaussian && lo < 0:
		return n.sums(lo, -lo).add(n.sums(0, hi+1))
	case n.noise == Laplace:
		return n.laplaceSums(lo, count)
	case n.noise == Staircase:
		return n.stairSums(lo, count)
	}
	return n.gaussianSums(lo, hi)
}

// laplaceSums is sums for lo ≥ 0: geometric sums in closed form, q = e^−κ.
func (n kernel) laplaceSums(lo, count float64) sums {
	q, p := math.Exp(-n.kappa), -math.Expm1(-n.kappa)
	qn, a := math.Exp(-n.kappa*count), -math.Expm1(-n.kappa*count)
	s0 := a / p
	var s1, s2 float64
	if n.kappa*count < 1e-3 { // the closed forms cancel; the weights are equal to within 1e-3
		s1, s2 = s0*(count-1)/2, s0*(count-1)*(2*count-1)/6
	} else {
		s1 = q*a/(p*p) - qn*count/p
		s2 = q*(1+q)*a/(p*p*p) - qn*(count*count/p+2*count*q/(p*p))
	}
	return sums{-n.kappa * lo, s0, lo*s0 + s1, lo*lo*s0 + 2*lo*s1 + s2}
}

const (
	directTerms = 256 // sums with fewer relevant points are added one by one
	negligible  = 42  // weights below exp(−42) of the largest are left out of direct sums
)

// gaussianSums is sums for a run that contains 0 or lies on its right.
func (n kernel) gaussianSums(lo, hi float64) sums {
	k := n.kappa
	if far := math.Hypot(math.Max(lo, 0), n.reach()) + 2; lo < -far || hi > far {
		// Cut what has no weight against the largest: ends near 2^60 would cost the alignment of the points.
		start := lo - math.Floor(lo)
		if hi > far {
			hi = start + math.Ceil(far)
		}
		if lo < -far {
			lo = start - math.Ceil(far)
		}
	}
	top := math.Max(lo, 0) // where the weight is largest
	s := sums{ref: -k * top * top}
	reach := math.Sqrt(top*top+negligible/k) + 1
	from, to := math.Max(lo, lo+math.Ceil(-reach-lo)), math.Min(hi, lo+math.Ceil(reach-lo))
	if to-from < directTerms {
		// Weights follow from their neighbours by two multiplications; a new exponential every 16 points keeps the
		// rounding below 1e-13.
		decay := math.Exp(-2 * k)
		last := math.Round(to - from) // whole steps, whatever the rounding of both ends
		for i := 0.0; i <= last; i += 16 {
			x := from + i
			w, ratio := math.Exp(-k*x*x-s.ref), math.Exp(-k*(2*x+1))
			for range int(math.Min(16, last-i+1)) {
				s.m0, s.m1, s.m2 = s.m0+w, s.m1+w*x, s.m2+w*x*x
				w, ratio, x = w*ratio, ratio*decay, x+1
			}
		}
		return s
	}
	// Euler–Maclaurin: ∫ + (f(lo)+f(hi))/2 + Σ B_2j/(2j)! (f⁽²ʲ⁻¹⁾(hi) − f⁽²ʲ⁻¹⁾(lo)), j ≤ 3. With more than directTerms
	// relevant points 1/scale < 0.07 and the logarithmic slope at the ends < 0.2; the next term is below 1e-12 of the sum.
	e0, e1 := math.Exp(-k*lo*lo-s.ref), math.Exp(-k*hi*hi-s.ref)
	i0 := n.gaussianIntegral(lo, hi, s.ref)
	i1 := (e0 - e1) / (2 * k)
	i2 := i0/(2*k) + (lo*e0-hi*e1)/(2*k)
	fifth := func(x, e float64) float64 { return -e * k * k * k * x * (32*k*k*x*x*x*x - 160*k*x*x + 120) }
	third := func(x, e float64) float64 { return e * (12*k*k*x - 8*k*k*k*x*x*x) }
	s.m0 = i0 + (e0+e1)/2 + (-2*k*hi*e1+2*k*lo*e0)/12 - (third(hi, e1)-third(lo, e0))/720 + (fifth(hi, e1)-fifth(lo, e0))/
		30240
	slope1 := func(x, e float64) float64 { return e * (1 - 2*k*x*x) }
	s.m1 = i1 + (lo*e0+hi*e1)/2 + (slope1(hi, e1)-slope1(lo, e0))/12
	bend1 := func(x, e float64) float64 { return e * k * (-6 + 24*k*x*x - 8*k*k*x*x*x*x) }
	s.m1 -= (bend1(hi, e1) - bend1(lo, e0)) / 720
	slope2 := func(x, e float64) float64 { return e * (2*x - 2*k*x*x*x) }
	s.m2 = i2 + (lo*lo*e0+hi*hi*e1)/2 + (slope2(hi, e1)-slope2(lo, e0))/12
	bend2 := func(x, e float64) float64 { return e * k * x * (-24 + 36*k*x*x - 8*k*k*x*x*x*x) }
	s.m2 -= (bend2(hi, e1) - bend2(lo, e0)) / 720
	if k*(hi*hi-lo*lo) < 2 && lo > 0 || k*(hi-lo)*(hi-lo) < 1e-2 {
		s.m1, s.m2 = n.gaussianMoments(lo, hi, s.ref)
	}
	return s
}

// gaussianIntegral is ∫ exp(−κx² − ref) dx over [lo, hi], hi ≥ 0, hi ≥ lo.
func (n kernel) gaussianIntegral(lo, hi, ref float64) float64 {
	r := math.Sqrt(n.kappa)
	half := math.Sqrt(math.Pi) / (2 * r)
	if lo <= 0 {
		return half * (math.Erf(r*hi) - math.Erf(r*lo))
	}
	if n.kappa*(hi*hi-lo*lo) < 4 { // a difference of two nearly equal tails: integrate instead
		return legendre(lo, hi, func(x float64) float64 { return math.Exp(-n.kappa*x*x - ref) })
	}
	return half * (erfcx(r*lo) - math.Exp(-n.kappa*hi*hi-ref)*erfcx(r*hi))
}

// gaussianMoments replaces the closed first and second moments where they cancel, on a run that is short against the
// scale: Σ h = ∫ h over [lo−½, hi+½] − (h'(hi+½) − h'(lo−½))/24, by Gauss–Legendre.
func (n kernel) gaussianMoments(lo, hi, ref float64) (m1, m2 float64) {
	lo, hi = lo-.5, hi+.5
	k := n.kappa
	f := func(x float64) float64 { return math.Exp(-k*x*x - ref) }
	m1 = legendre(lo, hi, func(x float64) float64 { return x * f(x) })
	m2 = legendre(lo, hi, func(x float64) float64 { return x * x * f(x) })
	slope1 := func(x float64) float64 { return f(x) * (1 - 2*k*x*x) }
	slope2 := func(x float64) float64 { return f(x) * (2*x - 2*k*x*x*x) }
	return m1 - (slope1(hi)-slope1(lo))/24, m2 - (slope2(hi)-slope2(lo))/24
}

// erfcx is exp(x²)·erfc(x) for x ≥ 0, to a relative error of 1e-13.
func erfcx(x float64) float64 {
	if x < 8 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	// Asymptotic series (Abramowitz and Stegun 7.1.23); at x ≥ 8 the smallest term is far below 1e-16.
	sum, term := 1.0, 1.0
	for i := 1.0; i < 24; i++ {
		term *= -(2*i - 1) / (2 * x * x)
		sum += term
		if math.Abs(term) < 1e-17 {
			break
		}
	}
	return sum / (x * math.SqrtPi)
}

// legendre is the 20-point Gauss–Legendre rule.
func legendre(a, b float64, f func(float64) float64) float64 {
	m, h := (a+b)/2, (b-a)/2
	sum := 0.0
	for i, x := range legendreX {
		sum += legendreW[i] * (f(m-h*x) + f(m+h*x))
	}
	return sum * h
}

// Positive nodes and weights of the 20-point rule.
var (
	legendreX = [10]float64{
		0.07652652113349733, 0.22778585114164508, 0.37370608871541956, 0.5108670019508271, 0.636053680726515,
		0.7463319064601508, 0.8391169718222188, 0.912234428251326, 0.9639719272779138, 0.9931285991850949,
	}
	legendreW = [10]float64{
		0.15275338713072585, 0.14917298647260374, 0.14209610931838205, 0.13168863844917664, 0.11819453196151841,
		0.10193011981724044, 0.08327674157670475, 0.06267204833410907, 0.04060142980038694, 0.017614007139152118,
	}
)

// at sums the weights over a closed range as seen from s (any real for the Gaussian): distances z − s.
func (n kernel) at(v Range, s float64) sums {
	var total sums
	for _, i := range v {
		total = total.add(n.sums(float64(i.Lo)-s, float64(i.Hi)-float64(i.Lo)+1))
	}
	return total
}
