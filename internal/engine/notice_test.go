package engine

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// TestBeyondIsSaid: the notice says what became of values beyond bounds, and whether the margins cover it.
func TestBeyondIsSaid(t *testing.T) {
	share := .012
	for want, b := range map[string]rewrite.Beyond{
		"Rows with hired beyond its bounds are in no group. How many there are is unknown.":                                                                                             {Use: rewrite.BeyondNoGroup, Columns: []string{"hired"}},
		"Rows with hired beyond its bounds are in no group. They are at most 1.2% of all rows (outside).":                                                                               {Use: rewrite.BeyondNoGroup, Columns: []string{"hired"}, Share: &share},
		"Values of a, b beyond their bounds count as the nearest bound. They are at most 1.2% of all rows (outside), which the margins cover.":                                          {Use: rewrite.BeyondNearest, Columns: []string{"a", "b"}, Share: &share},
		"Values of a beyond its bounds count as the nearest bound. How many there are is unknown: margins and intervals cover the noise alone, and the administrator can give outside.": {Use: rewrite.BeyondNearest, Columns: []string{"a"}},
		"Keys of sums read the nearest bound in place of a value of a beyond its bounds: there are no margins and no intervals.":                                                        {Use: rewrite.BeyondKey, Columns: []string{"a"}, Share: &share},
		"What is answered of other groups than those of a, or of none, misses these rows: there are no margins and no intervals of it.":                                                 {Use: rewrite.BeyondDropped, Columns: []string{"a"}},
		"Conditions that compute with a read the nearest bound in place of a value beyond its bounds: there are no margins and no intervals.":                                           {Use: rewrite.BeyondCondition, Columns: []string{"a"}},
	} {
		if got := leftOut(&rewrite.Plan{Beyond: []rewrite.Beyond{b}}); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestLeftOutIsSaid: the notice says what the policy leaves out, and whether the margins cover it.
func TestLeftOutIsSaid(t *testing.T) {
	share := func(s float64) *float64 { return &s }
	whole := rewrite.Block{}
	const (
		groups  = "Each patient counts in at most 3 of these groups (max_groups_per_unit): rows of the same patient in other groups are left out, which margins and intervals do not cover. A group asked for alone, by WHERE, has all its rows."
		rows    = "Rows beyond max_rows_per_unit are left out: more than 50 of one patient count as 50. "
		unknown = rows +
			"How many there are is unknown: margins and intervals cover the noise alone, and the administrator can give left_out."
		known = rows + "They are at most 1.9% of all rows (left_out), which the margins cover."
	)
	for _, c := range []struct {
		block rewrite.Block
		want  string
	}{
		{whole, ""},
		{rewrite.Block{Picked: 3, Unit: "patient"}, groups},
		{rewrite.Block{Rows: 50, Unit: "patient"}, unknown},
		{rewrite.Block{Rows: 50, Unit: "patient", LeftOut: share(.019)}, known},
		{rewrite.Block{Rows: 50, Unit: "patient", LeftOut: share(0)}, ""},
		{rewrite.Block{Rows: 50, Picked: 3, Unit: "patient"}, groups + " " + unknown},
	} {
		if got := leftOut(&rewrite.Plan{Blocks: []rewrite.Block{whole, c.block}}); got != c.want {
			t.Errorf("it says %q, want %q", got, c.want)
		}
	}
}

// TestCutNumbers: what numbers of one unit count as is said, and how sure that is.
func TestCutNumbers(t *testing.T) {
	share := func(s float64) *float64 { return &s }
	of := func(s *float64) rewrite.Block {
		cut := &release.Cut{Of: "count(*)", To: "70", High: true, Share: s}
		return rewrite.Block{Unit: "patient", LeftOut: share(0), Columns: []rewrite.Column{{Name: "avg(n)", Cut: cut}}}
	}
	const counts = "count(*) of one patient beyond 70 counts as that in avg(n) (max_rows_per_unit, per_unit). "
	for _, c := range []struct {
		block rewrite.Block
		want  string
	}{
		{
			of(nil), counts +
				"How much is beyond is unknown: there are no margins and no intervals of it, and the administrator can give left_out.",
		},
		{of(share(.01)), counts + "At most 1% is beyond (left_out), which the margins cover."},
		{of(share(0)), ""},
		{
			rewrite.Block{Unit: "patient", LeftOut: share(0), Beyond: []release.Cut{{Of: "n", To: "70"}}},
			"Rows are in no group where n is beyond 70 (max_rows_per_unit, per_unit).",
		},
	} {
		if got := leftOut(&rewrite.Plan{Blocks: []rewrite.Block{c.block, c.block}}); got != c.want {
			t.Errorf("it says %q, want %q", got, c.want)
		}
	}
}
