package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Where the policy wants a margin of the answer (defaults.margin), a statement is released for a small part of its
// price first. How large its numbers are says what the rest of the price would bring: it is charged as far as the
// margin needs it, and everything is drawn anew (docs/privacy.md P18b).

// lookShare and pureLookShare are the parts of a statement's price that a first look takes: five times the noise where
// that is Gaussian, or ten times where the price is a pure ε.
const lookShare, pureLookShare = 1. / 25, 1. / 10

// wrongLooks is the part that answers of looks alone have of what may be wrong in 5% of all answers: which of them are
// shown follows from their own values. Those behind a look have the rest.
const wrongLooks = .2

// worthAll is how many times the wanted margin an answer for the whole price may be off, so that it is bought.
const worthAll = 3

// look is a first look: the margin that half of what is shown has to keep, as a part of each number, and what may be
// charged behind it.
type look struct {
	margin float64
	rest   statementBudget // at the most that it may cost
	whole  *calibrated     // without a look
}

// withoutLook is the statement as it would be released without a look.
func (p *calibrated) withoutLook() *calibrated {
	if p.look != nil {
		return p.look.whole
	}
	return p
}

// lookFirst has a statement begin with a look, where the policy wants that and its numbers are such that a part of them
// means something.
func (c *call) lookFirst(ctx context.Context, whole *calibrated) *calibrated {
	margin := c.state.policy.Defaults.Margin
	if margin == 0 || c.scope.Settings.Epsilon() > 0 || !whole.byEpsilon() || !measurable(whole.Plan) {
		return whole
	}
	return begunWithLook(ctx, whole, margin)
}

// begunWithLook is the statement with a part of its price charged first.
func begunWithLook(ctx context.Context, whole *calibrated, margin float64) *calibrated {
	b, part := whole.budget, lookShare
	if whole.price.order == accounting.Infinite {
		part = pureLookShare
	}
	order, rest := whole.price.order, b
	share := b.share(b.epsilon, order)
	rest.epsilon = b.affords(share*(1-part), b.epsilon, order)
	b.epsilon = b.affords(share*part, b.epsilon, order)
	first, err := whole.paying(ctx, b)
	if err != nil {
		return whole
	}
	first.look, first.Part = &look{margin, rest, whole}, wrongLooks
	first.fits = b.fits(whole.share, whole.charge.SelectionDelta+first.charge.SelectionDelta)
	return first
}

// paying is the statement at another ε, paid at the same order: parts of a share of the budget add up to it at one
// order alone.
func (p *calibrated) paying(ctx context.Context, b statementBudget) (*calibrated, error) {
	out, err := b.priceAt(b.epsilon, p.price.order).calibrate(ctx, p.Plan, b)
	if err == nil {
		out.settle(b)
	}
	return out, err
}

// measurable says that everything is released at once, and that some number of it has a margin of which a part of it
// means something: no time has.
func measurable(plan *rewrite.Plan) bool {
	found := false
	for i := range plan.Blocks {
		block := &plan.Blocks[i]
		if block.Compared || len(block.Windows) > 0 {
			return false // they would be wrong by another chance
		}
		found = found || slices.ContainsFunc(block.Columns, func(c rewrite.Column) bool { return sized(block, c) })
	}
	return found && len(plan.Stages) == 0
}

// sized says whether a number is judged by its size.
func sized(block *rewrite.Block, c rewrite.Column) bool {
	return len(c.Releases) > 0 && !c.Choice && !estimate.IsTime(c.Type) &&
		block.Releases[c.Releases[0]].Kind != mechanism.Quantile
}

// sizes are numbers of an answer, by which is judged how far off it is.
type sizes struct {
	blocks []estimate.Block
	cells  []cell
}

type cell struct {
	block, group int
	column       rewrite.Column
	size         float64
}

// mostCells bounds the numbers that are judged: of more than these, as many are taken that are as large as they.
const mostCells = 100

// sizesOf takes the numbers that are shown; where none is, all that the answer has.
func (p *calibrated) sizesOf(answer []released) sizes {
	s := p.numbersOf(p.presented(answer).Blocks)
	if len(s.cells) == 0 {
		s = p.numbersOf(estimate.Drawn(values(answer)))
	}
	slices.SortFunc(s.cells, func(a, b cell) int { return cmp.Compare(a.size, b.size) })
	if n := len(s.cells); n > mostCells {
		for i := range mostCells {
			s.cells[i] = s.cells[i*n/mostCells]
		}
		s.cells = s.cells[:mostCells]
	}
	return s
}

