// Package gatetest releases integers for tests as if main had answered them, for a charge that holds whatever it costs.
package gatetest

import (
	"context"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Exact are exact integers as a test has them, of declared keys: [release][group].
type Exact struct {
	Keys       rewrite.Keys
	Values     [][]int64
	Histograms [][]mechanism.Histogram
}

// Shown are the groups of a block that a test has drawn, and its plan.
type Shown struct {
	gate.Shown
	plan *rewrite.Plan
}

// Draw releases integers. It panics where the gate refuses.
func Draw(src *mechanism.Source, with gate.Mechanisms, releases []mechanism.Release, m Exact) (gate.Released, Shown) {
	block, rows := rewrite.Block{Releases: releases, Keys: m.Keys}, answers{}
	for i, r := range releases {
		if r.Kind != mechanism.Quantile {
			block.Measured, block.Measure.Text = append(block.Measured, i), "the integers"
		}
	}
	for g := range m.Keys.Len() {
		block.Running = append(block.Running, g)
		row := backend.MeasureRow{Integers: []int64{int64(g) + 1}}
		for _, i := range block.Measured {
			exact := int64(0)
			if i < len(m.Values) && m.Values[i] != nil {
				exact = m.Values[i][g]
			}
			row.Integers = append(row.Integers, exact)
		}
		if len(block.Measured) > 0 {
			rows = append(rows, row)
		}
	}
	query := min(len(block.Measured), 1)
	var charged []gate.Item
	for i, r := range releases {
		if !with.Later[i] {
			charged = append(charged, gate.Item{Release: i, Mechanism: with.Releases[i]})
		}
		if r.Kind != mechanism.Quantile {
			continue
		}
		block.Histograms = append(block.Histograms, rewrite.Histogram{Releases: []int{i}})
		for g := 0; i < len(m.Histograms) && g < len(m.Histograms[i]); g++ {
			for _, bin := range m.Histograms[i][g] {
				integers := []int64{int64(g) + 1, bin.Step, bin.Count}
				rows = append(rows, backend.MeasureRow{Query: query, Integers: integers})
			}
		}
		query++
	}
	plan := &rewrite.Plan{Blocks: []rewrite.Block{block}}
	exact := gate.NewMeasured(plan)
	if err := exact.Ask(context.Background(), rows, gate.New(warning, plan), backend.Settings{}, nil); err != nil {
		panic(err)
	}
	r, shown, err := exact.Draw(Receipt(plan, charged), src, 0, with)
	if err != nil {
		panic(err)
	}
	return r, Shown{shown, plan}
}

// DrawLater draws a release that was left out.
func (s Shown) DrawLater(src *mechanism.Source, release int, with *mechanism.Prepared, into gate.Released) {
	paid := Receipt(s.plan, []gate.Item{{Release: release, Mechanism: with}})
	if err := s.Draw(paid, src, release, with, into); err != nil {
		panic(err)
	}
}

// Receipt is one of a charge without bounds.
func Receipt(plan *rewrite.Plan, items []gate.Item) *gate.Receipt {
	unbounded := mechanism.Curve{Pure: math.Inf(1), Renyi: slices.Repeat([]float64{math.Inf(1)}, len(mechanism.Orders))}
	c := ledger.Charge{Curve: unbounded, SelectionDelta: 1}
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
