package papers

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/plot"
	"github.com/dpproxy/dpproxy/internal/research/study"
)

// grid is how many steps stand for 1: what is computed on integers has the digits of the continuum.
const grid = 1 << 24

// The example of section 4: algebraic connectivity and degree in a graph of 10 nodes, two edges apart.
var (
	graphFrom, graphTo = []float64{0, 1}, []float64{10, 9}
	graphSides         = []float64{10, 8}
	graphMoves         = []float64{4, 2}
	graphDelta         = 2 * math.Sqrt(5)
)

// table1 is table 1 as printed: σ² of both mechanisms and the reduction in percent.
var table1 = []struct{ eps, generalised, bounded, reduction float64 }{
	{.1, 1320, 857.5, 35.0},
	{.5, 264, 170.3, 35.5},
	{1, 132, 84.3, 36.1},
	{1.5, 88, 55.8, 36.6},
	{2, 66, 41.5, 37.2},
	{2.5, 52.8, 32.9, 37.7},
	{3, 44, 27.2, 38.2},
}

// variances are the three σ² of the example.
type variances struct{ generalised, bounded, tight, loss float64 }

// graphVariances recomputes a row of table 1. loss is the exact ε at the paper's σ².
func graphVariances(eps float64) variances {
	sides := scaled(graphSides)
	v := variances{
		generalised: mechanism.GeneralisedGaussianVariance(graphSides, graphMoves, eps),
		bounded:     mechanism.ChenHaleBoxVariance(sides, graphDelta*grid, eps) / (grid * grid),
		tight:       mechanism.BoxVariance(sides, graphDelta*grid, eps) / (grid * grid),
	}
	v.loss = mechanism.BoxLoss(sides, graphDelta*grid, v.bounded*grid*grid)
	return v
}

func (v variances) reduction(sigma2 float64) float64 { return 100 * (1 - sigma2/v.generalised) }

func scaled(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = x * grid
	}
	return out
}

func chenHale() (page, error) {
	univariate, err := univariateTable()
	if err != nil {
		return page{}, err
	}
	quoted, sigma, exact, err := theorem14()
	if err != nil {
		return page{}, err
	}
	figure1 := study.Figure1()
	figure1.Name = "chen-hale-figure1"
	return page{
		name: "chen-hale", title: "Chen and Hale: the bounded Gaussian mechanism",
		source: "B. Chen, M. Hale: The bounded Gaussian mechanism for differential privacy.",
		blocks: []block{
			heading("Algorithm 1: one number"),
			prose(
				"Noise N(s, σ²) truncated to a range of length L, Δ the sensitivity. σ by algorithm 1; the exact ε that this σ costs; and the least σ that costs ε (docs/mechanisms.md, proposition 2). The paper prints no numbers for it."),
			univariate,
			finding(
				"the introduction says that boundedness «allows for the development of tight bounds on the variance of noise required for all ε». Theorem 2.4 is right but loose: it bounds the quotient of the densities and that of their normalisers each at its own worst place. At L = 10, Δ = 1, ε = 1 its σ costs 0.54 of the ε, and σ = 2.758 in place of 3.607 would do."),
			heading("Table 1: the box [0, 10]×[1, 9], Δ = 2√5"),
			prose(
				"The generalised Gaussian (Liu) has σ² = (2ΣLΔ + ΣΔ²)/ε with Δ = (4, 2); the bounded one comes from algorithm 2. «Printed» is the paper's number. Exact ε: what the paper's σ² costs. Tight: the least σ² that costs ε (proposition 4), and its reduction."),
			table1Page(),
			finding(
				"at ε = 1 the paper prints 84.3; algorithm 2 gives 84.38, which rounds to 84.4 (the reduction of 36.1 % is that of 84.38). All other numbers are right to the last digit. What is compared there are bounds: at the paper's σ² the mechanism costs less than half of ε, and the tight σ² reduces the variance by 72 to 78 %, not by 35 to 38 %."),
			figure1, reductionFigure(),
			heading("Definition 3.1: densities on the box"),
			prose(
				"True value (3, 4), ε = 1. On a box of area 80 the uniform density is 0.0125: the paper's σ² of 84.4 leaves the released pair nearly uniform."),
			densityTable(), densityFigure(),
			heading("Theorem 1.4"),
			prose(
				"The Gaussian mechanism as quoted: c² > 2 ln(1.25/δ), and σ² ≥ cΔ/ε. Dwork and Roth have σ ≥ cΔ/ε. ε = 0.5, δ = 1e-6, Δ = 1; exact: from the privacy profile (docs/mechanisms.md, section 5)."),
			quoted,
			finding(fmt.Sprintf("with σ² in place of σ the quoted theorem gives σ = %.3f, at which ε is %.3f and not 0.5.",
				sigma, exact)),
		},
	}, nil
}