func (p *calibrated) numbersOf(blocks []estimate.Block) sizes {
	s := sizes{blocks: blocks}
	for i, r := range blocks {
		for _, c := range p.Plan.Blocks[i].Columns {
			if !sized(&p.Plan.Blocks[i], c) {
				continue
			}
			for g := range r.Keys.Len() {
				if a := p.Aggregate(i, c, r, g); !a.Null && a.Size() != 0 {
					s.cells = append(s.cells, cell{i, g, c, a.Size()})
				}
			}
		}
	}
	return s
}

// off is the margin that half of the numbers would have with the mechanisms of q, as a part of each; false: none has
// one.
func (s sizes) off(q *calibrated) (float64, bool) {
	var parts []float64
	for _, c := range s.cells {
		if a := q.Aggregate(c.block, c.column, s.blocks[c.block], c.group); a.Known {
			parts = append(parts, a.Off(c.size))
		}
	}
	if parts == nil {
		return 0, false
	}
	slices.Sort(parts)
	return parts[(len(parts)-1)/2], true
}

// next is what is charged and drawn behind the look, given what it released; nil: nothing is, since the look keeps the
// margin, or since nothing would bring the answer near it.
func (l *look) next(ctx context.Context, p *calibrated, answer []released) *calibrated {
	all, err := l.bought(ctx, l.rest)
	if err != nil {
		return nil
	}
	s := p.sizesOf(answer)
	off, ok := s.off(all)
	switch first, _ := s.off(p); {
	case !ok:
		return all
	case first <= l.margin, off > worthAll*l.margin:
		return nil
	case off >= l.margin:
		return all
	}
	low, high := p.budget.epsilon, l.rest.epsilon
	for high-low > lookTolerance*high {
		b := l.rest
		b.epsilon = (low + high) / 2
		q, err := l.bought(ctx, b)
		if err != nil {
			return all
		}
		if off, _ := s.off(q); off <= l.margin {
			all, high = q, b.epsilon
		} else {
			low = b.epsilon
		}
	}
	return all
}

// bought is the statement as it is released behind the look.
func (l *look) bought(ctx context.Context, b statementBudget) (*calibrated, error) {
	p, err := l.whole.paying(ctx, b)
	if err == nil {
		p.Part = 1 - wrongLooks
	}
	return p, err
}

// lookTolerance bounds by how much, relatively, the ε behind a look exceeds the least one.
const lookTolerance = .02

// drawBehindLook charges what follows from a look, and draws everything anew. Others can see the charge, so it is at a
// public moment. Where the budget does not hold it, the answer is that of the look.
func (m *measuring) drawBehindLook(ctx context.Context) error {
	if m.look == nil {
		return nil
	}
	next := m.look.next(ctx, m.calibrated, m.answer)
	if next == nil {
		return nil
	}
	if err := m.hold(); err != nil {
		return err
	}
	var refused *pgconn.PgError
	switch err := m.chargePart(ctx, next.charge, next.items(next.first)); {
	case errors.As(err, &refused) && refused.Code == pgerr.BudgetExceeded:
		m.unkept = true // another month may hold it
		return nil
	case err != nil:
		return &stageError{err}
	}
	m.calibrated, m.answer = next, nil
	_, err := m.drawCharged(len(m.Plan.Blocks))
	return err
}

// ofLook says what an answer is that nothing was bought for behind the look; empty where the look was enough.
func (p *calibrated) ofLook(answer []released) string {
	if p.look == nil {
		return ""
	}
	s := p.sizesOf(answer)
	if first, ok := s.off(p); ok && first <= p.look.margin {
		return ""
	}
	margin := estimate.Number(100*p.look.margin) + "%"
	if off, ok := s.off(p.look.whole); ok && off > worthAll*p.look.margin {
		return fmt.Sprintf(
			"This is a first look: epsilon %s would not bring half of its numbers near a margin of %s. SET dpproxy.epsilon = %[1]s brings ±%[3]s%%.",
			estimate.Number(p.look.whole.epsilon), margin, estimate.Number(estimate.RoundedUp(100*off)))
	}
	return fmt.Sprintf("This is a first look: the budget did not hold what a margin of %s needs.", margin)
}

// aboutLook is the line of EXPLAIN; empty: all is charged at once.
func (p *calibrated) aboutLook() string {
	if p.look == nil {
		return ""
	}
	return fmt.Sprintf(
		"a first release takes %s of the budget; the rest is charged as far as half of the numbers need it for a margin of %s%%",
		ledger.Percent(p.share), estimate.Number(100*p.look.margin))
}
