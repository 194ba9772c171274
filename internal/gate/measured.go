package gate

import (
	"context"
	"errors"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Main measures. backend.Backend is one.
type Main interface {
	Measure(ctx context.Context, m backend.Measurement, each func(backend.MeasureRow) error) error
}

// Measured is what main answers to a plan. Nobody but Draw reads it.
type Measured struct {
	plan   *rewrite.Plan
	blocks []*collector
}

// NewMeasured is a plan of which main has answered nothing yet.
func NewMeasured(plan *rewrite.Plan) *Measured {
	m := &Measured{plan: plan}
	for i := range plan.Blocks {
		m.blocks = append(m.blocks, newCollector(&plan.Blocks[i]))
	}
	return m
}

// Ask runs every query of the plan that is certified, in one snapshot of main. answer gives the rows of a stage: what
// is before it has been answered by then.
func (m *Measured) Ask(ctx context.Context, main Main, c *Certificate, s backend.Settings,
	answer func(ctx context.Context, stage int) ([][]*rewrite.Canonical, error),
) error {
	var take []func(backend.MeasureRow) error // by query
	for i, c := range m.blocks {
		block := &m.plan.Blocks[i]
		if block.Measure.Text != "" {
			take = append(take, c.row)
		}
		for _, h := range block.Histograms {
			take = append(take, func(row backend.MeasureRow) error { return c.bin(h, row) })
		}
	}
	if len(take) == 0 {
		return nil
	}
	if c == nil || c.plan != m.plan {
		return &Refused{errors.New("it is certified for another plan")}
	}
	measurement := Measurement(m.plan, s)
	measurement.Admit, measurement.Answer = c.Admit, answer
	return main.Measure(ctx, measurement, func(row backend.MeasureRow) error { return take[row.Query](row) })
}

// Measurement collects the queries and proofs that a plan asks of main.
func Measurement(plan *rewrite.Plan, s backend.Settings) backend.Measurement {
	m := backend.Measurement{Proofs: plan.Proofs, Settings: s}
	for i := range plan.Blocks {
		for len(m.Stages) < len(plan.Stages) && plan.Stages[len(m.Stages)].Blocks <= i {
			m.Stages = append(m.Stages, len(m.Queries))
		}
		block := &plan.Blocks[i]
		var keys []uint32 // where they name a group; else it is an ordinal
		group := 1
		if block.Select != nil || block.ByKey {
			keys, group = block.KeyTypes, 0
		}
		if block.Measure.Text != "" {
			integers := group + len(block.Measured)
			if block.Select != nil {
				integers++ // units
			}
			m.Queries = append(m.Queries, backend.MeasureQuery{SQL: block.Measure, Keys: keys, Integers: integers})
		}
		for _, h := range block.Histograms {
			m.Queries = append(m.Queries, backend.MeasureQuery{SQL: h.Measure, Keys: keys, Integers: group + 2})
		}
	}
	return m
}

// Draw releases a block with mechanisms that the receipt is for. What it leaves out (Later) the groups that are shown
// have yet to be drawn of.
func (m *Measured) Draw(paid *Receipt, src *mechanism.Source, block int, with Mechanisms) (Released, Shown, error) {
	if err := m.pay(paid, block, with); err != nil {
		return Released{}, Shown{}, err
	}
	r, shown, err := with.draw(src, &m.plan.Blocks[block], m.blocks[block].sorted())
	return r, Shown{m.plan, block, shown}, err
}

// pay uses up what the receipt has for a block.
func (m *Measured) pay(paid *Receipt, block int, with Mechanisms) error {
	k := &m.plan.Blocks[block]
	if k.Select != nil {
		if err := paid.take(m.plan, block, Selection, with.Selection); err != nil {
			return err
		}
		if by := k.SelectBy > 0; by != (with.Threshold != nil) || by && (*with.Threshold != paid.least[block] ||
			with.By != k.SelectBy-1) {
			return errUnpaid
		}
	}
	if len(with.Releases) != len(k.Releases) {
		return errUnpaid
	}
	for i, p := range with.Releases {
		if with.Later[i] && k.Releases[i].Kind == mechanism.SumGivenCount {
			continue
		}
		if err := paid.take(m.plan, block, i, p); err != nil {
			return err
		}
	}
	return nil
}

// Shown holds the exact integers of the groups of a block that are shown.
type Shown struct {
	plan  *rewrite.Plan
	block int
	exact Exact
}

// Draw draws a release that was left out, into what is released.
func (s Shown) Draw(paid *Receipt, src *mechanism.Source, release int, with *mechanism.Prepared, into Released) error {
	if err := paid.take(s.plan, s.block, release, with); err != nil {
		return err
	}
	releases := s.plan.Blocks[s.block].Releases
	mechanisms := Mechanisms{Releases: make([]*mechanism.Prepared, len(releases))}
	mechanisms.Releases[release] = with
	mechanisms.drawRelease(src, releases, release, s.exact, into)
	return nil
}
