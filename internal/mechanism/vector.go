package mechanism

import (
	"fmt"
	"sync"
)

// PrepareVector prepares releases that share one guarantee, each layer getting the part of ε (and δ) that its weight
// says. Under a pure guarantee it also tries one joint Gaussian on the box of the ranges, with σ_i = σ·Δ_i and Σ loss_i = ε, and takes it for
// the coordinates if the sum of their expected squared errors, in units of Δ_i², is smaller: a vector's coordinates may
// all move by their full sensitivity at once, so the losses of the coordinates add (docs/mechanisms.md, proposition 4).
// Only Scalar releases with a finite range and the same number of groups, whose policy leaves noise and bounding open,
// take part; the others keep their share.
func PrepareVector(list []Release, g Guarantee) ([]*Prepared, error) {
	out := make([]*Prepared, len(list))
	var joint []int
	part, split := 0.0, 0.0
	for i, of := range share(list, g) {
		p, err := Prepare(list[i], of)
		if err != nil {
			return nil, err
		}
		out[i] = p
		if g.pure() && p.joinable() && (len(joint) == 0 || p.task.groups == out[joint[0]].task.groups) {
			joint = append(joint, i)
			part += p.guarantee.Epsilon
			split += p.scaledError(p.Chosen())
		}
	}
	if len(joint) < 2 {
		return out, nil
	}
	tasks := make([]task, len(joint))
	for k, i := range joint {
		tasks[k] = out[i].task
	}
	losses, candidates := jointGaussian(tasks, part)
	sum, total := 0.0, 0.0
	for k, i := range joint {
		sum += out[i].scaledError(candidates[k])
		total += losses[k]
	}
	for k, i := range joint {
		// The parts add up to the share; each is above its loss, since the losses add up to less.
		out[i] = out[i].withJoint(candidates[k], part*losses[k]/total, sum < split*(1-1e-9))
	}
	return out, nil
}

// joinable says whether a release can be a coordinate of the joint Gaussian.
func (p *Prepared) joinable() bool {
	t := p.task
	return p.release.Kind == Scalar && !t.open && !t.layered && len(t.v) == 1 && t.v.hull().span() > 0 && p.release.Choice == (Choice{})
}

// scaledError is the mean squared error in units of Δ².
func (p *Prepared) scaledError(c Candidate) float64 {
	e := c.RMSEAverage / p.task.delta
	return e * e
}

// jointGaussian solves Σ loss_i(κ_i) = ε with κ_i = θ/Δ_i² and returns each coordinate's loss.
func jointGaussian(tasks []task, eps float64) ([]float64, []Candidate) {
	kappa := func(t task, theta float64) float64 {
		return theta / (t.step() * t.step())
	}
	total := func(theta float64) float64 {
		sum := 0.0
		for _, t := range tasks {
			sum += t.pureLoss(newKernel(Gaussian, kappa(t, theta)), Truncate)
		}
		return sum
	}
	lo, hi := 1e-30, 1e-30
	for total(hi) <= target(eps) && hi < maxKappa {
		lo, hi = hi, 4*hi
	}
	theta := largest(total, lo, hi, target(eps))
	losses, out := make([]float64, len(tasks)), make([]Candidate, len(tasks))
	for i, t := range tasks {
		d := design{newKernel(Gaussian, kappa(t, theta)), Truncate, t.v}
		losses[i] = t.pureLoss(d.kernel, Truncate)
		out[i] = Candidate{Noise: Gaussian, Bounding: Truncate, Guarantee: "pure", Calibration: Tight, Scale: d.scale(), Loss: losses[i], Joint: true, design: d}
		out[i].RMSEAverage, out[i].RMSEWorst = d.errors()
	}
	return losses, out
}

// withJoint adds the joint Gaussian to a release's candidates, chosen or not; eps is its part, over all groups.
func (p *Prepared) withJoint(c Candidate, eps float64, chosen bool) *Prepared {
	t := p.task
	t.g = Guarantee{Epsilon: eps}
	c.curve = func() Curve { return t.curve(c.design) }
	q := &Prepared{release: p.release, guarantee: p.guarantee, task: p.task, chosen: p.chosen, sampler: p.sampler, curve: p.curve, quantile: p.quantile}
	q.candidates = append(p.Candidates(), c)
	if !chosen {
		return q
	}
	q.task, q.guarantee = t, t.g
	for i := range q.candidates {
		q.candidates[i].Chosen = false
	}
	q.chosen = len(q.candidates) - 1
	q.candidates[q.chosen].Chosen = true
	q.sampler = sync.OnceValue(func() *sampler { return newSampler(c.kernel) })
	q.curve = sync.OnceValue(c.curve)
	q.quantile = sync.OnceValue(func() float64 { return c.spread(false) })
	return q
}

// String names a candidate: "laplace truncate (tight, pure)".
func (c Candidate) String() string {
	joint := ""
	if c.Joint {
		joint = " joint"
	}
	return fmt.Sprintf("%s %s%s (%s, %s)", c.Noise, c.Bounding, joint, c.Calibration, c.Guarantee)
}
