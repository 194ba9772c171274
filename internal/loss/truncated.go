package loss

import (
	"math"
	"slices"
)

// hull holds all true values.
func (m Scalar) hull() (a, b float64) { return float64(m.In[0].Lo), float64(m.In[len(m.In)-1].Hi) }

// truncated is the cost of noise that is conditioned on a set. Its loss is concave in the distance on an interval, so
// that the worst spread is the even one; no loss of two steps exceeds those of the steps.
func (m Scalar) truncated(order float64) float64 {
	if m.Law == Staircase {
		return math.Inf(1)
	}
	c, most := m.step(), m.most()
	one, gaps := m.largest(c), len(m.In) > 1
	pure := one
	switch {
	case most > 1 && gaps:
		pure = math.Min(m.Total*m.largest(1), m.Groups*one) * up
		if !m.Rough || math.IsInf(order, 1) {
			pure = math.Min(pure, m.spread(m.largest))
		}
	case most > 1:
		pure = m.even(m.largest)
	}
	if math.IsInf(order, 1) {
		return pure
	}
	known := math.Inf(1)
	// randomised response at the loss of one group, as often as it fits into that of all: star-shaped
	if !math.IsInf(pure, 1) {
		known = Response(order, one) * math.Max(1, pure/one) * up
	}
	if m.Law == Gaussian && !gaps {
		known = math.Min(known, m.convex(func(d float64) float64 { return m.conditioned(order, d) }))
	}
	if m.Open || order == GDP {
		return known
	}
	h := func(d float64) float64 { return m.divergence(order, d) }
	known = math.Min(known, most*h(c)*up)
	if !m.Rough && most > 1 {
		known = math.Min(known, m.spread(h))
	}
	return known
}

// largest bounds the largest log-ratio in one group at distance d (docs/mechanisms.md, propositions 2 and 3).
func (m Scalar) largest(d float64) float64 {
	k := m.Kappa
	switch {
	case m.Law == Gaussian && m.Open:
		return math.Inf(1)
	case m.Open: // the supremum over all intervals
		return k*d*up + math.Log1p(math.Exp(-k)*-math.Expm1(-k*d))*up
	}
	a, b := m.hull()
	switch {
	case m.Law == Gaussian:
		return k*d*(2*(b-a)-d)*up + math.Max(m.ratio(a, a+d), m.ratio(b, b-d))
	case len(m.In) == 1:
		return k*d*up + m.ratio(a+d, a)
	}
	return k*d*up + m.gaps(d)
}

// ratio bounds ln Z(s) − ln Z(t), Z the weight of the set as seen from a true value.
func (m Scalar) ratio(s, t float64) float64 {
	zs, zt := m.seen(m.In, s).ln(), m.seen(m.In, t).ln()
	return zs - zt + 2*lnError + lnUlps*(math.Abs(zs)+math.Abs(zt))
}

// gaps bounds |ln Z(s+d) − ln Z(s)| for Laplace noise on a set with gaps, piece by piece between the positions at which
// s or s+d enters or leaves an interval. There both Z are C + A·e^{κs} + B·e^{−κs}, so that the second derivative of ln
// Z is at most κ², and at least 0 in a gap and −2(κC/Z)² in an interval.
func (m Scalar) gaps(d float64) float64 {
	a, b := m.hull()
	cuts := []float64{a, b - d}
	for _, i := range m.In {
		for _, x := range []float64{float64(i.Lo), float64(i.Hi), float64(i.Lo) - d, float64(i.Hi) - d} {
			if x > a && x < b-d {
				cuts = append(cuts, x)
			}
		}
	}
	slices.Sort(cuts)
	worst := 0.0
	for i := range cuts {
		p, q := cuts[i], cuts[min(i+1, len(cuts)-1)]
		bend := math.Max(m.bend(p, q)+m.Kappa*m.Kappa, m.bend(p+d, q+d)+m.Kappa*m.Kappa)
		worst = math.Max(worst, Search{
			At: func(s float64) float64 { return math.Max(m.ratio(s, s+d), m.ratio(s+d, s)) },
			Bound: func(x Cell) float64 {
				w := x.Q - x.P
				return math.Min(math.Max(x.AtP, x.AtQ)+bend*w*w/8, (x.AtP+x.AtQ)/2+m.Kappa*w)
			},
			Steps: gapSteps, Tolerance: gapTolerance, Enough: m.Kappa * d * up,
		}.Upper(p, q))
	}
	return worst
}

// bend bounds −(ln Z)″ on a piece: with an interval of n points around it C/Z is at most (1+e^−κ)/(1−e^−κn).
func (m Scalar) bend(p, q float64) float64 {
	for _, i := range m.In {
		if lo, hi := float64(i.Lo), float64(i.Hi); lo < q && p < hi {
			c := m.Kappa * (1 + math.Exp(-m.Kappa)) / -math.Expm1(-m.Kappa*(hi-lo+1))
			return 2 * c * c
		}
	}
	return 0
}

// Searches stop early where they cost much. Laplace noise on an interval and Gaussian noise with gaps do not repay long
// ones; Laplace noise with gaps does, whose largest log-ratio is far from its divergences.
const (
	gapSteps, gapTolerance = 400, 1e-11
	steps, shortSteps      = 120, 24
	tolerance              = 1e-3
	meanError              = 1e-8 // of a mean of weights, in lengths of the hull
	concaveScale           = 2.   // from this scale on the mean moves no faster than the true value
	settled                = 12   // scales from either end, where an interval makes no difference
)

