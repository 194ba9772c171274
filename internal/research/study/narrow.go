package study

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/optimum"
)

// NarrowCmd compares what auto takes on short ranges with the least error that ε-DP permits.
type NarrowCmd struct {
	Longest int64 `help:"The longest range, in grid steps." default:"50" placeholder:"L"`
}

// NarrowRow are the errors for one length and sensitivity, one per narrowEpsilons.
type NarrowRow struct {
	Length, Sensitivity int64
	Optimum, Auto       []float64 // root mean squared, over all true values, in grid steps
	Chosen              []string
}

var (
	narrowLengths  = []int64{1, 2, 3, 5, 10, 20, 50}
	narrowMoves    = []int64{1, 2, 3, 5, 10}
	narrowEpsilons = []float64{.1, .2, .5, 1, 2, 5}
)

// Run prints the table as Markdown, with the mechanisms behind it.
func (c *NarrowCmd) Run(out io.Writer) error {
	rows, err := Narrow(c.Longest)
	if err != nil {
		return err
	}
	fmt.Fprint(out, narrowTable(rows), "\n")
	for _, r := range rows {
		fmt.Fprintf(out, "L %d, sensitivity %d: %s\n", r.Length, r.Sensitivity, strings.Join(r.Chosen, " | "))
	}
	return nil
}

// Narrow computes the rows of lengths up to longest.
func Narrow(longest int64) ([]NarrowRow, error) {
	var rows []NarrowRow
	for _, length := range narrowLengths {
		for _, move := range narrowMoves {
			if length <= longest && move <= length {
				rows = append(rows, NarrowRow{Length: length, Sensitivity: move})
			}
		}
	}
	failed := make([]error, len(rows))
	eachInParallel(len(rows), func(i int) { failed[i] = rows[i].fill() })
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (r *NarrowRow) fill() error {
	for _, eps := range narrowEpsilons {
		b, err := optimum.RMSE(int(r.Length), int(r.Sensitivity), eps)
		if err != nil {
			return err
		}
		release := mechanism.Release{
			Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: r.Length}},
			Sensitivity: r.Sensitivity,
		}
		p, err := mechanism.Prepare(release, mechanism.Guarantee{Epsilon: eps})
		if err != nil {
			return err
		}
		r.Optimum, r.Auto = append(r.Optimum, b.Lower), append(r.Auto, p.Tabulate().RMSE())
		r.Chosen = append(r.Chosen, fmt.Sprintf("%s %s", p.Chosen().Noise, p.Chosen().Bounding))
	}
	return nil
}

// narrowTable is the table of docs/mechanisms.md, section 12: the least error, and how many times that auto's is.
func narrowTable(rows []NarrowRow) string {
	var s strings.Builder
	s.WriteString("| L, Δ |")
	for _, eps := range narrowEpsilons {
		fmt.Fprintf(&s, " ε = %g |", eps)
	}
	s.WriteString("\n|---|" + strings.Repeat("---|", len(narrowEpsilons)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&s, "| %d, %d |", r.Length, r.Sensitivity)
		for i := range r.Auto {
			fmt.Fprintf(&s, " %.3g · %.2f |", r.Optimum[i], math.Max(1, r.Auto[i]/r.Optimum[i]))
		}
		s.WriteString("\n")
	}
	return s.String()
}
