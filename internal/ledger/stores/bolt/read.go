package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// lookUp returns an account as it is on disk, or the client's error if the ledger serves nobody.
func (s *Store) lookUp(doing, name string) (accounting.Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return accounting.Account{}, ledger.Unavailable(s.Rules.Load().Log, doing, err)
	}
	return s.account(name), nil
}

// Peek returns a book on the accounts as they are on disk. Nobody writes its entries.
func (s *Store) Peek(_ context.Context, doing, analyst string) (*accounting.Book, error) {
	own, err := s.lookUp(doing, analyst)
	if err != nil {
		return nil, err
	}
	group, err := s.lookUp(doing, accounting.GroupName)
	if err != nil {
		return nil, err
	}
	return accounting.NewBook(s.Rules.Load(), s.now(), own, &group), nil
}

// History lists an analyst's charges, latest first. A limit ≤ 0 means no limit.
func (s *Store) History(_ context.Context, analyst string, limit int) ([]ledger.HistoryEntry, error) {
	if _, err := s.lookUp("reading the history", analyst); err != nil {
		return nil, err
	}
	var out []ledger.HistoryEntry
	err := s.db.View(func(tx *bbolt.Tx) error {
		log := tx.Bucket(bucketLog).Bucket(accountKey(analyst))
		if log == nil {
			return nil
		}
		past, cursor := s.Rules.Load().Past(analyst, curvesOf(tx)), log.Cursor()
		k, v, err := startOfHistory(cursor, limit)
		for ; k != nil && err == nil; k, v = cursor.Next() {
			var payload []byte
			if payload, _, err = splitRecord(v); err == nil {
				err = past.Add(payload)
			}
		}
		out = past.Latest(limit)
		return err
	})
	if err != nil {
		return nil, ledger.Unavailable(s.Rules.Load().Log, "reading the history", err)
	}
	return out, nil
}

// startOfHistory goes back to a record before the latest charges that tells what was spent before it; to the first,
// where there is no limit.
func startOfHistory(cursor *bbolt.Cursor, limit int) (k, v []byte, err error) {
	charges := 0
	for k, v = cursor.Last(); k != nil && limit > 0; k, v = cursor.Prev() {
		payload, _, err := splitRecord(v)
		if err != nil {
			return nil, nil, err
		}
		r, err := accounting.DecodeRecord(payload)
		if err != nil {
			return nil, nil, err
		}
		if r.Kind.Charges() {
			charges++
		}
		if charges >= limit && r.Kind.Start() {
			return k, v, nil
		}
	}
	k, v = cursor.First()
	return k, v, nil
}
