package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// chargedInParts says whether sums are charged once the counts are released.
func (p *calibrated) chargedInParts() bool {
	return slices.ContainsFunc(p.wanted, func(sums map[int]float64) bool { return len(sums) > 0 })
}

// first says whether a release is charged at first, as all are but these sums.
func (p *calibrated) first(block, release int) bool {
	return release == gate.Selection || p.wanted[block][release] == 0
}

// partOf is a charge for some releases.
func (p *calibrated) partOf(of func(block, release int) bool) ledger.Charge {
	c := p.composed(of)
	return costing(p.budget.nominal(p.price.paidBy(c.Curve), p.price.order), c)
}

// nextPart is what is charged next for the blocks behind from, given what was released of them: better mechanisms, by
// block and release.
type nextPart map[[2]int]nextDraw

// nextDraw is a mechanism, and what averages of its sums are paid for.
type nextDraw struct {
	*mechanism.Prepared
	told []reach
}

func anyRow(counts []int64) bool {
	return slices.ContainsFunc(counts, func(n int64) bool { return n > 0 })
}

// with is the statement with the mechanisms of a part.
func (p *calibrated) with(part nextPart) *calibrated {
	out := *p
	out.Mechanisms = slices.Clone(p.Mechanisms)
	for at, next := range part {
		b := &out.Mechanisms[at[0]]
		b.Releases = slices.Clone(b.Releases)
		b.Releases[at[1]] = next.Prepared
	}
	return &out
}

// drawn is the statement with the mechanisms that an answer was drawn with.
func (p *calibrated) drawn(ctx context.Context, answer []released) (*calibrated, error) {
	p, err := p.paid(ctx, answer)
	if err != nil {
		return nil, err
	}
	part := nextPart{}
	for i, r := range answer {
		for j, epsilon := range r.Chosen {
			prepared, err := mechanism.Prepare(unjoined(p.Plan.Blocks[i].Releases[j]), mechanism.Guarantee{
				Epsilon: epsilon, Order: p.price.Order,
			})
			if err != nil {
				return nil, err
			}
			part[[2]int{i, j}] = nextDraw{Prepared: prepared}
		}
	}
	return p.with(part), nil
}

// drawParts charges and draws what is left of the blocks behind from, of whose groups shown has the exact integers.
func (m *measuring) drawParts(ctx context.Context, from int, shown []gate.Shown) error {
	var bought []nextPart
	for _, next := range laterParts {
		part := next(m.calibrated, m.answer, from, bought)
		if err := m.drawPart(ctx, part, from, shown); err != nil {
			return err
		}
		bought = append(bought, part)
	}
	return nil
}

// drawPart charges a part, and draws it once that is on disk. Others can see the charge, so it is at a public moment;
// the ledger refuses it where it would not let an answer pass. What was charged before stays charged.
func (m *measuring) drawPart(ctx context.Context, part nextPart, from int, shown []gate.Shown) error {
	if len(part) == 0 {
		return nil
	}
	if err := m.hold(); err != nil {
		return err
	}
	next := m.with(part)
	of := func(i, j int) bool { return part[[2]int{i, j}].Prepared != nil }
	if err := m.chargePart(ctx, next.partOf(of), next.items(of)); err != nil {
		return &stageError{err}
	}
	m.calibrated = next
	defer m.engine.privately("draw", time.Now())
	source := sources.Get().(*mechanism.Source)
	defer sources.Put(source)
	for i := from; i < len(m.answer); i++ {
		for j := range m.Plan.Blocks[i].Releases {
			if d := part[[2]int{i, j}]; d.Prepared != nil {
				if err := shown[i-from].Draw(m.receipt, source, j, d.Prepared, m.answer[i].Released); err != nil {
					return err
				}
				d.withinTold(m.answer[i].Values[j])
				m.answer[i].Chosen[j] = d.Epsilon()
			}
		}
	}
	return nil
}

// chargePart charges a part beside what was charged.
func (m *measuring) chargePart(ctx context.Context, charge ledger.Charge, of []gate.Item) error {
	defer m.engine.stage(ctx, "charge", time.Now())
	charge.Query, charge.Policy, charge.Begun = m.charge.Query, m.charge.Policy, m.balance.Begun
	receipt, balance, err := gate.Spend(ctx, m.engine.ledger, m.scope.Analyst, m.Plan, charge, of)
	if err != nil {
		return keptCharge(err)
	}
	m.receipt = m.receipt.With(receipt)
	m.spend(charge, balance)
	return nil
}

// keptCharge tells the analyst that the parts before stay charged.
func keptCharge(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	told := *refused
	told.Hint = strings.TrimSpace(told.Hint + " What was charged of this statement before stays charged.")
	return &told
}
