package mechanism

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// confidence is the probability that |released − true| stays within a margin, whatever the true value is; Wrong, that
// it does not.
const (
	confidence = 0.95
	Wrong      = 1 - confidence
)

// plainQuantile is the least m with P(|d| ≤ m) ≥ probability for the untruncated noise. It holds for every bounding of
// an interval: folding and clamping bring a value no further from a true value inside, and truncation removes more of
// the far part than of the near part on either side (docs/mechanisms.md, proposition 8).
func (n kernel) plainQuantile(probability float64) float64 {
	far := math.Ceil(n.reach())
	all := n.sums(0, far+1).m0
	total := 2*all - 1
	return leastInteger(far, func(m float64) bool {
		inside := 2*n.sums(0, m+1).m0 - 1
		return inside >= probability*total
	})
}

// leastInteger is the least m in [0, hi] with ok(m), for a rising ok.
func leastInteger(hi float64, ok func(float64) bool) float64 {
	lo := -1.0
	for step := 1.0; lo+step < hi; step *= 2 {
		if ok(lo + step) {
			hi = lo + step
			break
		}
		lo += step
	}
	for hi-lo > 1 {
		if mid := math.Floor((lo + hi) / 2); ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
		if hi-lo <= 1e-9*hi {
			break
		}
	}
	return hi
}

// errorQuantile is the quantile of |released − true| at a probability and at the worst true value: a function of public
// quantities.
func (d design) errorQuantile(open bool, probability float64) float64 {
	h := d.v.hull()
	interval := len(d.v) == 1
	wide := float64(h.span()) > 8*d.scale()
	switch {
	case d.bounding == Cells:
		return d.worstOver(func(s float64) float64 { return d.cellErrorQuantile(s, probability) })
	case interval && (open || wide || d.bounding == Fold || d.bounding == Clamp):
		return d.plainQuantile(probability)
	case d.bounding == Truncate:
		m := d.worstOver(func(s float64) float64 { return d.truncatedErrorQuantile(s, probability) })
		if interval {
			m = math.Min(m, d.plainQuantile(probability))
		}
		return m
	}
	post := d.samplePosts()
	return d.worstOver(func(s float64) float64 { return d.sampledErrorQuantile(s, probability, post) })
}

// worstOver takes the maximum over positions: all of them, or 33 with a percent for those between.
func (d design) worstOver(f func(s float64) float64) float64 {
	h := d.v.hull()
	span := float64(h.span())
	steps, slack := span, 0.0
	if span > 32 {
		steps, slack = 32, .01
	}
	worst := 0.0
	for i := 0.0; i <= steps; i++ {
		worst = math.Max(worst, f(float64(h.Lo)+math.Round(i*span/steps)))
	}
	return math.Ceil(worst * (1 + slack))
}

func (d design) truncatedErrorQuantile(s, probability float64) float64 {
	all := d.at(d.v, s)
	return leastInteger(float64(d.v.hull().span()), func(m float64) bool {
		in := d.below(d.v, s, s-m, s+m)
		return in.m0 > 0 && math.Exp(in.log()-all.log()) >= probability
	})
}

func (d design) sampledErrorQuantile(s, probability float64, post func(y float64) float64) float64 {
	type point struct{ e, w float64 }
	var list []point
	total := 0.0
	d.eachNoisy(s, func(y, w float64) {
		list = append(list, point{math.Abs(post(y) - s), w})
		total += w
	})
	slices.SortFunc(list, func(a, b point) int { return cmp.Compare(a.e, b.e) })
	sum := 0.0
	for _, p := range list {
		if sum += p.w; sum >= probability*total {
			return p.e
		}
	}
	return float64(d.v.hull().span())
}

// ErrorQuantile is the least m that |released − true| exceeds with a probability of at most 1 − probability, whatever
// the true value is, before the range caps it; 0 for a release without noise of that kind.
func (p *Prepared) ErrorQuantile(probability float64) float64 {
	if p.quantiles == nil {
		return 0
	}
	return p.quantiles.find(probability, func() float64 {
		if p.added != nil {
			return p.added(1 - probability)
		}
		if p.cube != nil {
			return p.cube.marginal(p.coordinate).errorQuantile(probability)
		}
		return p.Chosen().errorQuantile(p.task.open, probability)
	})
}

// Margin is half the width of an interval around a released value, in grid steps: |released − true| exceeds it with
// probability at most wrong, whatever the true value is. It depends on the released values and public quantities alone
// (docs/mechanisms.md, section 8). For a Quantile nothing better than the range is public.
func (p *Prepared) Margin(released, count int64, wrong float64) float64 {
	h, ok := p.hullAt(count)
	if !ok {
		return 0
	}
	most := float64(max(absDiff(released, h.Lo), absDiff(released, h.Hi)))
	if p.quantiles == nil {
		return most
	}
	return math.Min(p.ErrorQuantile(1-wrong), most)
}

