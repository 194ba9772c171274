package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// lines prints the explanation: what the statement costs and how far its answers may be off, or everything.
func (x explanation) lines(everything bool) []string {
	out := x.costLines()
	if everything {
		out = append(out, x.planLines()...)
	} else {
		for _, r := range x.Releases {
			of := ""
			if len(x.Releases) > 1 {
				of = " for " + r.Name
			}
			for _, line := range r.shortLines() {
				out = append(out, line+of)
			}
		}
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
	return out
}

// costLines say what the statement takes of the budget, or why it would not be admitted.
func (x explanation) costLines() (out []string) {
	if x.Budget != nil {
		out = append(out, "share: "+x.Budget.text(x.Cached))
	}
	if x.Refused != "" {
		out = append(out, "it would be refused: "+x.Refused)
	}
	if x.Fits != "" {
		out = append(out, "instead: "+x.Fits)
	}
	if x.Cached {
		out = append(out, "cached: the answer is known and would cost nothing")
	}
	epsilon := "epsilon: " + number(x.Epsilon)
	if x.Delta > 0 {
		epsilon += ", delta: " + number(x.Delta)
	}
	return append(out, epsilon)
}

func (b budgetInfo) text(cached bool) string {
	share, left := ledger.Percent(b.Share)+" of your budget", ledger.PercentLeft(b.Left)
	switch {
	case cached, b.Share == 0:
		return "nothing of your budget; " + left + " is left"
	case b.AtMost && b.Enough == 0:
		return share + " at first; what follows may take more than is left of " + left
	case b.AtMost:
		return fmt.Sprintf("at most %s; %s is left, enough for at least %d such", share, left, b.Enough)
	}
	return fmt.Sprintf("%s; %s is left, enough for %d such", share, left, b.Enough)
}

// shortLines are those of a release that an analyst needs.
func (r releaseInfo) shortLines() (out []string) {
	if margin := r.marginLine(); margin != "" {
		out = append(out, margin)
	}
	how := "mechanism: " + r.Mechanism
	if r.Scale != 0 {
		how += ", scale " + r.unit.difference(r.Scale)
	}
	return append(out, r.sensitivityLine(), how)
}

// planLines are the price, every release with the mechanisms that were considered, the plan and the work.
func (x explanation) planLines() (out []string) {
	if x.Price != nil {
		out = append(out, fmt.Sprintf("price: %s, %s", x.Price, x.Price.budget()))
	}
	if x.Averages != "" {
		out = append(out, "averages: "+x.Averages)
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
	if margin := r.marginLine(); margin != "" {
		out = append(out, margin)
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

// marginLine is empty where there is none.
func (r releaseInfo) marginLine() string {
	switch {
	case r.Wanted > 0:
		return "margin: ±" + r.unit.difference(r.Wanted) + " (95%) of the average, where its count is large enough"
	case r.Margin != nil:
		return "margin: ±" + r.unit.difference(*r.Margin) + " (95%)"
	case r.unit.average:
		return fmt.Sprintf("margin: follows from the released values; of an average over n rows about ±%s / n (95%%)", r.unit.difference(r.ofSum))
	case r.Kind == mechanism.SumGivenCount:
		return "margin: follows from the released values"
	}
	return ""
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