func univariateTable() (table, error) {
	t := table{head: []string{"L, Δ, ε", "σ, algorithm 1", "exact ε of it", "tight σ"}}
	for _, c := range []struct{ l, delta, eps float64 }{{10, 1, 1}, {10, 1, .1}, {10, 10, 1}, {1000, 1, 1}} {
		v := mechanism.Range{{Lo: 0, Hi: int64(c.l * grid)}}
		sigma := math.Sqrt(mechanism.ChenHaleVariance(c.l, c.delta, c.eps))
		exact := mechanism.Divergence(mechanism.Gaussian, v, int64(c.delta*grid), sigma*grid, math.Inf(1))
		p, err := mechanism.Prepare(mechanism.Release{
			Kind: mechanism.Scalar, Range: v, Sensitivity: int64(c.delta * grid),
			Choice: mechanism.Choice{Noise: mechanism.Gaussian, Bounding: mechanism.Truncate},
		}, mechanism.Guarantee{Epsilon: c.eps})
		if err != nil {
			return t, err
		}
		t.add(fmt.Sprintf("%g, %g, %g", c.l, c.delta, c.eps), sigma, exact, p.Chosen().Scale/grid)
	}
	return t, nil
}

func table1Page() table {
	t := table{head: []string{
		"ε", "Liu printed", "Liu", "σ² printed", "σ²", "reduction printed", "reduction", "exact ε",
		"tight σ²", "its reduction",
	}}
	for _, r := range table1 {
		v := graphVariances(r.eps)
		t.add(fmt.Sprintf("%g", r.eps), fmt.Sprintf("%.1f", r.generalised), fmt.Sprintf("%.1f", v.generalised),
			fmt.Sprintf("%.1f", r.bounded), fmt.Sprintf("%.2f", v.bounded),
			fmt.Sprintf("%.1f %%", r.reduction), fmt.Sprintf("%.1f %%", v.reduction(v.bounded)),
			v.loss, fmt.Sprintf("%.2f", v.tight), fmt.Sprintf("%.1f %%", v.reduction(v.tight)))
	}
	return t
}

// reductionFigure are the triangles of figure 1, which have an axis of their own there.
func reductionFigure() plot.Figure {
	f := plot.Figure{
		Name:  "chen-hale-reduction",
		Title: "Reduction of the variance against the generalised Gaussian (Chen and Hale, figure 1)", X: "ε",
		Y: "reduction, %", FromZero: true,
		Lines: []plot.Line{{Name: "bounded Gaussian, paper", Color: 2}, {Name: "bounded Gaussian, tight", Color: 3}},
	}
	for eps := .1; eps < 3.05; eps += .1 {
		v := graphVariances(eps)
		for i, sigma2 := range []float64{v.bounded, v.tight} {
			f.Lines[i].X = append(f.Lines[i].X, eps)
			f.Lines[i].Y = append(f.Lines[i].Y, v.reduction(sigma2))
		}
	}
	return f
}

var densityAt = []float64{3, 4}

// boxDensity is (3.1): independent truncated Gaussians.
func boxDensity(sigma float64, x []float64) float64 {
	p := 1.0
	for i, s := range densityAt {
		n := gaussian{s, sigma}
		p *= n.density(x[i]) / (n.below(graphTo[i]) - n.below(graphFrom[i]))
	}
	return p
}

func densityTable() table {
	v := graphVariances(1)
	t := table{head: []string{"density at", "(3, 4)", "(0, 1)", "(10, 1)", "(0, 9)", "(10, 9)"}}
	for _, c := range []struct {
		name   string
		sigma2 float64
	}{{"paper", v.bounded}, {"tight", v.tight}} {
		row := []any{fmt.Sprintf("σ² = %.2f, %s", c.sigma2, c.name)}
		for _, x := range [][]float64{densityAt, {0, 1}, {10, 1}, {0, 9}, {10, 9}} {
			row = append(row, boxDensity(math.Sqrt(c.sigma2), x))
		}
		t.add(row...)
	}
	return t
}

