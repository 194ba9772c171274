package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// law is the enumerated distribution of what is released of the true value s: by value, as logarithms.
func (m Scalar) law(s int64, reach int64) map[int64]float64 {
	v := m.In
	if v == nil {
		v = []Interval{{s - reach, s + reach}}
	}
	out, all := map[int64]float64{}, 0.0
	for _, i := range v {
		for z := i.Lo; z <= i.Hi; z++ {
			l := -m.Kappa * m.stairsOf(math.Abs(float64(z-s)))
			out[z] = l
			all += math.Exp(l)
		}
	}
	for z := range out {
		out[z] -= math.Log(all)
	}
	return out
}

// stairsOf is g(d).
func (n Noise) stairsOf(d float64) float64 {
	switch n.Law {
	case Laplace:
		return d
	case Gaussian:
		return d * d
	}
	return math.Floor((d + n.Period - n.Inner) / n.Period)
}

// between is the divergence of two laws, over the values that both have.
func between(order float64, p, q map[int64]float64) float64 {
	worst, sum, top := 0.0, 0.0, math.Inf(-1)
	for z, lp := range p {
		lq, known := q[z]
		if !known {
			continue
		}
		worst = math.Max(worst, lp-lq)
		term := order*lp + (1-order)*lq
		if term > top {
			sum, top = sum*math.Exp(top-term), term
		}
		sum += math.Exp(term - top)
	}
	if math.IsInf(order, 1) {
		return worst
	}
	return (top + math.Log(sum)) / (order - 1)
}

// worstOf enumerates the cost of one group by the distance, over all true values.
func (m Scalar) worstOf(order float64, span, reach int64) []float64 {
	laws := make([]map[int64]float64, span+1)
	from := int64(0)
	if m.In != nil {
		from = m.In[0].Lo
	}
	for s := range laws {
		laws[s] = m.law(from+int64(s), reach)
	}
	out := make([]float64, span+1)
	for s := range laws {
		for u := range laws {
			d := max(s-u, u-s)
			out[d] = math.Max(out[d], between(order, laws[s], laws[u]))
		}
	}
	for d := 1; d < len(out); d++ {
		out[d] = math.Max(out[d], out[d-1])
	}
	return out
}

// spreads visits every way to spread so many steps of a unit, in rows, over groups: how far each group is moved.
func (u Unit) spreads(span float64, visit func(moved []int)) {
	moved := make([]int, int(u.Groups))
	most := int(math.Min(math.Min(u.Delta, u.Total), span))
	var next func(g, rows, steps int)
	next = func(g, rows, steps int) {
		if g == len(moved) {
			visit(moved)
			return
		}
		for moved[g] = 0; moved[g] <= min(most, steps); moved[g]++ {
			if used := (moved[g] + int(u.Row) - 1) / int(u.Row); used <= rows {
				next(g+1, rows-used, steps-moved[g])
			}
		}
		moved[g] = 0
	}
	next(0, int(u.rows()), int(u.Total))
}

