package mechanism

import (
	"fmt"
	"slices"
	"sync"
)

// cubes memoises NewCube, a pure function of public quantities.
var cubes = memo[string, *Cube]{most: 32} // some 200 kB each

// newVector is NewCube, memoised; nil where there is no joint noise for these quantities. Each call returns a vector of
// its own: Compose counts each once.
func newVector(shape CubeShape, epsilon float64) *Cube {
	c, _ := cubes.find(fmt.Sprint(shape, epsilon), func() (*Cube, error) {
		c, err := NewCube(shape, epsilon)
		if err != nil {
			return nil, nil // the releases keep their shares
		}
		return c, nil
	})
	if c == nil {
		return nil
	}
	own := *c
	return &own
}

// join makes one vector of all releases that can be coordinates, at the ε that their layers have together, where the
// sum of their squared errors in units of Total² is smaller than with the shares that out was prepared with. Either way
// their candidates show it.
func join(list []Release, out []*Prepared) {
	var members []int
	epsilon, apart := 0.0, 0.0
	for _, layer := range layers(list) {
		if !joinable(list, out, layer, members) {
			continue
		}
		members = append(members, layer...)
		epsilon += out[layer[0]].guarantee.Epsilon
		for _, i := range layer {
			apart += list[i].scaledError(out[i].Chosen())
		}
	}
	if len(members) < 2 {
		return
	}
	shape := CubeShape{Rows: list[members[0]].perUnit()}
	for _, i := range members {
		shape.Moves = append(shape.Moves, list[i].Row)
	}
	c := newVector(shape, epsilon)
	if c == nil {
		return
	}
	together := 0.0
	candidates := make([]Candidate, len(members))
	for k, i := range members {
		candidates[k] = out[i].inCube(list[i], c, k)
		together += list[i].scaledError(candidates[k])
	}
	for k, i := range members {
		out[i] = out[i].withJoint(candidates[k], c, k, together < apart*(1-1e-9))
	}
}

// perUnit is R, the rows of a unit in the whole answer; 0 where the release does not count them.
func (r Release) perUnit() int64 {
	if r.Row <= 0 || r.Total%r.Row != 0 {
		return 0
	}
	return r.Total / r.Row
}

// scaledError is the mean squared error in units of Total².
func (r Release) scaledError(c Candidate) float64 {
	e := c.RMSEAverage / float64(r.Total)
	return e * e
}

// joinable says whether all releases of a layer can be coordinates beside those that are members already: whether they
// count the same rows of a unit, on an interval, with a mechanism that the policy leaves open.
func joinable(list []Release, out []*Prepared, layer, members []int) bool {
	for _, i := range layer {
		r, t := list[i], out[i].task
		switch {
		case r.perUnit() == 0 || r.Choice != (Choice{}):
			return false
		case r.Kind != SumGivenCount && (r.Kind != Scalar || len(t.v) > 1 || t.v.hull().span() == 0):
			return false
		case r.perUnit() != list[layer[0]].perUnit() || len(members) > 0 && r.perUnit() != list[members[0]].perUnit():
			return false
		}
	}
	return true
}

// inCube is the candidate that coordinate at of c is. Its part of the joint ε is what EXPLAIN shows; all parts together
// make it up.
func (p *Prepared) inCube(r Release, c *Cube, at int) Candidate {
	law, parts := c.marginal(at), float64(c.Dimension())
	lambda := float64(r.Total) / c.epsilon
	out := Candidate{
		Noise: CubeNoise, Bounding: Fold, Guarantee: "pure", Calibration: Tight, Scale: lambda,
		Loss: c.loss() / parts, Joint: true,
	}
	if p.task.open {
		out.RMSEAverage = law.rmse()
		out.RMSEWorst = out.RMSEAverage
	} else {
		out.RMSEAverage, out.RMSEWorst = law.errors(p.task.v.hull())
	}
	epsilon := c.epsilon // alone: a candidate that is not chosen keeps no vector
	out.curve = func() Curve {
		all := PureCurve(epsilon)
		for i := range all.Renyi {
			all.Renyi[i] /= parts
		}
		return Curve{Pure: epsilon / parts, Renyi: all.Renyi}
	}
	return out
}

// withJoint adds a coordinate of c to a release's candidates, chosen or not.
func (p *Prepared) withJoint(candidate Candidate, c *Cube, at int, chosen bool) *Prepared {
	q := *p
	q.candidates = append(slices.Clone(p.candidates), candidate)
	if !chosen {
		return &q
	}
	q.candidates[q.chosen].Chosen = false
	q.chosen = len(p.candidates)
	q.candidates[q.chosen].Chosen = true
	q.guarantee = Guarantee{Epsilon: c.epsilon / float64(c.Dimension())}
	q.cube, q.coordinate = c, at
	q.curve = sync.OnceValue(candidate.curve)
	q.quantiles, q.tails, q.thresholds = &quantiles[float64]{}, &quantiles[int64]{}, &quantiles[float64]{}
	q.outline = sync.OnceValue(q.newOutline)
	return &q
}

// Joint is the vector that a release is a coordinate of, and its place in it; nil where Draw draws it on its own.
func (p *Prepared) Joint() (c *Cube, coordinate int) { return p.cube, p.coordinate }

// Bound releases a coordinate of joint noise: exact is clamped to the range, as Draw does, the noise that Cube.Draw
// or DrawRunning gave for the same group is added, and the sum is folded into the range, or clamped if it is Running.
// count is the released n̂ of a SumGivenCount release.
//
// Values beyond ±3·2^60 are set there first: for exact values within ±2^60 that makes noise set to ±2^62 and noise
// beyond it the same.
func (p *Prepared) Bound(exact, noise, count int64) int64 {
	z, _ := p.BoundPlain(exact, noise, count)
	return z
}

// BoundPlain is to Bound what DrawPlain is to Draw.
func (p *Prepared) BoundPlain(exact, noise, count int64) (z, plain int64) {
	if p.release.Kind == SumGivenCount && count <= 0 {
		return 0, 0
	}
	h := p.rangeAt(count).hull()
	plain = Interval{-3 * limit, 3 * limit}.clamp(h.clamp(exact) + max(-noiseLimit, min(noiseLimit, noise)))
	if p.running != nil {
		return h.clamp(plain), plain
	}
	return h.fold(plain), plain
}
