package mechanism

import (
	"cmp"
	"math"
	"slices"
)

// Term is a release in a sum of several, and what its error is multiplied by.
type Term struct {
	Of     *Prepared
	Factor float64
}

// CombinedMargin is what the error of a sum of releases, |Σ factor·(released − true)|, exceeds with a probability of at
// most wrong, at most Wrong. It does not fall where a factor's size grows (docs/mechanisms.md, section 8).
func CombinedMargin(list []Term, wrong float64) float64 {
	list = slices.DeleteFunc(slices.Clone(list), func(t Term) bool { return t.Factor == 0 || t.Of.quantiles == nil })
	switch {
	case len(list) == 0:
		return 0
	case len(list) > 1 && len(list) <= mostCombined && sameCube(list):
		return list[0].Of.cube.combined(list, wrong)
	case len(list) > 1 && !independent(list):
		return eachWithin(list, wrong)
	}
	squares := 0.0
	for _, t := range list {
		m := t.Factor * t.Of.ErrorQuantile(1-wrong)
		if len(list) > 1 {
			m += t.Factor * roundingStep
		}
		squares += m * m
	}
	return math.Sqrt(squares)
}

// eachWithin has an equal part of the probability for each release: they are all within its quantile but for their sum.
func eachWithin(list []Term, wrong float64) (m float64) {
	for _, t := range list {
		m += math.Abs(t.Factor) * t.Of.ErrorQuantile(1-wrong/float64(len(list)))
	}
	return m
}

// sameCube says that all releases are coordinates of one vector.
func sameCube(list []Term) bool {
	c := list[0].Of.cube
	return c != nil && !slices.ContainsFunc(list, func(t Term) bool { return t.Of.cube != c })
}

// independent says that all releases have a Laplace or Gaussian noise of their own, bounded afterwards: the squares of
// their quantiles add up. Two may be of one chain.
func independent(list []Term) bool {
	chained := 0
	return !slices.ContainsFunc(list, func(t Term) bool {
		c := t.Of.Chosen()
		if t.Of.release.InChain() {
			chained++
		}
		together := t.Of.cube != nil || t.Of.added != nil || chained > 1
		return together || c.Noise != Laplace && c.Noise != Gaussian || c.bounding != Clamp && c.bounding != Fold
	})
}

const (
	// mostCombined are the coordinates whose sum has 2^mostCombined corners.
	mostCombined = 4
	// combinedSteps are the ratios of two factors that are told apart: of sums of more than three, fewer are.
	combinedSteps, fewerSteps = 16, 8
	// combinedApart are boxes of the tabulated ones: 1/8 of the scale of their distribution or less.
	combinedApart = 16
)

// combination is a sum of coordinates: how far one row moves them, and by how much the sum with them, over the most
// that it does.
type combination struct {
	moves  [mostCombined]float64
	ratios [mostCombined]float64
	wrong  float64
}

// combined is the margin of a sum of coordinates. Given the box, each is symmetric and unimodal, and the more it is
// stretched, the less likely is the sum to be near 0 (Anderson 1955): ratios are rounded up.
func (c *Cube) combined(list []Term, wrong float64) float64 {
	type part struct{ move, size float64 }
	parts := make([]part, len(list))
	most, steps := 0.0, 0.0
	for i, t := range list {
		move, factor := c.move(t.Of.coordinate), math.Abs(t.Factor)
		parts[i] = part{move, factor * move}
		most, steps = math.Max(most, factor*move), steps+factor
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.move, a.move)) })
	key, told := combination{wrong: wrong}, float64(combinedSteps)
	if len(parts) > 3 {
		told = fewerSteps
	}
	for i, p := range parts {
		key.moves[i], key.ratios[i] = p.move, math.Ceil(told*p.size/most)/told
	}
	return most*c.combine.find(key, func() float64 { return c.combinedErrorQuantile(key) }) + steps*roundingStep
}

// combinedErrorQuantile is the least m that the sum exceeds, in what the largest of its terms is moved by by one row:
// with coordinates that are uniform on the reals of their boxes, which the rounding steps of combined make up for.
func (c *Cube) combinedErrorQuantile(key combination) float64 {
	all := 0.0
	for i := combinedApart / 2; i < len(c.law.weight); i += combinedApart {
		all += c.law.weight[i]
	}
	var sides [mostCombined]float64
	exceeded := func(m float64) float64 {
		p := 0.0
		for i := combinedApart / 2; i < len(c.law.weight); i += combinedApart {
			n := 0
			for n < mostCombined && key.ratios[n] > 0 {
				sides[n] = (c.law.shell[i]/float64(c.shells) + roundingStep/key.moves[n]) * key.ratios[n]
				n++
			}
			p += c.law.weight[i] * beyondUniform(m, sides[:n])
		}
		return p / all
	}
	lo, hi := 0., 1.
	for exceeded(hi) > key.wrong {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-4*hi {
		if mid := (lo + hi) / 2; exceeded(mid) > key.wrong {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// beyondUniform is P(|Σ u| > m) of independent u that are uniform on ±sides: Σ (±1)·(Σ ±side − m)₊^k over the corners,
// over k!·Π 2·side.
func beyondUniform(m float64, sides []float64) float64 {
	volume := 1.0
	for i, s := range sides {
		volume *= 2 * s * float64(i+1)
	}
	sum := 0.0
	for corner := range 1 << len(sides) {
		at, sign := -m, 1.0
		for i, s := range sides {
			if corner>>i&1 == 1 {
				s, sign = -s, -sign
			}
			at += s
		}
		if at <= 0 {
			continue
		}
		for range sides {
			sign *= at
		}
		sum += sign
	}
	return math.Min(1, math.Max(0, 2*sum/volume))
}
