package engine

import (
	"context"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Charge spends for every bound statement over private rows whose answer is not known, all or nothing. The others cost
// nothing.
func (e *Engine) Charge(ctx context.Context, scope session.Scope, bounds []session.Bound) error {
	var statements []*private
	for _, b := range bounds {
		if c, ok := b.(interface{ current() error }); ok {
			if err := c.current(); err != nil {
				return err
			}
		}
		if p, ok := b.(*private); ok {
			statements = append(statements, p)
		}
	}
	alone := len(bounds) == 1
	return e.releaser.charge(ctx, scope, statements, alone)
}

// direct charges and measures every statement that it is given.
type direct struct{ *Engine }

// costs says whether the statement has to be charged: not if its answer is known or charged with another statement, nor if
// it releases nothing.
func (p *private) costs() bool {
	return p.answer == nil && p.duplicateOf == nil && p.releases()
}

func (d direct) charge(ctx context.Context, scope session.Scope, statements []*private, _ bool) error {
	var charges []ledger.Charge
	for _, p := range statements {
		if p.costs() {
			charges = append(charges, p.calibrated.charge)
		}
	}
	var balance ledger.Balance
	var err error
	switch {
	case len(charges) > 0:
		defer d.stage("charge", time.Now())
		balance, err = d.ledger.Spend(ctx, scope.Analyst, charges)
	case len(statements) > 0 && scope.Settings.Notices():
		balance, err = d.ledger.Balance(ctx, scope.Analyst)
	}
	if err != nil {
		return err
	}
	falls := balance.Falls
	for _, p := range statements {
		p.spent, p.balance = 0, balance
		if p.costs() {
			p.spent, falls = falls[0], falls[1:]
			d.metrics.Charged(p.epsilon)
		}
	}
	return nil
}
