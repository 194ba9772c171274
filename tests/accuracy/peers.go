package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A plain system bounds each unit in each group, as the libraries of differential privacy do: a unit counts in at most
// C groups, picked at random, with at most R rows (or a sum of at most U) in each. It splits ε and δ evenly over the
// sums that it releases: a count and a sum are one each, a mean is a count and a centred sum of its own, a variance a
// count, a centred sum and a centred sum of squares. Laplace noise is for the L1 sensitivity C·Δ, Gaussian noise for
// the L2 sensitivity √C·Δ, with the exact σ of Balle and Wang (2018). C is the one with the least error, which nobody
// knows beforehand. Nothing is rounded or bounded.

// tally holds one group's exact sums: of rows, and of what else a peer's aggregates read.
type tally []float64

// part is one sum that a peer releases.
type part struct {
	of          func(tally) float64
	sensitivity float64 // in one group
}

// aggregate is what a peer makes of noisy parts.
type aggregate struct {
	parts  []part
	answer func(noisy []float64) float64
}

func count(rows float64) part { return part{func(t tally) float64 { return t[0] }, rows} }

// sum is that of a column, each row's value less centre.
func sum(column int, centre, sensitivity float64) part {
	return part{func(t tally) float64 { return t[column] - centre*t[0] }, sensitivity}
}

func single(p part) aggregate {
	return aggregate{[]part{p}, func(x []float64) float64 { return x[0] }}
}

func mean(n, s part, centre float64) aggregate {
	return aggregate{[]part{n, s}, func(x []float64) float64 { return centre + x[1]/x[0] }}
}

// variance reads the sums of values less centre and of squares less squareCentre.
func variance(n, s, squares part, centre, squareCentre float64) aggregate {
	return aggregate{[]part{n, s, squares}, func(x []float64) float64 {
		m := centre + x[1]/x[0]
		return squareCentre + x[2]/x[0] - m*m
	}}
}

// plainNoise draws noise for a sensitivity of 1 in each of c groups.
type plainNoise func(epsilon, delta, c float64) float64

func plainLaplace(epsilon, _, c float64) float64 {
	return rand.ExpFloat64() * (2*float64(rand.IntN(2)) - 1) * c / epsilon
}

func plainGaussian(epsilon, delta, c float64) float64 {
	return rand.NormFloat64() * math.Sqrt(c) * gaussianSigma(epsilon, delta)
}

// sigmas of one guarantee are asked for again and again.
var knownSigmas = map[[2]float64]float64{}

// gaussianSigma is the least σ that makes a sum of sensitivity 1 (ε, δ)-DP (Balle and Wang 2018, theorem 8).
func gaussianSigma(epsilon, delta float64) float64 {
	if s, ok := knownSigmas[[2]float64{epsilon, delta}]; ok {
		return s
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	lo, hi := 1e-3, 1e9
	for range 200 {
		mid := math.Sqrt(lo * hi)
		if phi(0.5/mid-epsilon*mid)-math.Exp(epsilon)*phi(-0.5/mid-epsilon*mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	knownSigmas[[2]float64{epsilon, delta}] = hi
	return hi
}

// plainDraws is how often a peer's answer is simulated.
const plainDraws = 2000

// plain simulates a statement of a peer and returns the errors of one of its aggregates, relative or not, under one
// noise. tallies[c] holds the groups' sums where a unit counts in c+1 of them.
func plain(draw plainNoise, tallies []map[string]tally, list []aggregate, column int, truth answer, epsilon,
	delta float64, relative bool, size func([]float64) estimate,
) float64 {
	shares := 0.0
	for _, a := range list {
		shares += float64(len(a.parts))
	}
	best := math.Inf(1)
	for c, groups := range tallies {
		var errors []float64
		for key, t := range groups {
			for range plainDraws {
				var noisy []float64
				for _, p := range list[column].parts {
					noisy = append(noisy, p.of(t)+p.sensitivity*draw(epsilon/shares, delta/shares, float64(c+1)))
				}
				e := list[column].answer(noisy) - truth[key][column]
				if relative {
					e /= truth[key][column]
				}
				errors = append(errors, e)
			}
		}
		best = math.Min(best, size(errors).value)
	}
	return best
}

// tallied adds up what main returns for the groups of rank 1, 2, … of a unit: rows of (key, rank, sums …).
func tallied(rows [][]float64, keys []string) []map[string]tally {
	most := 0
	for _, r := range rows {
		most = max(most, int(r[0]))
	}
	all := make([]map[string]tally, most)
	for c := range all {
		all[c] = map[string]tally{}
		for i, r := range rows {
			if int(r[0]) > c+1 {
				continue
			}
			t := all[c][keys[i]]
			if t == nil {
				t = slices.Repeat(tally{0}, len(r)-1)
			}
			for j, x := range r[1:] {
				t[j] += x
			}
			all[c][keys[i]] = t
		}
	}
	return all
}