// TestBoundsCoverEnumeration enumerates what every spread of a unit's rows costs, for every kind of noise, truncated or
// not: no bound is below, and those of noise of its own in one group are no more than it.
func TestBoundsCoverEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	orders := []float64{1.05, 1.4, 2, 5, 20, 300, math.Inf(1)}
	worst := map[bool]float64{}
	for trial := range 600 {
		m := Scalar{Noise: Noise{Law: Law(1 + r.IntN(3)), Kappa: math.Exp(-2.5 + 3*r.Float64())}}
		if m.Law == Gaussian {
			m.Kappa *= m.Kappa
		}
		m.Period = float64(1 + r.IntN(5))
		m.Inner = float64(1 + r.IntN(int(m.Period)))
		span := int64(1 + r.IntN(8))
		if m.Law != Staircase && r.IntN(2) == 0 {
			m.In = []Interval{{0, span}}
			for r.IntN(2) == 0 {
				lo := span + 2 + r.Int64N(4)
				span = lo + r.Int64N(4)
				m.In = append(m.In, Interval{lo, span})
			}
		}
		m.Span = float64(span)
		m.Row = float64(1 + r.IntN(3))
		m.Delta, m.Groups = m.Row*float64(1+r.IntN(3)), float64(1+r.IntN(3))
		m.Total = m.Row * float64(1+r.IntN(4))
		m.Rough = r.IntN(2) == 0
		order := orders[r.IntN(len(orders))]
		reach := span + int64(math.Ceil(45*math.Max(1, m.Period)/m.Kappa))
		if m.Law == Gaussian {
			reach = span + int64(math.Ceil(7+7/math.Sqrt(m.Kappa)))
		}
		cost := m.worstOf(order, span, reach)
		found := 0.0
		m.spreads(m.Span, func(moved []int) {
			sum := 0.0
			for _, d := range moved {
				sum += cost[d]
			}
			found = math.Max(found, sum)
		})
		bound := m.Bound(order)
		plainInfinite := m.Law == Gaussian && m.In == nil && math.IsInf(order, 1)
		if !plainInfinite && found > bound*(1+1e-11)+1e-13*(1+1/(order-1)) { // what the addition is off by
			t.Fatalf("%d: %+v at order %g: bound %.15g, by enumeration %.15g", trial, m, order, bound, found)
		}
		if m.Groups == 1 && m.In == nil && m.Law == Laplace || math.IsInf(order, 1) && m.In != nil && m.Groups == 1 {
			worst[m.In != nil] = math.Max(worst[m.In != nil], bound/found)
		}
	}
	for truncated, ratio := range worst {
		if ratio > 1+1e-7 {
			t.Errorf("truncated %t: a bound is %g of what is enumerated", truncated, ratio)
		}
	}
}

// TestMassesAreSums adds up the weights of runs of all lengths, near and far, on scales from a tenth of a step to a
// million, with a running compensation.
func TestMassesAreSums(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 1500 {
		n := Noise{Law: Law(1 + r.IntN(2))}
		scale := math.Pow(10, -1+5*r.Float64())
		n.Kappa = 1 / scale
		if n.Law == Gaussian {
			n.Kappa = 1 / (2 * scale * scale)
		}
		lo := math.Round((r.Float64() - .4) * 12 * scale)
		if n.Law == Gaussian && r.IntN(2) == 0 {
			lo += r.Float64()
		}
		switch far := r.IntN(8); {
		case far == 0 && n.Law == Gaussian: // the largest weight beside the true value
			lo = math.Mod(lo, 1)
		case far == 1 && n.Law == Gaussian: // far out, as in mixtures of a large order
			lo = math.Abs(lo) * math.Pow(10, 3*r.Float64())
		}
		last := math.Floor(math.Pow(10, 5*r.Float64()))
		hi := lo + last
		got := n.run(lo, hi)
		var m0, low, m1, size float64
		for i := 0.0; i <= last; i++ {
			w := math.Exp(-n.Kappa*n.stairsOf(math.Abs(lo+i)) - got.ref)
			if n.Law == Gaussian && lo > 0 {
				w = math.Exp(-n.Kappa * i * (2*lo + i))
			}
			y := w - low
			sum := m0 + y
			low = (sum - m0) - y
			m0, m1, size = sum, m1+w*(lo+i), size+w*math.Abs(lo+i)
		}
		if math.Abs(got.m0/m0-1) > lnError+lnUlps*math.Abs(got.ref) || n.Law == Gaussian &&
			math.Abs(got.m1-m1) > meanError*math.Max(size, (hi-lo)*m0) {
			t.Fatalf("%+v from %g to %g: %.17g, %.17g, by addition %.17g, %.17g", n, lo, hi, got.m0, got.m1, m0, m1)
		}
	}
}
