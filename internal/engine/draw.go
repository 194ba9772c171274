package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// released is one block after its noise: the analyst may see everything in it. Kept answers are lists of these.
type released struct {
	gate.Released
	drawnWith
}

// drawnWith says of a block with what mechanisms it was drawn, beside those that the statement has.
type drawnWith struct {
	// what releases have that were charged behind the first charge: ε, or divergence
	Chosen map[int]float64      `json:",omitempty"`
	Price  *mechanism.Guarantee `json:",omitempty"` // of a kept answer, at which it was drawn; nil: that of the statement
	Look   bool                 `json:",omitempty"` // of a kept answer: it is that of a first look
}

// values are the integers of an answer.
func values(answer []released) []gate.Released {
	out := make([]gate.Released, len(answer))
	for i, r := range answer {
		out[i] = r.Released
	}
	return out
}

// presented is what is shown of an answer.
func (p *calibrated) presented(answer []released) *estimate.Answer { return p.Present(values(answer)) }

// sources hands out generators: each is used by one statement at a time.
var sources = sync.Pool{New: func() any { return mechanism.NewSource() }}

// draw releases the blocks behind those of the answer so far, up to one: each block is drawn once, whatever follows.
// Sums that are charged once the counts are released are drawn after that.
func (m *measuring) draw(ctx context.Context, upto int) error {
	from := len(m.answer)
	shown, err := m.drawCharged(upto)
	if err != nil || !slices.ContainsFunc(m.wanted[from:upto], func(sums map[int]float64) bool { return len(sums) > 0 }) {
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
		r, of, err := m.exact.Draw(m.receipt, source, i, m.Mechanisms[i])
		if err != nil {
			return nil, err
		}
		m.answer, shown = append(m.answer, released{r, drawnWith{Chosen: map[int]float64{}}}), append(shown, of)
	}
	return shown, nil
}
