package mechanism

import "math"

// everywhere is the support of noise that is bounded afterwards. It is two-sided, and farExponent keeps its ends out of
// reach.
var everywhere = []segment{{1, 2 * limit, true}, {0, 2 * limit, false}}

// Draw releases one integer of a Scalar or SumGivenCount release. exact is clamped into the hull of the range first,
// never trusted. count is the released n̂ of a SumGivenCount release, whose range is [n̂·PerRow.Lo, n̂·PerRow.Hi] and
// which releases 0 for n̂ ≤ 0; it is ignored by Scalar releases. The number of random words does not depend on exact
// (sampler.go).
func (p *Prepared) Draw(s *Source, exact, count int64) int64 {
	z, _ := p.DrawPlain(s, exact, count)
	return z
}

// DrawPlain is Draw that gives the noisy value, too, which the range has not bounded: what a release costs is what that
// costs, and what is released follows from it. Where Plain says that there is none it is what is released.
func (p *Prepared) DrawPlain(s *Source, exact, count int64) (z, plain int64) {
	if p.cube != nil || p.running != nil || p.release.InChain() {
		panic("mechanism: " + p.release.Name + " has joint noise, which Cube.Draw, DrawRunning or DrawChain draws")
	}
	if p.release.Kind == SumGivenCount && count <= 0 {
		return 0, 0
	}
	v := p.rangeAt(count)
	h := v.hull()
	exact = h.clamp(exact)
	if h.Lo == h.Hi {
		return h.Lo, h.Lo
	}
	c := &p.candidates[p.chosen]
	smp := p.sampler()
	if c.bounding == Cells {
		z = c.drawCell(s, smp, exact)
		return z, z
	}
	var storage [4]segment
	if c.bounding != Truncate {
		plain = exact + signed(smp.draw(s, &smp.plain))
		z = plain
		switch c.bounding {
		case Fold:
			z = h.fold(plain)
		case Denoise:
			z = int64(c.post(float64(plain)))
		}
		return v.nearest(z), plain
	}
	list := v.segments(exact, storage[:0])
	var by uint64
	if smp.noise == Laplace {
		by = shift(list)
	}
	smp.propose(&s.scratch, list)
	d, left := smp.draw(s, &s.scratch)
	z = exact + signed(d+by, left)
	return z, z
}

func signed(d uint64, left bool) int64 {
	if left {
		return -int64(d)
	}
	return int64(d)
}

// rangeAt is the closed valid set: for SumGivenCount the one that follows from the released count.
func (p *Prepared) rangeAt(count int64) Range {
	if p.release.Kind != SumGivenCount {
		return p.task.v
	}
	return Range{{scaled(p.release.PerRow.Lo, count), scaled(p.release.PerRow.Hi, count)}}
}

// scaled is x·n, n ≥ 0, saturated at ±limit.
func scaled(x, n int64) int64 {
	if f := float64(x) * float64(n); f >= limit || f <= -limit {
		return int64(math.Copysign(limit, f))
	}
	return x * n
}
