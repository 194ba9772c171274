package bolt

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// Spend admits all charges or none, and returns once they are on disk.
func (s *Store) Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	var balance ledger.Balance
	err := s.do(ctx, "charging", analyst, func(b *accounting.Book) (err error) {
		balance, err = b.Spend(charges)
		return err
	})
	if err != nil {
		return ledger.Balance{}, err
	}
	return balance, nil
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (s *Store) Fail(ctx context.Context, analyst, fingerprint string) error {
	return s.do(ctx, "recording a failure", analyst, func(b *accounting.Book) error { return b.Fail(fingerprint) })
}

// request is one caller's change to an account. run answers on done once the change is on disk.
type request struct {
	analyst string
	decide  func(*accounting.Book) error // on the account of analyst; its entries are written if it returns nil
	done    chan error
}

// do hands a request to run and waits for its commit. If ctx ends first, the request stays queued.
func (s *Store) do(ctx context.Context, doing, analyst string, decide func(*accounting.Book) error) error {
	if ctx.Err() != nil {
		return ledger.Canceled(ctx)
	}
	r := &request{analyst: analyst, decide: decide, done: make(chan error, 1)}
	s.mu.Lock()
	err := s.usable()
	if err == nil {
		s.queue = append(s.queue, r)
	}
	s.mu.Unlock()
	if err != nil {
		return ledger.Unavailable(s.rules.Load().Log, doing, err)
	}
	s.wake()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ledger.Canceled(ctx)
	}
}

// wake makes run look for something to commit.
func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}
