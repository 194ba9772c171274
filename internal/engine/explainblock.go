package engine

import (
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// blockInfo says how the columns of a block's measure queries are charged, in the integers that main returns. An auditor can
// run the SQL on two databases that differ in one unit and hold the difference against it. Releases are numbered from 0,
// within the block.
type blockInfo struct {
	// Measure returns one row for each group that is not empty: the group, then one integer for each entry of Measured.
	// With a selection, the group is KeyColumns texts and its number of units; without, one ordinal from 1 to Keys.
	Measure    string          `json:"measure,omitempty"`
	Measured   []int           `json:"measured"` // the release of each integer
	Histograms []histogramInfo `json:"histograms,omitempty"`
	Keys       int             `json:"keys"` // 0: the groups are selected by their number of units
	KeyColumns int             `json:"key_columns"`
	Selection  *chargeInfo     `json:"selection,omitempty"` // nil: the groups are public
	Releases   []chargeInfo    `json:"releases"`
	Steps      int64           `json:"steps_per_unit"` // the most that main does for one unit's rows
}

// histogramInfo describes a measure query that returns rows (group, grid step, count).
type histogramInfo struct {
	Measure  string `json:"measure"`
	Releases []int  `json:"releases"`
}

// chargeInfo says what the charge of one release covers: one unit moves the exact integer by at most Sensitivity, in at most
// Groups groups. Of a quantile it is the number of rows in its histogram.
type chargeInfo struct {
	Name        string         `json:"name"`
	Kind        mechanism.Kind `json:"kind"`
	Sensitivity int64          `json:"sensitivity"` // in grid steps
	Groups      int            `json:"groups_per_unit"`
}

func describeBlock(b *rewrite.Block) blockInfo {
	info := blockInfo{
		Measure: b.Measure.Text, Measured: append([]int{}, b.Measured...), Keys: len(b.Keys), KeyColumns: len(b.KeyTypes), Releases: []chargeInfo{}, Steps: b.Steps,
	}
	for _, h := range b.Histograms {
		info.Histograms = append(info.Histograms, histogramInfo{h.Measure.Text, h.Releases})
	}
	if b.Select != nil {
		charge := describeCharge(*b.Select)
		info.Selection = &charge
	}
	for _, r := range b.Releases {
		info.Releases = append(info.Releases, describeCharge(r))
	}
	return info
}

func describeCharge(r mechanism.Release) chargeInfo {
	return chargeInfo{r.Name, r.Kind, r.Sensitivity, max(r.Groups, 1)}
}
