package engine

import (
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// blockInfo says how the columns of a block's measure queries are charged, in the integers that main returns. An
// auditor can run the SQL on two databases that differ in one unit and hold the difference against it. Releases are
// numbered from 0, within the block.
type blockInfo struct {
	// Measure returns one row for each group that is not empty: the group, then one integer for each entry of Measured.
	// With a selection, the group is KeyColumns texts and its number of units; with ByKey, the texts alone; else one
	// ordinal from 1 to Keys.
	Measure string `json:"measure,omitempty"`
	// every query of the block for main, as dpproxy certify --measure reads it
	Main       []gate.Query    `json:"main"`
	Measured   []int           `json:"measured"` // the release of each integer
	Histograms []histogramInfo `json:"histograms,omitempty"`
	Keys       int             `json:"keys"` // 0: the groups are selected by their number of units
	KeyColumns int             `json:"key_columns"`
	ByKey      bool            `json:"by_key,omitempty"`    // rows whose keys are not among the public ones are dropped
	Selection  *chargeInfo     `json:"selection,omitempty"` // nil: the groups are public
	Releases   []chargeInfo    `json:"releases"`
	Steps      int64           `json:"steps_per_unit"` // the most that main does for one unit's rows
	Unit       string          `json:"unit,omitempty"` // the kind of unit
	// R: a unit counts with at most so many rows in the whole answer; 0: with all it has
	Rows int64 `json:"rows_per_unit,omitempty"`
	// a unit counts in at most so many groups, which are picked; 0: in all it is in
	Picked int64 `json:"groups_picked,omitempty"`
	// RowsInGroup is how many of them count in one group; 0: all.
	RowsInGroup int64 `json:"rows_in_group,omitempty"`
}

// histogramInfo describes a measure query that returns rows (group, grid step, count).
type histogramInfo struct {
	Measure  string `json:"measure"`
	Releases []int  `json:"releases"`
}

// chargeInfo says what the charge of one release covers, in grid steps: one unit moves the exact integer of one group
// by at most Sensitivity, those of all groups together by at most Total, and at most Groups of them. Row is how far one
// of its rows moves them, where Total is Row times the rows of a unit; 0 where it is not. Releases of the same Layer >
// 0, over all blocks, read disjoint rows: what one unit moves of each, as parts of their Totals, adds up to at most 1.
// Of a quantile the integers are the rows in its histogram; those of the same Family > 0 are drawn together from one,
// whose rows count once.
type chargeInfo struct {
	Name        string         `json:"name"`
	Kind        mechanism.Kind `json:"kind"`
	Sensitivity int64          `json:"sensitivity"`
	Total       int64          `json:"total"`
	Groups      int            `json:"groups_per_unit"`
	Row         int64          `json:"row"`
	Layer       int            `json:"layer"`
	Squares     int64          `json:"squares,omitempty"`
	Family      int            `json:"family,omitempty"`
}

func describeBlock(b *rewrite.Block) blockInfo {
	info := blockInfo{
		Measure: b.Measure.Text, Main: gate.Queries(b), Measured: append([]int{}, b.Measured...), Keys: groups(b),
		KeyColumns: len(b.KeyTypes), ByKey: b.ByKey, Releases: []chargeInfo{}, Steps: b.Steps,
		Unit: b.Unit, Rows: b.Rows, Picked: b.Picked, RowsInGroup: b.RowsInGroup,
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
	total := int64(math.MaxInt64)
	if t := totalOf(r); t < math.MaxInt64 {
		total = int64(t)
	}
	info := chargeInfo{
		Name: r.Name, Kind: r.Kind, Sensitivity: r.Sensitivity, Total: total, Groups: max(r.Groups, 1),
		Row: r.Row, Layer: r.Layer, Squares: r.Squares,
	}
	if r.InFamily() {
		info.Family = r.Family
	}
	return info
}

// bound says which rows of one unit count; empty where all do.
func (b blockInfo) bound() string {
	unit := b.Unit
	if unit == "" {
		unit = "unit"
	}
	text := ""
	if b.Rows > 0 {
		text = fmt.Sprintf(" with at most %d rows in the whole answer", b.Rows)
		if b.RowsInGroup > 0 {
			text += fmt.Sprintf(" and %d in one group", b.RowsInGroup)
		}
	}
	if b.Picked > 0 {
		if text != "" {
			text += ","
		}
		text += fmt.Sprintf(" in at most %d groups", b.Picked)
	}
	if text == "" {
		return ""
	}
	return "one " + unit + " counts" + text
}
