package study

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// TableCmd prints one row per noise, bounding, guarantee and calibration.
type TableCmd struct {
	Range       validRange `help:"Valid range: its length L, or its intervals, with gaps between them." placeholder:"L|A:B,C:D" xor:"shape" required:""`
	Box         []float64  `help:"Side lengths of a box instead, joint Gaussian noise." placeholder:"L1,L2" xor:"shape" required:""`
	Sensitivity float64    `help:"How far one unit moves the value; on a box in the L2 norm." placeholder:"Δ" required:""`
	Epsilon     float64    `help:"Pure ε, or the ε of (ε, δ)." placeholder:"ε" xor:"noise" required:""`
	Scale       float64    `help:"A scale instead, λ or σ: what every mechanism costs there." placeholder:"S" xor:"noise" required:""`
	Delta       float64    `help:"Add the mechanisms of (ε, δ)-DP at this δ." placeholder:"δ"`
	Grid        float64    `help:"Step of the integer grid; without it the continuum, as in the papers." placeholder:"G"`
	JSON        bool       `help:"An array of objects." name:"json"`
}

// continuum is how many grid steps stand for the continuum: finer than any digit that is printed.
const continuum = 1 << 40

// Run computes and prints the table. Errors name the flag that is wrong.
func (c *TableCmd) Run(out io.Writer) error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	if c.JSON {
		if rows == nil {
			rows = []mechanism.Candidate{}
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	return printTable(out, rows, c.Scale > 0)
}

// check names the flag that is wrong. largest is the longest length that the grid has to resolve.
func (c *TableCmd) check() (largest float64, err error) {
	noise, scale := "--epsilon", c.Epsilon
	if c.Scale != 0 {
		noise, scale = "--scale", c.Scale
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"--sensitivity", c.Sensitivity}, {noise, scale}} {
		if !(f.value > 0) || math.IsInf(f.value, 0) {
			return 0, fmt.Errorf("%s is %g: it must be a positive number", f.name, f.value)
		}
	}
	if !(c.Delta >= 0 && c.Delta < 1) {
		return 0, fmt.Errorf("--delta is %g: it must be 0 or between 0 and 1", c.Delta)
	}
	if !(c.Grid >= 0) || math.IsInf(c.Grid, 0) {
		return 0, fmt.Errorf("--grid is %g: it must be a positive number", c.Grid)
	}
	sides := c.Box
	if len(sides) == 0 {
		sides = []float64{c.Range.length()}
		largest = c.Range.farthest()
	}
	for _, l := range sides {
		if !(l > 0) || math.IsInf(l, 0) {
			return 0, fmt.Errorf("the range has length %g: it must be a positive number", l)
		}
		largest = math.Max(largest, l)
	}
	return largest, nil
}

func (c *TableCmd) rows() ([]mechanism.Candidate, error) {
	largest, err := c.check()
	if err != nil {
		return nil, err
	}
	grid := c.Grid
	if grid == 0 {
		grid = math.Max(largest, c.Sensitivity) / continuum
	}
	if largest/grid > 1<<59 || c.Sensitivity/grid > 1<<59 {
		return nil, fmt.Errorf("--grid is %g: the range has more than 2^59 steps of it", grid)
	}
	if len(c.Box) > 0 {
		return c.boxRows(grid)
	}
	v, delta := c.Range.on(grid), int64(math.Ceil(c.Sensitivity/grid*(1-1e-12)))
	if v[0].Lo == v[len(v)-1].Hi {
		return nil, fmt.Errorf("--range is %g long: shorter than one step of --grid %g", c.Range.length(), grid)
	}
	var rows []mechanism.Candidate
	if c.Scale > 0 {
		rows, err = mechanism.TableAt(v, delta, c.Scale/grid, c.Delta)
	} else {
		rows, err = mechanism.Table(v, delta, mechanism.Guarantee{Epsilon: c.Epsilon, Delta: c.Delta})
	}
	for i := range rows {
		rows[i].Scale *= grid
		rows[i].RMSEAverage *= grid
		rows[i].RMSEWorst *= grid
	}
	return rows, err
}

// boxRows compares the joint truncated Gaussian with Laplace noise in every coordinate, λ = √k·Δ/ε (the L1 sensitivity
// of k coordinates is at most √k times the L2 sensitivity), folded.
func (c *TableCmd) boxRows(grid float64) ([]mechanism.Candidate, error) {
	if c.Delta > 0 {
		return nil, fmt.Errorf("--delta: a box is compared under pure ε; under (ε, δ) its coordinates need no joint noise")
	}
	lengths := make([]float64, len(c.Box))
	for i, l := range c.Box {
		lengths[i] = math.Round(l / grid)
	}
	delta := c.Sensitivity / grid
	row := func(noise mechanism.Noise, b mechanism.Bounding, cal mechanism.Calibration, scale,
		loss float64,
	) mechanism.Candidate {
		average, worst := mechanism.BoxErrors(noise, b, scale, lengths)
		return mechanism.Candidate{
			Noise: noise, Bounding: b, Guarantee: "pure", Calibration: cal, Joint: true,
			Scale: scale * grid, Loss: loss, RMSEAverage: average * grid, RMSEWorst: worst * grid,
		}
	}
	l1 := math.Sqrt(float64(len(lengths))) * delta
	if s := c.Scale / grid; s > 0 {
		return []mechanism.Candidate{
			row(mechanism.Gaussian, mechanism.Truncate, mechanism.Given, s, mechanism.BoxLoss(lengths, delta, s*s)),
			row(mechanism.Laplace, mechanism.Fold, mechanism.Given, s, l1/s),
		}, nil
	}
	paper := mechanism.ChenHaleBoxVariance(lengths, delta, c.Epsilon)
	tight := mechanism.BoxVariance(lengths, delta, c.Epsilon)
	rows := []mechanism.Candidate{
		row(mechanism.Gaussian, mechanism.Truncate, mechanism.Paper, math.Sqrt(paper),
			mechanism.BoxLoss(lengths, delta, paper)),
		row(mechanism.Gaussian, mechanism.Truncate, mechanism.Tight, math.Sqrt(tight),
			mechanism.BoxLoss(lengths, delta, tight)),
		row(mechanism.Laplace, mechanism.Fold, mechanism.Tight, l1/c.Epsilon, c.Epsilon),
	}
	best := 1
	if rows[2].RMSEAverage < rows[1].RMSEAverage {
		best = 2
	}
	rows[best].Chosen = true
	return rows, nil
}

func printTable(out io.Writer, rows []mechanism.Candidate, given bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tnoise\tbounding\tguarantee\tcalibration\tscale\tloss\trmse average\trmse worst")
	for _, r := range rows {
		mark := " "
		if r.Chosen {
			mark = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.5g\t%.5g\t%.4g\t%.4g\n",
			mark, r.Noise, r.Bounding, r.Guarantee, r.Calibration, r.Scale, r.Loss, r.RMSEAverage, r.RMSEWorst)
	}
	if given {
		fmt.Fprintln(w, "\nloss: the exact ε at this scale; rdp: that of (ε, δ)")
	} else {
		fmt.Fprintln(w, "\n* what auto takes")
	}
	return w.Flush()
}
