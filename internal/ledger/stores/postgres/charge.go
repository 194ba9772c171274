package postgres

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// Spend admits all charges or none, and returns once they are on disk.
func (s *Store) Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	var balance ledger.Balance
	r := &request{analyst: analyst, questions: questions(charges), decide: func(b *accounting.Book) (err error) {
		balance, err = b.Spend(charges)
		return err
	}}
	if err := s.do(ctx, r); err != nil {
		return ledger.Balance{}, err
	}
	return balance, nil
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (s *Store) Fail(ctx context.Context, analyst, fingerprint string) error {
	return s.do(ctx, &request{analyst: analyst, decide: func(b *accounting.Book) error { return b.Fail(fingerprint) }})
}

// request is one caller's change to an account. serve answers on done once the change is on disk.
type request struct {
	analyst   string
	questions [][]byte                     // hashes of those that it claims
	decide    func(*accounting.Book) error // on the account of analyst; its entries are written if it returns nil
	done      chan error
}

// do queues a request and waits for its commit. If ctx ends first, the request stays queued.
func (s *Store) do(ctx context.Context, r *request) error {
	if ctx.Err() != nil {
		return ledger.Canceled(ctx)
	}
	r.done = make(chan error, 1)
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ledger.Unavailable(s.rules.Load().Log, "charging", ledger.ErrClosed)
	}
	s.queues[r.analyst] = append(s.queues[r.analyst], r)
	if !s.leading && !s.apart[r.analyst] {
		s.leading = true
		s.serving.Go(s.lead)
	}
	s.mu.Unlock()
	select {
	case s.work <- struct{}{}:
	default:
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ledger.Canceled(ctx)
	}
}
