package ledger

import "context"

// Spend admits all charges or none, and returns once they are on disk.
func (s *tableStore) Spend(ctx context.Context, analyst string, charges []Charge) (Balance, error) {
	var balance Balance
	r := &tableRequest{analyst: analyst, fingerprints: fingerprints(charges), decide: func(b *book) (err error) {
		balance, err = b.spend(charges)
		return err
	}}
	if err := s.do(ctx, r); err != nil {
		return Balance{}, err
	}
	return balance, nil
}

func fingerprints(charges []Charge) []string {
	var out []string
	for _, c := range charges {
		out = append(out, c.Fingerprint)
	}
	return out
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (s *tableStore) Fail(ctx context.Context, analyst, fingerprint string) error {
	return s.do(ctx, &tableRequest{analyst: analyst, decide: func(b *book) error { return b.fail(fingerprint) }})
}

// tableRequest is one caller's change to an account. serve answers on done once the change is on disk.
type tableRequest struct {
	analyst      string
	fingerprints []string          // that decide asks about
	decide       func(*book) error // on the account of analyst; its entries are written if it returns nil
	done         chan error
}

// do queues a request and waits for its commit. A caller who gives up leaves the request where it is.
func (s *tableStore) do(ctx context.Context, r *tableRequest) error {
	if ctx.Err() != nil {
		return Canceled(ctx)
	}
	r.done = make(chan error, 1)
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return Unavailable(s.rules.Load().Log, "charging", ErrClosed)
	}
	queue, served := s.queues[r.analyst]
	s.queues[r.analyst] = append(queue, r)
	if !served {
		s.serving.Add(1)
		go s.serve(r.analyst)
	}
	s.mu.Unlock()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return Canceled(ctx)
	}
}

// serve commits an analyst's requests until none waits.
func (s *tableStore) serve(analyst string) {
	defer s.serving.Done()
	for {
		s.mu.Lock()
		requests := s.queues[analyst]
		if len(requests) == 0 {
			delete(s.queues, analyst)
			s.mu.Unlock()
			return
		}
		s.queues[analyst] = nil
		s.mu.Unlock()
		s.commit(analyst, requests)
	}
}
