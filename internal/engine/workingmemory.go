package engine

import (
	"context"
	"math"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// What a statement works with, bytes: for each group, for each of its keys and released values (measured, drawn, made
// to add up, printed, and as JSON for the ledger), and for each step of a histogram.
const (
	groupWork = 16
	valueWork = 48
	binWork   = 32
)

// workingMemory is how much memory the statement works with: exactly so much, and at most so much beside it that
// depends on private rows, as far as public facts bound it. An answer that is known has the groups that it has.
func workingMemory(plan *rewrite.Plan, answer []released) (exact, open int64) {
	most := 0.0
	for i := range plan.Blocks {
		b := &plan.Blocks[i]
		each := groupWork + valueWork*(len(b.Releases)+len(b.KeyTypes))
		if answer != nil {
			exact += int64(answer[i].Keys.Len() * each)
			continue
		}
		rows := math.Inf(1)
		if b.MostRows > 0 {
			rows = float64(b.MostRows)
		}
		found := rows
		if b.Keys != nil {
			exact += int64(b.Keys.Len() * each)
			found = float64(b.Keys.Len())
		} else {
			most += found * float64(each)
		}
		for _, h := range b.Histograms {
			most += binWork * float64(len(h.Releases)) * min(rows, found*histogramSteps(b, h))
		}
	}
	return exact, int64(min(most, 1<<60))
}

// histogramSteps is how many steps a histogram has in one group.
func histogramSteps(b *rewrite.Block, h rewrite.Histogram) (n float64) {
	for _, v := range b.Releases[h.Releases[0]].Range {
		n += float64(v.Hi) - float64(v.Lo) + 1
	}
	return n
}

// reserveMemory takes the memory that the statement works with until idle, or waits for it.
func (p *private) reserveMemory(ctx context.Context) (err error) {
	p.idle()
	exact, open := workingMemory(p.Plan, p.answer)
	p.reserved, err = p.scope.Memory.Work(ctx, exact, open, p.state.policy.Pool.Wait)
	return err
}

// idle gives the memory back, at a public moment: another statement may wait for it. It may be called more than once.
func (p *private) idle() {
	if p.reserved != nil {
		p.reserved()
		p.reserved = nil
	}
	if p.table != nil {
		p.table.idle()
	}
}
