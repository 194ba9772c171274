package mechanism

import "math"

// design is a mechanism with its scale: everything that decides the released distribution.
type design struct {
	kernel
	bounding Bounding
	v        Range          // closed
	cells    *cellPartition // of Cells
}

// squaredError is E(z−s)² at the true value s.
func (d design) squaredError(s float64) float64 {
	h := d.v.hull()
	a, b := float64(h.Lo), float64(h.Hi)
	switch {
	case d.bounding == Cells:
		return d.cellError(s)
	case d.bounding == Truncate:
		u := d.at(d.v, s)
		return u.m2 / u.m0
	case d.bounding == Denoise || len(d.v) > 1:
		return d.sampledError(s, d.post)
	case d.bounding == Clamp:
		return d.clampedError(a, b, s)
	}
	return foldedError(a, b, s, d.total(), d.distance(50), d.sums)
}

// total is Σ w over all integers.
func (n kernel) total() float64 {
	far := math.Ceil(n.reach())
	return 2*n.sums(0, far).m0 - 1
}

func (d design) clampedError(a, b, s float64) float64 {
	in := d.sums(a-s, b-a+1)
	far := math.Ceil(d.reach())
	m0 := func(u sums) float64 { return u.m0 * math.Exp(u.ref) }
	left, right := m0(d.sums(s-a+1, far)), m0(d.sums(b-s+1, far))
	return (in.m2*math.Exp(in.ref) + left*(s-a)*(s-a) + right*(b-s)*(b-s)) / d.total()
}

// foldedError is E(z−s)² of noise that is folded into [a, b], at the true value s. It adds the images one by one:
// between two mirrors the released value is ±d + constant. run adds the weights of a run of distances, total is that of
// all; beyond far none is left.
func foldedError(a, b, s, total, far float64, run func(lo, count float64) sums) float64 {
	n := b - a + 1
	sum, mass := 0.0, 0.0
	for i := 0; ; i++ {
		for _, j := range []int{i, -i} {
			// Image j covers x in [a + jn, a + jn + n); odd images are mirrored: z = 2a + (2j+1)n − 1 − … − x.
			lo := a + float64(j)*n - s
			u := run(lo, n)
			e := math.Exp(u.ref)
			m0, m1, m2 := u.m0*e, u.m1*e, u.m2*e
			shift, sign := -float64(j)*n, 1.0
			if j%2 != 0 {
				// z = (a + jn + n − 1) − (x − a) with x = s + d, so z − s = −d + shift.
				sign, shift = -1, 2*a+float64(j+1)*n-1-2*s
			}
			sum += m2 + 2*sign*shift*m1 + shift*shift*m0
			mass += m0
			if i == 0 {
				break
			}
		}
		if float64(i)*n > far {
			return sum / total
		}
		if i == 200 { // far wider than the range: the rest is uniform on it
			rest := math.Max(0, 1-mass/total)
			mid := (a + b) / 2
			return sum/total + rest*((n*n-1)/12+(s-mid)*(s-mid))
		}
	}
}

// sampledError sums over the noisy value, on a coarse grid where the noise is wide.
func (d design) sampledError(s float64, post func(y float64) float64) float64 {
	sum, mass := 0.0, 0.0
	d.eachNoisy(s, func(y, w float64) {
		e := post(y) - s
		sum, mass = sum+w*e*e, mass+w
	})
	return sum / mass
}

// eachNoisy visits noisy values around s with their weights, at most about 240 of them.
func (d design) eachNoisy(s float64, visit func(y, w float64)) {
	reach := d.distance(24)
	step := math.Max(1, math.Floor(reach/120))
	for i := -math.Floor(reach / step); i*step <= reach; i++ {
		visit(s+i*step, math.Exp(d.log(i*step)))
	}
}

