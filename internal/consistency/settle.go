package consistency

import (
	"math"
	"slices"
)

const (
	// apart is by how many standard deviations of its noise a difference between a number and the sum of its parts is
	// explained: one Laplace noise is more than that to one side in 4 of 10,000 draws, several together less often. What
	// is more is there without noise: rows that are in no part.
	apart = 5
	// nearEnd is within how many standard deviations of an end of its range the bounded noise of a number may have a mean,
	// and endBias bounds that mean, in standard deviations: that of |d| is √½ for Laplace noise and √(2/π) for Gaussian
	// noise.
	nearEnd, endBias = 3, 0.8
	// leastVariance stands for that of noise that is always 0.
	leastVariance = 1e-12
	// Most bounds the magnitudes for which sums are exact.
	Most = 1 << 52
)

// Number is a released number, and what is public of it.
type Number struct {
	Value     float64 // as it was released
	Deviation float64 // of its noise
	Lo, Hi    int64   // its range
	Unseen    bool    // nobody sees it: of its value only what it takes from its sum counts
	Sums      []Sum

	Settled int64 // the whole number that it is made to be
	Joined  bool  // it is the sum of its parts, or a part of one that is; else nothing follows of it but what was released

	estimate, variance, bias float64 // of itself and what is below
}

// Sum lists numbers, maybe none, which add up to another.
type Sum struct {
	Parts      []*Number
	More, Less bool // what is in none of them may add to that number, or take from it
	Dropped    bool // they do not add up
}

// Settle finds whole numbers within their ranges, near to what was released, that add up: every number is each of its
// Sums, unless it is more or less than noise explains and may be. The parts of such a sum are numbers of their own
// then. It depends on nothing but its arguments.
func Settle(roots []*Number) {
	alone := slices.Clone(roots)
	for _, n := range roots {
		alone = append(alone, n.gather()...)
	}
	for _, n := range alone {
		n.settle(n.whole())
	}
}

// whole is a number's estimate as one of its range.
func (n *Number) whole() int64 { return int64(math.Round(n.moved(0))) }

// gather finds the weighted least-squares estimate of a number from itself and all that is below it: the mean of its
// own value and of the sums of its parts' estimates, weighted by the inverse of their variances. It returns the parts
// of dropped sums.
func (n *Number) gather() (loose []*Number) {
	n.estimate, n.variance, n.bias = n.Value, math.Max(n.Deviation*n.Deviation, leastVariance), 0
	if math.Min(n.Value-float64(n.Lo), float64(n.Hi)-n.Value) < nearEnd*n.Deviation {
		n.bias = endBias * n.Deviation
	}
	for i := range n.Sums {
		s := &n.Sums[i]
		var sum, variance, bias float64
		for _, p := range s.Parts {
			loose = append(loose, p.gather()...)
			sum, variance, bias = sum+p.estimate, variance+p.variance, bias+p.bias
		}
		difference, explained := sum-n.estimate, apart*math.Sqrt(n.variance+variance)+n.bias+bias
		if s.More && -difference > explained || s.Less && difference > explained {
			s.Dropped, loose = true, append(loose, s.Parts...)
			continue
		}
		// Biases add up where noise does not: many parts that may be 0 say little of their sum.
		own, others := n.variance+n.bias*n.bias, variance+bias*bias
		weight := own / (own + others)
		n.estimate += weight * difference
		n.variance = math.Max((1-weight)*(1-weight)*n.variance+weight*weight*variance, leastVariance)
		n.bias = (1-weight)*n.bias + weight*bias
	}
	return loose
}

// settle gives a number its value, and shares it over its parts.
func (n *Number) settle(value int64) {
	n.Settled = value
	for i := range n.Sums {
		s := &n.Sums[i]
		if s.Dropped {
			continue
		}
		if s.Dropped = !n.spread(s.Parts, value); s.Dropped {
			for _, p := range s.Parts {
				p.settle(p.whole())
			}
			continue
		}
		n.Joined = true
		for _, p := range s.Parts {
			p.Joined = true
			p.settle(p.Settled)
		}
	}
}

// spread shares a number's value over parts. Those that nobody sees get nothing where noise explains that the others
// are all of it.
func (n *Number) spread(parts []*Number, value int64) bool {
	var seen []*Number
	sum, variance, bias := 0., n.variance, n.bias
	for _, p := range parts {
		if !p.Unseen {
			seen, sum, variance, bias = append(seen, p), sum+p.estimate, variance+p.variance, bias+p.bias
		}
	}
	if len(seen) == len(parts) || math.Abs(float64(value)-sum) > apart*math.Sqrt(variance)+bias || !share(seen, value) {
		return share(parts, value)
	}
	for _, p := range parts {
		if p.Unseen {
			p.Settled = max(p.Lo, min(p.Hi, 0))
		}
	}
	return true
}
