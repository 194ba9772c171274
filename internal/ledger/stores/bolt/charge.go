package bolt

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/accounts"
)

// request is one caller's change to an account. run answers on done once the change is on disk.
type request struct {
	accounts.Change
	done chan error
}

// Do hands a change to run and waits for its commit. If ctx ends first, the change stays queued.
func (s *Store) Do(ctx context.Context, c accounts.Change) error {
	if ctx.Err() != nil {
		return ledger.Canceled(ctx)
	}
	r := &request{Change: c, done: make(chan error, 1)}
	s.mu.Lock()
	err := s.usable()
	if err == nil {
		s.queue = append(s.queue, r)
	}
	s.mu.Unlock()
	if err != nil {
		return ledger.Unavailable(s.Rules.Load().Log, c.Doing, err)
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
