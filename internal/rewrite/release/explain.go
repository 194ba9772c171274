package release

import "fmt"

// Explain prints a block's plan tree.
func (k *Block) Explain(i int) []string {
	if k.Source.Empty {
		return []string{fmt.Sprintf("block %d: no row can satisfy the condition; nothing is measured", i+1)}
	}
	lines := []string{fmt.Sprintf("block %d: %d releases, at most %d groups per unit, %s", i+1, len(k.Releases), k.MaxPartitionsContributed, k.shape())}
	for _, r := range k.Releases {
		line := fmt.Sprintf("  %s: %s, sensitivity %d × %g", r.Name, r.Kind, r.Sensitivity, stepOf(r))
		if r.Margin > 0 {
			line += fmt.Sprintf(", margin %d × %g", r.Margin, stepOf(r))
		}
		lines = append(lines, line)
	}
	for _, g := range k.Keys {
		how := fmt.Sprintf("%d values", len(g.Values))
		if k.Selected {
			how = "partition selection"
		}
		lines = append(lines, fmt.Sprintf("  key %s: %s", g.Text(), how))
	}
	return append(lines, k.Source.Plan.Lines("  ")...)
}

func (k *Block) shape() string {
	if k.Single() {
		return "one row per unit"
	}
	if k.PicksGroups {
		return "summed and clamped per unit, groups chosen by keyed hash"
	}
	return "summed and clamped per unit"
}
