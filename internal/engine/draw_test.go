package engine

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

func TestDrawKeepsChainedSumsInTheirRange(t *testing.T) {
	releases := []mechanism.Release{
		{
			Kind: mechanism.SumGivenCount, Sensitivity: 60, PerRow: mechanism.Interval{Lo: -60, Hi: 60}, CountRef: 1, Groups: 1,
			Weight: 1,
		},
		{Kind: mechanism.Scalar, Sensitivity: 1, Range: mechanism.Range{{Lo: 0, Hi: 1000}}, Groups: 1, Weight: 1},
	}
	plan := &rewrite.Plan{Blocks: []rewrite.Block{{Releases: releases, Keys: rewrite.KeyRows{{}}}}}
	p := shared(t, plan, statementBudget{epsilon: 0.1})
	if p.charge.Epsilon != 0.1 || p.charge.Curve.Pure != 0.1 {
		t.Errorf("charge is %g, curve %g, want exactly 0.1", p.charge.Epsilon, p.charge.Curve.Pure)
	}
	source := mechanism.NewSource()
	for range 2000 {
		r, _ := draw(source, p.Mechanisms[0], releases, measured{Keys: rewrite.KeyRows{{}}, Values: [][]int64{{-90000}, {3}}})
		n, sum := r.Values[1][0], r.Values[0][0]
		if n < 0 || n > 1000 || sum < -60*n || sum > 60*n {
			t.Fatalf("released count %d and sum %d", n, sum)
		}
	}
}

// TestBlocksThatNoRowCanBeIn: where a condition holds for no row and keys are not declared, nothing is measured and
// there are no groups.
func TestBlocksThatNoRowCanBeIn(t *testing.T) {
	block := rewrite.Block{KeyTypes: []uint32{25}}
	p := calibratedOf(block)
	r, _ := draw(mechanism.NewSource(), p.Mechanisms[0], nil, measured{Keys: rewrite.NewTable(1)})
	p.Plan.Blocks[0].DropsEmpty = true
	for name, keys := range map[string]rewrite.Keys{"drawn": r.Keys, "shown": p.presented([]released{r}).Blocks[0].Keys} {
		if keys.Len() != 0 {
			t.Errorf("%s: %d groups", name, keys.Len())
		}
	}
	if kept := p.kept([]released{r}); len(kept) != 1 || len(kept[0].Selected) != 0 {
		t.Errorf("kept: %v", kept)
	}
}

// key is a key of these texts; "NULL" is NULL.
func key(fields ...string) []*rewrite.Canonical {
	out := make([]*rewrite.Canonical, len(fields))
	for i := range fields {
		if fields[i] != "NULL" {
			out[i] = (*rewrite.Canonical)(&fields[i])
		}
	}
	return out
}
