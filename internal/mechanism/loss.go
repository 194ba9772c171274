package mechanism

import "math"

// pureLoss is the largest log-ratio of the probabilities of one output of the truncated mechanism on v, over all pairs
// of true values in the hull of v at distance ≤ delta, for a closed range (docs/mechanisms.md, propositions 2 and 3).
func (n kernel) pureLoss(v Range, delta float64) float64 {
	h := v.hull()
	a, b := float64(h.Lo), float64(h.Hi)
	c := math.Min(delta, b-a)
	switch {
	case c <= 0:
		return 0
	case n.noise == Gaussian:
		// An exponential family in s with statistic z: the worst output is the far end of v, the worst pair starts at
		// the other end, and the loss grows with the distance.
		return n.kappa*c*(2*(b-a)-c) + math.Max(n.lnRatio(v, a, a+c), n.lnRatio(v, b, b-c))
	case len(v) == 1:
		return n.kappa*c + n.lnRatio(v, a+c, a)
	}
	return n.kappa*c + n.gapLoss(v, c)
}

// lnRatio is ln Z(s) − ln Z(t), where Z is the weight inside v as seen from a true value.
func (n kernel) lnRatio(v Range, s, t float64) float64 { return n.at(v, s).log() - n.at(v, t).log() }

// gapLoss is the supremum of |ln Z(s+c) − ln Z(s)| over integers s, s+c in the hull, for Laplace noise on a range with
// gaps. Between two breakpoints Z is C + A·e^{κs} + B·e^{−κs}, so the derivative of the logarithm of a quotient of two
// such functions vanishes where P + 2Q·y + R·y² = 0 with y = e^{−κs}: at most two stationary points per piece, in closed
// form. The integers next to them and the ends of the pieces are all candidates there are.
func (n kernel) gapLoss(v Range, c float64) float64 {
	h := v.hull()
	last := float64(h.Hi) - c
	best := 0.0
	try := func(s float64) {
		s = math.Max(float64(h.Lo), math.Min(last, s))
		best = math.Max(best, math.Abs(n.lnRatio(v, s+c, s)))
	}
	cuts := n.breakpoints(v, c)
	for i := range cuts {
		try(cuts[i])
		if i+1 == len(cuts) || cuts[i+1]-cuts[i] < 2 {
			continue
		}
		p, q := cuts[i], cuts[i+1]
		lower, upper := n.laplacePiece(v, p, q), n.laplacePiece(v, p+c, q+c)
		for _, y := range stationary(lower, upper, math.Exp(-n.kappa*(q-p))) {
			// y is measured from whichever end keeps its digits.
			at := p - math.Log(y.value)/n.kappa
			if y.fromRight {
				at = q + math.Log(y.value)/n.kappa
			}
			try(math.Floor(math.Max(p, math.Min(q, at))))
			try(math.Ceil(math.Max(p, math.Min(q, at))))
		}
	}
	return best
}

// breakpoints are the integers in [a, b−c] where s or s+c enters or leaves an interval of v, in order.
func (n kernel) breakpoints(v Range, c float64) []float64 {
	h := v.hull()
	a, last := float64(h.Lo), float64(h.Hi)-c
	cuts := []float64{a, last}
	for _, i := range v {
		for _, x := range []float64{float64(i.Lo), float64(i.Hi), float64(i.Lo) - c, float64(i.Hi) - c} {
			if x > a && x < last {
				cuts = append(cuts, x)
			}
		}
	}
	sortFloats(cuts)
	return cuts
}

// expPiece is Z(s) = c + a·e^{−κ(q−s)} + b·e^{−κ(s−p)} on [p, q].
type expPiece struct{ c, a, b float64 }

// laplacePiece finds the coefficients on a piece that holds no breakpoint inside.
func (n kernel) laplacePiece(v Range, p, q float64) expPiece {
	k := n.kappa
	unit := -math.Expm1(-k) // Σ q^i = 1/unit
	g := func(count float64) float64 { return -math.Expm1(-k*count) / unit }
	var e expPiece
	for _, i := range v {
		lo, hi := float64(i.Lo), float64(i.Hi)
		switch {
		case hi <= p: // on the left of the piece
			e.b += math.Exp(-k*(p-hi)) * g(hi-lo+1)
		case lo >= q:
			e.a += math.Exp(-k*(lo-q)) * g(hi-lo+1)
		default: // the piece lies inside: (1+e^{−κ} − e^{−κ(s−lo+1)} − e^{−κ(hi−s+1)})/unit
			e.c += (1 + math.Exp(-k)) / unit
			e.b -= math.Exp(-k*(p-lo+1)) / unit
			e.a -= math.Exp(-k*(hi-q+1)) / unit
		}
	}
	return e
}

type root struct {
	value     float64
	fromRight bool
}

// stationary solves d/ds ln(u/l) = 0 for two pieces of width w, decay = e^{−κw}. With y = e^{−κ(s−p)} the coefficient of
// e^{κs} is a·decay/y, and the condition becomes P + 2Q·y + R·y² = 0 with P from (a, c), Q from (a, b), R from (b, c).
func stationary(l, u expPiece, decay float64) []root {
	p := u.a*l.c - l.a*u.c
	q := u.a*l.b - l.a*u.b
	r := l.b*u.c - u.b*l.c
	var roots []root
	for _, y := range quadratic(r, 2*q*decay, p*decay) {
		roots = append(roots, root{value: y})
	}
	for _, y := range quadratic(p, 2*q*decay, r*decay) {
		roots = append(roots, root{value: y, fromRight: true})
	}
	return roots
}

// quadratic returns the positive roots of a·x² + b·x + c.
func quadratic(a, b, c float64) []float64 {
	var roots []float64
	keep := func(x float64) {
		if x > 0 && !math.IsInf(x, 0) {
			roots = append(roots, x)
		}
	}
	disc := b*b - 4*a*c
	if disc < 0 {
		return nil
	}
	t := -(b + math.Copysign(math.Sqrt(disc), b)) / 2
	keep(t / a)
	keep(c / t)
	return roots
}

func sortFloats(x []float64) {
	for i := 1; i < len(x); i++ {
		for j := i; j > 0 && x[j] < x[j-1]; j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
}
