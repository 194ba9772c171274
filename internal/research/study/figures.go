package study

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/plot"
)

// Figures computes all figures.
func Figures() ([]plot.Figure, error) {
	density, err := densities()
	if err != nil {
		return nil, err
	}
	byEpsilon, err := errorsBy("rmse-epsilon", "Error against ε (L/Δ = 10)", "ε", 0.1, 5,
		func(x float64) (l, eps float64) { return 10, x })
	if err != nil {
		return nil, err
	}
	byRange, err := errorsBy("rmse-range", "Error against the range (ε = 1)", "L/Δ", 1, 1000,
		func(x float64) (l, eps float64) { return x, 1 })
	if err != nil {
		return nil, err
	}
	return []plot.Figure{density, byEpsilon, byRange, Figure1()}, nil
}

// densities are those of Laplace noise near a bound: true value 1 in [0, 10], Δ = ε = 1.
func densities() (plot.Figure, error) {
	const perUnit, length, bin = 80, 10, 8 // denoised values leave gaps on a grid: bins of 0.1 smooth them
	rows, err := mechanism.Table(mechanism.Range{{Lo: 0, Hi: length * perUnit}}, perUnit, mechanism.Guarantee{Epsilon: 1})
	if err != nil {
		return plot.Figure{}, err
	}
	f := plot.Figure{
		Name: "densities", Title: "Released values near a bound (true value 1 in [0, 10], Δ = ε = 1)",
		X: "released value", Y: "density", MaxY: 1,
	}
	for _, c := range rows {
		if c.Calibration != mechanism.Tight || c.Noise == mechanism.Gaussian && c.Bounding != mechanism.Truncate {
			continue
		}
		line := plot.Line{Name: fmt.Sprintf("%s %s", c.Noise, c.Bounding)}
		row := c.Tabulate().Log[perUnit]
		for z := 0; z+bin <= len(row); z += bin {
			sum := 0.0
			for _, l := range row[z : z+bin] {
				sum += math.Exp(l)
			}
			line.X = append(line.X, (float64(z)+bin/2.)/perUnit)
			line.Y = append(line.Y, sum*perUnit/bin)
		}
		f.Lines = append(f.Lines, line)
	}
	return f, nil
}

// errorsBy sweeps one parameter: average error in units of Δ of every mechanism with a pure ε.
func errorsBy(name, title, x string, from, to float64, at func(x float64) (l, eps float64)) (plot.Figure, error) {
	f := plot.Figure{Name: name, Title: title, X: x, Y: "RMSE / Δ", LogX: true, LogY: true}
	index := map[string]int{}
	const points = 40
	for i := range points {
		v := from * math.Pow(to/from, float64(i)/(points-1))
		l, eps := at(v)
		const delta = 1 << 24
		rows, err := mechanism.Table(mechanism.Range{{Lo: 0, Hi: int64(math.Round(l * delta))}}, delta, mechanism.Guarantee{
			Epsilon: eps,
		})
		if err != nil {
			return f, err
		}
		for _, r := range rows {
			key := fmt.Sprintf("%s %s %s", r.Noise, r.Bounding, r.Calibration)
			k, ok := index[key]
			if !ok {
				k = len(f.Lines)
				index[key] = k
				f.Lines = append(f.Lines, plot.Line{Name: key})
			}
			f.Lines[k].X = append(f.Lines[k].X, v)
			f.Lines[k].Y = append(f.Lines[k].Y, r.RMSEAverage/delta)
		}
	}
	return f, nil
}

// Figure1 is figure 1 of Chen and Hale, with the tight calibration added: variances on the box [0, 10]×[1, 9], Δ = 2√5.
func Figure1() plot.Figure {
	const grid = 1 << 24
	lengths, delta := []float64{10 * grid, 8 * grid}, 2*math.Sqrt(5)*grid
	f := plot.Figure{
		Name: "figure1", Title: "Variance on [0, 10]×[1, 9], Δ = 2√5 (Chen and Hale, figure 1)", X: "ε",
		Y: "σ²", LogY: true, Lines: []plot.Line{
			{Name: "generalised Gaussian"}, {Name: "bounded Gaussian, paper"}, {Name: "bounded Gaussian, tight"},
		},
	}
	for eps := .1; eps < 3.05; eps += .1 {
		for i, v := range []float64{
			mechanism.GeneralisedGaussianVariance([]float64{10, 8}, []float64{4, 2}, eps),
			mechanism.ChenHaleBoxVariance(lengths, delta, eps) / (grid * grid),
			mechanism.BoxVariance(lengths, delta, eps) / (grid * grid),
		} {
			f.Lines[i].X = append(f.Lines[i].X, eps)
			f.Lines[i].Y = append(f.Lines[i].Y, v)
		}
	}
	return f
}