// hullAt is the range's hull; false where a release says nothing (selection, a count of no rows, a one-point range).
func (p *Prepared) hullAt(count int64) (Interval, bool) {
	switch {
	case p.release.Kind == Selection, p.release.Kind == SumGivenCount && count <= 0:
		return Interval{}, false
	case p.release.Kind == Quantile:
		return p.rank.v.hull(), true
	}
	h := p.rangeAt(count).hull()
	return h, h.Lo < h.Hi
}

// StdDev is the root mean squared error of the mechanism if the true value were the released one, in grid steps.
func (p *Prepared) StdDev(released, count int64) float64 {
	h, ok := p.hullAt(count)
	if !ok {
		return 0
	}
	s := float64(h.clamp(released))
	if p.quantiles == nil { // uniform on the range: what is public of a quantile
		a, b := float64(h.Lo), float64(h.Hi)
		return math.Sqrt((b-a)*(b-a)/12 + (s-(a+b)/2)*(s-(a+b)/2))
	}
	if p.added != nil {
		return p.Chosen().RMSEAverage
	}
	if p.cube != nil {
		return math.Sqrt(p.cube.marginal(p.coordinate).squaredError(h, s))
	}
	d := p.candidates[p.chosen].design
	far := math.Ceil(50 * d.scale())
	switch lo, hi := float64(h.Lo), float64(h.Hi); {
	case p.release.Kind == SumGivenCount:
		d.v = Range{h}
	case !p.task.open:
		d.v = p.task.v
	case s-lo > far && hi-s > far:
		return d.openErrors()
	case hi-s > far: // the end that is far away has no part in it, and sums over all of the range are inexact
		d.v = Range{{h.Lo, int64(s + far)}}
	case s-lo > far:
		d.v = Range{{int64(s - far), h.Hi}}
	default:
		d.v = Range{h}
	}
	return math.Sqrt(math.Max(0, d.squaredError(s)))
}

// Interval is [released − margin, released + margin] inside the range.
func (p *Prepared) Interval(released, count int64, wrong float64) (lo, hi int64) {
	h, ok := p.hullAt(count)
	if !ok {
		return released, released
	}
	m := int64(math.Min(2*limit, math.Ceil(p.Margin(released, count, wrong))))
	return h.clamp(released - m), h.clamp(released + m)
}

// PlannedMargin is the 95% margin before anything is released: at a value far from the bounds, at most the range's
// length.
func (p *Prepared) PlannedMargin() float64 {
	q := p.ErrorQuantile(confidence)
	if p.quantiles == nil || p.release.Kind == SumGivenCount {
		return q
	}
	return math.Min(q, float64(p.task.v.hull().span()))
}

// EpsilonForMargin is the least guarantee, to three digits of its Epsilon, at which the mechanism that Prepare would
// choose has a 95% margin of at most margin grid steps before anything is released. g.Delta and g.Order say what is
// guaranteed; g.Epsilon is the most that may be spent. It is an error if that is not enough, or if the release has no
// margin in advance.
func EpsilonForMargin(r Release, margin float64, g Guarantee) (Guarantee, error) {
	if r.Kind == Quantile || r.Kind == Selection {
		return g, fmt.Errorf("%s: the margin of a %s is not known in advance: set dpproxy.epsilon instead", r.Name, r.Kind)
	}
	if !(margin > 0) {
		return g, fmt.Errorf("%s: a margin of %g cannot be reached: it must be positive", r.Name, margin)
	}
	least, ok, err := LeastGuarantee(r, g, func(p *Prepared) bool { return p.PlannedMargin() <= margin })
	if err == nil && !ok {
		err = fmt.Errorf("%s: a margin of %g grid steps needs more than epsilon %g", r.Name, margin, g.Epsilon)
	}
	return least, err
}

// LeastGuarantee is the least guarantee, to three digits of its Epsilon, at which the mechanism that Prepare would
// choose is good enough, at most g. false: not even that is.
func LeastGuarantee(r Release, g Guarantee, enough func(*Prepared) bool) (Guarantee, bool, error) {
	at := func(eps float64) Guarantee { return Guarantee{Epsilon: eps, Delta: g.Delta, Order: g.Order} }
	fits := func(eps float64) (ok bool, least float64, err error) {
		p, err := Prepare(r, at(eps))
		if err != nil {
			return false, 0, err
		}
		return enough(p), p.task.least(), nil
	}
	ok, least, err := fits(g.Epsilon)
	if err != nil || !ok {
		return g, false, err
	}
	lo, hi := math.Max(least*1.001, g.Epsilon/1e6), g.Epsilon
	if g.atOrder() { // a divergence falls with the square of ε
		lo = math.Max(least*1.001, g.Epsilon/1e12)
	}
	if lo < hi {
		if ok, _, _ := fits(lo); ok {
			return at(lo), true, nil
		}
	}
	for hi > lo*1.001 {
		mid := math.Sqrt(lo * hi)
		if ok, _, err := fits(mid); ok && err == nil { // an error: noise that wide cannot be drawn
			hi = mid
		} else {
			lo = mid
		}
	}
	return at(hi), true, nil
}
