package mechanism

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomRelease has any kind, range and bounds on what a unit moves.
func randomRelease(r *rand.Rand) Release {
	row := 1 + r.Int64N(3)*r.Int64N(40)
	rows := 1 + r.Int64N(4)*r.Int64N(30)
	out := Release{
		Name: "x", Kind: []Kind{Scalar, Scalar, SumGivenCount, Quantile, Selection}[r.IntN(5)], Row: row, Total: row * rows,
		Groups: 1 + r.IntN(3)*r.IntN(9),
		Range:  Range{{0, 1 + r.Int64N(4)*r.Int64N(4)*r.Int64N(200)}}, PerRow: Interval{-row, row},
		Fraction: float64(r.IntN(5)) / 4,
	}
	if r.IntN(4) == 0 { // short enough for cells
		out.Range[0].Hi = 2 + r.Int64N(40)
	}
	out.Sensitivity = row * (1 + r.Int64N(rows))
	switch out.Kind {
	case Selection:
		out.Sensitivity, out.Row, out.Total = 1, 0, 0
		if rows%2 == 0 { // by weights
			out.Sensitivity = 1 + rows*rows*rows
			out.Squares = out.Sensitivity * out.Sensitivity
		}
	case Scalar:
		if r.IntN(3) == 0 {
			last := out.Range[0].Hi
			out.Range = append(out.Range, Interval{last + 2 + r.Int64N(10), last + 15 + r.Int64N(30)})
		}
		fallthrough
	case SumGivenCount:
		out.Choice.Noise = []Noise{"", Laplace, Gaussian, Staircase}[r.IntN(4)]
		out.Choice.Bounding = []Bounding{"", Truncate, Fold, Denoise, Clamp, Cells}[r.IntN(6)]
	}
	switch r.IntN(8) {
	case 0, 1:
		out.Layer = 1
	case 2:
		out.Kind, out.Range, out.Choice = Scalar, Range{{0, 2 + r.Int64N(40)}}, Choice{Noise: Staircase, Bounding: Cells}
	}
	return out
}

// TestRightlyCalibratedIsVerified: whatever Prepare makes of a release, of any kind and for any guarantee, is verified
// as it is drawn, and with another scale by 1 % it is not.
func TestRightlyCalibratedIsVerified(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	made, refused := map[string]int{}, map[string]int{}
	for range 600 {
		release := randomRelease(r)
		g := Guarantee{Epsilon: math.Exp(-2 + 3*r.Float64())}
		if r.IntN(3) == 0 {
			g.Order = Orders[r.IntN(40)]
		}
		if release.Kind == Selection {
			g.Delta = math.Pow(10, -4-6*r.Float64())
		}
		p, err := prepare(release, g)
		if err != nil {
			continue
		}
		kind := string(p.release.Kind)
		if len(p.candidates) > 0 {
			kind = fmt.Sprint(p.Chosen().Noise, " ", p.Chosen().Bounding)
		}
		made[kind]++
		if err := p.Verify(release); err != nil {
			t.Errorf("%s of %+v for %+v: %v", p.Chosen(), release, g, err)
		}
		if p.tooNarrow() && p.Verify(release) != nil {
			refused[kind]++
		}
	}
	for _, kind := range []string{
		"laplace truncate", "laplace fold", "laplace clamp", "laplace denoise", "laplace cells", "gaussian truncate",
		"gaussian fold", "gaussian clamp", "gaussian denoise",
		"staircase fold", "staircase clamp", "staircase denoise", "staircase cells", "quantile", "selection",
	} {
		if made[kind] < 3 || refused[kind] < 2 {
			t.Errorf("%s: %d were made, %d refused with less noise", kind, made[kind], refused[kind])
		}
	}
	t.Log(made, refused)
}

// tooNarrow makes a mechanism draw less noise by 1 % than it was calibrated for; false where it has none.
func (p *Prepared) tooNarrow() bool {
	narrow := func(n kernel) kernel {
		m := newKernel(n.noise, n.kappa*1.01)
		m.period, m.inner = n.period, n.inner
		return m
	}
	switch units := p.units.(type) {
	case *selector:
		units.pi = slices.Clone(units.pi)
		for n := 1; n < len(units.pi); n++ {
			units.pi[n] = min(selectionOne, units.pi[n]+units.pi[n]/100)
		}
		return true
	case *threshold:
		p.units = &threshold{kernel: units.kernel, unit: units.unit, tau: units.tau - 1, sampler: units.sampler}
		return true
	}
	if p.rank != nil {
		p.rank.kernel = narrow(p.rank.kernel)
		return true
	}
	n := p.sampler().kernel
	if n.kappa >= maxKappa || p.task.step() <= 0 {
		return false
	}
	p.sampler = func() *sampler { return newSampler(narrow(n)) }
	return true
}

