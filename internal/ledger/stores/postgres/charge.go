package postgres

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/accounts"
)

// request is one caller's change to an account. serve answers on done once the change is on disk.
type request struct {
	accounts.Change
	questions [][]byte // hashes of those that it claims
	done      chan error
}

// Usable returns ErrClosed behind Close.
func (s *Store) Usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ledger.ErrClosed
	}
	return nil
}

// Do queues a change and waits for its commit. If ctx ends first, the change stays queued.
func (s *Store) Do(ctx context.Context, c accounts.Change) error {
	if ctx.Err() != nil {
		return ledger.Canceled(ctx)
	}
	r := &request{Change: c, questions: questions(c.Charges), done: make(chan error, 1)}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ledger.Unavailable(s.Rules.Load().Log, c.Doing, ledger.ErrClosed)
	}
	s.queues[r.Analyst] = append(s.queues[r.Analyst], r)
	if !s.leading && !s.apart[r.Analyst] {
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
