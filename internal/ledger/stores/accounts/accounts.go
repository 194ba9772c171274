// Package accounts answers what a ledger is asked about accounts, whatever keeps them.
package accounts

import (
	"context"
	"sync/atomic"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// Keeper finds and changes accounts.
type Keeper interface {
	// Peek returns a book on the accounts as they are. Nobody writes its entries.
	Peek(ctx context.Context, doing, analyst string) (*accounting.Book, error)
	// Has says whether there is an account of that name.
	Has(ctx context.Context, name string) (bool, error)
	// Do makes a change and returns once it is on disk. If ctx ends first, the change stays queued.
	Do(ctx context.Context, c Change) error
	// Usable returns why the ledger serves nobody, or nil if it serves.
	Usable() error
}

// Change is what a caller does to an account.
type Change struct {
	Doing, Analyst string
	Charges        []ledger.Charge              // that it makes, whose questions it claims
	Decide         func(*accounting.Book) error // on the account; its entries are written if it returns nil
}

// Accounts are those of a ledger, by its present rules.
type Accounts struct {
	Keeper
	Rules atomic.Pointer[accounting.Rules]
}

// Spend admits all charges or none, and returns once they are on disk.
func (a *Accounts) Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	var balance ledger.Balance
	err := a.Do(ctx, Change{Doing: "charging", Analyst: analyst, Charges: charges, Decide: func(b *accounting.Book) (
		err error,
	) {
		balance, err = b.Spend(charges)
		return err
	}})
	if err != nil {
		return ledger.Balance{}, err // balance may still be written to: a change that was given up stays queued
	}
	return balance, nil
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (a *Accounts) Fail(ctx context.Context, analyst, fingerprint string) error {
	return a.Do(ctx, Change{Doing: "recording a failure", Analyst: analyst, Decide: func(b *accounting.Book) error {
		return b.Fail(fingerprint)
	}})
}

// Releasable returns an error if the analyst's failures are used up.
func (a *Accounts) Releasable(ctx context.Context, analyst string) error {
	b, err := a.Peek(ctx, "counting failures", analyst)
	if err != nil {
		return err
	}
	return b.CheckFailures()
}

// Balance returns what an analyst has spent and has left.
func (a *Accounts) Balance(ctx context.Context, analyst string) (ledger.Balance, error) {
	b, err := a.Peek(ctx, "reading a balance", analyst)
	if err != nil {
		return ledger.Balance{}, err
	}
	return b.Balance(), nil
}

// Preview is Spend without charging.
func (a *Accounts) Preview(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	b, err := a.Peek(ctx, "previewing a charge", analyst)
	if err != nil {
		return ledger.Balance{}, err
	}
	balance, err := b.Spend(charges)
	return balance, ledger.ClientError(b.Rules.Log, err)
}

// Failed reports whether a fingerprint is refused to an analyst.
func (a *Accounts) Failed(ctx context.Context, analyst, fingerprint string) (bool, error) {
	b, err := a.Peek(ctx, "reading failures", analyst)
	if err != nil {
		return false, err
	}
	return b.Account.Refuses(fingerprint), nil
}

// Reset opens a new period.
func (a *Accounts) Reset(ctx context.Context, analyst string) (ledger.AccountSummary, error) {
	return administer(ctx, a, analyst, func(b *accounting.Book) (ledger.AccountSummary, error) {
		err := b.Reset()
		return b.Summary(), err
	})
}

// Clear forgets an analyst's refused fingerprints.
func (a *Accounts) Clear(ctx context.Context, analyst string) (int, error) {
	return administer(ctx, a, analyst, (*accounting.Book).Clear)
}

// administer makes a change that an administrator asks for. Unlike a client's, its error says why the ledger serves
// nobody.
func administer[T any](ctx context.Context, a *Accounts, analyst string, decide func(*accounting.Book) (T, error)) (
	T, error,
) {
	var out, none T
	name, err := a.Rules.Load().Addressed(analyst, func(name string) (bool, error) { return a.Has(ctx, name) })
	if err == nil {
		err = a.Usable()
	}
	if err == nil {
		err = a.Do(ctx, Change{Doing: "administering", Analyst: name, Decide: func(b *accounting.Book) (err error) {
			out, err = decide(b)
			return err
		}})
	}
	if err != nil {
		return none, err
	}
	return out, nil
}
