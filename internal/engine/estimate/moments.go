package estimate

import (
	"math"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Intervals of variances, covariances and correlations follow from the released number of rows n and sums of w, of w²
// and of products of two w (docs/mechanisms.md, section 8). Of the probability that they may be wrong the means and n
// have this share, and the rest is that of the second moments, of which an aggregate has one to three.
const ofMeans = .05

// rowMoments is what is known of the rows of one group.
type rowMoments struct {
	*rewrite.Moments
	n        float64
	rows     span // that n may stand for, at least 1
	released func(release int) (*mechanism.Prepared, float64)
	count    *mechanism.Prepared
	means    []estimate // of w of each argument
	share    float64    // of rows that are left out
	wrong    float64    // all together, then of each second moment
}

// moment gives an aggregate of moments with its interval, in its own unit; false where it has none: it is NULL there.
func (c cell) moment() (estimate, bool) {
	n := c.value(0)
	if c.Outside > 0 || n <= 0 || strings.HasSuffix(c.Moments.Name, "_samp") && n == 1 {
		return estimate{}, false
	}
	share := leftOutShare(c.plan(), c.plan().Releases[c.Moments.Of[0].Sum], c.Column)
	m := &rowMoments{Moments: c.Moments, n: n, share: share, wrong: c.wrong, count: c.mechanism(c.Releases[0])}
	m.released = func(i int) (*mechanism.Prepared, float64) { return c.mechanism(i), float64(c.values[i][c.group]) }
	m.locate()
	return m.aggregate()
}

// locate finds the means, and how many rows there may be.
func (m *rowMoments) locate() {
	each := 1 - m.wrong*ofMeans/float64(1+len(m.Of))
	q := m.count.ErrorQuantile(each)
	m.rows = span{math.Max(1, m.n-q), m.n + q}
	for _, of := range m.Of {
		prepared, z := m.released(of.Sum)
		q := prepared.ErrorQuantile(each)
		mean := func(z, n float64) float64 { return (z/n + float64(of.Offset)) / float64(of.Coarse) }
		most := float64(of.Width) + rounded(of)
		m.means = append(m.means, estimate{mean(z, m.n), span{z - q, z + q}.combine(m.rows, mean).within(span{-most, most})})
	}
}

// rounded is how far w may be from what it stands for.
func rounded(of rewrite.Moment) float64 {
	if of.Coarse == 1 {
		return 0
	}
	return 1
}

// aggregate computes the aggregate and the ends of its interval.
func (m *rowMoments) aggregate() (estimate, bool) {
	m.wrong *= 1 - ofMeans
	switch kind, _, _ := strings.Cut(m.Name, "_"); kind {
	case "var", "stddev":
		v := m.scaled(m.variance(0))
		if kind == "stddev" {
			v = estimate{math.Sqrt(v.at), span{math.Sqrt(v.lo), math.Sqrt(v.hi)}}
		}
		return v, true
	case "covar":
		return m.scaled(m.covariance()), true
	}
	m.wrong /= 3
	c, y, x := m.covariance(), m.variance(0), m.variance(1)
	if !(y.at > 0 && x.at > 0) {
		return estimate{}, false
	}
	sign := span{-1, 1}
	r := estimate{sign.clamp(c.at / math.Sqrt(x.at*y.at)), sign}
	if least := math.Sqrt(x.lo * y.lo); least > 0 {
		r.span = c.combine(span{least, math.Sqrt(x.hi * y.hi)}, func(c, s float64) float64 { return c / s }).within(sign)
	}
	if m.Name == "regr_r2" {
		return r.squared(), true
	}
	return r, true
}

// squared is the square of a number.
func (e estimate) squared() estimate {
	out := estimate{e.at * e.at, span{0, math.Max(e.lo*e.lo, e.hi*e.hi)}}
	if e.lo > 0 || e.hi < 0 {
		out.lo = math.Min(e.lo*e.lo, e.hi*e.hi)
	}
	return out
}

// scaled gives a second moment in units of the arguments, of a sample if that is asked for: n/(n − 1) times as much.
func (m *rowMoments) scaled(e estimate) estimate {
	unit := m.Of[0].Unit * m.Of[len(m.Of)-1].Unit
	e = estimate{e.at * unit, span{e.lo * unit, e.hi * unit}}
	if !strings.HasSuffix(m.Name, "_samp") {
		return e
	}
	sample := func(n float64) float64 { return n / (n - 1) }
	factor := span{sample(math.Max(2, m.rows.hi)), sample(math.Max(2, m.rows.lo))}
	return estimate{e.at * sample(m.n), e.combine(factor, times)}
}

// variance is that of w of an argument.
func (m *rowMoments) variance(i int) estimate {
	w := float64(m.Of[i].Width)
	e := m.second(product{x: i, y: i, release: m.Of[i].Squares, factor: .5, each: w * w / 2, bounds: span{0, w * w}})
	e.at = math.Max(0, math.Min(e.at, w*w))
	return e
}

// covariance is that of the w of both arguments.
func (m *rowMoments) covariance() estimate {
	w := float64(m.Of[0].Width) * float64(m.Of[1].Width)
	return m.second(product{x: 0, y: 1, release: m.Product, factor: 1, bounds: span{-w, w}})
}

// product is Σ w·w′ of two arguments, or of one: factor times what is released, and each for every row.
type product struct {
	x, y, release int
	factor, each  float64
	bounds        span // of the second moment
}

// second finds E(w − μ)(w′ − μ′). With the true means and the true moment c, Σww′ − μΣw′ − μ′Σw + (μμ′ − c)·n is 0; of
// the released sums it is n·[ĉ + (μ − μ̂)(μ′ − μ̂′) − c], which is the error of a sum of releases whose factors c and
// the means decide.
func (m *rowMoments) second(p product) estimate {
	x, y, ox, oy := m.means[p.x], m.means[p.y], m.Of[p.x], m.Of[p.y]
	prepared, z := m.released(p.release)
	e := estimate{p.factor*z/m.n + p.each - x.at*y.at, p.bounds}
	bend := span{x.lo - x.at, x.hi - x.at}.combine(span{y.lo - y.at, y.hi - y.at}, times)
	if p.x == p.y {
		bend = span{0, math.Max(bend.lo, bend.hi)}
	}
	grid := rounded(ox)*float64(oy.Width) + rounded(oy)*float64(ox.Width) + rounded(ox)*rounded(oy)
	for range 2 { // the second time it is known how large c is
		margin := mechanism.CombinedMargin(append(m.firstTerms(p, e.span), mechanism.Term{Of: prepared, Factor: p.factor}),
			m.wrong)/m.n + grid
		e.span = span{e.at + bend.lo - margin, e.at + bend.hi + margin}.within(p.bounds)
	}
	return m.withLeftOut(p, e)
}

// firstTerms are the sums of w and the number of rows, with the greatest factors that they may have in the sum of
// releases.
func (m *rowMoments) firstTerms(p product, c span) []mechanism.Term {
	x, y, ox, oy := m.means[p.x], m.means[p.y], m.Of[p.x], m.Of[p.y]
	cx, cy := float64(ox.Coarse), float64(oy.Coarse)
	hull := x.combine(y.span, func(a, b float64) float64 {
		return a*b - a*float64(oy.Offset)/cy - b*float64(ox.Offset)/
			cx
	})
	rows := mechanism.Term{Of: m.count, Factor: span{p.each + hull.lo - c.hi, p.each + hull.hi - c.lo}.most()}
	sx, _ := m.released(ox.Sum)
	if p.x == p.y {
		return []mechanism.Term{rows, {Of: sx, Factor: 2 * x.most() / cx}}
	}
	sy, _ := m.released(oy.Sum)
	return []mechanism.Term{rows, {Of: sx, Factor: y.most() / cx}, {Of: sy, Factor: x.most() / cy}}
}

// withLeftOut widens a second moment by a share of rows that may lie anywhere. One of all rows is no less than that
// share less of its own for a variance, whose rows only add to it; each adds what its distance from both means allows.
func (m *rowMoments) withLeftOut(p product, e estimate) estimate {
	if m.share == 0 {
		return e
	}
	far := (float64(m.Of[p.x].Width) + m.means[p.x].most()) * (float64(m.Of[p.y].Width) + m.means[p.y].most())
	lost := e.combine(span{1 - m.share, 1}, times)
	e.lo, e.hi = lost.lo-m.share*far, lost.hi+m.share*far
	if p.x == p.y {
		e.lo = lost.lo
	}
	e.span = e.within(p.bounds)
	return e
}
