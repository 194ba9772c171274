package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// pendingAnswer is a sealed answer that waits for the next commit.
type pendingAnswer struct {
	serial  uint64 // of all answers since the start
	expires time.Time
	sealed  []byte
}

// purgeBatch is how many expired answers one commit removes at most, so that no commit grows long.
const purgeBatch = 64

// fillAnswers writes the batch's answers and removes some that have expired. now has 8 bytes, as in bucketExpiry.
func (b *batch) fillAnswers(tx *bbolt.Tx, now []byte) error {
	answers, expiry := tx.Bucket(bucketAnswers), tx.Bucket(bucketExpiry)
	for hash, e := range b.answers {
		if old := answers.Get([]byte(hash)); old != nil {
			if err := expiry.Delete(append(bytes.Clone(old[:8]), hash...)); err != nil {
				return err
			}
		}
		until := binary.BigEndian.AppendUint64(nil, uint64(e.expires.UnixMicro()))
		if err := answers.Put([]byte(hash), append(bytes.Clone(until), e.sealed...)); err != nil {
			return err
		}
		if err := expiry.Put(append(until, hash...), nil); err != nil {
			return err
		}
	}
	var expired [][]byte
	cursor := expiry.Cursor()
	for k, _ := cursor.First(); k != nil && bytes.Compare(k[:8], now) <= 0 && len(expired) < purgeBatch; k,
		_ = cursor.Next() {
		expired = append(expired, bytes.Clone(k))
	}
	for _, k := range expired {
		if err := expiry.Delete(k); err != nil {
			return err
		}
		if err := answers.Delete(k[8:]); err != nil {
			return err
		}
	}
	return nil
}

// PutAnswer keeps an answer, unless there is one. Answer returns it at once; the next commit, within answerDelay,
// writes it.
func (s *Store) PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) ([]byte, error) {
	if ttl <= 0 {
		return answer, nil
	}
	s.putting.Lock()
	defer s.putting.Unlock()
	if first, there, err := s.Answer(ctx, key); err == nil && there {
		return first, nil
	}
	hash, expires := answers.Hash(key), s.now().Add(ttl).Truncate(time.Microsecond)
	sealed := s.sealer.Seal(hash, expires, answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usable() != nil {
		return answer, nil // nobody will ask: every charge is refused from now on
	}
	s.serial++
	s.answers[hash] = pendingAnswer{serial: s.serial, expires: expires, sealed: sealed}
	s.wake()
	return answer, nil
}

// GiveUp does nothing: one process has the file, and knows what it is asking.
func (s *Store) GiveUp(string) {}

// Answer returns what PutAnswer kept, until it expires.
func (s *Store) Answer(_ context.Context, key string) ([]byte, bool, error) {
	hash := answers.Hash(key)
	s.mu.Lock()
	e, waiting := s.answers[hash]
	err := s.usable()
	s.mu.Unlock()
	if err != nil {
		return nil, false, ledger.Unavailable(s.Rules.Load().Log, "reading an answer", err)
	}
	if !waiting {
		err := s.db.View(func(tx *bbolt.Tx) error {
			if v := tx.Bucket(bucketAnswers).Get([]byte(hash)); len(v) > 8 {
				e = pendingAnswer{expires: time.UnixMicro(int64(binary.BigEndian.Uint64(v))), sealed: bytes.Clone(v[8:])}
			}
			return nil
		})
		if err != nil {
			return nil, false, ledger.Unavailable(s.Rules.Load().Log, "reading an answer", err)
		}
	}
	if e.sealed == nil || !s.now().Before(e.expires) {
		return nil, false, nil
	}
	answer, ok := s.sealer.Open(s.Rules.Load().Log, hash, e.expires, e.sealed)
	return answer, ok, nil
}
