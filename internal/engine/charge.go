package engine

import (
	"context"
	"errors"
	"time"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Charge spends for a bound statement over private rows whose answer is not known. Others cost nothing.
func (e *Engine) Charge(ctx context.Context, scope session.Scope, bound session.Bound) error {
	if c, ok := bound.(interface{ enter() error }); ok {
		if err := c.enter(); err != nil {
			return err
		}
	}
	p, ok := bound.(*private)
	if !ok {
		return nil
	}
	charged := false
	defer func() { // also where it panics
		if !charged {
			p.idle()
			p.leave()
		}
	}()
	err := e.releaser.charge(ctx, scope, p)
	charged = err == nil
	return err
}

// direct charges and measures every statement that it is given.
type direct struct{ *Engine }

// costs says whether the statement has to be charged: not if its answer is known, nor if it releases nothing.
func (p *private) costs() bool { return p.answer == nil && p.releases() }

func (d direct) charge(ctx context.Context, scope session.Scope, p *private) (err error) {
	p.spent = spending{}
	if err := p.reserveMemory(ctx); err != nil {
		return err
	}
	if !p.costs() {
		if scope.Settings.Notices() {
			p.balance, err = d.ledger.Balance(ctx, scope.Analyst)
		}
		return err
	}
	since := time.Now()
	charge := p.calibrated.charge
	charge.Question, charge.Shared = p.key, p.shared != nil
	p.receipt, p.balance, err = gate.Spend(ctx, d.ledger, scope.Analyst, p.Plan, charge, p.items(p.first))
	if errors.Is(err, ledger.ErrAsked) {
		return err // it is asked again
	}
	if errors.Is(err, ledger.ErrReplanned) {
		return session.ErrReloaded
	}
	d.stage(ctx, "charge", since)
	if err != nil {
		return p.hintAffordable(ctx, p.calibrated, err)
	}
	p.spend(p.charge, p.balance)
	return nil
}

// spending is what a statement was charged; zero where it cost nothing.
type spending struct {
	epsilon float64 // nominal, as dpproxy.history has it
	share   float64 // of the analyst's budget
}

// spend notes a charge that was made.
func (p *private) spend(c ledger.Charge, after ledger.Balance) {
	p.balance = after
	p.spent.epsilon += c.Epsilon
	p.spent.share += after.Shares[0]
	p.charged(c.Epsilon, after.Shares[0])
}