// TestFaultsAreRefused: another family, another sensitivity, more groups, longer rows, shared rows.
func TestFaultsAreRefused(t *testing.T) {
	count := Release{
		Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 4, Total: 12, Row: 2, Groups: 3,
		Choice: Choice{Bounding: Clamp},
	}
	for _, noise := range []Noise{Laplace, Staircase} {
		r := count
		r.Choice.Noise = noise
		fresh := func() *Prepared {
			p, err := prepare(r, Guarantee{Epsilon: 1})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		for name, change := range map[string]func(p *Prepared, r *Release){
			"another family": func(p *Prepared, _ *Release) {
				p.sampler = func() *sampler { return newSampler(newKernel(Gaussian, p.Chosen().kappa)) }
			},
			"a longer step":     func(_ *Prepared, r *Release) { r.Sensitivity, r.Total = 6, 18 },
			"more in all":       func(_ *Prepared, r *Release) { r.Total, r.Groups = 16, 4 },
			"another kind":      func(_ *Prepared, r *Release) { r.Kind = SumGivenCount },
			"truncated instead": func(p *Prepared, _ *Release) { p.candidates[p.chosen].bounding = Truncate },
			"cells instead": func(p *Prepared, _ *Release) {
				p.candidates[p.chosen].cells = &cellPartition{last: []int64{1, 2, 1000}}
				p.candidates[p.chosen].bounding = Cells
			},
			"the curve of less":   func(p *Prepared, _ *Release) { p.curve = func() Curve { return PureCurve(.99) } },
			"a curve without one": func(p *Prepared, _ *Release) { p.curve = func() Curve { return Curve{} } },
		} {
			p, moved := fresh(), r
			if change(p, &moved); p.Verify(moved) == nil {
				t.Errorf("%s: %s is not refused", noise, name)
			}
		}
	}
}

// TestSharedDrawsAreVerified: joint noise and quantiles that are drawn together, and those with less noise.
func TestSharedDrawsAreVerified(t *testing.T) {
	decile := func(i int) Release {
		return Release{
			Kind: Quantile, Range: Range{{0, 5000}}, Sensitivity: 2, Total: 2, Row: 1, Groups: 1, Weight: 1,
			Family: 1, Fraction: float64(i) / 10,
		}
	}
	var deciles []Release
	for i := range 9 {
		deciles = append(deciles, decile(i+1))
	}
	vector := []Release{
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 3, Total: 3, Row: 1, Groups: 3, Weight: 1},
		{Kind: SumGivenCount, PerRow: Interval{-60, 60}, Sensitivity: 180, Total: 180, Row: 60, Groups: 3, Weight: 1},
	}
	for name, c := range map[string]struct {
		list []Release
		g    Guarantee
	}{
		"jointly": {deciles, Guarantee{Epsilon: 1}}, "by halving": {deciles[:3], Guarantee{Epsilon: .1, Order: 10}},
		"vector": {vector, Guarantee{Epsilon: 1}},
	} {
		prepared, err := PrepareVector(context.Background(), c.list, c.g)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range prepared {
			if err := p.Verify(c.list[i]); err != nil {
				t.Errorf("%s, %d: %v", name, i, err)
			}
			more := c.list[i]
			if more.Sensitivity, more.Total = 2*more.Sensitivity, 2*more.Total; p.Verify(more) == nil {
				t.Errorf("%s, %d: twice as many rows are not refused", name, i)
			}
		}
		p := *prepared[0]
		switch {
		case p.cube != nil:
			cube := *p.cube
			cube.kernel = newKernel(Laplace, cube.kernel.kappa*1.01)
			cube.shell = func() *geometric { return &geometric{sampler: newSampler(cube.kernel)} }
			p.cube = &cube
		case p.joint != nil:
			joint := *p.joint
			joint.base = math.Pow(joint.base, 1.01)
			p.joint = &joint
		default:
			rank := *p.rank
			rank.kernel = newKernel(Laplace, rank.kappa*1.01)
			p.rank = &rank
		}
		if (p.cube != nil) != (name == "vector") || (p.joint != nil) != (name == "jointly") || p.Verify(c.list[0]) == nil {
			t.Errorf("%s: less noise is not refused", name)
		}
	}
}
