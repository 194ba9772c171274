package release

import (
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// Explain prints the plan tree of a statement's i-th block, with its releases as the statement numbers their layers.
func (k *Block) Explain(i int, releases []mechanism.Release) []string {
	if k.Source.Empty {
		return []string{fmt.Sprintf("block %d: no row can satisfy the condition; nothing is measured", i+1)}
	}
	together := map[int]int{} // of a family: those that are drawn together
	for _, r := range releases {
		if r.InFamily() {
			together[r.Family]++
		}
	}
	lines := []string{fmt.Sprintf("block %d: %d releases, %s", i+1, len(releases), k.bound())}
	for _, r := range releases {
		line := fmt.Sprintf("  %s: %s, sensitivity %d × %g", r.Name, r.Kind, r.Sensitivity, stepOf(r))
		if r.Total > r.Sensitivity {
			line += fmt.Sprintf(", %d × %g in all groups", r.Total, stepOf(r))
		}
		if r.InFamily() && together[r.Family] > 1 {
			line += fmt.Sprintf(", drawn together %d", r.Family)
		}
		if r.Layer > 0 {
			line += fmt.Sprintf(", disjoint rows %d", r.Layer)
		}
		switch {
		case r.InChain():
			line += fmt.Sprintf(", nested %d of %d", r.Place, r.Running)
		case r.Running > 0:
			line += fmt.Sprintf(", for running totals of %d groups", r.Running)
		}
		if r.Margin > 0 {
			line += fmt.Sprintf(", margin %d × %g", r.Margin, stepOf(r))
		}
		if r.RowMargin > 0 {
			line += fmt.Sprintf(", margin of the average %g", r.RowMargin*stepOf(r))
		}
		lines = append(lines, line)
	}
	if k.Uncovered {
		lines = append(lines, "  no intervals: rows are left out, or taken for others, which no share of the policy counts")
	}
	if k.Compared {
		lines = append(lines, "  EXISTS holds where this count can be told from that of no rows (5%)")
	}
	for _, line := range k.OverNoRows() {
		lines = append(lines, "  "+line)
	}
	lines = append(lines, k.explainKeys()...)
	return append(lines, k.Source.Plan.Lines("  ")...)
}

// OverNoRows lists the calls that have a value over no rows, as no release tells that there are none.
func (k *Block) OverNoRows() (lines []string) {
	for _, call := range k.untold {
		lines = append(lines, call+" over no rows is a value between its bounds: beside count(*) it is NULL")
	}
	return lines
}

// explainKeys says of the keys how many values they have: each, or several in combination.
func (k *Block) explainKeys() (lines []string) {
	if k.Selected {
		for _, g := range k.Keys {
			lines = append(lines, fmt.Sprintf("  key %s: partition selection", g.Text()))
		}
	}
	for _, d := range k.Domains {
		if len(d.Keys) == 1 {
			lines = append(lines, fmt.Sprintf("  key %s: %d values", d.Keys[0].Text(), d.Tuples.Len()))
			continue
		}
		names := make([]string, len(d.Keys))
		for i, g := range d.Keys {
			names[i] = g.Text()
		}
		lines = append(lines, fmt.Sprintf("  keys %s: %d combinations", strings.Join(names, ", "), d.Tuples.Len()))
	}
	return lines
}

// bound says what one unit adds to the whole answer.
func (k *Block) bound() string {
	if k.Single() {
		return "one row per unit"
	}
	how := "at most"
	if k.Source.Proven {
		how = "(proven) at most"
	}
	text := fmt.Sprintf("a unit counts with %s %d rows in the whole answer", how, k.Source.MaxRowsPerUnit)
	if k.MaxRowsPerGroup > 0 {
		text += fmt.Sprintf(" and %d in one group", k.MaxRowsPerGroup)
	}
	switch {
	case k.PicksGroups:
		return fmt.Sprintf("%s, in %d groups at most, chosen by keyed hash", text, k.MaxPartitionsContributed)
	case k.ManyGroupsPerUnit:
		return fmt.Sprintf("%s, in %d groups at most", text, k.MaxPartitionsContributed)
	}
	return text + ", in one group"
}
