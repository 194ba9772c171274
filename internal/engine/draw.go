package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// released is one block after its noise: the analyst may see everything in it. Kept answers are lists of these.
type released struct {
	gate.Released
	noisy  [][]int64            // the same as they were drawn, where levels were made to add up; nil: Values are
	whole  *released            // before groups were left out; nil: none was
	shown  []int                // of whole
	chosen map[int]float64      // what releases have that were charged behind the first charge: ε, or divergence
	price  *mechanism.Guarantee // of a kept answer, at which it was drawn; nil: that of the statement
	looked bool                 // of a kept answer: it is that of a first look
	share  float64              // of the groups among which values choose those that are presented; 0: they choose none
}

// sources hands out generators: each is used by one statement at a time.
var sources = sync.Pool{New: func() any { return mechanism.NewSource() }}

// draw releases the blocks behind those of the answer so far, up to one: each block is drawn once, whatever follows. Sums that are charged
// once the counts are released are drawn after that.
func (m *measuring) draw(ctx context.Context, upto int) error {
	from := len(m.answer)
	shown, err := m.drawCharged(upto)
	if err != nil || !slices.ContainsFunc(m.blocks[from:upto], func(b calibratedBlock) bool { return len(b.wanted) > 0 }) {
		return err
	}
	return m.drawParts(ctx, from, shown)
}

// drawCharged draws all but these sums, of which it gives the groups that are shown.
func (m *measuring) drawCharged(upto int) (shown []gate.Shown, err error) {
	defer m.engine.privately("draw", time.Now())
	source := sources.Get().(*mechanism.Source)
	defer sources.Put(source)
	for i := len(m.answer); i < upto; i++ {
		r, of, err := m.exact.Draw(m.receipt, source, i, m.blocks[i].mechanisms())
		if err != nil {
			return nil, err
		}
		m.answer, shown = append(m.answer, released{Released: r, chosen: map[int]float64{}}), append(shown, of)
	}
	return shown, nil
}

// mechanisms are those that the block is drawn with.
func (b calibratedBlock) mechanisms() gate.Mechanisms {
	out := gate.Mechanisms{Selection: b.selection, Threshold: b.threshold, By: b.by, Releases: b.releases, Later: map[int]bool{}}
	for i, margin := range b.wanted {
		out.Later[i] = margin > 0
	}
	return out
}

// of takes groups in this order.
func (r released) of(groups []int) released {
	out := released{Released: r.Released.Of(groups), chosen: r.chosen}
	if r.noisy != nil {
		out.noisy = gate.Released{Values: r.noisy}.Of(groups).Values
	}
	return out
}

// copied has values of its own, beside those that were drawn.
func (r released) copied() released {
	out := released{Released: gate.Released{Keys: r.Keys, Plain: r.Plain}, noisy: r.Values, chosen: r.chosen}
	for _, values := range r.Values {
		out.Values = append(out.Values, slices.Clone(values))
	}
	return out
}

// wrong is how often an interval of a group may not hold the truth, so that of the groups that are presented at most 5%
// do not (Benjamini and Yekutieli 2005; docs/privacy.md P17a).
func (p *calibrated) wrong(r released) float64 {
	return cmp.Or(r.share, 1) * p.wrongShare()
}

// wrongShare is how often what is told of an answer may be wrong.
func (p *calibrated) wrongShare() float64 { return mechanism.Wrong * cmp.Or(p.part, 1) }

// drawn is the answer before levels were made to add up.
func (r released) drawn() released {
	if r.noisy == nil {
		return r
	}
	return released{Released: gate.Released{Keys: r.Keys, Values: r.noisy}, chosen: r.chosen, share: r.share}
}
