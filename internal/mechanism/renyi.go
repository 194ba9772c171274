package mechanism

import "math"

// renyiSlack is the relative margin on the private side that every Rényi value gets.
const renyiSlack = 1e-9

// lnRounding covers the absolute rounding of a sum of logarithms near 0.
const lnRounding = 4e-16

// renyiTolerance is how far above the exact supremum a certified value may stay before its search stops.
const renyiTolerance = 1e-3

// A search splits at most so many cells: what is returned is an upper bound however early it stops. Laplace noise on an interval and
// Gaussian noise with gaps do not repay long searches; Laplace noise with gaps does, whose loss is far from what it costs.
const renyiSteps, renyiShortSteps = 120, 24

// plainRenyi is the divergence of order a of untruncated noise at distance c: exact for the Laplace and one stair, αc²κ for the
// Gaussian (which bounds the discrete one: Canonne, Kamath and Steinke 2020, proposition 5).
func (n kernel) plainRenyi(a, c float64) float64 {
	switch n.noise {
	case Gaussian:
		return a * c * c * n.kappa * (1 + renyiSlack)
	case Staircase:
		return n.stairRenyi(a, c)
	}
	k := n.kappa
	p := -math.Expm1(-k) // Σ over one side = 1/p
	// Σ p_s^α p_t^{1−α} = [e^{κ(α−1)c} + e^{−καc}]/p + e^{κ(α−1)c} Σ_{0<j<c} e^{−κ(2α−1)j}, over (1+q)/p.
	d := (2*a - 1) * k
	inner := math.Exp(-d) * -math.Expm1(-d*(c-1)) / -math.Expm1(-d)
	ln := k*(a-1)*c + math.Log1p(math.Exp(-d*c)+p*inner) - math.Log1p(math.Exp(-k))
	if a*k*c < 1e-3 { // the logarithm has lost its digits
		return pureRenyi(a, k*c)
	}
	return math.Min(pureRenyi(a, k*c), (math.Max(0, ln)+lnRounding)/(a-1)*(1+renyiSlack))
}

// truncatedRenyi bounds the divergence of order a of truncation to v over all pairs of true values in its hull at
// distance ≤ delta. loss is the mechanism's pure loss, which it never exceeds.
func (n kernel) truncatedRenyi(v Range, a, delta, loss float64) float64 {
	h := v.hull()
	c := math.Min(delta, float64(h.span()))
	if c <= 0 {
		return 0
	}
	known := pureRenyi(a, loss)
	if n.noise == Gaussian && len(v) == 1 {
		known = math.Min(known, n.plainRenyi(a, c))
		if float64(h.span()) > a*c+12*n.scale() {
			return known // attained in the middle to within 1e-9
		}
	}
	worst := n.renyiSearch(v, a, c, known)
	if len(v) > 1 {
		worst = math.Max(worst, n.renyiSearch(mirrored(v), a, c, known))
	}
	return math.Min(known, worst*(1+renyiSlack)+1e-13)
}

func mirrored(v Range) Range {
	m := make(Range, len(v))
	for i, x := range v {
		m[len(v)-1-i] = Interval{-x.Hi, -x.Lo}
	}
	return m
}

// renyiPair is D_α(s ‖ t), exact.
func (n kernel) renyiPair(v Range, a, s, t float64) float64 {
	zs, zt := n.at(v, s).log(), n.at(v, t).log()
	if n.noise == Gaussian {
		mix := n.at(v, a*s+(1-a)*t).log()
		return a*(s-t)*(s-t)*n.kappa + (mix-a*zs+(a-1)*zt)/(a-1)
	}
	mix := n.laplaceMix(v, a, s, t)
	worth := (mix - a*zs + (a-1)*zt) / (a - 1)
	if len(v) > 1 { // seen from a gap the logarithms are large
		worth += 1e-15 * (math.Abs(mix) + a*math.Abs(zs) + (a-1)*math.Abs(zt)) / (a - 1)
	}
	return worth
}

