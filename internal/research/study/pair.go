package study

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// PairDivergence is the Rényi divergence, of a finite order, of two continuous distributions: noise of one scale,
// centred at s and at u and truncated to [a, b], which need not hold s and u. It integrates numerically: the closed
// forms are held against it.
func PairDivergence(noise mechanism.Noise, scale, order, a, b, s, u float64) float64 {
	log := func(x, centre float64) float64 {
		d := (x - centre) / scale
		if noise == mechanism.Laplace {
			return -math.Abs(d)
		}
		return -d * d / 2
	}
	cuts := []float64{a}
	for _, kink := range []float64{math.Min(s, u), math.Max(s, u)} {
		if kink > cuts[len(cuts)-1] && kink < b {
			cuts = append(cuts, kink)
		}
	}
	cuts = append(cuts, b)
	zs := lnIntegral(cuts, func(x float64) float64 { return log(x, s) })
	zu := lnIntegral(cuts, func(x float64) float64 { return log(x, u) })
	mix := lnIntegral(cuts, func(x float64) float64 { return order*log(x, s) + (1-order)*log(x, u) })
	return (mix - order*zs + (order-1)*zu) / (order - 1)
}

// lnIntegral is ln ∫ e^g from the first cut to the last, for g smooth between cuts: the Gauss–Legendre rule of 20
// points on 64 parts of each piece, on weights relative to the largest.
func lnIntegral(cuts []float64, g func(x float64) float64) float64 {
	const parts, points = 64, 20
	var list []float64
	for i := 1; i < len(cuts); i++ {
		w := (cuts[i] - cuts[i-1]) / parts
		for j := range parts {
			from := cuts[i-1] + w*float64(j)
			top := math.Max(g(from), g(from+w))
			sum := quad.Fixed(func(x float64) float64 { return math.Exp(g(x) - top) }, from, from+w, points, quad.Legendre{}, 0)
			list = append(list, top+math.Log(sum))
		}
	}
	top, sum := slices.Max(list), 0.0
	for _, l := range list {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum)
}
