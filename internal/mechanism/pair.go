package mechanism

import (
	"math"
)

// roundingStep is what a margin in whole steps may fall short of the quantile of the continuous noise: half a step. It
// matters where the margin is one of two that are combined as if their noises were continuous.
const roundingStep = .5

// PairMargins are margins of two releases whose squares add up: |x − r·y| of their noises exceeds √(mx² + r²·my²) with
// probability at most wrong, at most Wrong. They depend on r slowly, so they serve for others nearby. No range caps
// them, unlike the margin of a release alone: its ends say nothing of two (docs/mechanisms.md, section 8).
func PairMargins(x, y *Prepared, r, wrong float64) (mx, my float64) {
	apart := func(p *Prepared) bool { return p.added != nil || p.Chosen().Noise == Staircase }
	switch {
	case x.cube != nil && x.cube == y.cube:
		t := x.cube.deviations(x.coordinate, y.coordinate, math.Abs(r), wrong)
		return t * x.cube.marginal(x.coordinate).rmse(), t * x.cube.marginal(y.coordinate).rmse()
	case apart(x), apart(y), wrong < Wrong && !independent([]Term{{Of: x}, {Of: y}}):
		// Their tails may be no shorter beside another noise: each has half of the probability, a + b ≤ √(2a² + 2b²).
		return math.Sqrt2 * x.gappedErrorQuantile(wrong/2), math.Sqrt2 * (y.gappedErrorQuantile(wrong/2) + roundingStep)
	}
	return x.ErrorQuantile(1 - wrong), y.ErrorQuantile(1-wrong) + roundingStep
}

// gappedErrorQuantile is what a release's error exceeds with probability at most wrong, also where its range is no
// interval.
func (p *Prepared) gappedErrorQuantile(wrong float64) float64 {
	switch c := p.Chosen(); {
	case p.added != nil:
		return p.added(wrong)
	case p.quantiles == nil, p.cube != nil, c.bounding == Truncate:
		return p.ErrorQuantile(1 - wrong)
	case c.bounding == Clamp, c.bounding == Fold:
		return c.plainQuantile(1 - wrong)
	}
	return float64(p.task.v.hull().span())
}

const (
	ratioSteps = 32   // of x − r·y between x alone and one row moving both as far
	ratioEnd   = 1e-3 // a noise that is so much less than the other is added to it at its worst
	boxesApart = 8    // of the tabulated ones: 1/8 of the scale of their law or less
)

// deviations is what |x − r·y|, r ≥ 0, exceeds with probability at most wrong, over its standard deviation: at 5% 2.0
// to 2.1 for a vector of two, between 1.7 and 1.9 for one of forty. Up to the r at which one row moves both as far,
// which is what averages have, it is that of the next of ratioSteps, or further out, where it rises faster with r, of
// the next larger one.
func (c *Cube) deviations(x, y int, r, wrong float64) float64 {
	mx, my := c.move(x), c.move(y)
	next := math.Round
	if wrong < Wrong {
		next = math.Ceil
	}
	if whole := mx / my / ratioSteps; r < mx/my {
		r = whole * next(r/whole)
	}
	return c.pairs.find(pair{mx, my, r, wrong}, func() float64 {
		lx, ly := c.marginal(x), c.marginal(y)
		var m float64
		switch ratio := r * my / mx; {
		case ratio < ratioEnd || ratio > 1/ratioEnd:
			m = lx.errorQuantile(1-wrong) + r*ly.errorQuantile(1-wrong)
		case r < 1:
			m = c.pairErrorQuantile(my, mx, r, 1, wrong)
		default:
			m = c.pairErrorQuantile(mx, my, 1, r, wrong)
		}
		return m / math.Hypot(lx.rmse(), r*ly.rmse())
	})
}

// move is M, how far one row moves a coordinate.
func (c *Cube) move(at int) float64 {
	for _, a := range c.axes {
		if a.at == at {
			return float64(a.row)
		}
	}
	return 0
}

// pairErrorQuantile is the least m that |fine·x − coarse·y| exceeds with probability at most wrong, fine ≤ coarse,
// where a row moves x and y by those moves: with x uniform on the reals of its box instead of the integers, and half a
// step of it more, which is all that that can hide.
func (c *Cube) pairErrorQuantile(moveFine, moveCoarse, fine, coarse, wrong float64) float64 {
	all := 0.0
	for i := boxesApart / 2; i < len(c.law.weight); i += boxesApart {
		all += c.law.weight[i]
	}
	exceeded := func(m float64) float64 {
		p := 0.0
		for i := boxesApart / 2; i < len(c.law.weight); i += boxesApart {
			k := c.law.shell[i] / float64(c.shells)
			p += c.law.weight[i] * beyond(m, fine*(math.Floor(k*moveFine)+.5), coarse, math.Floor(k*moveCoarse))
		}
		return p / all
	}
	lo, hi := 0., 1.
	for exceeded(hi) > wrong {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-4*hi {
		if mid := (lo + hi) / 2; exceeded(mid) > wrong {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi + fine/2
}

// beyond is P(|u − step·j| > m) of u uniform on [−reach, reach] and a whole number j uniform on [−half, half]: by
// symmetry twice P(u > m + step·j), which falls from 1 to 0 over 2·reach, so that its sum over j is a difference of two
// sums of max(0, top − step·i).
func beyond(m, reach, step, half float64) float64 {
	ramp := func(top float64) float64 {
		if top <= 0 {
			return 0
		}
		last := math.Min(2*half, math.Floor(top/step))
		return (last + 1) * (top - step*last/2)
	}
	top := step*half - m
	return (ramp(top+reach) - ramp(top-reach)) / (reach * (2*half + 1))
}

// quantiles memoises quantiles of errors.
type quantiles[K comparable] struct{ memo[K, float64] }

// pair are the moves of two coordinates, r, and the probability.
type pair struct{ x, y, r, wrong float64 }

func (l *quantiles[K]) find(key K, compute func() float64) float64 {
	q, _ := l.memo.find(key, func() (float64, error) { return compute(), nil })
	return q
}
