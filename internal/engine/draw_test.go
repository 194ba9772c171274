package engine

import (
	"context"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// measured are exact integers as a test has them, of declared keys: [release][group].
type measured struct {
	keys       rewrite.Keys
	exact      [][]int64
	histograms [][]mechanism.Histogram
}

// shownOf are the groups of a block that a test has drawn, and its plan.
type shownOf struct {
	gate.Shown
	plan *rewrite.Plan
}

// draw releases integers as if main had answered them, for a charge that holds whatever it costs.
func (b calibratedBlock) draw(src *mechanism.Source, releases []mechanism.Release, m measured) (released, shownOf) {
	block := rewrite.Block{Releases: releases, Keys: m.keys}
	var rows []backend.MeasureRow
	for i, r := range releases {
		if r.Kind != mechanism.Quantile {
			block.Measured = append(block.Measured, i)
		}
	}
	for g := range m.keys.Len() {
		row := backend.MeasureRow{Integers: []int64{int64(g) + 1}}
		for _, i := range block.Measured {
			exact := int64(0)
			if i < len(m.exact) && m.exact[i] != nil {
				exact = m.exact[i][g]
			}
			row.Integers = append(row.Integers, exact)
		}
		rows = append(rows, row)
	}
	if len(block.Measured) > 0 {
		block.Measure.Text = "the integers"
	} else {
		rows = nil
	}
	query := min(len(block.Measured), 1)
	for i, r := range releases {
		if r.Kind != mechanism.Quantile {
			continue
		}
		block.Histograms = append(block.Histograms, rewrite.Histogram{Releases: []int{i}})
		for g := range m.keys.Len() {
			if i >= len(m.histograms) || m.histograms[i] == nil {
				break
			}
			for _, bin := range m.histograms[i][g] {
				rows = append(rows, backend.MeasureRow{Query: query, Integers: []int64{int64(g) + 1, bin.Step, bin.Count}})
			}
		}
		query++
	}
	plan := &rewrite.Plan{Blocks: []rewrite.Block{block}}
	exact := gate.NewMeasured(plan)
	if err := exact.Ask(context.Background(), answers(rows), gate.New(warning, plan), backend.Settings{}, nil); err != nil {
		panic(err)
	}
	p := &calibrated{plan: plan, blocks: []calibratedBlock{b}}
	r, shown, err := exact.Draw(receiptFor(plan, p.items(p.first)), src, 0, b.mechanisms())
	if err != nil {
		panic(err)
	}
	return released{Released: r, chosen: map[int]float64{}}, shownOf{shown, plan}
}

// drawLater draws a release that was left out.
func (s shownOf) drawLater(src *mechanism.Source, release int, with *mechanism.Prepared, into released) {
	if err := s.Draw(receiptFor(s.plan, []gate.Item{{Release: release, Mechanism: with}}), src, release, with, into.Released); err != nil {
		panic(err)
	}
}

// receiptFor is one of a charge without bounds.
func receiptFor(plan *rewrite.Plan, items []gate.Item) *gate.Receipt {
	c := ledger.Charge{Curve: mechanism.Curve{Pure: math.Inf(1), Renyi: make([]float64, len(mechanism.Orders))}, SelectionDelta: 1}
	for i := range c.Curve.Renyi {
		c.Curve.Renyi[i] = math.Inf(1)
	}
	r, _, err := gate.Spend(context.Background(), openHanded{}, "", plan, c, items)
	if err != nil {
		panic(err)
	}
	return r
}

// warning is a schema under whose policy what is not certified runs.
var warning = &rewrite.Schema{Policy: &policy.Policy{Certify: policy.Warn}}

// openHanded is a ledger that takes every charge.
type openHanded struct{}

func (openHanded) Spend(context.Context, string, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, nil
}

// answers are main's rows.
type answers []backend.MeasureRow

func (a answers) Measure(_ context.Context, _ backend.Measurement, each func(backend.MeasureRow) error) error {
	for _, row := range a {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func TestDrawKeepsChainedSumsInTheirRange(t *testing.T) {
	releases := []mechanism.Release{
		{Kind: mechanism.SumGivenCount, Sensitivity: 60, PerRow: mechanism.Interval{Lo: -60, Hi: 60}, CountRef: 1, Groups: 1, Weight: 1},
		{Kind: mechanism.Scalar, Sensitivity: 1, Range: mechanism.Range{{Lo: 0, Hi: 1000}}, Groups: 1, Weight: 1},
	}
	plan := &rewrite.Plan{Blocks: []rewrite.Block{{Releases: releases, Keys: rewrite.KeyRows{{}}}}}
	p, err := shareBudget(context.Background(), plan, statementBudget{epsilon: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if p.charge.Epsilon != 0.1 || p.charge.Curve.Pure != 0.1 {
		t.Errorf("charge is %g, curve %g, want exactly 0.1", p.charge.Epsilon, p.charge.Curve.Pure)
	}
	source := mechanism.NewSource()
	for range 2000 {
		r, _ := p.blocks[0].draw(source, releases, measured{keys: rewrite.KeyRows{{}}, exact: [][]int64{{-90000}, {3}}})
		n, sum := r.Values[1][0], r.Values[0][0]
		if n < 0 || n > 1000 || sum < -60*n || sum > 60*n {
			t.Fatalf("released count %d and sum %d", n, sum)
		}
	}
}

// TestBlocksThatNoRowCanBeIn: where a condition holds for no row and keys are not declared, nothing is measured and there are no groups.
func TestBlocksThatNoRowCanBeIn(t *testing.T) {
	block := rewrite.Block{KeyTypes: []uint32{25}}
	p := &calibrated{plan: &rewrite.Plan{Blocks: []rewrite.Block{block}}, blocks: []calibratedBlock{{}}}
	r, _ := p.blocks[0].draw(mechanism.NewSource(), nil, measured{keys: rewrite.NewTable(1)})
	p.plan.Blocks[0].DropsEmpty = true
	for name, keys := range map[string]rewrite.Keys{"drawn": r.Keys, "shown": p.presented([]released{r})[0].Keys} {
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
