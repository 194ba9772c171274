// Package stattest holds the statistical tests that the other packages' tests share. Every limit comes from a tail
// bound that holds for any sample size, so the probability of a false alarm is what it says, not an approximation.
package stattest

import "math"

// FalseAlarm bounds the probability that a test of this package fails although nothing is wrong.
const FalseAlarm = 1e-6

// logAlarm is −ln of half the false-alarm probability: some bounds are used on both sides.
var logAlarm = -math.Log(FalseAlarm / 2)

// ChiSquare compares counts of outcomes with their exact probabilities. Outcomes that are expected fewer than 8 times
// are put together. It returns the statistic and the limit that it exceeds with a probability below FalseAlarm
// (Laurent and Massart 2000, lemma 1: P(χ²_k > k + 2√(kx) + 2x) ≤ e^−x).
func ChiSquare[K comparable](counts map[K]int, probability map[K]float64) (statistic, limit float64) {
	draws := 0
	for _, c := range counts {
		draws += c
	}
	freedom, rest, restWant := -1.0, float64(draws), float64(draws)
	add := func(got, want float64) {
		statistic += (got - want) * (got - want) / want
		freedom++
	}
	for k, q := range probability {
		if want := q * float64(draws); want >= 8 {
			got := float64(counts[k])
			add(got, want)
			rest, restWant = rest-got, restWant-want
		}
	}
	if restWant >= 8 {
		add(rest, restWant)
	} else if rest > restWant+logAlarm+math.Sqrt(2*logAlarm*restWant)+8 { // Chernoff's bound for a Poisson-like tail
		statistic = math.Inf(1)
	}
	freedom = math.Max(freedom, 1)
	return statistic, freedom + 2*math.Sqrt(freedom*logAlarm) + 2*logAlarm
}

// AtLeast says whether hits out of n contradict a success probability of at least p: it returns false with probability
// below FalseAlarm if the probability is p or more (Hoeffding's and Chernoff's bounds, whichever is sharper).
func AtLeast(hits, n int, p float64) bool {
	return float64(n)*divergence(float64(hits)/float64(n), p) < logAlarm || float64(hits) >= p*float64(n)
}

// AtMost is AtLeast for a probability of at most p.
func AtMost(hits, n int, p float64) bool { return AtLeast(n-hits, n, 1-p) }

// divergence is the Kullback–Leibler divergence of two coins: n·divergence bounds −ln P of a sample that far off.
func divergence(a, b float64) float64 {
	term := func(x, y float64) float64 {
		if x == 0 {
			return 0
		}
		return x * math.Log(x/y)
	}
	return term(a, b) + term(1-a, 1-b)
}

// MeanWithin says whether a mean over n independent samples may differ that much from the expected one if the samples
// have that standard deviation and lie within reach of their mean (Bernstein's inequality).
func MeanWithin(difference, deviation, reach float64, n int) bool {
	d := math.Abs(difference)
	return float64(n)*d*d/(2*deviation*deviation+2*reach*d/3) < logAlarm
}
