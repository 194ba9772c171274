package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// lines prints the explanation: what the statement costs and how far its answers may be off, or everything.
func (x explanation) lines(everything bool) []string {
	out := x.costLines()
	epsilon := "epsilon: " + estimate.Number(x.Epsilon)
	if x.Delta > 0 {
		epsilon += ", delta: " + estimate.Number(x.Delta)
	}
	if everything {
		out = append(append(out, epsilon), x.planLines()...)
	} else {
		out = append(append(append(out, x.marginLines()...), epsilon), x.releaseLines()...)
		for _, line := range x.nothing {
			out = append(out, "of nothing: "+line)
		}
	}
	out = append(out, "certified: "+x.Certified)
	if x.LeftOut != "" {
		out = append(out, "left out: "+x.LeftOut)
	}
	switch x.Empty {
	case "dropped":
		out = append(out, "empty groups: dropped; the fewer of many are shown, the wider their margins")
	case "kept":
		out = append(out, "empty groups: kept")
	}
	for _, hint := range x.Groups {
		out = append(out, "groups: "+hint)
	}
	if x.Wide != "" {
		out = append(out, "wide: "+x.Wide)
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
	if x.Look != "" {
		out = append(out, "look: "+x.Look)
	}
	switch {
	case x.Kept != "":
		out = append(out, "kept: "+x.Kept)
	case x.Cached:
		out = append(out, "cached: the answer is known and would cost nothing")
	}
	if x.Workload != "" {
		out = append(out, "workload: "+x.Workload)
	}
	return out
}

// named begins a line about one of several releases.
func (x explanation) named(key string, r releaseInfo) string {
	if len(x.Releases) > 1 {
		return key + ": " + r.Name + ": "
	}
	return key + ": "
}

func (x explanation) marginLines() (out []string) {
	for _, r := range x.Releases {
		if margin := r.marginText(); margin != "" && !r.divides {
			out = append(out, x.named("margin", r)+margin)
		}
	}
	return out
}

// releaseLines say what one unit moves of each release, and how that is hidden.
func (x explanation) releaseLines() (out []string) {
	for _, r := range x.Releases {
		out = append(out, x.named("sensitivity", r)+r.sensitivityText(), x.named("mechanism", r)+r.Mechanism)
		if r.Scale != 0 {
			out[len(out)-1] += ", scale " + r.unit.Difference(r.Scale)
		}
	}
	return out
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
		"sensitivity: " + r.sensitivityText(),
		"valid range: " + r.Range,
		"mechanism: " + r.mechanismLine(),
	}
	if r.Grid != 0 {
		out = append(
			out,
			fmt.Sprintf(
				"grid: rounded to multiples of %s; LEAST(GREATEST(x, low), high) narrows bounds, and with them grid and noise",
				r.unit.Difference(r.Grid)))
	}
	if margin := r.marginText(); margin != "" {
		out = append(out, "margin: "+margin)
	}
	for _, c := range r.Candidates {
		line := fmt.Sprintf("  considered: %s %s", c.Noise, c.Bounding)
		switch {
		case c.Price.Square > 0:
			line += " by Gaussian DP"
		case c.Price.Order > 0:
			line += " at order " + estimate.Number(c.Price.Order)
		}
		out = append(out, fmt.Sprintf("%s, rmse %s, %s", line, r.unit.Difference(c.RMSEAverage*r.step), c.Price.budget()))
	}
	return out
}

// marginText is empty where there is none.
func (r releaseInfo) marginText() string {
	switch {
	case r.None:
		return ""
	case r.Wanted > 0:
		return "±" + r.unit.Difference(r.Wanted) + " (95%) of the average, where its count is large enough"
	case r.Margin != nil:
		return "±" + r.unit.Difference(*r.Margin) + " (95%)"
	case r.unit.Average:
		return fmt.Sprintf("follows from the released values; of an average over n rows about ±%s / n (95%%)",
			r.unit.Difference(r.OfSum))
	case r.Sum != nil:
		return "±" + r.unit.Difference(r.Sum.Margin) + " (95%)"
	case r.Kind == mechanism.SumGivenCount:
		return "follows from the released values"
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

func (r releaseInfo) sensitivityText() string {
	moves := r.unit.Difference
	if r.Kind == mechanism.Quantile {
		moves = func(ranks float64) string { return estimate.Number(ranks) + " of the ranks" }
	}
	text := fmt.Sprintf("%s in one group", moves(r.Sensitivity))
	if r.Groups > 1 {
		text += fmt.Sprintf(", %s over all groups of one unit, which are at most %d", moves(r.Total), r.Groups)
	}
	return text
}

func (r releaseInfo) mechanismLine() string {
	if r.Scale == 0 {
		return r.Mechanism
	}
	return fmt.Sprintf("%s, scale %s, for the %s sensitivity", r.Mechanism, r.unit.Difference(r.Scale), r.Geometry)
}