// divergence bounds one of a finite order in one group, over all pairs of true values at distance d.
func (m Scalar) divergence(order, d float64) float64 {
	a, b := m.hull()
	known := Response(order, m.largest(d))
	if m.Law == Gaussian && len(m.In) == 1 {
		known = math.Min(known, m.Plain(order, d))
		if b-a > order*d+settled/math.Sqrt(2*m.Kappa) {
			return known // attained in the middle to within 1e-9
		}
	}
	worst := m.supremum(order, d, known)
	if len(m.In) > 1 {
		other := m
		other.In = nil
		for _, i := range slices.Backward(m.In) {
			other.In = append(other.In, Interval{-i.Hi, -i.Lo})
		}
		worst = math.Max(worst, other.supremum(order, d, known))
	}
	return math.Min(known, worst)
}

// supremum bounds that of (s, s+d) over all s; known is a bound that is known anyway.
func (m Scalar) supremum(order, d, known float64) float64 {
	f := Search{
		At:    func(s float64) float64 { return m.pair(order, s, s+d) },
		Bound: func(x Cell) float64 { return m.over(order, d, x) },
		Steps: steps, Tolerance: tolerance, Enough: known,
	}
	if (m.Law == Laplace) != (len(m.In) > 1) {
		f.Steps = shortSteps
	}
	a, b := m.hull()
	return f.Upper(a, b-d)
}

// pair bounds D_α(s ‖ t), s < t: with Z at αs + (1−α)t for Gaussian noise, in three geometric sums for every interval
// for Laplace noise.
func (m Scalar) pair(a, s, t float64) float64 {
	zs, zt := m.seen(m.In, s).ln(), m.seen(m.In, t).ln()
	var mix, size float64
	if m.Law == Gaussian {
		size = a * (a - 1) * (t - s) * (t - s) * m.Kappa
		mix = m.seen(m.In, a*s+(1-a)*t).ln()
	} else {
		size = m.Kappa * (a - 1) * (t - s)
		mix = m.laplaceMix(a, s, t)
	}
	rounding := 2*a*lnError + lnUlps*(math.Abs(size)+math.Abs(mix)+a*math.Abs(zs)+(a-1)*math.Abs(zt))
	return (size + mix - a*zs + (a-1)*zt + rounding) / (a - 1)
}

// laplaceMix is ln Σ w(z−s)^α·w(z−t)^{1−α} less κ(α−1)(t−s): what lies left of s, between the two, and right of t.
func (m Scalar) laplaceMix(a, s, t float64) float64 {
	inner := Noise{Law: Laplace, Kappa: (2*a - 1) * m.Kappa}
	var sum mass
	for _, i := range m.In {
		lo, hi := float64(i.Lo), float64(i.Hi)
		right := m.run(math.Max(lo, t)-t, hi-t)
		right.ref -= inner.Kappa * (t - s)
		sum = sum.add(m.run(lo-s, math.Min(hi, s)-s)).add(inner.run(math.Max(lo, s+1)-s, math.Min(hi, t-1)-s)).add(right)
	}
	return sum.ln()
}

// over bounds a cell. The divergence of (s, s+d) for s in [p, q] is at most that of (p, q+d), by monotonicity in either
// distance. For the Gaussian its derivative is 2κ[g(αs+(1−α)t) − α·g(s) + (α−1)·g(t)]/(α−1) with g(x) = m(x) − x, m the
// mean of the truncated noise around x. On an interval g falls (ln Z is concave), on any set m rises; either bounds the
// derivative on the cell, and with it the divergence, to the second order in the cell's width.
func (m Scalar) over(a, d float64, x Cell) float64 {
	w := x.Q - x.P
	first := m.pair(a, x.P, x.Q+d)
	if m.Law == Laplace {
		return first
	}
	g := func(s float64) float64 { u := m.seen(m.In, s); return u.m1 / u.m0 }
	mixP, mixQ := g(x.P-(a-1)*d), g(x.Q-(a-1)*d)
	sP, sQ, tP, tQ := g(x.P), g(x.Q), g(x.P+d), g(x.Q+d)
	f := 2 * m.Kappa / (a - 1)
	// m rises: with m = g + x, whose linear parts add up to αw on either side.
	rise, fall := f*(mixQ-a*sP+(a-1)*tQ+a*w), f*(mixP-a*sQ+(a-1)*tP-a*w)
	if len(m.In) == 1 && 1/math.Sqrt(2*m.Kappa) >= concaveScale {
		rise, fall = math.Min(rise, f*(mixP-a*sQ+(a-1)*tP)), math.Max(fall, f*(mixQ-a*sP+(a-1)*tQ))
	}
	lo, hi := m.hull()
	slack := f*a*meanError*(hi-lo) + a/(a-1)*0x1p-48
	rise, fall = rise+slack, fall-slack
	second := math.Max(x.AtP, x.AtQ)
	if rise > 0 && fall < 0 {
		// Below both lines: AtP + rise·y and AtQ − fall·(w−y).
		y := (x.AtQ - x.AtP - fall*w) / (rise - fall)
		second = math.Max(second, x.AtP+rise*math.Max(0, math.Min(w, y)))
	}
	return math.Min(first, second)
}

// Reaches bounds the probability that noise which is conditioned on a set gives this value or more, seen from s.
func (n Noise) Reaches(v []Interval, s, least float64) float64 {
	var sum mass
	for _, i := range v {
		sum = sum.add(n.run(math.Max(float64(i.Lo), least)-s, float64(i.Hi)-s))
	}
	if sum.m0 == 0 {
		return 0
	}
	return math.Exp(sum.ln()-n.seen(v, s).ln()) * (1 + 1e-9)
}
