package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestGroupHints: the plan says which groups an answer lacks, or has beyond PostgreSQL's, whatever the data are.
func TestGroupHints(t *testing.T) {
	selected := rewrite.Block{KeyTypes: []uint32{25}, Unit: "patient", MostRows: 1000, Select: &mechanism.Release{
		Name: "groups", Kind: mechanism.Selection, Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}, Sensitivity: 1,
		Total: 1, Groups: 1, Weight: 1, Grid: mechanism.Grid{Step: 1},
	}}
	selection, err := mechanism.Prepare(*selected.Select, mechanism.Guarantee{Epsilon: .5, Delta: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	half, _ := selection.SelectThreshold()
	p := calibratedOf(selected)
	p.Mechanisms[0].Selection = selection
	const want = "Groups of fewer than about 40 units (patient) are not shown: the keys have no declared values, so partition selection decides. " +
		"Group by columns with declared values, or ask the administrator to declare them (values)."
	if diff := cmp.Diff([]string{want}, p.groupHints()); diff != "" || emptyGroups(p.Plan) != "" {
		t.Error(diff, emptyGroups(p.Plan))
	}
	weighed := *selected.Select
	weighed.Sensitivity, weighed.Squares, weighed.Groups, weighed.Total = 1<<20, 1<<40, 20, 20<<20
	if p.Mechanisms[0].Selection, err = mechanism.Prepare(weighed, mechanism.Guarantee{Epsilon: .5, Delta: 1e-9}); err != nil {
		t.Fatal(err)
	}
	p.Plan.Blocks[0].Select = &weighed
	const some = "Groups of fewer than about 207 units (patient) that are in no other group (923 where each is in 20) are not shown"
	if got := p.groupHints(); len(got) != 1 || !strings.HasPrefix(got[0], some) {
		t.Error(got)
	}
	p.Plan.Blocks[0].Select, p.Mechanisms[0].Selection = selected.Select, selection
	for most, refused := range map[int64]bool{0: false, half - 1: true, half: false} {
		p.Plan.Blocks[0].MostRows = most
		if err := p.checkThreshold(); (err != nil) != refused {
			t.Errorf("at most %d rows, a threshold of %d: %v", most, half, err)
		}
	}
	declared := rewrite.Block{KeyTypes: []uint32{25}, Keys: rewrite.KeyRows{}, Releases: []mechanism.Release{{}}}
	unread, dropped := declared, declared
	unread.Releases, dropped.DropsEmpty = nil, true
	for _, c := range []struct {
		blocks []rewrite.Block
		empty  string
		hints  int
	}{
		{[]rewrite.Block{{Keys: rewrite.KeyRows{{}}}}, "", 0},
		{[]rewrite.Block{declared}, "kept", 0},
		{[]rewrite.Block{declared, dropped}, "dropped", 0},
		{[]rewrite.Block{unread}, "kept", 1},
	} {
		p := &calibrated{Statement: estimate.Statement{Plan: &rewrite.Plan{Blocks: c.blocks}}}
		if got := p.groupHints(); emptyGroups(p.Plan) != c.empty || len(got) != c.hints {
			t.Errorf("empty groups are %q, hints %q; want %q and %d", emptyGroups(p.Plan), got, c.empty, c.hints)
		}
	}
}
