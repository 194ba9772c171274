package mechanism

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// What is drawn, as internal/loss knows it: from the objects that draw, not from what they were calibrated for.

var laws = map[Noise]loss.Law{Laplace: loss.Laplace, Gaussian: loss.Gaussian, Staircase: loss.Staircase}

// law is the noise of a kernel: κ is the dyadic number that the sampler has.
func (n kernel) law() loss.Noise {
	return loss.Noise{
		Law: laws[n.noise], Kappa: math.Ldexp(float64(n.k), -n.m), Period: float64(n.period),
		Inner: float64(n.inner),
	}
}

// intervals are those of a closed range.
func (r Range) intervals() []loss.Interval {
	out := make([]loss.Interval, len(r))
	for i, v := range r {
		out[i] = loss.Interval(v)
	}
	return out
}

// unit is how far one unit can move a release.
func (r Release) unit() loss.Unit {
	u := loss.Unit{
		Delta: float64(max(r.Sensitivity, 1)), Total: float64(r.Total), Row: float64(max(r.Row, 1)),
		Groups: float64(r.cells()), Squares: float64(r.Squares), Shared: r.Layered(),
	}
	if r.Total == 0 {
		u.Total = u.Delta * u.Groups
	}
	return u
}

// Rows is in how many steps of a row one unit moves a release, in the whole answer; 0 where it counts no rows.
func (r Release) Rows() float64 {
	if r.Row <= 0 {
		return 0
	}
	u := r.unit()
	return math.Ceil(u.Total / u.Row)
}

// unit is that of a task.
func (t task) unit() loss.Unit {
	return loss.Unit{Delta: t.delta, Total: t.total, Row: t.row, Groups: t.groups, Shared: t.layered}
}

// scalar is noise of that kernel with that bounding, on the range of a task.
func (t task) scalar(n kernel, b Bounding, cells []int64, u loss.Unit) loss.Scalar {
	m := loss.Scalar{Noise: n.law(), Unit: u, Span: float64(t.v.hull().span())}
	switch {
	case b == Truncate && t.open:
		m.Open = true
	case b == Truncate:
		m.In = t.v.intervals()
	case b == Cells:
		m.Cells = cells
	}
	return m
}

// costs memoises costOf.
var costs memo[string, Curve]

// costOf is what noise costs. The caller does not change it.
func costOf(m loss.Scalar) Curve {
	c, _ := costs.find(fmt.Sprint(m), func() (Curve, error) { return curveOf(m.Bound), nil })
	return c
}

// curveOf has a bound at every order.
func curveOf(bound func(order float64) float64) Curve {
	c := Curve{Pure: bound(math.Inf(1)), Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		c.Renyi[i] = bound(a)
	}
	return c
}

// verifyRounding bounds the relative error of a charge that is a sum of those of several draws.
const verifyRounding = 1e-12

var errCostsMore = errors.New("what is drawn costs more than it is charged")

// Verify holds what p is charged against what a draw with it costs, for a release that moves by as much as r does: its
// curve and its δ, and of a coordinate of joint noise, or of a family of quantiles, those of all of them.
func (p *Prepared) Verify(r Release) error {
	u := r.unit()
	switch {
	case p.release.Kind != r.Kind:
		return fmt.Errorf("it is made for a %s, not a %s", p.release.Kind, r.Kind)
	case p.release.End != r.End || p.release.Extreme() != r.Extreme(): // which aim beside the rows
		return errors.New("it is made for another end of the rows")
	case p.release.Place != r.Place:
		return errChain
	case p.cube != nil:
		return p.cube.verify(u, p.coordinate)
	case p.running != nil:
		m := p.running.loss(p.running.sampler().kernel, p.task)
		m.Unit = u
		return covers(p.Curve(), curveOf(m.Bound()))
	case r.Kind == Quantile:
		return p.verifyQuantile(u)
	case r.Kind == Selection:
		return p.verifySelection(u)
	}
	return p.verifyScalar(u)
}

func (p *Prepared) verifyScalar(u loss.Unit) error {
	c := &p.candidates[p.chosen]
	var cells []int64
	if c.cells != nil {
		cells = c.cells.last
	}
	m := p.task.scalar(p.sampler().kernel, c.bounding, cells, u)
	if p.release.Kind != Scalar { // its range follows from a count
		m.In, m.Open, m.Span = nil, c.bounding == Truncate, math.Inf(1)
	}
	return covers(p.Curve(), costOf(m))
}

func covers(charged, cost Curve) error {
	if !charged.Covers(cost, verifyRounding) {
		return errCostsMore
	}
	return nil
}

func (c *Cube) verify(u loss.Unit, coordinate int) error {
	v := loss.Vector{Kappa: c.shell().law().Kappa, Shells: float64(c.shells), Rows: float64(c.rows)}
	if !v.Covers(u, c.move(coordinate)) {
		return errors.New("joint noise for fewer rows, or for rows that move less")
	}
	return covers(PureCurve(c.epsilon), curveOf(v.Bound))
}

func (p *Prepared) verifyQuantile(u loss.Unit) error {
	s, outside := p.rank, 1.
	if s.end == 0 && (s.fraction == 0 || s.fraction == 1<<rankBits) {
		outside = overshoot
	}
	row := loss.Quantile(s.law().Kappa*(1<<rankBits), float64(s.fraction)/(1<<rankBits), outside)
	if err := covers(p.Curve(), curveOf(loss.Ranks{Unit: u, PerRow: row}.Bound)); err != nil || p.joint == nil {
		return err
	}
	if err := p.joint.count.verifyScalar(u); err != nil {
		return err
	}
	return covers(p.joint.cuts, curveOf(loss.Ranks{Unit: u, PerRow: loss.Cuts(p.joint.base, jointSlack)}.Bound))
}

func (p *Prepared) verifySelection(u loss.Unit) error {
	if u.Delta > 1 && u.Squares == 0 {
		return errors.New("a unit is one of a group")
	}
	switch s := p.units.(type) {
	case *selector:
		if u.Squares > 0 {
			return errors.New("units of other weights than one")
		}
		eps := loss.KeptEpsilon(s.pi, selectionOne, p.Delta()/math.Min(u.Groups, u.Total))
		return covers(p.Curve(), curveOf(func(order float64) float64 { return u.Selection(order, eps) }))
	case *threshold:
		n := s.sampler.law()
		if _, delta := u.Threshold(Orders[0], n, float64(s.tau)); !(delta <= p.Delta()) {
			return errCostsMore
		}
		return covers(p.Curve(), curveOf(func(order float64) float64 {
			cost, _ := u.Threshold(order, n, float64(s.tau))
			return cost
		}))
	}
	return errCostsMore
}
