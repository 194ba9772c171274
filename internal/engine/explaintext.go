package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// lines prints the explanation.
func (x explanation) lines() []string {
	out := []string{"epsilon: " + number(x.Epsilon)}
	if x.Delta > 0 {
		out[0] += ", delta: " + number(x.Delta)
	}
	if x.Price != nil {
		out = append(out, fmt.Sprintf("price: %s, %s", x.Price, x.Price.budget()))
	}
	if x.Spent != nil {
		out = append(out, "epsilon spent by it: "+number(*x.Spent), "epsilon left after it: "+number(*x.Left))
	}
	if x.Averages != "" {
		out = append(out, "averages: "+x.Averages)
	}
	if x.Refused != "" {
		out = append(out, "it would be refused: "+x.Refused)
	}
	if x.Cached {
		out = append(out, "cached: the answer is known and would cost nothing")
	}
	for _, r := range x.Releases {
		out = append(out, r.lines()...)
	}
	out = append(out, "plan:")
	for _, line := range x.Plan {
		out = append(out, "  "+line)
	}
	for i, block := range x.Blocks {
		if bound := block.bound(); bound != "" {
			out = append(out, fmt.Sprintf("bound of block %d: %s", i+1, bound))
		}
		out = append(out, fmt.Sprintf("work of block %d: at most %d steps for the rows of one unit", i+1, block.Steps))
	}
	if x.LeftOut != "" {
		out = append(out, "left out: "+x.LeftOut)
	}
	if x.Empty != "" {
		out = append(out, "empty groups: "+x.Empty)
	}
	for _, hint := range x.Groups {
		out = append(out, "groups: "+hint)
	}
	if x.Wide != "" {
		out = append(out, "wide: "+x.Wide)
	}
	return out
}

func (r releaseInfo) lines() []string {
	out := []string{
		"release: " + r.Name,
		"its part: " + r.Price.String(),
		r.sensitivityLine(),
		"valid range: " + r.Range,
		"mechanism: " + r.mechanismLine(),
	}
	if r.Grid != 0 {
		out = append(out, fmt.Sprintf("grid: rounded to multiples of %s; LEAST(GREATEST(x, low), high) narrows bounds, and with them grid and noise", r.unit.difference(r.Grid)))
	}
	switch {
	case r.Wanted > 0:
		out = append(out, "margin: ±"+r.unit.difference(r.Wanted)+" (95%) of the average, where its count is large enough")
	case r.Margin != nil:
		out = append(out, "margin: ±"+r.unit.difference(*r.Margin)+" (95%)")
	case r.unit.average:
		out = append(out, fmt.Sprintf("margin: follows from the released values; of an average over n rows about ±%s / n (95%%)", r.unit.difference(r.ofSum)))
	case r.Kind == mechanism.SumGivenCount:
		out = append(out, "margin: follows from the released values")
	}
	for _, c := range r.Candidates {
		line := fmt.Sprintf("  considered: %s %s", c.Noise, c.Bounding)
		if c.Price.Order > 0 {
			line += " at order " + number(c.Price.Order)
		}
		out = append(out, fmt.Sprintf("%s, rmse %s, %s", line, r.unit.difference(c.RMSEAverage*r.step), c.Price.budget()))
	}
	return out
}

// budget counts the statements that the whole budget holds, as far as anybody asks them.
func (p priceInfo) budget() string {
	const many = 1_000_000
	text := "budget for "
	if p.AtLeast {
		text += "at least "
	}
	switch n := p.Statements; {
	case n == 1:
		return text + "1 such statement"
	case n > many:
		return "budget for more than a million such statements"
	}
	return text + fmt.Sprintf("%d such statements", p.Statements)
}

func (r releaseInfo) sensitivityLine() string {
	moves := r.unit.difference
	if r.Kind == mechanism.Quantile {
		moves = func(ranks float64) string { return number(ranks) + " of the ranks" }
	}
	text := fmt.Sprintf("sensitivity: %s in one group", moves(r.Sensitivity))
	if r.Groups > 1 {
		text += fmt.Sprintf(", %s over all groups of one unit, which are at most %d", moves(r.Total), r.Groups)
	}
	return text
}

func (r releaseInfo) mechanismLine() string {
	if r.Scale == 0 {
		return r.Mechanism
	}
	return fmt.Sprintf("%s, scale %s, for the %s sensitivity", r.Mechanism, r.unit.difference(r.Scale), r.Geometry)
}
