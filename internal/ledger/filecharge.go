package ledger

import "context"

// Spend admits all charges or none, and returns once they are on disk.
func (s *fileStore) Spend(ctx context.Context, analyst string, charges []Charge) (Balance, error) {
	var balance Balance
	err := s.do(ctx, "charging", analyst, func(b *book) (err error) {
		balance, err = b.spend(charges)
		return err
	})
	if err != nil {
		return Balance{}, err
	}
	return balance, nil
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (s *fileStore) Fail(ctx context.Context, analyst, fingerprint string) error {
	return s.do(ctx, "recording a failure", analyst, func(b *book) error { return b.fail(fingerprint) })
}

// request is one caller's change to an account. run answers on done once the change is on disk.
type request struct {
	analyst string
	decide  func(*book) error // on the account of analyst; its entries are written if it returns nil
	done    chan error
}

// do hands a request to run and waits for its commit. A caller who gives up leaves the request where it is.
func (s *fileStore) do(ctx context.Context, doing, analyst string, decide func(*book) error) error {
	if ctx.Err() != nil {
		return Canceled(ctx)
	}
	r := &request{analyst: analyst, decide: decide, done: make(chan error, 1)}
	s.mu.Lock()
	err := s.usable()
	if err == nil {
		s.queue = append(s.queue, r)
	}
	s.mu.Unlock()
	if err != nil {
		return Unavailable(s.rules.Load().Log, doing, err)
	}
	s.wake()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return Canceled(ctx)
	}
}

// wake makes run look for something to commit.
func (s *fileStore) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}
