package loss

import "math"

// Interval is a closed interval of grid steps.
type Interval struct{ Lo, Hi int64 }

// mass holds Σ w(d) and Σ w(d)·d over a run of distances, divided by exp(ref). Of Laplace and staircase noise the
// second is left out.
type mass struct{ ref, m0, m1 float64 }

func (a mass) add(b mass) mass {
	switch {
	case b.m0 == 0:
		return a
	case a.m0 == 0:
		return b
	case a.ref < b.ref:
		a, b = b, a
	}
	f := math.Exp(b.ref - a.ref)
	return mass{a.ref, a.m0 + f*b.m0, a.m1 + f*b.m1}
}

// ln is ln Σ w, off by lnError and lnUlps of its size.
func (a mass) ln() float64 { return a.ref + math.Log(a.m0) }

// all is the mass of all integers.
func (n Noise) all() mass { return n.run(0, math.Inf(1)).add(n.run(1, math.Inf(1))) }

// seen is the mass of a set as seen from s, a whole number, or any of Gaussian noise.
func (n Noise) seen(v []Interval, s float64) (sum mass) {
	for _, i := range v {
		sum = sum.add(n.run(float64(i.Lo)-s, float64(i.Hi)-s))
	}
	return sum
}

// run is the mass of lo, lo+1, …, hi; hi may be +Inf where lo ≥ 0, and is for staircase noise.
func (n Noise) run(lo, hi float64) mass {
	k := n.Kappa
	switch {
	case !(hi >= lo):
		return mass{}
	case hi <= 0 && lo < 0:
		right := n.run(-hi, -lo)
		right.m1 = -right.m1
		return right
	case n.Law == Gaussian:
		return n.gaussian(lo, hi)
	case lo < 0:
		return n.run(lo, -1).add(n.run(0, hi))
	case n.Law == Laplace:
		return mass{ref: -k * lo, m0: math.Expm1(-k*(hi-lo+1)) / math.Expm1(-k)}
	}
	// Of staircase noise, what is left of the stair that lo is on, and all further ones.
	j := math.Floor((lo + n.Period - n.Inner) / n.Period)
	return mass{ref: -k * j, m0: n.Inner + j*n.Period - lo + n.Period/math.Expm1(k)}
}

const (
	fewTerms    = 64  // sums of fewer relevant points are added one by one
	directTerms = 512 // and of fewer than these, if the weights are not smooth
	smoothSlope = .05 // of |d ln w|/2 over all of them,
	wiggle      = 2.2 // and the 8th derivative of w is at most (2κ|x| + 3√2κ)⁸·w
	negligible  = 42  // weights below exp(−negligible) of the largest are left out
	panel       = 14  // how far the exponent falls over one quadrature
)

// gaussian is the mass of a run that holds 0 or lies on its right: by enumeration, or by the Euler–Maclaurin formula
// for midpoints, Σ f = ∫ f − [f′]/24 + 7[f‴]/5760 − 31[f⁽⁵⁾]/967680, between half a step before the first and behind
// the last point that counts.
func (n Noise) gaussian(lo, hi float64) mass {
	k, top := n.Kappa, math.Max(lo, 0)
	reach := top + negligible/k/(top+math.Sqrt(top*top+negligible/k)) + 1
	from, to := lo+math.Ceil(math.Max(0, -reach-lo)), lo+math.Min(math.Round(hi-lo), math.Floor(reach-lo))
	sum := mass{ref: -k * top * top}
	weight := func(x float64) float64 { return math.Exp(-k * (x - top) * (x + top)) }
	if smooth := k*math.Max(-from, to+1)+wiggle*math.Sqrt(k) < smoothSlope; to-from < fewTerms || to-from < directTerms &&
		!smooth {
		for i, last := 0.0, math.Round(to-from); i <= last; i += 16 { // every 16 points a new exponential
			x := from + i
			w, ratio, decay := weight(x), math.Exp(-k*(2*x+1)), math.Exp(-2*k)
			for range int(math.Min(16, last-i+1)) {
				sum.m0, sum.m1 = sum.m0+w, sum.m1+w*x
				w, ratio, x = w*ratio, ratio*decay, x+1
			}
		}
		return sum
	}
	a, b := from-.5, to+.5
	if r := math.Sqrt(k); a <= 0 {
		sum.m0 = weight(0) * math.Sqrt(math.Pi) / (2 * r) * (math.Erf(r*b) - math.Erf(r*a))
	} else {
		sum.m0 = integral(k, weight, a, b)
	}
	atA, atB := n.derivatives(a, weight(a)), n.derivatives(b, weight(b))
	for i, c := range eulerMaclaurin {
		sum.m1 += c * (atB[2*i] - atA[2*i]) // x·f is −f′/2κ
		if i > 0 {
			sum.m0 += c * (atB[2*i-1] - atA[2*i-1])
		}
	}
	sum.m1 /= -2 * k
	return sum
}

var eulerMaclaurin = [...]float64{1, -1. / 24, 7. / 5760, -31. / 967680}

// derivatives are f = exp(−κx²) and its first six, where its value is f.
func (n Noise) derivatives(x, f float64) (d [7]float64) {
	d[0], d[1] = f, -2*n.Kappa*x*f
	for i := 1; i < 6; i++ {
		d[i+1] = -2 * n.Kappa * (x*d[i] + float64(i)*d[i-1])
	}
	return d
}

// integral is ∫ f over [p, q], 0 < p, for f = exp(−κx²) but for a factor, where a difference of tails would cancel: at
// most four panels reach as far as f counts.
func integral(k float64, f func(x float64) float64, p, q float64) (sum float64) {
	for range 8 {
		next := math.Min(q, p+panel/k/(p+math.Sqrt(p*p+panel/k)))
		m, h := (p+next)/2, (next-p)/2
		for i, x := range legendreX {
			sum += h * legendreW[i] * (f(m-h*x) + f(m+h*x))
		}
		if p = next; p >= q {
			break
		}
	}
	return sum
}

// Positive nodes and weights of the 20-point Gauss–Legendre rule.
var (
	legendreX = [...]float64{
		0.07652652113349733, 0.22778585114164508, 0.37370608871541956, 0.5108670019508271, 0.636053680726515,
		0.7463319064601508, 0.8391169718222188, 0.912234428251326, 0.9639719272779138, 0.9931285991850949,
	}
	legendreW = [...]float64{
		0.15275338713072585, 0.14917298647260374, 0.14209610931838205, 0.13168863844917664, 0.11819453196151841,
		0.10193011981724044, 0.08327674157670475, 0.06267204833410907, 0.04060142980038694, 0.017614007139152118,
	}
)