// laplaceMix is ln Σ w(z−s)^α w(z−t)^{1−α} over a closed range, whole s < t in its hull: geometric sums of what lies left of s, between
// them, and right of t.
func (n kernel) laplaceMix(v Range, a, s, t float64) float64 {
	k, d := n.kappa, (2*a-1)*n.kappa
	var total sums
	run := func(rate, exponent, count float64) { // count weights, the largest exp(−exponent)
		if count > 0 {
			total = total.add(sums{ref: -exponent, m0: math.Expm1(-rate*count) / math.Expm1(-rate)})
		}
	}
	for _, i := range v {
		lo, hi := float64(i.Lo), float64(i.Hi)
		left, right := math.Min(hi, s), math.Max(lo, t)
		inner := math.Max(lo, s+1)
		run(k, k*(s-left), left-lo+1)
		run(d, d*(inner-s), math.Min(hi, t-1)-inner+1)
		run(k, d*(t-s)+k*(right-t), hi-right+1)
	}
	return k*(a-1)*(t-s) + total.log()
}

// renyiSearch bounds sup_s D_α(s ‖ s+c) from above; known is a bound that is known anyway.
func (n kernel) renyiSearch(v Range, a, c, known float64) float64 {
	f := search{
		at:    func(s float64) float64 { return n.renyiPair(v, a, s, s+c) },
		bound: func(x cell) float64 { return n.renyiBound(v, a, c, x) },
		steps: renyiSteps, tolerance: renyiTolerance, enough: known,
	}
	if (n.noise == Laplace) != (len(v) > 1) {
		f.steps = renyiShortSteps
	}
	h := v.hull()
	return f.upper(float64(h.Lo), float64(h.Hi)-c)
}

// renyiBound bounds a cell. The divergence of (s, s+c) for s in [p, q] is at most that of (p, q+c), by monotonicity
// in either distance. For the Gaussian its derivative is 2κ[g(αs+(1−α)t) − α·g(s) + (α−1)·g(t)]/(α−1) with g(x) = m(x) − x,
// m the mean of the truncated noise around x. On an interval g falls (ln Z is concave), on any set m rises; either bounds
// the derivative on the cell, and with it the divergence, to the second order in the cell's width.
func (n kernel) renyiBound(v Range, a, c float64, x cell) float64 {
	w := x.q - x.p
	first := n.renyiPair(v, a, x.p, x.q+c)
	if n.noise == Laplace {
		return first
	}
	g := func(s float64) float64 { u := n.at(v, s); return u.m1 / u.m0 }
	mixP, mixQ := g(x.p-(a-1)*c), g(x.q-(a-1)*c)
	sP, sQ, tP, tQ := g(x.p), g(x.q), g(x.p+c), g(x.q+c)
	f := 2 * n.kappa / (a - 1)
	// m rises: with m = g + x, whose linear parts add up to αw on either side.
	up, down := f*(mixQ-a*sP+(a-1)*tQ+a*w), f*(mixP-a*sQ+(a-1)*tP-a*w)
	if len(v) == 1 && n.scale() >= 2 { // g falls; on a grid coarser than σ/2 it may not
		up, down = math.Min(up, f*(mixP-a*sQ+(a-1)*tP)), math.Max(down, f*(mixQ-a*sP+(a-1)*tQ))
	}
	slack := math.Abs(f) * a * 1e-8 * float64(v.hull().span()) // of the means
	up, down = up+slack, down-slack
	second := math.Max(x.atP, x.atQ)
	if up > 0 && down < 0 {
		// Below both lines: h(p) + up·y and h(q) − down·(w−y).
		y := (x.atQ - x.atP - down*w) / (up - down)
		second = math.Max(second, x.atP+up*math.Max(0, math.Min(w, y)))
	}
	return math.Min(first, second)
}
