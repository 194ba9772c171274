package ledger

import (
	"context"

	"go.etcd.io/bbolt"
)

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

// Releasable says whether an answer that was measured may be given.
func (s *fileStore) Releasable(_ context.Context, analyst string) error {
	b, err := s.peek("counting failures", analyst)
	if err != nil {
		return err
	}
	return b.checkFailures()
}

// snapshot returns an account as it is on disk, or why nothing may be said.
func (s *fileStore) snapshot(doing, name string) (account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.broken
	if s.closing {
		err = errClosed
	}
	if err != nil {
		return account{}, errUnavailable(s.rules.Load().Log, doing, err)
	}
	if a, ok := s.book[name]; ok {
		return a, nil
	}
	return account{name: name}, nil
}

// peek is a book on the accounts as they are on disk, whose records nobody will write.
func (s *fileStore) peek(doing, analyst string) (*book, error) {
	own, err := s.snapshot(doing, analyst)
	if err != nil {
		return nil, err
	}
	group, err := s.snapshot(doing, groupName)
	if err != nil {
		return nil, err
	}
	b := &book{rules: s.rules.Load(), account: own, group: &group, now: clock(s.now(), &own, &group)}
	b.failed = func(fingerprint string, cleared uint64) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refused[analyst][fingerprint] > cleared
	}
	return b, nil
}

// Balance is what an analyst has left.
func (s *fileStore) Balance(_ context.Context, analyst string) (Balance, error) {
	b, err := s.peek("reading a balance", analyst)
	if err != nil {
		return Balance{}, err
	}
	return b.balance(), nil
}

// Preview is Spend without charging.
func (s *fileStore) Preview(_ context.Context, analyst string, charges []Charge) (Balance, error) {
	b, err := s.peek("previewing a charge", analyst)
	if err != nil {
		return Balance{}, err
	}
	return b.spend(charges)
}

// Failed tells whether a fingerprint is refused to an analyst.
func (s *fileStore) Failed(_ context.Context, analyst, fingerprint string) (bool, error) {
	a, err := s.snapshot("reading failures", analyst)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[analyst][fingerprint] > a.cleared, nil
}

// History lists an analyst's charges, latest first; limit ≤ 0: all.
func (s *fileStore) History(_ context.Context, analyst string, limit int) ([]Entry, error) {
	if _, err := s.snapshot("reading the history", analyst); err != nil {
		return nil, err
	}
	var out []Entry
	err := s.db.View(func(tx *bbolt.Tx) error {
		log := tx.Bucket(bucketLog).Bucket(accountKey(analyst))
		if log == nil {
			return nil
		}
		cursor := log.Cursor()
		for k, v := cursor.Last(); k != nil && (limit <= 0 || len(out) < limit); k, v = cursor.Prev() {
			payload, _, err := splitRecord(v)
			if err != nil {
				return err
			}
			r, err := decodeRecord(payload)
			if err != nil {
				return err
			}
			if r.kind == kindCharge {
				out = append(out, Entry{At: r.at, Query: r.query, Epsilon: r.epsilon})
			}
		}
		return nil
	})
	if err != nil {
		return nil, errUnavailable(s.rules.Load().Log, "reading the history", err)
	}
	return out, nil
}
