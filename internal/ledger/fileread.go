package ledger

import (
	"context"

	"go.etcd.io/bbolt"
)

// Releasable returns an error if the analyst's failures are used up.
func (s *fileStore) Releasable(_ context.Context, analyst string) error {
	b, err := s.peek("counting failures", analyst)
	if err != nil {
		return err
	}
	return b.checkFailures()
}

// lookUp returns an account as it is on disk, or the client's error if the ledger serves nobody.
func (s *fileStore) lookUp(doing, name string) (account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return account{}, Unavailable(s.rules.Load().Log, doing, err)
	}
	return s.account(name), nil
}

// peek returns a book on the accounts as they are on disk. Nobody writes its entries.
func (s *fileStore) peek(doing, analyst string) (*book, error) {
	own, err := s.lookUp(doing, analyst)
	if err != nil {
		return nil, err
	}
	group, err := s.lookUp(doing, groupName)
	if err != nil {
		return nil, err
	}
	refused := func(fingerprint string, cleared uint64) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refused.refuses(analyst, fingerprint, cleared)
	}
	return newBook(s.rules.Load(), s.now(), own, &group, refused), nil
}

// Balance returns what an analyst has spent and has left.
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
	balance, err := b.spend(charges)
	return balance, ClientError(b.rules.Log, err)
}

// Failed says whether a fingerprint is refused to an analyst.
func (s *fileStore) Failed(_ context.Context, analyst, fingerprint string) (bool, error) {
	a, err := s.lookUp("reading failures", analyst)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused.refuses(analyst, fingerprint, a.cleared), nil
}

// History lists an analyst's charges, latest first. A limit ≤ 0 means no limit.
func (s *fileStore) History(_ context.Context, analyst string, limit int) ([]HistoryEntry, error) {
	if _, err := s.lookUp("reading the history", analyst); err != nil {
		return nil, err
	}
	var out []HistoryEntry
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
				out = append(out, r.historyEntry())
			}
		}
		return nil
	})
	if err != nil {
		return nil, Unavailable(s.rules.Load().Log, "reading the history", err)
	}
	return out, nil
}