// densityFigure shows where the densities have some levels: arcs of circles around the true value.
func densityFigure() plot.Figure {
	v := graphVariances(1)
	f := plot.Figure{
		Name:  "chen-hale-density",
		Title: "Level lines of the density of a released pair (true value (3, 4), ε = 1; definition 3.1)",
		X:     "algebraic connectivity", Y: "degree",
	}
	for k, level := range []float64{.015, .0125, .01, .0075} {
		for _, c := range []struct {
			name   string
			sigma2 float64
		}{{"tight", v.tight}, {"paper", v.bounded}} {
			top := boxDensity(math.Sqrt(c.sigma2), densityAt)
			radius := math.Sqrt(2 * c.sigma2 * math.Log(top/level))
			if !(radius > 0) {
				continue // never so dense
			}
			l := plot.Line{Name: fmt.Sprintf("%g, %s", level, c.name), Dashed: c.name == "paper", Color: k + 1}
			if arc(&l, radius) {
				f.Lines = append(f.Lines, l)
			}
		}
	}
	f.Lines = append(f.Lines, plot.Line{
		Name: "the box", Color: 7, X: []float64{0, 10, 10, 0, 0},
		Y: []float64{1, 1, 9, 9, 1},
	})
	return f
}

// arc is the part of a circle around the true value that lies in the box; false if there is none.
func arc(l *plot.Line, radius float64) (some bool) {
	const points = 720
	// It starts where it is farthest from the box's middle, so that the line is broken there.
	for i := range points + 1 {
		at := math.Pi + 2*math.Pi*float64(i)/points
		x, y := densityAt[0]+radius*math.Cos(at), densityAt[1]+radius*math.Sin(at)
		l.X, l.Y = append(l.X, x), append(l.Y, y)
		if x < graphFrom[0] || x > graphTo[0] || y < graphFrom[1] || y > graphTo[1] {
			l.Y[i] = math.NaN()
			continue
		}
		some = true
	}
	return some
}

// theorem14 holds the theorem as quoted, whose σ and exact ε it returns, against what it should be.
func theorem14() (t table, sigma, exact float64, err error) {
	const eps, tail = .5, 1e-6
	c := math.Sqrt(2 * math.Log(1.25/tail))
	sigma = math.Sqrt(c / eps)
	exact, err = gaussianEpsilon(sigma, tail)
	if err != nil {
		return t, 0, 0, err
	}
	meant, err := gaussianEpsilon(c/eps, tail)
	if err != nil {
		return t, 0, 0, err
	}
	list, err := mechanism.Table(wide, grid, mechanism.Guarantee{Epsilon: eps, Delta: tail})
	if err != nil {
		return t, 0, 0, err
	}
	tight, err := find(list, mechanism.Gaussian, mechanism.Fold, "rdp", mechanism.Tight)
	t = table{head: []string{"", "σ", "exact ε at δ = 1e-6"}}
	t.add("σ² = cΔ/ε, as quoted", sigma, exact)
	t.add("σ = cΔ/ε, Dwork and Roth", c/eps, meant)
	t.add("tight", tight.Scale/grid, tight.Loss)
	return t, sigma, exact, err
}

// wide is a range that noise does not fill.
var wide = mechanism.Range{{Lo: 0, Hi: 10000 * grid}}

// gaussianEpsilon is the exact ε of plain Gaussian noise, Δ = 1.
func gaussianEpsilon(sigma, tail float64) (float64, error) {
	list, err := mechanism.TableAt(wide, grid, sigma*grid, tail)
	if err != nil {
		return 0, err
	}
	row, err := find(list, mechanism.Gaussian, mechanism.Fold, "rdp", mechanism.Given)
	return row.Loss, err
}

// find is the row of a table.
func find(list []mechanism.Candidate, n mechanism.Noise, b mechanism.Bounding, guarantee string,
	c mechanism.Calibration,
) (mechanism.Candidate, error) {
	for _, r := range list {
		if r.Noise == n && r.Bounding == b && r.Guarantee == guarantee && r.Calibration == c {
			return r, nil
		}
	}
	return mechanism.Candidate{}, fmt.Errorf("no row for %s %s, %s, %s", n, b, guarantee, c)
}
