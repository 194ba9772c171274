package mechanism

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Counts of which each counts all that the one before it does, as those of a funnel, are a chain: only what each counts
// beyond the one before it is measured, and what is released of it is the sum up to there. One unit moves such parts
// together by what it moves one number, and noise of the parts is made for their sums (docs/mechanisms.md, section 21).

// InChain says whether a release is the sum of the parts up to its own.
func (r Release) InChain() bool { return r.Chain > 0 }

// cells is how many numbers one unit may move: groups, or parts in groups.
func (r Release) cells() int {
	if r.InChain() {
		return max(r.Groups, 1) * r.Running
	}
	return max(r.Groups, 1)
}

// Chains lists the chains of a block's releases: of each its members by their places.
func Chains(list []Release) (chains [][]int) {
	at := map[int]int{}
	for i, r := range list {
		if !r.InChain() {
			continue
		}
		k, known := at[r.Chain]
		if !known {
			k, at[r.Chain] = len(chains), len(chains)
			chains = append(chains, nil)
		}
		chains[k] = append(chains[k], i)
	}
	for _, members := range chains {
		slices.SortFunc(members, func(a, b int) int { return cmp.Compare(list[a].Place, list[b].Place) })
	}
	return chains
}

// CheckChain says whether members of a list, by their places, may be drawn as a chain: they are all of it, move alike,
// and share what a unit has in a layer.
func CheckChain(list []Release, members []int) error {
	for i, m := range members {
		r, first := list[m], list[members[0]]
		switch {
		case r.Place != i+1 || r.Running != len(members):
			return fmt.Errorf("chain %d has not each of its places once", r.Chain)
		case !r.Layered() || r.Layer != first.Layer:
			return fmt.Errorf("chain %d is in no layer, or in several", r.Chain)
		case r.Kind != Scalar || r.Sensitivity != first.Sensitivity || r.Total != first.Total || r.Groups != first.Groups:
			return fmt.Errorf("releases of chain %d move differently", r.Chain)
		}
	}
	return nil
}

var errChain = errors.New("a chain whose noises are of several draws")

// DrawChain releases one group of a chain: exact are its parts, in the order of the places, each clamped into its range
// first; z and plain are to each member what DrawPlain gives.
func DrawChain(s *Source, chain []*Prepared, exact []int64) (z, plain []int64, err error) {
	first, noise := chain[0], make([]int64, len(chain))
	for i, p := range chain {
		if p.release.Place != i+1 || p.release.Running != len(chain) || !p.sharesNoise(first) {
			return nil, nil, errChain
		}
		smp := p.sampler
		if p.running != nil {
			smp = first.running.sampler
		}
		noise[i] = signed(smp().draw(s, &smp().plain))
	}
	if first.running != nil {
		first.running.nearest(noise)
	}
	z, plain = make([]int64, len(chain)), make([]int64, len(chain))
	far, sum := Interval{-3 * limit, 3 * limit}, int64(0)
	for i, p := range chain {
		h := p.task.v.hull()
		sum = far.clamp(sum + far.clamp(h.clamp(exact[i])+max(-noiseLimit, min(noiseLimit, noise[i]))))
		z[i], plain[i] = h.clamp(sum), sum
	}
	return z, plain, nil
}

// inChain has the margins of a member whose parts have noise of their own.
func (p *Prepared) inChain() *Prepared {
	root := math.Sqrt(float64(p.release.Place))
	margin := func(wrong float64) float64 { return p.sumMargin(wrong) * root }
	if law := p.Chosen().kernel.summed(p.release.Place); law != nil {
		margin = func(wrong float64) float64 { return leastWithin(law, wrong) }
	}
	return p.erring(1, p.plainDeviation()*root, margin)
}

// mostSummed bounds the points of the law of a sum of noises: wider noise has the margin of SumMargin.
const mostSummed, summedCut = 1 << 12, 40

// summed is the law of the sum of n noises, from −(its length/2) on; nil: it has too many points.
func (n kernel) summed(parts int) []float64 {
	far := math.Ceil(n.distance(summedCut))
	if far*float64(2*parts)+1 > mostSummed {
		return nil
	}
	one, total := make([]float64, 2*int(far)+1), 0.0
	for i := range one {
		one[i] = math.Exp(n.log(math.Abs(float64(i) - far)))
		total += one[i]
	}
	law := []float64{1}
	for range parts {
		next := make([]float64, len(law)+len(one)-1)
		for i, a := range law {
			for j, b := range one {
				next[i+j] += a * b / total
			}
		}
		law = next
	}
	return law
}

// leastWithin is the least magnitude that a law around 0 exceeds with a probability of at most wrong.
func leastWithin(law []float64, wrong float64) float64 {
	middle, beyond := len(law)/2, math.Exp(-summedCut/2)
	for m := middle; m > 0; m-- {
		if beyond += law[middle-m] + law[middle+m]; beyond > wrong {
			return float64(m)
		}
	}
	return 0
}

// sharesNoise says whether the parts of two members may be drawn at once.
func (p *Prepared) sharesNoise(o *Prepared) bool {
	if p.running == nil || o.running == nil {
		return p.running == o.running
	}
	return p.running.kernel == o.running.kernel && slices.Equal(p.running.column, o.running.column)
}

// ChainWeight is how much more of a price a chain of n takes than a number of its own that is to err as much, with the
// square root (docs/mechanisms.md, section 21).
func ChainWeight(n int) float64 {
	f := findFactor(n, runningPowers)
	sum := 0.0
	for _, variance := range f.totals {
		sum += variance
	}
	return f.totals[n-1] * sum / float64(n) // the last total is as far as the first column
}