// post maps a noisy value to the released one, for fold, clamp and denoise.
func (d design) post(y float64) float64 {
	h := d.v.hull()
	switch d.bounding {
	case Denoise:
		y = d.posterior(float64(h.Lo), float64(h.Hi), y)
	case Fold:
		y = float64(h.fold(int64(y)))
	}
	return float64(d.v.nearest(int64(math.Round(math.Max(-limit, math.Min(limit, y))))))
}

// posterior is the mean of the true value under a uniform prior on the integers of [a, b], given the noisy value y.
func (n kernel) posterior(a, b, y float64) float64 {
	u := n.sums(a-y, b-a+1)
	return math.Max(a, math.Min(b, y+u.m1/u.m0))
}

// denseSpan is the longest range whose true values are all visited for an average error.
const denseSpan = 63

// errors are the root mean squared errors: over a uniform true value in the hull, and at the worst of those visited.
func (d design) errors() (average, worst float64) {
	squaredError := d.squaredError
	if d.bounding == Denoise {
		post := d.samplePosts()
		squaredError = func(s float64) float64 { return d.sampledError(s, post) }
	}
	return averaged(d.v.hull(), d.scale(), squaredError)
}

// samplePosts is post; of Denoise at up to 512 noisy values, and between them on straight lines: the posterior mean is
// the dearest part of an error.
func (d design) samplePosts() func(y float64) float64 {
	if d.bounding != Denoise {
		return d.post
	}
	h := d.v.hull()
	from := float64(h.Lo) - d.distance(24) - 1
	length := float64(h.Hi) - from + d.distance(24) + 2
	step := math.Max(1, math.Ceil(length/512))
	from = math.Floor(from)
	list := make([]float64, int(length/step)+3)
	for i := range list {
		list[i] = d.post(from + float64(i)*step)
	}
	return func(y float64) float64 {
		at := (y - from) / step
		i := int(at)
		return list[i] + (at-float64(i))*(list[i+1]-list[i])
	}
}

// averaged are the root means over h, and the largest, of a squared error that belongs to noise of that scale.
func averaged(h Interval, scale float64, squaredError func(s float64) float64) (average, worst float64) {
	a, span := float64(h.Lo), float64(h.span())
	at := func(s float64) float64 {
		e := squaredError(s)
		worst = math.Max(worst, e)
		return e
	}
	if span > denseSpan {
		average = integrated(a, span, scale, at) / span
		at(a) // not among the nodes
		at(a + span)
		return math.Sqrt(average), math.Sqrt(worst)
	}
	for i := 0.0; i <= span; i++ {
		average += at(a + i)
	}
	return math.Sqrt(average / (span + 1)), math.Sqrt(worst)
}

// integrated is the integral of a squared error. It changes within a few scales of a bound and is flat beyond, so each
// bound gets two panels and the middle one.
func integrated(a, span, scale float64, at func(s float64) float64) (sum float64) {
	edge := math.Min(span/2, 6*scale)
	cuts := []float64{a, a + edge/3, a + edge, a + span - edge, a + span - edge/3, a + span}
	for i := 0; i+1 < len(cuts); i++ {
		p, q := cuts[i], cuts[i+1]
		if p == q {
			continue
		}
		for j, x := range gauss5X {
			sum += at(math.Round((p+q)/2+x*(q-p)/2)) * gauss5W[j] * (q - p) / 2
		}
	}
	return sum
}

// The 5-point Gauss–Legendre rule.
var (
	gauss5X = [5]float64{-0.906179845938664, -0.5384693101056831, 0, 0.5384693101056831, 0.906179845938664}
	gauss5W = [5]float64{
		0.23692688505618908, 0.47862867049936647, 0.5688888888888889, 0.47862867049936647,
		0.23692688505618908,
	}
)

// openErrors are the errors of a range with an open end, far from its bound: the plain noise.
func (n kernel) openErrors() float64 {
	u := n.sums(0, math.Ceil(n.reach()))
	return math.Sqrt(2 * u.m2 / (2*u.m0 - 1))
}
