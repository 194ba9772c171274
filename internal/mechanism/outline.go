package mechanism

import "math"

// Outline draws the distribution of what a scalar release gives, at two true values, over a window of its range. It
// follows from public quantities alone. All integers are grid steps.
type Outline struct {
	Window       Interval // it is cut into parts
	Points, Last int64    // grid points of each part but the last, and of that
	Inside       Weights  // the true value is well inside the range
	End          *Weights // it is the range's lower end; nil: there is none
}

// Weights are the probabilities of the parts of an Outline's window from below, given a true value.
type Weights struct {
	True  int64
	Parts []float64
}

const (
	outlineParts   = 120
	outlineRuns    = 400 // of noisy values, to either side
	outlineMargins = 5   // to either side of the true value
)

// Outline is nil of releases that are no scalars, and of ranges with gaps or of one point. It is shared: whoever gets
// it must not change it.
func (p *Prepared) Outline() *Outline {
	if p.outline == nil {
		return nil
	}
	return p.outline()
}

func (p *Prepared) newOutline() *Outline {
	v, openLo, openHi := p.release.Range.closed()
	if p.release.Kind != Scalar || len(v) != 1 || v[0].Lo == v[0].Hi {
		return nil
	}
	h := v[0]
	far := int64(math.Min(limit, outlineMargins*math.Max(1, math.Ceil(p.PlannedMargin()))))
	o := &Outline{Window: Interval{-far, far}}
	switch {
	case h.span() <= 2*uint64(far):
		o.Window, o.Inside.True = h, h.Lo+int64(h.span()/2)
	case !openLo:
		o.Window, o.Inside.True = Interval{h.Lo, h.Lo + 2*far}, h.Lo+far
	case !openHi:
		o.Window, o.Inside.True = Interval{h.Hi - 2*far, h.Hi}, h.Hi-far
	}
	o.Points = int64(o.Window.span()/outlineParts) + 1
	o.Last = int64(o.Window.span())%o.Points + 1
	o.Inside.Parts = p.outlined(o, h, o.Inside.True)
	if !openLo {
		o.End = &Weights{h.Lo, p.outlined(o, h, h.Lo)}
	}
	return o
}

// outlined is the Parts at a true value.
func (p *Prepared) outlined(o *Outline, h Interval, s int64) []float64 {
	list := make([]float64, int64(o.Window.span())/o.Points+1)
	part := func(i int) Interval {
		lo := o.Window.Lo + int64(i)*o.Points
		return Interval{lo, min(lo+o.Points-1, o.Window.Hi)}
	}
	if probability := p.runs(h, float64(s)); probability != nil {
		for i := range list {
			list[i] = probability(part(i))
		}
	} else {
		p.Chosen().eachReleased(float64(s), func(to Interval, probability float64) {
			for i := max(0, (to.Lo-o.Window.Lo)/o.Points); i < int64(len(list)) && part(int(i)).Lo <= to.Hi; i++ {
				w := part(int(i))
				shared := min(w.Hi, to.Hi) - max(w.Lo, to.Lo) + 1
				list[i] += probability * float64(max(0, shared)) / float64(to.span()+1)
			}
		})
	}
	return list
}

// runs gives the probability of a run of points of h at the true value s; nil of a bounding that takes noisy values to
// points one by one.
func (p *Prepared) runs(h Interval, s float64) func(Interval) float64 {
	if p.cube != nil {
		m := p.cube.marginal(p.coordinate)
		return foldedRuns(h, s, 1, m.reach()+1, m.sums)
	}
	d := p.Chosen().design
	total := d.total()
	mass := func(lo, hi float64) float64 {
		u := d.sums(lo-s, hi-lo+1)
		return u.m0 * math.Exp(u.ref) / total
	}
	switch d.bounding {
	case Truncate:
		all := d.at(d.v, s).log()
		return func(r Interval) float64 {
			return math.Exp(d.below(d.v, s, float64(r.Lo), float64(r.Hi)).log() - all)
		}
	case Clamp:
		far := math.Ceil(d.reach())
		return func(r Interval) float64 {
			lo, hi := float64(r.Lo), float64(r.Hi)
			if r.Lo == h.Lo {
				lo = math.Min(lo, s) - far
			}
			if r.Hi == h.Hi {
				hi = math.Max(hi, s) + far
			}
			return mass(lo, hi)
		}
	case Fold:
		return foldedRuns(h, s, total, d.distance(50), d.sums)
	}
	return nil
}

// foldedRuns is runs of noise that is folded into h: it adds the images of a run, as foldedError does those of the
// range.
func foldedRuns(h Interval, s, total, far float64, run func(lo, count float64) sums) func(Interval) float64 {
	const most = 40 // images to either side: the rest is uniform
	a, n := float64(h.Lo), float64(h.span())+1
	mass := func(lo, count float64) float64 {
		u := run(lo-s, count)
		return u.m0 * math.Exp(u.ref) / total
	}
	images := math.Min(most, math.Ceil(far/n)+1)
	rest := math.Max(0, 1-mass(a-images*n, (2*images+1)*n)) / n
	return func(r Interval) float64 {
		count := float64(r.span() + 1)
		sum := rest * count
		for j := -images; j <= images; j++ {
			lo := float64(r.Lo) + j*n
			if math.Mod(j, 2) != 0 { // mirrored: see foldedError
				lo = 2*a + (j+1)*n - 1 - float64(r.Hi)
			}
			sum += mass(lo, count)
		}
		return sum
	}
}

// eachReleased visits runs of points with the probabilities that noisy values or cells bring to them, at the true value
// s. Noisy values are taken one by one, or where the noise is wide in runs, which are spread over what their ends are
// released as.
func (d design) eachReleased(s float64, visit func(to Interval, probability float64)) {
	if d.bounding == Cells {
		d.each(s, func(z, probability float64) { visit(Interval{int64(z), int64(z)}, probability) })
		return
	}
	reach := math.Ceil(d.distance(24))
	step := math.Max(1, math.Floor(reach/outlineRuns))
	all := d.sums(-reach, 2*reach+1).log()
	for y := -reach; y <= reach; y += step {
		count := math.Min(step, reach-y+1)
		lo, hi := d.post(s+y), d.post(s+y+count-1)
		visit(Interval{int64(math.Min(lo, hi)), int64(math.Max(lo, hi))}, math.Exp(d.sums(y, count).log()-all))
	}
}
