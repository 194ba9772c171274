package mechanism

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// EmptyTail is the probability that a release over no rows, whose exact value is 0, gives something at least as far
// from 0 as this: how well a released count or sum says that there are rows. It is that of the distribution that is
// drawn from, or a little more (docs/mechanisms.md, section 18). Of what is no scalar, and where 0 is all that can be
// released, it is 1.
func (p *Prepared) EmptyTail(released int64) float64 {
	v := p.task.v
	if p.release.Kind != Scalar || len(v) != 1 || v[0].Lo == v[0].Hi || released == 0 {
		return 1
	}
	far := max(released, -released)
	return p.tails.find(far, func() float64 { return math.Min(1, p.emptyTail(v[0], far)) })
}

// emptyTail is that of magnitudes from far > 0 on, in a range with 0 in it.
func (p *Prepared) emptyTail(h Interval, far int64) (sum float64) {
	if p.added != nil {
		return p.addedTail(far)
	}
	if p.cube != nil {
		law := p.cube.marginal(p.coordinate)
		return p.emptyRuns(h, far, law.reach())*(1+jointTail) + jointCut
	}
	d := p.Chosen().design
	switch d.bounding {
	case Cells:
		d.each(0, func(z, probability float64) {
			if math.Abs(z) >= float64(far) {
				sum += probability
			}
		})
		return sum
	case Denoise:
		return p.denoised().from(float64(far))
	}
	return p.emptyRuns(h, far, d.reach())
}

// emptyRuns adds the probabilities of the runs of points from far on, to either side. What is further out than noise
// reaches is left out, as are ends of the range: sums over points that are so far apart would lose their digits.
func (p *Prepared) emptyRuns(h Interval, far int64, reach float64) (sum float64) {
	end := int64(math.Min(limit, math.Ceil(reach)+1))
	h = Interval{max(h.Lo, -end), min(h.Hi, end)}
	probability := p.runs(h, 0)
	if far <= h.Hi {
		sum += probability(Interval{far, h.Hi})
	}
	if -far >= h.Lo {
		sum += probability(Interval{h.Lo, -far})
	}
	return sum
}

// emptyRunsMost bounds the runs of noisy values that a distribution of Denoise is tabulated over.
const emptyRunsMost = 1 << 12

// denoised is what is released over no rows by Denoise: magnitudes, falling, and the probability of each or more. What
// is released need not rise with the noisy value, so they are visited: one by one, or where the noise is wide in short
// runs, each at the further of its ends.
type denoised struct{ size, tail []float64 }

// denoisedCut bounds the probability of noise that is further out than what is visited.
const denoisedCut = 1e-10

func (d design) newDenoised() *denoised {
	type run struct{ size, probability float64 }
	var list []run
	reach, total := math.Ceil(d.distance(24)), d.total()
	step := math.Max(1, math.Ceil((2*reach+1)/emptyRunsMost))
	for y := -reach; y <= reach; y += step {
		u := d.sums(y, step)
		size := math.Max(math.Abs(d.post(y)), math.Abs(d.post(y+step-1)))
		list = append(list, run{size, u.m0 * math.Exp(u.ref) / total})
	}
	slices.SortFunc(list, func(a, b run) int { return cmp.Compare(b.size, a.size) })
	out, sum := &denoised{}, denoisedCut
	for _, r := range list {
		sum += r.probability
		out.size, out.tail = append(out.size, r.size), append(out.tail, sum)
	}
	return out
}

// from is the probability of magnitudes from far on.
func (d *denoised) from(far float64) float64 {
	n := sort.Search(len(d.size), func(i int) bool { return d.size[i] < far })
	if n == 0 {
		return denoisedCut
	}
	return d.tail[n-1]
}

// EmptyThreshold is the least number that what is released over no rows exceeds in magnitude with a probability of at
// most wrong.
func (p *Prepared) EmptyThreshold(wrong float64) int64 {
	return int64(p.thresholds.find(wrong, func() float64 {
		return leastInteger(limit, func(m float64) bool { return p.EmptyTail(int64(m)+1) <= wrong })
	}))
}
